// SPDX-License-Identifier: Apache-2.0
// What comes to a switch during a turn, put in the order of time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/fabric/packet_head.h"

namespace wharf::sim {

/// One packet at the end of a link.
struct Arrival {
  TimePs time;
  std::uint32_t link = 0;    ///< By its number in the topology: equal times are ordered by it.
  std::uint32_t record = 0;  ///< Where it waited.
  SlotId slot = kNoSlot;
};

/// Collects arrivals and sorts them by time, equal times by link. The times of a turn are spread evenly
/// enough that a place worked out from the time is nearly the right one: what is left to do is little, and
/// nearly without branches that cannot be foreseen.
class ArrivalOrder {
 public:
  void clear() {
    arrivals_.clear();
    earliest_ = kNever;
    latest_ = kTimeZero;
  }
  void add(const Arrival& arrival) {
    arrivals_.push_back(arrival);
    earliest_ = min(earliest_, arrival.time);
    latest_ = max(latest_, arrival.time);
  }
  std::size_t size() const { return arrivals_.size(); }

  /// The arrivals in order; valid until the next add() or sort().
  const std::vector<Arrival>& sort() {
    if (arrivals_.size() > kFew) spread();
    settle();
    return arrivals_;
  }

 private:
  static constexpr std::size_t kFew = 16;
  static constexpr unsigned kPlacesLogMost = 12;

  static bool before(const Arrival& a, const Arrival& b) {
    return a.time != b.time ? a.time < b.time : a.link < b.link;
  }

  /// A counting sort by the leading bits of the time.
  void spread() {
    const auto from = static_cast<std::uint64_t>(earliest_.ps);
    const auto range = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(latest_.ps) - from));
    const unsigned places = std::min(static_cast<unsigned>(std::bit_width(arrivals_.size())), kPlacesLogMost);
    const unsigned shift = range > places ? range - places : 0;
    const auto place = [&](const Arrival& arrival) {
      return (static_cast<std::uint64_t>(arrival.time.ps) - from) >> shift;
    };
    counts_.assign((std::size_t{1} << places) + 1, 0);
    for (const Arrival& arrival : arrivals_) ++counts_[place(arrival) + 1];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : counts_) sum = count += sum;
    spread_.resize(arrivals_.size());
    for (const Arrival& arrival : arrivals_) spread_[counts_[place(arrival)]++] = arrival;
    std::swap(arrivals_, spread_);
  }

  /// Insertion sort, which costs little where nearly everything is in its place.
  void settle() {
    for (std::size_t i = 1; i < arrivals_.size(); ++i) {
      const Arrival arrival = arrivals_[i];
      std::size_t at = i;
      for (; at > 0 && before(arrival, arrivals_[at - 1]); --at) arrivals_[at] = arrivals_[at - 1];
      arrivals_[at] = arrival;
    }
  }

  std::vector<Arrival> arrivals_;
  std::vector<Arrival> spread_;
  std::vector<std::uint32_t> counts_;
  TimePs earliest_ = kNever;
  TimePs latest_{};
};

}  // namespace wharf::sim
