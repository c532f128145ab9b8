// SPDX-License-Identifier: Apache-2.0
// A litmus program on the timed machines: caches, home and DRAM, root complexes and their links, a device's
// DMA engine, the way of MMIO. What the explorer leaves to chance is here a time that is drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/litmus/program.h"

namespace wharf::sim {

/// Why the timed machines cannot run it; empty when they can.
std::string why_not_timed(const LitmusProgram& program);

struct TimedOutcome {
  std::string final;                 ///< As the explorer writes it.
  std::string violation;             ///< What the observer of coherence saw; empty if nothing.
  std::vector<std::string> waiting;  ///< Of a run that came to no end.
};

/// A rule that a run breaks on purpose, so that a test can show that the comparison finds it.
enum class TimedFlaw : std::uint8_t {
  kNone,
  kLinkNotShared,  ///< Answers and writes of the other flow on a device's link know nothing of each other.
  kMemoryPassesUncached,  ///< A store to memory is seen before an earlier uncached one.
  kFenceForgetsDevice,    ///< A fence waits for stores to memory alone.
  kReleaseForgetsMemory,  ///< An MMIO-Release or uncached store leaves before earlier stores to memory.
  kLoadsPassOwnStores,    ///< A core's loads of memory do not look into its store buffer.
};

/// One run; `seed` draws every delay.
TimedOutcome run_timed(const LitmusProgram& program, LitmusDesign design, std::uint64_t seed,
                       TimedFlaw flaw = TimedFlaw::kNone);

}  // namespace wharf::sim
