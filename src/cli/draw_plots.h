// SPDX-License-Identifier: Apache-2.0
// Plots of a run as files of its result directory.
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "report/plot.h"
#include "report/result_directory.h"

namespace wharf::cli {

/// Writes the numbers, the script and, where gnuplot is there, the picture of each; says when it is not.
Result<void> draw(const report::ResultDirectory& directory, const std::vector<report::Plot>& plots,
                  const Console& console);

}  // namespace wharf::cli
