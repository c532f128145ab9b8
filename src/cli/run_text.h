// SPDX-License-Identifier: Apache-2.0
// A run's result as text for a terminal.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/scenario/run.h"

namespace wharf::cli {

/// Latency per verb, rates, where the time went, expectations, fingerprint.
std::string run_text(const sim::Scenario& scenario, const sim::RunReport& report,
                     const std::vector<sim::JudgedExpectation>& judged);

/// "1.57 M/s", "83 k/s", "512 /s"
std::string rate_text(double per_second);
/// "493.2" with as many digits as the size deserves.
std::string nanoseconds_text(double nanoseconds);

/// What was judged, as a table; empty when nothing was.
std::string expectation_table(const std::vector<sim::JudgedExpectation>& judged);

}  // namespace wharf::cli
