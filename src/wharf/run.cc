// SPDX-License-Identifier: Apache-2.0
#include "wharf/run.h"

#include "wharf/detailed_run.h"

namespace wharf {

RunResult run(const RunSettings& settings) { return run_in_detail(settings, {}).result; }

}  // namespace wharf
