// SPDX-License-Identifier: Apache-2.0
// An output port and the link behind it: two cache lines, all that forwarding a packet touches beside the
// packet's head.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "base/units.h"
#include "sim/fabric/fabric_config.h"
#include "sim/fabric/packet_head.h"
#include "wire/drop_reason.h"

namespace wharf::sim {

/// Port::flags: what makes a port leave the straight path.
enum PortFlag : std::uint8_t {
  kPortOfHost = 1,       ///< Its packets come from a host that is asked, not from queues.
  kPortCrosses = 2,      ///< The far end is in another partition.
  kPortFlowControl = 4,  ///< PFC or credits: served by events of its own, at the exact time.
  kPortFaulty = 8,       ///< Loses or damages packets, or retries them (link_retry.h).
  kPortDown = 16,
  kPortCutThrough = 32,  ///< The far end handles a packet when its header has arrived.
  kPortObserved = 64,    ///< Captured.
  kPortRuled = 128,      ///< Reports what operations do, rounds, or waits for the last byte of a host.
};

/// Where a link ends.
struct FarEnd {
  std::uint32_t value = 0;
  static constexpr std::uint32_t kHostBit = 0x8000'0000;
  bool is_host() const { return (value & kHostBit) != 0; }
  std::uint32_t index() const { return value & ~kHostBit; }  ///< Host number or switch index.
};

/// Of a port, the near half (queues, service) belongs to the partition of its node; the packets in flight
/// belong to the partition of the far end. For a link that crosses, two records share the work.
struct alignas(64) Port {
  // First line: service and flight.
  TimePs ready_at;  ///< When the next packet may start: the end of the one being sent.
  SlotId flight_head = kNoSlot;
  SlotId flight_tail = kNoSlot;
  std::array<SlotId, kPortQueues> queue_head;
  std::array<SlotId, kPortQueues> queue_tail;
  FarEnd far;
  std::uint32_t ps_per_byte = 0;  ///< 0: the rate is no whole number of picoseconds per byte; see `rate`.
  std::uint32_t transit_ps = 0;   ///< From the last byte's departure to handling at the far end.
  std::uint8_t waiting = 0;       ///< Queues with packets, one bit each. Host ports: bit 0, "ask the host".
  std::uint8_t flags = 0;
  std::uint8_t profile = 0;
  bool armed = false;  ///< An arrival event of this link is pending.

  // Second line: occupancies and counts.
  std::array<std::uint32_t, kPortQueues> queue_bytes{};  ///< Including the packet being sent.
  std::uint64_t sent_packets = 0;
  std::uint64_t sent_bytes = 0;
  SlotId newest_but_one = kNoSlot;  ///< Predecessor of the newest packet in the queue that trims.
  std::uint32_t draws = 0;          ///< Random decisions taken here: counts the port's own stream.
  std::uint16_t sending_bytes = 0;  ///< Of the packet being sent; 0 when its bytes have been taken off.
  std::uint8_t sending_queue = 0;
  std::uint8_t blocked = 0;        ///< Queues that flow control holds, one bit each.
  std::uint8_t far_port = 0;       ///< Port number of the far host.
  std::uint8_t far_partition = 0;  ///< Of a link that crosses.
  bool service_armed = false;      ///< A service event is pending (flow control only).
  bool weighted = false;           ///< Some queues of its profile share a priority.
  std::uint32_t host = 0;          ///< Of a host's port: whose it is.
  std::uint32_t surplus = 0;       ///< Arrival events beyond the one that `armed` stands for.

