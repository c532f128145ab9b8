// SPDX-License-Identifier: Apache-2.0
// A run's result as tables and text, for a terminal and for a page.
#pragma once

#include <string>
#include <vector>

#include "report/part.h"
#include "sim/scenario/run.h"

namespace wharf::cli {

/// Latency per verb, where the time went, expectations, rates, fingerprint.
std::vector<report::Part> run_parts(const sim::Scenario& scenario, const sim::RunReport& report,
                                    const std::vector<sim::JudgedExpectation>& judged);
/// The same as text, `parts`, below the title and what ran.
std::string run_text(const sim::Scenario& scenario, const std::string& parts);

/// "1.57 M/s", "83 k/s", "512 /s"
std::string rate_text(double per_second);
/// "493.2" with as many digits as the size deserves.
std::string nanoseconds_text(double nanoseconds);

/// What was judged, at least one thing.
report::TextTable expectation_table(const std::vector<sim::JudgedExpectation>& judged);

}  // namespace wharf::cli
