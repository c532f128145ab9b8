// SPDX-License-Identifier: Apache-2.0
// A run as one seed draws it: a world, a program whose answers are known, and faults, all as keys of a
// scenario. What was drawn is a scenario file, so that whoever finds a failure can run, read and change it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/protocols/key_draw.h"

namespace wharf::sim {

struct DrawnRun {
  std::uint64_t seed = 1;
  bool flows = false;         ///< Flows between thin hosts;
  bool peers = false;         ///< or engines of which one dies, is reset or lies (peers_plan.h); else
                              ///< programs on full hosts.
  std::uint32_t threads = 1;  ///< More than 1: the run is done with so many once more.
  std::vector<DrawnKey> keys;

  /// The value of a key; empty when it was not drawn.
  std::string value_of(const std::string& key) const;
  void set(const std::string& key, std::string value);
};

/// The same for every call with one seed.
DrawnRun draw_run(std::uint64_t seed);

/// What it is, in one phrase: "4 hosts, host 2 falls silent at 4300 ns" behind its stack.
std::string describe(const DrawnRun& run);

/// The scenario file. That of a run of peers says what it is made of, and no other command runs it.
std::string scenario_text(const DrawnRun& run);

}  // namespace wharf::sim
