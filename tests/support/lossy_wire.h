// SPDX-License-Identifier: Apache-2.0
// A wire for tests that loses, repeats, damages, reorders and delays packets as drawn from a seeded stream.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::test {

/// What a wire does to packets. Probabilities are per packet and independent.
struct WireOptions {
  TimePs delay = nanoseconds(100);
  TimePs jitter;          ///< Extra delay, uniform in [0, jitter]; packets may overtake one another.
  Probability loss;       ///< Never arrives.
  Probability duplicate;  ///< Arrives twice, each copy with its own delay.
  Probability corrupt;    ///< Damaged and therefore dropped by the frame check, or damaged in `transform`.
  Probability reorder;    ///< Delayed by another `reorder_delay`.
  TimePs reorder_delay = microseconds(2);
  /// Applied to every packet that arrives, e.g. encoding and decoding it; `damaged` packets get a bit flipped
  /// there. False drops the packet, which must be as it was; on true the packet owns a reference of its
  /// payload buffer in place of the old one. Empty: none.
  std::function<bool(wire::Packet& packet, bool damaged, RandomStream& random, wire::PayloadPool& pool)>
      transform;
  /// Test hook: sees every packet as it is sent; true drops it. For hand-made losses.
  std::function<bool(const wire::Packet& packet)> drop_if;
};

struct WireCounters {
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t damaged = 0;
};

/// Owns one reference of the payload buffer of every packet under way.
class LossyWire {
 public:
  LossyWire(WireOptions options, wire::PayloadPool& pool, RandomStream random)
      : options_(std::move(options)), pool_(&pool), random_(random) {}

  WireOptions& options() { return options_; }
  const WireCounters& counters() const { return counters_; }

  /// Takes over one reference of the payload buffer.
  void send(TimePs now, const wire::Packet& packet) {
    ++counters_.sent;
    if ((options_.drop_if && options_.drop_if(packet)) || random_.chance(options_.loss)) {
      ++counters_.lost;
      pool_->release(packet.payload.buffer);
      return;
    }
    if (random_.chance(options_.duplicate)) {
      ++counters_.duplicated;
      pool_->retain(packet.payload.buffer);
      launch(now, packet);
    }
    launch(now, packet);
  }

  TimePs next_arrival() const { return under_way_.empty() ? kNever : under_way_.front().arrival; }

  /// The packet of next_arrival(), whose payload reference the caller takes over; false when it was damaged
  /// and dropped.
  bool take(wire::Packet& out) {
    std::pop_heap(under_way_.begin(), under_way_.end(), later);
    UnderWay arrived = under_way_.back();
    under_way_.pop_back();
    const bool damaged = arrived.damaged;
    if (damaged) ++counters_.damaged;
    const bool usable =
        options_.transform ? options_.transform(arrived.packet, damaged, random_, *pool_) : !damaged;
    if (!usable) {
      pool_->release(arrived.packet.payload.buffer);
      return false;
    }
    ++counters_.delivered;
    out = arrived.packet;
    return true;
  }

  std::size_t under_way() const { return under_way_.size(); }

 private:
  struct UnderWay {
    TimePs arrival;
    std::uint64_t sequence = 0;  ///< Equal arrivals keep the order of sending.
    bool damaged = false;
    wire::Packet packet;
  };
  static bool later(const UnderWay& a, const UnderWay& b) {
    return a.arrival != b.arrival ? a.arrival > b.arrival : a.sequence > b.sequence;
  }

  void launch(TimePs now, const wire::Packet& packet) {
    TimePs arrival = now + options_.delay;
    if (options_.jitter > kTimeZero) {
      const auto range = static_cast<std::uint64_t>(options_.jitter.ps) + 1;
      arrival += picoseconds(static_cast<std::int64_t>(random_.below(range)));
    }
    if (random_.chance(options_.reorder)) arrival += options_.reorder_delay;
    under_way_.push_back({arrival, sequence_++, random_.chance(options_.corrupt), packet});
    std::push_heap(under_way_.begin(), under_way_.end(), later);
  }

  WireOptions options_;
  wire::PayloadPool* pool_;
  RandomStream random_;
  std::vector<UnderWay> under_way_;  ///< A heap, earliest arrival first.
  std::uint64_t sequence_ = 0;
  WireCounters counters_;
};

}  // namespace wharf::test
