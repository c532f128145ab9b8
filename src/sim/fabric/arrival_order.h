// SPDX-License-Identifier: Apache-2.0
// What comes to a switch during a turn, put in the order of time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "sim/fabric/packet_head.h"

namespace wharf::sim {

/// One packet at the end of a link.
struct Arrival {
  TimePs time;
  /// Of the link: its number in the topology (29 bits), and whether the packet waited in the record of the
  /// far half (1 bit). Equal times are ordered by it.
  std::uint32_t link = 0;
  SlotId slot = kNoSlot;

  static Arrival make(TimePs time, std::uint32_t number, bool far_half, SlotId slot) {
    return {time, number << 1U | (far_half ? 1U : 0U), slot};
  }
  std::uint32_t number() const { return link >> 1U; }
  bool far_half() const { return (link & 1U) != 0; }
};
static_assert(sizeof(Arrival) == 16);

/// Collects arrivals and sorts them by time, equal times by link. The times of a turn are spread evenly
/// enough that a place worked out from the time is nearly the right one: what is left to do is little, and
/// nearly without branches that cannot be foreseen.
class ArrivalOrder {
 public:
  void clear() { count_ = 0; }
  void add(const Arrival& arrival) {
    if (count_ == arrivals_.size()) [[unlikely]]
      arrivals_.resize(2 * count_ + kFew);
    arrivals_[count_++] = arrival;
  }

  /// The arrivals in order; valid until the next call of anything.
  std::span<const Arrival> sort() {
    if (count_ > kFew) spread();
    settle();
    return {arrivals_.data(), count_};
  }

 private:
  static constexpr std::size_t kFew = 16;
  static constexpr unsigned kPlacesLogMost = 12;

  static bool before(const Arrival& a, const Arrival& b) {
    return a.time != b.time ? a.time < b.time : a.link < b.link;
  }

  /// A counting sort by the leading bits of the time.
  void spread() {
    const std::span<const Arrival> all{arrivals_.data(), count_};
    TimePs earliest = kNever;
    TimePs latest{};
    for (const Arrival& arrival : all) {
      earliest = min(earliest, arrival.time);
      latest = max(latest, arrival.time);
    }
    const auto from = static_cast<std::uint64_t>(earliest.ps);
    const auto range = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(latest.ps) - from));
    const unsigned places = std::min(static_cast<unsigned>(std::bit_width(count_)), kPlacesLogMost);
    const unsigned shift = range > places ? range - places : 0;
    const auto place = [&](const Arrival& arrival) {
      return (static_cast<std::uint64_t>(arrival.time.ps) - from) >> shift;
    };
    counts_.assign((std::size_t{1} << places) + 1, 0);
    for (const Arrival& arrival : all) ++counts_[place(arrival) + 1];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : counts_) sum = count += sum;
    spread_.resize(arrivals_.size());
    for (const Arrival& arrival : all) spread_[counts_[place(arrival)]++] = arrival;
    std::swap(arrivals_, spread_);
  }

  /// Insertion sort, which costs little where nearly everything is in its place.
  void settle() {
    Arrival* const first = arrivals_.data();
    for (std::size_t i = 1; i < count_; ++i) {
      const Arrival arrival = first[i];
      std::size_t at = i;
      for (; at > 0 && before(arrival, first[at - 1]); --at) first[at] = first[at - 1];
      if (at != i) first[at] = arrival;
    }
  }

  std::vector<Arrival> arrivals_;  ///< The first count_ of them are in use.
  std::vector<Arrival> spread_;
  std::vector<std::uint32_t> counts_;
  std::size_t count_ = 0;
};

}  // namespace wharf::sim
