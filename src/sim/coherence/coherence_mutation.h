// SPDX-License-Identifier: Apache-2.0
// Deliberate mistakes in the machines of coherence, so that a test can show that it would find them. Apart
// because no shipped program knows them: there the choice is a constant, and the compiler drops every branch.
#pragma once

#include <cstdint>

namespace wharf::sim {

/// One mistake. The names say what the machine forgets.
enum class CoherenceMutation : std::uint8_t {
  kNone,
  kForgottenBackInvalidation,  ///< Home: an evicted directory entry leaves its holders their copies.
  kForgottenInvalidateAck,  ///< Home: a line is granted before the invalidated copies have said that they are
                            ///< gone.
  kDroppedDirtyRecall,      ///< Home: bytes that a recall brings home are not written to memory.
  kDroppedDirtyShare,       ///< Home: bytes that another reader fetched are not written to memory.
  kForgottenSharer,         ///< Home: a reader of a shared line is not registered.
  kUpgradeWithoutCopy,      ///< Home: an upgrade is granted although the copy was lost on its way.
  kCopyOutlivesInvalidate,  ///< Private cache: acknowledges an invalidation and keeps the copy.
  kOvertakenDataKept,       ///< Private cache: keeps a copy whose invalidation overtook it.
  kLateLoadServed,        ///< Private cache: such a copy also answers loads that came after the invalidation.
  kSilentEvictionBuffer,  ///< Private cache: modified bytes on their way home do not answer a fetch.
  kForgottenDeferredSnoop,  ///< Private cache: a fetch that waited for the bytes is never answered.
  kHiddenFlightSnoop,       ///< I/O agent: an invalidation is not passed up while the bytes are in flight.
  kUntrackedAnswer,         ///< I/O agent: says "tracked" although the invalidation came before the bytes.
  kCleanSnoopAnswer,        ///< Any agent: answers a snoop with modified bytes as if memory had them.
};
inline constexpr int kCoherenceMutationCount = static_cast<int>(CoherenceMutation::kCleanSnoopAnswer) + 1;

#ifdef WHARF_COHERENCE_MUTATIONS
/// The test that compiles the machines once more with mutations chooses one at run time.
inline CoherenceMutation coherence_mutation = CoherenceMutation::kNone;
inline bool mutated(CoherenceMutation mutation) { return coherence_mutation == mutation; }
/// Checks of what other machines send hold as long as none of them makes mistakes.
inline bool is_sound() { return coherence_mutation == CoherenceMutation::kNone; }
#else
inline constexpr CoherenceMutation coherence_mutation = CoherenceMutation::kNone;
constexpr bool mutated(CoherenceMutation mutation) { return coherence_mutation == mutation; }
constexpr bool is_sound() { return true; }
#endif

}  // namespace wharf::sim
