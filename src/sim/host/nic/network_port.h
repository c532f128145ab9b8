// SPDX-License-Identifier: Apache-2.0
// What lies between a NIC and the links of its ports: packets that have left the transmit pipeline and wait
// for a link, and packets that have arrived and are in the receive pipeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "sim/host/nic/nic.h"
#include "sim/kernel/in_order_source.h"
#include "sim/kernel/simulation.h"
#include "trace/tracer.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// The links of a NIC, which are alike: how long they send a packet, and which of them takes it.
class LinkPace {
 public:
  virtual ~LinkPace() = default;
  virtual TimePs sending_time(const wire::Packet& packet) const = 0;
  virtual BitsPerSecond rate() const = 0;
  virtual std::uint32_t ports() const { return 1; }
  /// The link that `packet` takes, of several: packets of one path take one, so that they keep their order.
  virtual std::uint32_t port_of(const wire::Packet&) const { return 0; }
};

class NetworkPort final : public Component, public NicWire {
 public:
  /// What it reports as its number within its host, whichever of its ports it is: behind core and NIC.
  static constexpr std::uint32_t kComponent = 2;

  /// To be added to `simulation` before attach(). `pace` outlives it. `steady`: nothing but what is handed
  /// out here occupies the link, and nothing holds it; else take() is asked at no time later than the
  /// simulation's.
  NetworkPort(Simulation& simulation, Nic& nic, wire::PayloadPool& payloads, trace::Tracer& tracer,
              const LinkPace& pace, bool steady);
  void attach();

  // NicWire.
  wire::Packet& next_packet() override { return leaving_[spare_].packet; }
  void send(TimePs head, TimePs tail) override;
  BitsPerSecond rate() const override { return pace_.rate(); }

  // Toward the link.
  /// Takes out the first packet that may leave by `port` at `now` and whose class is allowed. `whole_at`:
  /// when its last byte is there.
  bool take(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed, wire::Packet& out,
            TimePs& whole_at);
  /// When take() should be asked, if it has not been asked since; kNever when nothing waits.
  TimePs ready_at() const {
    if (queue_.empty()) return kNever;
    const TimePs first = leaving_[queue_.front()].head;
    return first > asked_at_ ? first : kNever;
  }
  /// The link is asked for at `now`, or will be as soon as it is free.
  void note_asked(TimePs now) { asked_at_ = max(asked_at_, now); }
  /// The last byte of `packet` has arrived at `now`. The caller keeps its reference to the payload.
  void arrive(TimePs now, const wire::Packet& packet);

  void handle(const Event& event) override;
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  struct Leaving {
    wire::Packet packet;
    TimePs head;
    TimePs tail;
    TimePs sending;
    std::uint32_t port = 0;
  };
  struct Arrived {
    wire::Packet packet;
    TimePs at;
  };
  template <typename Pool>
  static std::uint32_t take_slot(Pool& pool) {
    std::uint32_t slot = pool.acquire();
    if (slot == kNoSlot) {
      pool.reserve(2 * pool.capacity());
      slot = pool.acquire();
    }
    return slot;
  }
  /// What the ports together wait for when one packet waits.
  TimePs share_of(TimePs sending) const {
    return picoseconds(sending.ps / static_cast<std::int64_t>(port_free_.size()));
  }
  void report(trace::EventKind kind, const wire::Packet& packet, TimePs at);

  Simulation& simulation_;
  Nic& nic_;
  wire::PayloadPool& payloads_;
  trace::Tracer& tracer_;
  const LinkPace& pace_;
  std::vector<TimePs> port_free_;  ///< By port, not steady: after what it has begun to send.
  SlotPool<Leaving> leaving_;
  std::uint32_t spare_;
  Ring<std::uint32_t> queue_;  ///< Slots of `leaving_`, by head.
  TimePs asked_at_{-1};
  SlotPool<Arrived> arrived_;
  std::optional<InOrderSource<std::uint32_t>> arriving_;  ///< Slots of `arrived_`.
};

}  // namespace wharf::sim
