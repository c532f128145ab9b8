// SPDX-License-Identifier: Apache-2.0
// A latency cut into the rows of OpenURMA Table 7, plus named rows for what that table leaves out. Arithmetic
// alone: stage times come from a run, pipeline depths and link parameters from its profile.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "trace/stage.h"

namespace wharf::study {

/// Mean time per operation in each stage, in nanoseconds.
using StageTimes = std::array<double, trace::kStageCount>;

/// What pipeline visits and wire crossings consist of.
struct PathCosts {
  TimePs nic_cycle;
  std::uint32_t nic_cycles = 1;  ///< Depth of a pipeline visit.
  std::uint32_t bytes_per_cycle = 1;
  TimePs link_delay;
  BitsPerSecond link_rate{};         ///< 0: no serialisation.
  std::uint32_t request_bytes = 0;   ///< Charged on the way out.
  std::uint32_t response_bytes = 0;  ///< Charged on the way back.
};

/// Whether a part is a row of the published table.
enum class PartOrigin : unsigned char { kPublishedRow, kLeftOut };

struct Part {
  std::string
      name;  ///< As published: "NIC TX pipeline"; or "extra flits", "rounding", or a stage's own name.
  PartOrigin origin = PartOrigin::kPublishedRow;
  double ns = 0;
};

/// The published rows in their order (zeros included), then what they leave out (non-zero parts only).
/// Pipeline visits are cut into depth (published), extra flits and rounding, wire crossings into delay,
/// serialisation and rounding. The sum of the parts is the sum of `stages`.
std::vector<Part> decompose(const StageTimes& stages, const PathCosts& costs);

/// The published rows with whole stages, and every other stage that took time under its own name: for
/// machines whose pipelines and wires overlap, where a visit has no parts.
std::vector<Part> group_stages(const StageTimes& stages);

double sum(const std::vector<Part>& parts);

/// The largest amount by which one pipeline visit or wire crossing differs from its parts before rounding;
/// below 1 ns when the accounting rounds each down to whole nanoseconds.
double rounding_max_ns(const StageTimes& stages, const PathCosts& costs);

}  // namespace wharf::study
