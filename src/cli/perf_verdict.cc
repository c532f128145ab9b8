// SPDX-License-Identifier: Apache-2.0
#include "cli/perf_verdict.h"

namespace wharf::cli {

std::vector<std::string> failures_of(const live::Measurement& measurement, bool interrupted) {
  std::vector<std::string> failures;
  if (measurement.loop.operations == 0 && !interrupted)
    failures.emplace_back("no operation was measured, expected at least 1");
  if (!measurement.loop.verdict.holds()) failures.push_back(workload::describe(measurement.loop.verdict));
  return failures;
}

}  // namespace wharf::cli
