// SPDX-License-Identifier: Apache-2.0
// The bytes of the remote lines that the caches of a core hold: what the tag arrays of cache.h leave out.
// Apart from the load/store port because its layout decides how fast loads are simulated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/flat_map.h"
#include "base/line.h"
#include "base/slot_pool.h"
#include "base/zeroed_pages.h"
#include "sim/host/memory/cache_hierarchy.h"
#include "verbs/segment.h"

namespace wharf::sim {

/// Lines of mapped remote memory have this bit in their number; local addresses never reach it.
inline constexpr LineNumber kRemoteLineBit = LineNumber{1} << 57U;

/// A line's bytes lie where the last cache level has its tag, so that they are found without an index and
/// leave no trace when they go. The few that the last level gave up and that are needed still (a level above
/// holds them, or they wait to be written back) lie aside, and are looked for there first.
class RemoteLines {
 public:
  using Bytes = std::array<std::byte, kLineBytes>;
  struct Line {
    Bytes* bytes = nullptr;                ///< Null: absent.
    verbs::SegmentToken* token = nullptr;  ///< What a store of the line has to show.
  };

  /// `caches` are still empty, and outlive the object.
  explicit RemoteLines(CacheHierarchy& caches);

  /// A line that some level holds, or that lies aside. Valid until the next settle().
  Line find(LineNumber line) {
    if (!aside_index_.empty()) [[unlikely]] {
      if (const std::uint32_t* slot = aside_index_.find(line)) {
        Aside& aside = aside_[*slot];
        return {&aside.bytes, &aside.token};
      }
    }
    const std::uint32_t place = caches_.place_of(line);
    if (place == kNoPlace) return {};
    return {&bytes_[place].bytes, &tokens_[place]};
  }

  /// Fetches where the bytes of this line will come to lie toward the processor, for a fill that comes soon.
  /// Always inlined: a call of something that only prefetches is taken for one without effect, and left out.
  [[gnu::always_inline]] void prefetch(LineNumber line) const {
    const std::uint32_t place = caches_.next_place(line);
    if (place != kNoPlace) __builtin_prefetch(&bytes_[place], 1);
  }

  /// To be called after everything that displaced lines, before other bytes take their places.
  void settle(const WriteBacks& out) {
    // Before anything is put aside: what an earlier call put there has been written back, or is pinned.
    if (aside_.in_use() >= aside_limit_) [[unlikely]]
      drop_unneeded();
    for (std::uint32_t i = 0; i < out.departed_count; ++i) {
      const WriteBacks::Departure& departure = out.departed[i];
      if ((departure.line & kRemoteLineBit) == 0) continue;
      // Where several left, the last level may have taken one of them in again, dirty from above.
      const bool kept = out.departed_count == 1 ? caches_.contains_above_last(departure.line)
                                                : caches_.contains(departure.line);
      if (departure.dirty || kept) put_aside(departure.line, departure.place);
    }
  }

  /// Keeps a line that some level holds, or that lies aside, whatever the caches do until release().
  void pin(LineNumber line);
  /// Ends pin(), and forgets a line that lies aside if no level holds it.
  void release(LineNumber line);

  /// Lines that lie aside.
  std::uint32_t aside() const { return aside_.in_use(); }

 private:
  /// So that the bytes of a line are one line of the machine that simulates.
  struct alignas(kLineBytes) Place {
    Bytes bytes;
  };
  struct Aside {
    Bytes bytes;
    LineNumber line = 0;
    verbs::SegmentToken token;
    bool pinned = false;
  };
  void put_aside(LineNumber line, std::uint32_t place);
  void drop_unneeded();

  CacheHierarchy& caches_;
  ZeroedArray<Place> bytes_;                 ///< By place in the last level.
  ZeroedArray<verbs::SegmentToken> tokens_;  ///< The same.
  SlotPool<Aside> aside_;
  FlatMap aside_index_;
  /// With more lines aside, those that have left all levels meanwhile are dropped.
  std::uint32_t aside_limit_;
};

}  // namespace wharf::sim