  Port() {
    queue_head.fill(kNoSlot);
    queue_tail.fill(kNoSlot);
  }
};
static_assert(sizeof(Port) == 128);

/// Kinds of frames of flow control (partition_flow_control.h).
inline constexpr std::uint32_t kControlConsumed = 0;
inline constexpr std::uint32_t kControlPause = 1;
inline constexpr std::uint32_t kControlResume = 2;
inline constexpr std::uint32_t kControlCredits = 3;

/// What ports with weights, errors or flow control have beside. One for each port when any port needs it.
struct PortExtra {
  std::array<std::uint32_t, kPortQueues> virtual_time{};  ///< Weighted queues: bytes served over weight.
  // Flow control, near half: what this port may send.
  std::array<std::uint32_t, kPortQueues> credits_used{};   ///< Consumed counter, in credits, cyclic.
  std::array<std::uint32_t, kPortQueues> credits_freed{};  ///< Freed counter as last reported by the far end.
  std::array<TimePs, kPortQueues> paused_since{};
  std::array<TimePs, kPortQueues> pause_ends{};  ///< Of the pauses in force, unless told again.
  // What the link behind the port of the same number has put into this node's buffers (far half).
  std::array<std::uint32_t, kPortQueues> held_bytes{};
  std::array<std::uint32_t, kPortQueues> stored{};  ///< Consumed counter of this end, in credits.
  std::array<std::uint32_t, kPortQueues> freed{};   ///< Freed counter, in credits.
  std::array<std::uint32_t, kPortQueues> freed_reported{};
  bool consumed_update_armed = false;  ///< Near half: report_consumed() is pending.
  bool pause_end_armed = false;        ///< Near half: end_pauses() is pending.
  bool pause_refresh_armed = false;    ///< Far half: refresh_pauses() is pending.
  std::uint8_t pausing = 0;            ///< Queues for which a pause is in force, one bit each.
  /// Queues of which the near end of the link has not been told: frames about them were lost at a port that
  /// is down.
  std::uint8_t untold = 0;
  // Frames of flow control that wait to be sent by this port, before everything else.
  SlotId control_head = kNoSlot;
  SlotId control_tail = kNoSlot;
  /// Where the packet being sent is counted (Partition::Held); link 0xffffffff: nowhere.
  struct Sending {
    std::uint32_t link = 0xffff'ffff;
    std::uint16_t bytes = 0;
    std::uint8_t queue = 0;
  } sending{};
};

/// What happened at a port beside sending: kept apart, because most packets touch none of it.
struct PortCounters {
  std::uint64_t marked = 0;
  std::uint64_t trimmed = 0;
  std::uint64_t dropped_full = 0;      ///< The queue was full.
  std::uint64_t dropped_no_route = 0;  ///< Counted at the port through which the packet came.
  std::uint64_t lost = 0;              ///< By a faulty or failed link.
  std::uint64_t damaged = 0;           ///< Refused by the frame check at the far end.
  std::uint64_t retried = 0;           ///< Sent again by the link.
  // Link-level retry: ordered sets that this port has sent about the opposite direction,
  std::uint64_t retry_acks = 0;
  std::uint64_t retry_nacks = 0;
  std::uint64_t retry_timeouts = 0;   ///< of its own direction: replay timers that expired,
  std::uint64_t retry_flushes = 0;    ///< how often it gave up, and
  std::uint64_t retry_discarded = 0;  ///< frames that came too early or twice, and were dropped.
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;  ///< Held back.
  std::uint64_t delivered = 0;  ///< To a host.
  /// Damaged behind the frame check and refused by the decoder, by wire::DropReason.
  std::array<std::uint32_t, wire::kDropReasonCount> refused{};
  std::uint64_t pause_frames = 0;    ///< Pause and resume frames sent.
  std::uint64_t control_frames = 0;  ///< Among the packets sent: frames of flow control of every kind.
  std::uint64_t paused_ps = 0;  ///< Time during which a queue was held, until it went on, summed over queues.
  std::uint32_t queued_bytes_most = 0;
};

/// The time that `bytes` occupy a link, rounded up to a picosecond; none at rate 0, which is unlimited.
inline std::uint64_t serialisation_ps(std::uint32_t bytes, std::uint64_t bits_per_second) {
  if (bits_per_second == 0) return 0;
  return (std::uint64_t{bytes} * 8'000'000'000'000ULL + bits_per_second - 1) / bits_per_second;
}

/// Picoseconds per byte when that is a whole number, else 0.
inline std::uint32_t whole_ps_per_byte(std::uint64_t bits_per_second) {
  constexpr std::uint64_t kPsBits = 8'000'000'000'000ULL;
  if (bits_per_second == 0) return 0;
  const std::uint64_t whole = kPsBits / bits_per_second;
  return whole * bits_per_second == kPsBits && whole <= 0xffff'ffffULL ? static_cast<std::uint32_t>(whole)
                                                                       : 0;
}

/// Well mixed bits of a key: the counter-based draws of ports and switches.
inline std::uint64_t mix_bits(std::uint64_t key) {
  key = (key ^ (key >> 30U)) * 0xbf58'476d'1ce4'e5b9ULL;
  key = (key ^ (key >> 27U)) * 0x94d0'49bb'1331'11ebULL;
  return key ^ (key >> 31U);
}

}  // namespace wharf::sim
