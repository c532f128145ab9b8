// SPDX-License-Identifier: Apache-2.0
// What a run of many hosts comes to: statistics, summary, and what its scenario expects of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/config/expectation.h"
#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/fabric_summary.h"

namespace wharf::sim {

struct FabricResults {
  std::vector<TimePs> ideal;
  FlowStatistics statistics;
  nlohmann::ordered_json summary;  ///< With the expectations, if any were judged.
  std::vector<JudgedExpectation> judged;
  std::vector<std::string> failures;  ///< One sentence for each flow or expectation at fault.
};

/// Judges a run that went to its end; of others nothing is expected.
FabricResults results_of(const FabricInputs& inputs, const FabricDerived& derived,
                         const FabricReport& report);

}  // namespace wharf::sim
