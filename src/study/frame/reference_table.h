// SPDX-License-Identifier: Apache-2.0
// Published values: CSV files with the columns series, x, value, unit, source, kind.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wharf::study {

/// One published number.
struct ReferenceValue {
  std::string series;
  std::string x;
  double value = 0;
  std::string unit;    ///< "ns", "Mops/s", "B", ...
  std::string source;  ///< Section, table, or file of the artifact.
  std::string kind;    ///< "paper-table", "paper-text", "artifact-csv", ...
  int line = 0;        ///< Of the file, from 1.
};

/// One file of published values.
class ReferenceTable {
 public:
  /// Reads `path`. Refuses a missing file (kEnvironment), a wrong header and rows that are not six fields
  /// with a number in the third, naming file and line (kInput).
  static Result<ReferenceTable> read(const std::filesystem::path& path);
  /// The same for text that came from elsewhere; `name` stands in for the file.
  static Result<ReferenceTable> parse(std::string_view text, std::string_view name);

  const std::vector<ReferenceValue>& values() const { return values_; }
  /// The values of one series, in file order.
  std::vector<ReferenceValue> series(std::string_view series) const;
  /// The value of `series` at `x`, or nothing.
  std::optional<double> find(std::string_view series, std::string_view x) const;
  /// The x of a value as a number; refuses one that is none, with file and line.
  Result<double> number_at_x(const ReferenceValue& value) const;
  /// The value of `series` at `x`; its absence is a mistake of the data, told with the file's name.
  Result<double> at(std::string_view series, std::string_view x) const;

 private:
  std::string name_;
  std::vector<ReferenceValue> values_;
};

}  // namespace wharf::study
