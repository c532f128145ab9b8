// SPDX-License-Identifier: Apache-2.0
#include "cli/scenario_options.h"

#include <utility>

#include "cli/data_files.h"

namespace wharf::cli {

void ScenarioOptions::declare(Options& app) {
  app.add_option("scenario", file, "Scenario file (TOML)").type_name("FILE").required();
  app.add_option("--set", overrides, "Override one key, as key=value; may be repeated")
      .type_name("KEY=VALUE")
      .one_value_each();
  app.add_option("--profile", profile, "Short for --set model.profile=NAME").type_name("NAME").not_empty();
}

void ScenarioOptions::declare_memory(Options& app) {
  app.add_flag("--any-memory", any_memory, "Run it even if it seems to need more memory than there is");
}

Result<void> ScenarioOptions::read() {
  const auto shipped = data_directory("scenarios");
  auto text = sim::read_scenario(file, shipped ? *shipped : std::filesystem::path());
  if (!text) return text.error();
  text_ = *std::move(text);
  return {};
}

Result<sim::RunRequest> ScenarioOptions::request(const std::vector<std::string>& more_overrides) const {
  auto profiles = data_directory("profiles");
  if (!profiles) return profiles.error();
  sim::RunRequest request{*std::move(profiles), file, text_, profile, overrides};
  request.overrides.insert(request.overrides.end(), more_overrides.begin(), more_overrides.end());
  return request;
}

Result<bool> ScenarioOptions::many_hosts() const {
  const auto asked = request();
  if (!asked) return asked.error();
  const auto kind = sim::kind_of(*asked);
  if (!kind) return kind.error();
  return *kind == sim::ScenarioKind::kManyHosts;
}

Result<sim::Scenario> ScenarioOptions::load(const std::vector<std::string>& more_overrides,
                                            sim::WireMode wire) const {
  auto asked = request(more_overrides);
  if (!asked) return asked.error();
  asked->wire = wire;
  return sim::prepare_programs(*asked);
}

}  // namespace wharf::cli
