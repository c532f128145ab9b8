// SPDX-License-Identifier: Apache-2.0
// What a Remote Load-Store Queue exchanges with the coherent agent that it stands in (its memory side) and
// with the link to the device (its answers), and what it counts.
#pragma once

#include <array>
#include <cstdint>

#include "engine/ordering/request.h"

namespace wharf::ordering {

/// What the queue asks of the coherent agent. All are about one line; those of one line must reach its home
/// in the order in which they were taken.
enum class MemoryOperation : std::uint8_t {
  kRead,         ///< The line's bytes once, without becoming a sharer. Answer: Rlsq::read_done.
  kReadTracked,  ///< The bytes, and from the moment at which the home orders this read, a snoop for every
                 ///< write.
  kOwn,   ///< The right to write: no other copy exists. Answer: Rlsq::owned. It may come while the line is
          ///< tracked, with the kDrop behind it.
  kDrop,  ///< A sharer no more. No answer. An agent may forget it: snoops that come for nothing are harmless.
};

struct MemoryRequest {
  MemoryOperation operation = MemoryOperation::kRead;
  /// kOwn: the first write covers the whole line, so that the old bytes are not needed.
  bool is_whole_line = false;
  LineNumber line = 0;
};

/// A write or atomic to be performed now, in one step, by the agent that owns the line. Between taking it and
/// answering Rlsq::performed, the agent lets no snoop of the line through.
struct Perform {
  Kind kind = Kind::kWrite;
  /// More writes to this line wait, so the ownership is kept for them; otherwise the line goes home.
  bool keeps_ownership = false;
  LineNumber line = 0;
  ByteMask mask = 0;
  LineBytes bytes{};  ///< Writes: those in `mask` count.
  verbs::Verb atomic = verbs::Verb::kFetchAdd;
  std::array<std::uint64_t, 2> operand{};
  std::array<std::uint64_t, 2> compare{};
};

/// An answer for the device, or (kind kWrite) the news that a posted write was performed, which no device
/// sees.
struct Response {
  Kind kind = Kind::kRead;
  bool is_last = true;
  std::uint32_t tag = 0;
  Domain domain;
  std::uint64_t number = 0;
  LineNumber line = 0;
  ByteMask mask = 0;
  LineBytes bytes{};                         ///< Reads: those in `mask` count.
  std::array<std::uint64_t, 2> old_value{};  ///< Atomics: what memory held before, low word first.
};

/// What a snoop found.
enum class SnoopResult : std::uint8_t {
  kMiss,      ///< The queue has nothing on the line.
  kHit,       ///< It has, but nothing was lost.
  kSquashed,  ///< Values that were read ahead, or an ownership not yet used, were lost and are asked for
              ///< again.
};

/// Counters since the queue was made.
struct RlsqStatistics {
  std::uint64_t reads = 0;  ///< Accepted lines.
  std::uint64_t writes = 0;
  std::uint64_t atomics = 0;
  std::uint64_t memory_reads = 0;    ///< Reads asked of memory, those after a squash included.
  std::uint64_t merged_reads = 0;    ///< Reads that shared another one's.
  std::uint64_t squashed_reads = 0;  ///< Reads that lost a value to a conflicting write.
  std::uint64_t squashed_writes =
      0;  ///< Writes and atomics that lost an ownership before they were performed.
  std::uint64_t waits_for_order = 0;      ///< Requests that found an older one in their way.
  std::uint64_t waits_for_line = 0;       ///< Requests that found their line in use by an older one.
  std::uint64_t refused_for_entries = 0;  ///< Refusals of accept().
  std::uint64_t refused_for_trackers = 0;
  std::uint32_t entries_max = 0;  ///< Most entries in use at once.
  std::uint32_t trackers_max = 0;
};

}  // namespace wharf::ordering
