// SPDX-License-Identifier: Apache-2.0
// The options that every command about a scenario shares: the file, --set and --profile.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "sim/scenario/run_request.h"

namespace wharf::cli {

/// Refuses a key that --set has twice: only the last could count.
Result<void> refuse_twice(const std::vector<std::string>& overrides);

struct ScenarioOptions {
  std::string file;
  std::string profile;
  std::vector<std::string> overrides;
  bool any_memory = false;

  void declare(Options& app);
  /// For commands that run the scenario: --any-memory.
  void declare_memory(Options& app);
  /// Reads the file once; everything below needs that where there is a file.
  Result<void> read();
  const std::string& text() const { return text_; }
  /// What these options ask for, with `varied`, the key=value of --vary. Refuses a key that --set has twice.
  Result<sim::RunRequest> request(const std::vector<std::string>& varied = {}) const;
  /// Whether it is a scenario of many hosts.
  Result<bool> many_hosts() const;
  /// Loads the scenario of two hosts; one of many is refused.
  Result<sim::Scenario> load(const std::vector<std::string>& varied = {},
                             sim::WireMode wire = sim::WireMode::kStructs) const;

 private:
  std::string text_;
};

}  // namespace wharf::cli
