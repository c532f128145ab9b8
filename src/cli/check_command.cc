// SPDX-License-Identifier: Apache-2.0
// wharf check SCENARIO: validates and estimates, runs nothing.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/scenario_options.h"
#include "sim/scenario/estimate.h"

namespace wharf::cli {
namespace {

class CheckCommand : public Command {
 public:
  std::string_view name() const override { return "check"; }
  std::string_view summary() const override {
    return "Validate a scenario and estimate its cost; run nothing.";
  }
  std::string_view examples() const override {
    return "  wharf check scenarios/fetch-64-bytes.toml\n"
           "  wharf check scenarios/fetch-64-bytes.toml --set run.operations=1000000\n";
  }
  void declare(CLI::App& app) override { scenario_.declare(app); }
  Result<ExitCode> run(const Console& console) override {
    auto scenario = scenario_.load();
    if (!scenario) return scenario.error();
    const sim::CostEstimate estimate = sim::estimate_cost(*scenario);
    for (const std::string& line : scenario->no_influence) console.remark(line);
    console.print(nlohmann::ordered_json{{"scenario", scenario_.file},
                                         {"valid", true},
                                         {"estimate",
                                          {{"operations", estimate.operations},
                                           {"events", estimate.events},
                                           {"memory_bytes", estimate.memory_bytes},
                                           {"seconds", estimate.seconds}}},
                                         {"without_influence", scenario->no_influence}});
    console.print(fmt::format("{} is valid: about {} operations, {} events, {:.1f} s on one core, {} MiB\n",
                              scenario_.file, estimate.operations, estimate.events, estimate.seconds,
                              estimate.memory_bytes >> 20U));
    return ExitCode::kDone;
  }

 private:
  ScenarioOptions scenario_;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace wharf::cli
