// SPDX-License-Identifier: Apache-2.0
// The wire of a run of peers: it loses, repeats and delays packets of all, alters those of a liar, and keeps
// some old ones for later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/chaos/peers_plan.h"
#include "sim/protocols/protocol.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

template <typename P>
class PeersWire {
 public:
  PeersWire(const PeersPlan& plan, wire::PayloadPool& payloads)
      : plan_(plan),
        payloads_(&payloads),
        random_(plan.seed, "chaos.peers.wire"),
        lies_(plan.seed, "chaos.peers.lies") {}

  /// Takes over the reference of the payload's buffer.
  void send(TimePs now, const wire::Packet& packet) {
    if (!P::kOpensByFirstPacket) keep(now, packet);
    if (random_.below(kMillion) < plan_.loss_ppm) return payloads_->release(packet.payload.buffer);
    if (random_.below(kMillion) < plan_.duplicate_ppm) {
      payloads_->retain(packet.payload.buffer);
      launch(now, packet);
    }
    launch(now, packet);
  }

  TimePs next_arrival() const { return under_way_.empty() ? kNever : under_way_.front().arrival; }
  /// The packet of next_arrival(), whose payload's reference the caller takes over.
  wire::Packet take() {
    std::pop_heap(under_way_.begin(), under_way_.end(), later);
    const wire::Packet packet = under_way_.back().packet;
    // What never arrived in a host's earlier life is as good as new to some: those are kept that did.
    if (P::kOpensByFirstPacket) keep(under_way_.back().arrival, packet);
    under_way_.pop_back();
    if (plan_.event != PeerEvent::kLies || packet.source.number != plan_.host) return packet;
    return lies_.below(100) < plan_.lie_percent && under_way_lies_ ? altered(packet) : packet;
  }
  /// From now on the liar lies, or tells the truth.
  void let_lie(bool on) { under_way_lies_ = on; }

  /// Packets of and for the host of the plan that were kept arrive once more within `span`.
  void replay(TimePs now, TimePs span) {
    for (const wire::Packet& packet : old_) {
      const auto after = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(span.ps)));
      push(now + picoseconds(after), packet);
    }
    old_.clear();
  }
  /// Whether packets of or for the host of the plan are under way.
  bool is_at_work_for_host() const {
    return std::any_of(under_way_.begin(), under_way_.end(), [this](const UnderWay& each) {
      return each.packet.source.number == plan_.host || each.packet.destination.number == plan_.host;
    });
  }
  /// Nothing is kept any more.
  void forget_old() {
    for (const wire::Packet& packet : old_) payloads_->release(packet.payload.buffer);
    old_.clear();
  }
  std::uint64_t lies_told() const { return told_; }

 private:
  static constexpr std::uint32_t kMillion = 1'000'000;
  static constexpr std::size_t kOldPackets = 48;

  struct UnderWay {
    TimePs arrival;
    std::uint64_t sequence = 0;
    wire::Packet packet;
  };
  static bool later(const UnderWay& a, const UnderWay& b) {
    return a.arrival != b.arrival ? a.arrival > b.arrival : a.sequence > b.sequence;
  }

  void push(TimePs arrival, const wire::Packet& packet) {
    under_way_.push_back({arrival, sequence_++, packet});
    std::push_heap(under_way_.begin(), under_way_.end(), later);
  }
  void launch(TimePs now, const wire::Packet& packet) {
    TimePs arrival = now + plan_.delay;
    if (plan_.jitter > kTimeZero)
      arrival +=
          picoseconds(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(plan_.jitter.ps))));
    if (random_.below(kMillion) < plan_.reorder_ppm) arrival += plan_.delay * 3;
    push(arrival, packet);
  }

  /// A drawn sample of what the host of the plan has sent, and, before a reset, of what was sent to it.
  void keep(TimePs now, const wire::Packet& packet) {
    const bool lies = plan_.event == PeerEvent::kLies && packet.source.number == plan_.host;
    const bool reset = plan_.event == PeerEvent::kReset && now < plan_.at &&
                       (packet.source.number == plan_.host || packet.destination.number == plan_.host);
    if (!lies && !reset) return;
    payloads_->retain(packet.payload.buffer);
    if (old_.size() < kOldPackets) {
      old_.push_back(packet);
      return;
    }
    wire::Packet& place = old_[lies_.below(old_.size())];
    payloads_->release(place.payload.buffer);
    place = packet;
  }

  wire::Packet altered(wire::Packet packet) {
    ++told_;
    const std::uint32_t way =
        plan_.lie == kLieAny ? static_cast<std::uint32_t>(lies_.below(kLieWays)) : plan_.lie;
    if (way == kLieAgain && !old_.empty()) {
      const wire::Packet& other = old_[lies_.below(old_.size())];
      payloads_->retain(other.payload.buffer);
      payloads_->release(packet.payload.buffer);
      return other;
    }
    if (way == kLieElsewhere) {
      packet.destination.number = static_cast<std::uint32_t>(lies_.below(plan_.hosts));
    } else if (way == kLieCut && packet.payload.length > 0) {
      const auto left = static_cast<std::uint32_t>(lies_.below(packet.payload.length));
      if (left == 0) payloads_->release(packet.payload.buffer);
      packet.payload = wire::slice(packet.payload, 0, left);
    } else if (way < kLieCount) {
      P::lie(packet, static_cast<Lie>(way), lies_);
    }
    return packet;
  }

  PeersPlan plan_;
  wire::PayloadPool* payloads_;
  RandomStream random_;
  RandomStream lies_;
  std::vector<UnderWay> under_way_;  ///< A heap, earliest arrival first.
  std::vector<wire::Packet> old_;
  std::uint64_t sequence_ = 0;
  std::uint64_t told_ = 0;
  bool under_way_lies_ = false;
};

}  // namespace wharf::sim
