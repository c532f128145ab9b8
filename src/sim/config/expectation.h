// SPDX-License-Identifier: Apache-2.0
// What a scenario expects of its own result: [[expect]] tables, judged at the end of the run.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/config/config_document.h"

namespace wharf::sim {

/// One expectation: a number of summary.json and the range it must lie in.
struct Expectation {
  std::string value;  ///< Dotted path in summary.json, such as "verbs.read.latency_ns.mean".
  std::optional<double> least;
  std::optional<double> most;
  std::string source;  ///< Where the expected number comes from; may be empty.
  std::string origin;  ///< File and line.
};

struct JudgedExpectation {
  Expectation expectation;
  double found = 0;
  bool holds = false;
};

/// Reads [[expect]]: `value` and either `equals` (with `tolerance`, relative, or `tolerance_absolute`), or
/// `min` and/or `max`; `source` is free text. Everything else is refused.
Result<std::vector<Expectation>> read_expectations(const ConfigDocument& document);

/// Refuses expectations of numbers that are none of `paths`, naming the nearest.
Result<void> check_paths(const std::vector<Expectation>& expectations, const std::vector<std::string>& paths);
/// The dotted path of every number in `summary`; lists are left out.
std::vector<std::string> number_paths(const nlohmann::ordered_json& summary);

/// Judges against a summary. Counters, stages and verbs that it leaves out are zero; any other path that does
/// not lead to a number is an error that names the nearest one. `expectations` have passed
/// check_paths().
Result<std::vector<JudgedExpectation>> judge(const std::vector<Expectation>& expectations,
                                             const nlohmann::ordered_json& summary);

/// "at least 3", "2 to 4", ...: the range that `expectation` names.
std::string range_text(const Expectation& expectation);

}  // namespace wharf::sim
