// SPDX-License-Identifier: Apache-2.0
// Faults that a test can compile into the Remote Load-Store Queue to see that its checks find them. A shipped
// queue has none: without WHARF_RLSQ_MUTATIONS, every question below is answered "no" by the compiler. A test
// program defines it for order_lists.cc, rlsq.cc, rlsq_memory.cc and rlsq_report.cc, which it compiles once
// more, and sets active_mutation before it makes a queue.
#pragma once

#include <cstdint>

namespace wharf::ordering {

enum class Mutation : std::uint8_t {
  kNone,
  kMissedSquash,              ///< A snoop leaves values that were read ahead as they are.
  kTrackingFromArrival,       ///< A snoop of a line whose read is under way is forgotten.
  kEarlyCommit,               ///< A value read ahead is answered when it arrives.
  kSharedAcquireFlag,         ///< All threads share one flag, which the completion of any acquire clears.
  kAcquireEndsEarly,          ///< An acquire of several lines counts as complete when its highest one is.
  kReleaseIgnoresReads,       ///< A release waits for earlier writes only.
  kReleaseIgnoresWrites,      ///< A release waits for earlier reads only.
  kWriteBeforeReadForgotten,  ///< Legacy reads pass earlier posted writes.
  kStrongWritesUnordered,     ///< Legacy writes are performed in any order.
  kAscendingForgotten,        ///< Lines of an ascending request are not ordered.
  kLostOwnershipKept,         ///< A write is performed although its ownership was lost meanwhile.
  kMergedIntoOldRead,         ///< A read shares one that was sent before it and that nobody watches.
  kReadPassesOwnWrite,        ///< A read does not wait for an earlier write of its line.
  kAtomicReleaseForgotten,    ///< An acquire does not wait for an atomic that releases (RCsc).
  kReadReleaseIgnored,        ///< A read-release waits for nothing.
};
inline constexpr int kMutationCount = static_cast<int>(Mutation::kReadReleaseIgnored) + 1;

#ifdef WHARF_RLSQ_MUTATIONS
inline Mutation active_mutation = Mutation::kNone;
inline bool is_mutated(Mutation mutation) { return active_mutation == mutation; }
#else
constexpr bool is_mutated(Mutation) { return false; }
#endif

}  // namespace wharf::ordering
