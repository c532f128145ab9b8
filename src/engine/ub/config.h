// SPDX-License-Identifier: Apache-2.0
// What a UB engine can be told at creation, with the defaults of the public stacks, and the sizes that it
// fixes itself.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "engine/congestion/any_controller.h"
#include "engine/queues.h"
#include "engine/reliability/retransmission_timer.h"
#include "engine/ub/channel_lane.h"
#include "trace/tracer.h"
#include "wire/host_address.h"
#include "wire/psn.h"
#include "wire/ub_packet.h"

namespace wharf::ub {

/// Bytes of one work-queue entry, one receive entry and one completion record in host memory (udma uses
/// 64-byte units).
inline constexpr std::uint32_t kWorkRequestBytes = 64;
inline constexpr std::uint32_t kReceiveEntryBytes = 64;
inline constexpr std::uint32_t kCompletionBytes = 64;
/// Distance of two context records of one kind in the context region: one cache line.
inline constexpr std::uint32_t kContextStride = 64;

/// Jetty ids 0..31 are for well-known services (UB-Base 2.0.1 8.2.5); create_queue() gives ids from here on.
inline constexpr std::uint32_t kFirstJettyId = 32;
/// A destroyed jetty's id is not given again before this many others have been destroyed, so that a late
/// packet cannot reach another queue. Choice: UB-Base 2.0.1 does not say when an id may return.
inline constexpr std::uint32_t kRestingJetties = 64;
/// Longest TA segment of the protocol. (ns-3-UB: UB_WQE_TA_SEGMENT_BYTE)
inline constexpr std::uint32_t kSegmentBytesMax = 65536;
/// INI_RC_ID and TGT_TC_ID have 20 bits.
inline constexpr std::uint32_t kJettyIds = 1U << 20U;
/// TokenIDs have 20 bits; 0 is never given.
inline constexpr std::uint32_t kTokenIds = 1U << 20U;

/// Unanswered memory accesses from which on packets that ask for more are dropped; their senders repeat them.
inline constexpr std::uint32_t kUnansweredAccessesMax = 1U << 16U;

/// Largest MTU under C-AQM: Hint of one MTU is MTU / 32 and has 8 bits.
inline constexpr std::uint32_t kCaqmMtuMax = 4096;

/// rnr_retry value for "try for ever".
inline constexpr std::uint8_t kRnrRetryForever = 7;

/// How a sender repairs loss (UB-Base 2.0.1 6.4.2). A channel repairs selectively when both ends are set so.
enum class LossRecovery : std::uint8_t { kGoBackN, kSelective };

struct UbConfig {
  wire::HostAddress host{};

  /// How packets of channels are framed: P1 (kUdp, kIpOnLink, kCna24OnLink), P2 (kRawEthernet), or, where
  /// `transport` is kCompact and so is that of all jetties, P3 (kCna16OnLink).
  wire::UbEncapsulation encapsulation = wire::UbEncapsulation::kUdp;
  std::uint32_t mtu = 4096;  ///< Payload bytes of one packet: a power of two, 64..8192; P2 at most 256.
  std::uint32_t segment_bytes = 65536;  ///< Longest TA segment: a multiple of the MTU, at most 64 KiB.

  /// Of jetties that do not name one (QueueConfig::service); kDefault is ROI, too.
  engine::ServiceMode service = engine::ServiceMode::kOrderedByInitiator;
  /// Of jetties that do not name one (QueueConfig::transport); kDefault is RTP, too.
  engine::TransportMode transport = engine::TransportMode::kReliable;

  // TP channels.
  /// Reliable ones to each host, 1 to kChannelsMax; a pair of hosts has as many as both want. `send_window`,
  /// `inbound_messages` and the like count for each.
  std::uint32_t channels = 1;
  ChannelSpread spread = ChannelSpread::kFlow;
  std::uint32_t send_window = 1024;     ///< Packets in flight per channel: a power of two.
  std::uint32_t receive_window = 2048;  ///< PSNs accepted ahead of the expected one: a power of two from 64.
  LossRecovery recovery = LossRecovery::kSelective;
  bool fast_retransmit =
      true;  ///< Go-Back-N: answer a gap with a TPNAK instead of waiting for the peer's timer.
  reliability::RetransmissionRule retransmission{.cap = milliseconds(4)};
  std::uint32_t acknowledge_every = 1;         ///< In-order packets per TPACK.
  TimePs acknowledge_delay = microseconds(4);  ///< Longest delay of a TPACK when that is above 1.
  wire::Psn first_psn = 0;                     ///< First PSN that this engine sends on each channel.
  /// Tells this engine from earlier ones of the same host: an engine that takes another's place takes a
  /// higher value, and its peers begin new channels when they connect to it.
  std::uint32_t first_incarnation = 0;

