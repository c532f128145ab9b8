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
  bool flows = false;         ///< Flows between thin hosts; else programs on full ones.
  std::uint32_t threads = 1;  ///< More than 1: the run is done with so many once more.
  std::vector<DrawnKey> keys;

  /// The value of a key; empty when it was not drawn.
  std::string value_of(const std::string& key) const;
  void set(const std::string& key, std::string value);
};

/// The same for every call with one seed.
DrawnRun draw_run(std::uint64_t seed);

/// The scenario file.
std::string scenario_text(const DrawnRun& run);

}  // namespace wharf::sim
