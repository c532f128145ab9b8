// SPDX-License-Identifier: Apache-2.0
// Plots of a run as files of its result directory.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "report/plot.h"
#include "report/result_directory.h"

namespace wharf::cli {

/// "incast: Queues of ports": begins each title with the name of the scenario, which is the last part of the
/// path `scenario` without its ending, so that a picture alone says what it is of.
void put_name_into_titles(std::vector<report::Plot>& plots, std::string_view scenario);

/// Writes the numbers, the script and, where gnuplot is there, the picture of each; says when it is not. With
/// `pdf` a PDF, too, which gnuplot must be able to draw.
Result<void> draw(const report::ResultDirectory& directory, const std::vector<report::Plot>& plots, bool pdf,
                  const Console& console);

}  // namespace wharf::cli
