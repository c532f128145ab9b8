// SPDX-License-Identifier: Apache-2.0
// One direction of a point-to-point link: serialisation, propagation, and seeded faults. Packets stay in the
// place where the sender built them; only the next arrival waits in the global event queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "sim/fabric/link_config.h"
#include "sim/kernel/simulation.h"
#include "trace/tracer.h"
#include "wire/drop_reason.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// Who is at the end of a link.
class LinkReceiver {
 public:
  virtual ~LinkReceiver() = default;
  /// `packet` is on its way. Returns how long after the arrival of its last byte the receiver wants to be
  /// told of it: its pipeline, so that an arrival costs one event. May not depend on what the receiver is
  /// doing, nor change it; a receiver may fetch what the packet will touch toward the processor.
  virtual TimePs announce(const wire::Packet& packet) const = 0;
  /// `packet`, whose last byte arrived at `arrival`. The link keeps its reference to the payload.
  virtual void receive(const wire::Packet& packet, TimePs arrival) = 0;
};

struct LinkCounters {
  std::uint64_t packets = 0;  ///< Handed to the link.
  std::uint64_t charged_bytes = 0;
  std::uint64_t delivered = 0;  ///< Duplicates included.
  std::uint64_t lost = 0;
  std::uint64_t corrupted = 0;  ///< Dropped by the frame check.
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;  ///< Held back.
  /// Damaged behind the frame check and refused by the decoder, by wire::DropReason.
  std::array<std::uint64_t, wire::kDropReasonCount> refused{};
};

/// Reasons of a kPacketDropped event, in TraceEvent::a.
enum class LinkDrop : std::uint8_t { kLost, kFrameCheck, kDecoder };

/// One direction. Its component belongs to the receiver's side.
class LinkDirection final : public Component {
 public:
  /// `random` is this direction's own stream. `config` must pass validate().
  LinkDirection(Simulation& simulation, const LinkConfig& config, RandomStream random,
                wire::PayloadPool& payloads, trace::Tracer& tracer, std::uint32_t source_host);

  /// To be called before the run.
  void connect(LinkReceiver& receiver) { receiver_ = &receiver; }

  /// Where the next packet is to be built; the same place until send().
  wire::Packet& next_packet() { return in_flight_[spare_].packet; }

  /// Sends it: its first byte is ready at `head` and its last at `tail`; both are `head` when the sender
  /// holds the whole packet. The reference to the payload goes along. `source` is the component whose code
  /// runs. Calls come in the order of the packets, with non-decreasing `tail`.
  void send(TimePs head, TimePs tail, ComponentId source);

  /// When the link has sent everything that it was given.
  TimePs free_at() const { return free_; }
  const LinkCounters& counters() const { return counters_; }

  void handle(const Event& event) override;
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  enum EventKind : std::uint16_t { kArrival, kHeldArrival };

  struct InFlight {
    wire::Packet packet;
    TimePs arrival;  ///< Of its last byte.
    TimePs due;      ///< When the receiver is told.
  };
  /// One random stream per fault, so that switching one on changes no draw of the others.
  struct Draws {
    explicit Draws(const RandomStream& random);
    RandomStream loss, corruption, duplication, reordering, jitter, past_check, position;
  };
  struct Chances {
    explicit Chances(const LinkFaults& faults);
    Probability loss, corruption, duplication, reordering, past_check;
    bool any;
  };

  std::uint32_t charge(const wire::Packet& packet) const;
  /// When the last byte arrives; occupies the link and reports the spans.
  TimePs carry(const wire::Packet& packet, TimePs head, TimePs tail);
  void send_with_faults(TimePs head, TimePs tail, ComponentId source);
  /// Applies the wire mode; false when the packet was refused, and is gone.
  bool encode_decode(wire::Packet& packet, TimePs at, std::uint64_t damage_bit);
  void enqueue(std::uint32_t slot, TimePs arrival, ComponentId source);
  void hold_back(std::uint32_t slot, TimePs arrival, ComponentId source);
  void drop(const wire::Packet& packet, LinkDrop reason, TimePs at);
  std::uint32_t take_slot();
  void deliver(std::uint32_t slot);
  void report(trace::EventKind kind, const wire::Packet& packet, TimePs at, std::uint64_t reason);

  Simulation& simulation_;
  LinkConfig config_;
  wire::PayloadPool& payloads_;
  trace::Tracer& tracer_;
  std::uint32_t source_host_;
  LinkReceiver* receiver_ = nullptr;

  SlotPool<InFlight> in_flight_;
  std::uint32_t spare_;           ///< The slot of next_packet().
  Ring<std::uint32_t> in_order_;  ///< Slots by time due.
  std::uint32_t held_ = 0;
  TimePs free_;
  TimePs last_arrival_;
  TimePs last_due_;
  std::uint32_t last_charge_ = 0;  ///< Neighbouring packets are often equally long: saves a division.
  TimePs last_serialisation_;
  Draws draws_;
  Chances chances_;
  LinkCounters counters_;
};

}  // namespace wharf::sim