  // Congestion control of TP channels; loads and stores (8.3) are not under it. docs/decisions/0032.
  /// Every channel has a controller of its own; none: windows alone limit what is in flight. Any but NSCC.
  /// The packet size of C-AQM, LDCP and Swift is the channel's MTU, whatever is given here; C-AQM needs an
  /// MTU of 4096 at most.
  std::optional<congestion::ControllerConfig> congestion{};
  /// Receiver of DCQCN's marks: between two CNPs of one channel at least. Zero: none are sent. (Paper: 50
  /// us.)
  TimePs min_time_between_cnps{};

  // Transactions.
  std::uint32_t transactions_per_jetty = 256;  ///< TA segments outstanding: a power of two, at most 32768.
  std::uint8_t rnr_retry = kRnrRetryForever;   ///< 0..6, or kRnrRetryForever.
  /// Code 0..31 that this engine advertises; see receiver_not_ready_delay(). Choice: UB publishes codes 0..31
  /// but no table; this is the one of InfiniBand, whose code 12 (0.64 ms) is URMA's usual value too.
  std::uint8_t min_rnr_timer = 12;
  std::uint32_t page_fault_retry = 16;  ///< Retries after RSPST 2, each after the delay of page_fault_timer.
  std::uint8_t page_fault_timer = 5;    ///< Code as for min_rnr_timer.
  std::uint8_t err_timeout = 17;        ///< Code 0..31: longest wait for an answer; see error_timeout().

  // Bounds of what peers can make this engine hold.
  /// Requests of one host in execution or waiting to be confirmed. It is told when it connects, and sends no
  /// more.
  std::uint32_t inbound_messages = 1024;
  /// Packets of one host that wait for earlier ones; and packets of all hosts that wait for a context record.
  std::uint32_t parked_packets = 2048;
  std::uint32_t fetch_ahead_packets =
      64;  ///< Packets per channel whose data may be fetched before they leave.
  std::uint32_t load_store_services = 1024;  ///< Loads and stores of others in execution.

  // Load/store path (UB-Base 2.0.1 8.3).
  std::uint32_t load_store_slots = 64;  ///< Own loads and stores outstanding: at most 256.
  reliability::RetransmissionRule load_store_reissue{
      .base = microseconds(16), .cap = milliseconds(4), .attempts_max = 3};
  /// Longer than the fabric delays a request and its answer together: a TASSN is not used again, and a
  /// request not given up, until that long after it was last sent.
  TimePs load_store_quarantine = microseconds(128);

  // Context cache: records that the engine holds; the rest lie in the context region of host memory.
  std::uint32_t context_cache_entries = 0;   ///< 0: all of them, no region needed.
  std::uint64_t context_region = 0;          ///< Address; context_region_bytes() long.
  std::uint32_t context_records_max = 4096;  ///< Records of each kind that the region holds.
  bool full_jetty_records = false;           ///< 48-byte jetty records instead of 20.

  trace::Tracer* tracer = nullptr;  ///< May be null; outlives the engine.
};

/// Hosts that `encapsulation` can address: the conventions for CNA16 and CNA24 give nodes 12 and 16 bits, IP
/// addresses 24.
constexpr std::uint32_t hosts_max(wire::UbEncapsulation encapsulation) {
  if (encapsulation == wire::UbEncapsulation::kCna16OnLink) return 1U << 12U;
  return encapsulation == wire::UbEncapsulation::kCna24OnLink ||
                 encapsulation == wire::UbEncapsulation::kRawEthernet
             ? 1U << 16U
             : wire::kPsnMask;
}

/// Bytes of the context region of `config`.
constexpr std::uint64_t context_region_bytes(const UbConfig& config) {
  return std::uint64_t{3} * config.context_records_max * kContextStride;
}

/// The time that an err_timeout code stands for: 4.096 us * 2^code (URMA API). Choice: it is counted from
/// when the peer has confirmed the last packet of a TA segment; until then the TP channel's own attempts
/// decide.
constexpr TimePs error_timeout(std::uint8_t code) {
  return nanoseconds(4096) * (std::int64_t{1} << (code & 31U));
}

/// The controller of a channel with this MTU. `config.congestion` is there.
congestion::ControllerConfig controller_for(const UbConfig& config, std::uint32_t mtu);

/// Refuses a jetty with that transport and service mode, where they cannot be; kDefault is none of them here.
Result<void> check_transport(const UbConfig& config, engine::TransportMode transport,
                             engine::ServiceMode service);

/// Refuses values outside the ranges above; the message names the key.
Result<void> validate(const UbConfig& config);

}  // namespace wharf::ub
