// SPDX-License-Identifier: Apache-2.0
// The page of `wharf sweep --html`: what each number does when the varied keys change.
#pragma once

#include <string>
#include <vector>

#include "report/plot.h"

namespace wharf::cli {

/// One run: the values of the varied keys, and the cells of its table.
struct SweptRow {
  std::vector<std::string> values;
  std::vector<std::string> cells;
};

/// A plot for each title whose numbers differ, along the first key, with a line for each combination of the
/// others. Keys of times, sizes, rates and numbers have an axis; others have bars.
std::vector<report::Plot> sweep_plots(const std::vector<std::string>& keys,
                                      const std::vector<std::string>& titles,
                                      const std::vector<SweptRow>& rows);

}  // namespace wharf::cli
