// SPDX-License-Identifier: Apache-2.0
// Two results side by side: every value of summary.json and every cell of the CSV files, with tolerances.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace wharf::report {

/// How far apart two numbers may be and still count as equal: |a - b| <= absolute, or <= relative * max(|a|,
/// |b|).
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

struct Difference {
  std::string file;
  std::string what;  ///< Key of a JSON value, or "row 12, column latency_ns".
  std::string first;
  std::string second;
};

struct Comparison {
  std::size_t values = 0;  ///< Values compared.
  std::size_t different = 0;
  std::vector<Difference> differences;  ///< The first ones, up to the limit given.
};

/// Compares the result directories `first` and `second`; the manifest is left out. Files that only one side
/// has are differences. Refuses directories without a summary.json.
Result<Comparison> compare_results(const std::filesystem::path& first, const std::filesystem::path& second,
                                   Tolerance tolerance, std::size_t limit);

}  // namespace wharf::report
