// SPDX-License-Identifier: Apache-2.0
// The caches of one core: up to three levels, a write policy, and what must go to memory as a consequence of
// an access. Used by the timed core (one call per access) and by the trace replay (try_first_level() in its
// loop).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "sim/host/config/cache_config.h"
#include "sim/host/memory/cache.h"

namespace wharf::sim {

/// Where an access was answered.
enum class CacheLevel : std::uint8_t { kL1, kL2, kLlc, kMemory };
inline constexpr std::size_t kCacheLevels = 4;

/// What one access pushed out: the dirty lines that go to memory, oldest first, and all lines, dirty or not,
/// that the last level gave up.
struct WriteBacks {
  /// A line that left the last level; a level above may hold it still.
  struct Departure {
    LineNumber line;
    std::uint32_t place;  ///< Where it was. Only with CacheHierarchy::track_places().
    bool dirty;
  };

  std::array<LineNumber, 3> lines{};  ///< At most one per level: each level's install displaces one line.
  std::uint32_t count = 0;
  std::uint32_t departed_count = 0;
  std::array<Departure, 3> departed;  ///< For the same reason.

  void push(LineNumber line) {
    WHARF_CHECK(count < lines.size());
    lines[count++] = line;
  }
  void push(const Departure& departure) {
    WHARF_CHECK(departed_count < departed.size());
    departed[departed_count++] = departure;
  }
};

/// What one access met.
struct CacheAccess {
  CacheLevel level = CacheLevel::kMemory;
  /// The line must be read from memory; call fill() when it arrives (or at once, to reserve the place).
  bool needs_fill = false;
  /// The stored bytes themselves must be sent to memory (write-through and uncached stores).
  bool store_to_memory = false;
  /// Time on the core until the data is there, or until the miss is known.
  TimePs latency;
};

/// Line lookups by where they were answered, and traffic to memory.
struct CacheCounters {
  std::array<std::uint64_t, kCacheLevels> answered{};  ///< Indexed by CacheLevel.
  std::uint64_t fills = 0;
  std::uint64_t write_backs = 0;       ///< Dirty lines handed out.
  std::uint64_t stores_to_memory = 0;  ///< Accesses with store_to_memory.
};

/// Choice: neither inclusive nor exclusive. A fill installs the line in every level; a clean victim is
/// dropped; a dirty victim moves one level down (allocating there if it must) and goes to memory from the
/// last level. So a line evicted from the last level may live on above it, as in current server processors,
/// and no eviction has to search the levels above.
class CacheHierarchy {
 public:
  /// Refuses what cannot be built, naming the key.
  static Result<CacheHierarchy> create(const CacheHierarchyConfig& config);
  /// The caches of one more core: levels of its own above the last level of `first`, if that has one.
  /// `config` is that of `first`, which outlives them and stays where it is. For accesses and fills: what
  /// makes lines clean, or drops them, looks at the own levels alone.
  static CacheHierarchy beside(const CacheHierarchyConfig& config, CacheHierarchy& first);

  /// The short way for the commonest case: true if the first level answers and nothing else follows from the
  /// access, which is then done and counted. False: nothing has changed; call access().
  bool try_first_level(LineNumber line, bool store) {
    if (!first_level_suffices_[store]) return false;
    if (!levels_[0].touch(line, store)) return false;
    ++counters_.answered[0];
    return true;
  }

  /// One load or store of one line. Lines that an install pushes out to memory are appended to `out`.
  CacheAccess access(LineNumber line, bool store, WriteBacks& out);

  /// Installs the line of a miss in every level, dirty if it was missed by a store. Doing it twice (two
  /// misses of one line) is harmless.
  void fill(LineNumber line, bool store, WriteBacks& out);

  /// Drops the line everywhere; true when a dirty copy was dropped, which the caller then has to keep or
  /// write.
  bool invalidate(LineNumber line);
  /// Makes the line clean everywhere; true when it was dirty and the caller has to write it to memory.
  bool clean(LineNumber line);
  /// Makes all lines clean and calls visit(line) once for each that was dirty in any level.
  template <typename Visit>
  void clean_all(Visit&& visit) {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      levels_[level].clean_all([&](LineNumber line) {
        for (std::size_t below = level + 1; below < levels_.size(); ++below) levels_[below].clean(line);
        ++counters_.write_backs;
        visit(line);
      });
    }
  }

  /// fill() of a line that no level holds: since its miss, the caller has kept every other fill of it away.
  void fill_absent(LineNumber line, bool store, WriteBacks& out);

  bool contains(LineNumber line) const;
  /// contains(), for a line that has just left the last level.
  bool contains_above_last(LineNumber line) const;
  bool is_dirty(LineNumber line) const;

  /// From now on, while the caches are still empty, lines of the last level have places.
  void track_places() { levels_.back().track_places(); }
  /// The place of a line in the last level, below place_count() and the same as long as it stays there, or
  /// kNoPlace. Only with track_places().
  std::uint32_t place_of(LineNumber line) const { return levels_.back().place_of(line); }
  /// Where a fill() of this line would put it; a guess, and kNoPlace when there is none.
  std::uint32_t next_place(LineNumber line) const { return levels_.back().next_place(line); }
  std::uint32_t place_count() const { return levels_.back().shape().lines; }
  /// Lines of all levels together.
  std::uint32_t line_count() const;

  /// Load-to-use time of a level; of kMemory: the time until a miss is known.
  TimePs latency(CacheLevel level) const { return latencies_[static_cast<std::size_t>(level)]; }
  WritePolicy write_policy() const { return write_policy_; }
  const CacheCounters& counters() const { return counters_; }
  /// Forgets what was counted, not what is cached: the end of a warm-up.
  void reset_counters() { counters_ = CacheCounters{}; }

 private:
  explicit CacheHierarchy(const CacheHierarchyConfig& config, CacheHierarchy* below = nullptr);
  /// A line comes to the last level from the levels above, of whichever core.
  void add_to_last(LineNumber line, bool dirty, WriteBacks& out);
  /// Adds an absent line to a level and moves a dirty victim down.
  void install(std::size_t level, LineNumber line, bool dirty, WriteBacks& out);
  /// A dirty line arrives at a level from above; past the last level it goes to memory.
  void write_down(std::size_t level, LineNumber line, WriteBacks& out);

  std::vector<Cache> levels_;            ///< Those present, nearest first.
  std::vector<CacheLevel> level_names_;  ///< What levels_[i] is called.
  std::array<TimePs, kCacheLevels> latencies_{};
  WritePolicy write_policy_;
  CacheHierarchy* below_ = nullptr;             ///< Whose last level is behind the own ones.
  std::array<bool, 2> first_level_suffices_{};  ///< By "is a store".
  CacheCounters counters_;
};

}  // namespace wharf::sim
