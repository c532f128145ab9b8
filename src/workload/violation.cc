// SPDX-License-Identifier: Apache-2.0
#include "workload/violation.h"

#include <fmt/format.h>

namespace wharf::workload {

std::string describe(const Verdict& verdict) {
  if (verdict.holds()) return fmt::format("no violation in {} checks", verdict.checks);
  return fmt::format("{} violation{} in {} checks, first: {} at {}: expected {:#x}, found {:#x}",
                     verdict.violations, verdict.violations == 1 ? "" : "s", verdict.checks,
                     verdict.first.what, verdict.first.where, verdict.first.expected, verdict.first.found);
}

}  // namespace wharf::workload
