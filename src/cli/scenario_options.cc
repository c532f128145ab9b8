// SPDX-License-Identifier: Apache-2.0
#include "cli/scenario_options.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/nearest_name.h"
#include "cli/data_files.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

Error missing_file(const std::string& file) {
  std::vector<std::string> shipped;
  if (const auto directory = data_directory("scenarios")) {
    for (const auto& entry : fs::directory_iterator(*directory)) {
      if (entry.path().extension() == ".toml")
        shipped.push_back("scenarios/" + entry.path().filename().string());
    }
  }
  const std::vector<std::string_view> names(shipped.begin(), shipped.end());
  const auto nearest = nearest_name(file, names);
  return input_error(
      nearest ? fmt::format("{} does not exist; did you mean {}?", file, *nearest)
              : fmt::format("{} does not exist, expected a scenario file; `wharf list scenarios` shows "
                            "the shipped ones",
                            file));
}

}  // namespace

void ScenarioOptions::declare(CLI::App& app) {
  app.add_option("scenario", file, "Scenario file (TOML)")->type_name("FILE")->required();
  app.add_option("--set", overrides, "Override one key, as key=value; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--profile", profile, "Short for --set model.profile=NAME")->type_name("NAME");
}

Result<sim::Scenario> ScenarioOptions::load(const std::vector<std::string>& more_overrides,
                                            sim::WireMode wire) const {
  sim::ScenarioSource source;
  std::error_code status;
  if (!fs::exists(file, status)) return missing_file(file);
  source.file = file;
  source.profile = profile;
  source.overrides = overrides;
  source.overrides.insert(source.overrides.end(), more_overrides.begin(), more_overrides.end());
  const auto profiles = data_directory("profiles");
  if (!profiles) return profiles.error();
  source.profile_directory = *profiles;
  source.wire = wire;
  return sim::load_scenario(source);
}

}  // namespace wharf::cli
