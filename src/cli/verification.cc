// SPDX-License-Identifier: Apache-2.0
#include "cli/verification.h"

#include <fmt/format.h>

namespace wharf::cli {

std::optional<std::string> difference_of(const sim::RunReport& first, const sim::RunReport& second) {
  if (first.end == sim::RunOutcome::kInterrupted || second.end == sim::RunOutcome::kInterrupted)
    return std::nullopt;
  if (first.fingerprint == second.fingerprint && first.end == second.end) return std::nullopt;
  return fmt::format(
      "a bug of ours: two runs of one scenario and seed have different histories, {:#018x} and {:#018x}; "
      "please report it with the scenario",
      first.fingerprint, second.fingerprint);
}

}  // namespace wharf::cli
