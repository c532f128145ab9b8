// SPDX-License-Identifier: Apache-2.0
// The runs of a sweep, of two hosts or of many: each is checked when it is made, and can then run beside
// others.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/scenario_options.h"

namespace wharf::cli {

struct SweepOutcome {
  bool interrupted = false;
  nlohmann::ordered_json summary{};     ///< summary.json of the run.
  std::vector<std::string> failures{};  ///< One sentence for each thing that does not hold.
};

class SweepRun {
 public:
  virtual ~SweepRun() = default;
  /// Everything that decides the run beside this program: its keys, and what is in the files that they name.
  virtual std::string configuration() const = 0;
  /// Runs. A run that stalls is an Error that says who waits for whom.
  virtual Result<SweepOutcome> execute() const = 0;
  /// Of its scenario; empty where that has none.
  virtual std::string title() const = 0;
  /// What a table says about the run, as `titles()`.
  virtual std::vector<std::string> titles() const = 0;
  virtual std::vector<std::string> cells(const nlohmann::ordered_json& summary) const = 0;
};

/// Makes the runs of one scenario.
class SweepRuns {
 public:
  /// The scenario, which has been read, outlives this. Refuses a file that is no TOML.
  static Result<SweepRuns> of(const ScenarioOptions& scenario);

  /// The run with `overrides` beside those of the options.
  Result<std::unique_ptr<SweepRun>> make(const std::vector<std::string>& overrides);

 private:
  explicit SweepRuns(const ScenarioOptions& scenario, bool many_hosts)
      : scenario_(&scenario), many_hosts_(many_hosts) {}
  const std::string& hash_of(const std::string& file);
  Result<std::unique_ptr<SweepRun>> make_two_hosts(const std::vector<std::string>& overrides);
  Result<std::unique_ptr<SweepRun>> make_many_hosts(const std::vector<std::string>& overrides);

  const ScenarioOptions* scenario_;
  bool many_hosts_;
  std::map<std::string, std::string> hashes_;  ///< By file name.
};

}  // namespace wharf::cli
