// SPDX-License-Identifier: Apache-2.0
// --verify: one scenario, two runs, one history.
#pragma once

#include <optional>
#include <string>

#include "sim/scenario/run.h"

namespace wharf::cli {

/// What sets the histories of two runs of one scenario and seed apart, as a sentence; nothing when they
/// agree, or when one of them was interrupted and has no whole history. A difference is a bug of ours.
std::optional<std::string> difference_of(const sim::RunReport& first, const sim::RunReport& second);

}  // namespace wharf::cli
