// SPDX-License-Identifier: Apache-2.0
// Deliberate mistakes in the world around the machines, so that a test can show that the programs would find
// them. A shipped explorer has none: there every question is answered "no" by the compiler.
#pragma once

#include <cstdint>

namespace wharf::sim {

enum class LitmusMutation : std::uint8_t {
  kNone,
  kCompletionsPassWrites,  ///< Rule D2a is dropped: a completion passes posted writes.
  kLoadsPassStores,        ///< An MMIO load passes stores below the root complex.
  kLoadsForgetCombined,    ///< An MMIO load leaves its core before what is combined there.
  kFenceForgetsCombined,   ///< A fence does not send off what is combined.
  kFenceForgetsNumbered,   ///< A fence does not wait for the reorder buffer.
  kStoresPassUncached,     ///< A store to host memory leaves its core before an earlier uncached one.
};

#ifdef WHARF_WITH_MUTATIONS
/// The test program that is compiled with mutations chooses one at run time.
inline LitmusMutation litmus_mutation = LitmusMutation::kNone;
inline bool is_mutated(LitmusMutation mutation) { return litmus_mutation == mutation; }
#else
constexpr bool is_mutated(LitmusMutation) { return false; }
#endif

}  // namespace wharf::sim
