// SPDX-License-Identifier: Apache-2.0
// The options that every command about a scenario shares: the file, --set, --seed, --profile and --verbose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "sim/scenario/run_request.h"

namespace wharf::cli {

/// Refuses a key that --set has twice: only the last could count.
Result<void> refuse_twice(const std::vector<std::string>& overrides);

struct ScenarioOptions {
  std::string file;  ///< As it was found; `name` as it was asked for.
  std::string name;
  std::string profile;
  std::vector<std::string> overrides;
  std::uint64_t seed = 0;
  bool any_memory = false;
  bool verbose = false;

  void declare(Options& app);
  /// For commands that run the scenario: --any-memory.
  void declare_memory(Options& app);
  /// Puts what --seed is short for among the overrides; before everything below, once. Refuses a seed that
  /// --set has, too.
  Result<void> take_seed();
  /// Reads the file once; everything below needs that where there is a file.
  Result<void> read();
  /// What a page calls the scenario that has no title: its name, wherever it was found.
  std::string stem() const;
  bool seed_given() const { return seed_option_.given(); }
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
  Option seed_option_;
};

}  // namespace wharf::cli
