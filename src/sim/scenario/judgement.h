// SPDX-License-Identifier: Apache-2.0
// What a run is judged by when it has ended: its memory and its expectations.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/config/expectation.h"
#include "sim/scenario/run.h"

namespace wharf::sim {

/// What was judged, as a list for documents.
nlohmann::ordered_json expectations_json(const std::vector<JudgedExpectation>& judged);
/// One sentence for an expectation that does not hold, with the place that states it.
std::string failure_text(const JudgedExpectation& judged);

struct JudgedRun {
  nlohmann::ordered_json summary;  ///< summary.json.
  std::vector<JudgedExpectation> judged;
  std::vector<std::string> failures;  ///< One sentence for each thing that does not hold.
};
/// Of a run that has not ended as much as can be said. An Error when one that has ended lacks a number that
/// is expected.
Result<JudgedRun> judge(const Scenario& scenario, const RunReport& report);

}  // namespace wharf::sim
