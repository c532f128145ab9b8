// SPDX-License-Identifier: Apache-2.0
// Runs peers and says which rule broke.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "sim/chaos/drawn_run.h"
#include "sim/chaos/verdict.h"

namespace wharf::sim {

Result<Verdict> judge_peers(const DrawnRun& run, const std::filesystem::path& profiles);

}  // namespace wharf::sim
