// SPDX-License-Identifier: Apache-2.0
// The SQLite file of a sweep: one row per run, one column per varied key and per result value.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

struct sqlite3;

namespace wharf::report {

/// A run that the file holds already.
struct StoredRun {
  int run = 0;
  std::vector<std::string> values;   ///< Of the varied keys, in key order.
  std::string configuration;         ///< As add() was given it.
  bool holds = true;                 ///< Every expectation held.
  nlohmann::ordered_json summary{};  ///< Of finished_runs(): what add() was given; null in older files.
};

/// Writes `results.sqlite`. Tables: `runs` (one row per run: `run` number, `status`, `configuration`,
/// `holds`, varied keys, then every number or text of the run's summary flattened with dots, such as
/// "latency_ns.mean"), `columns` (name, meaning) and `summaries` (run, the summary as JSON). One writer.
class SweepDatabase {
 public:
  /// Creates the file, or opens one left by an interrupted sweep of the same keys.
  static Result<SweepDatabase> open(const std::filesystem::path& path,
                                    const std::vector<std::string>& varied_keys);

  SweepDatabase(SweepDatabase&&) noexcept;
  ~SweepDatabase();

  /// Runs that are complete already, by number.
  Result<std::vector<StoredRun>> finished_runs() const;
  /// Stores one finished run. `run.configuration` tells everything that decided it, so that another sweep
  /// does not take the run for one of its own; `summary` is its summary.json.
  Result<void> add(const StoredRun& run, const nlohmann::ordered_json& summary);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit SweepDatabase(sqlite3* database) : database_(database) {}
  Result<void> execute(const std::string& statement) const;

  std::unique_ptr<sqlite3, Close> database_;
  std::vector<std::string> varied_keys_;
  std::set<std::string> columns_;
};

}  // namespace wharf::report
