// SPDX-License-Identifier: Apache-2.0
#include "cli/scenario_options.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/nearest_name.h"
#include "cli/data_files.h"
#include "sim/scenario/input_file.h"
#include "sim/scenario/scenario_kind.h"

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
  std::error_code status;
  if (!fs::exists(file, status)) return missing_file(file);
  if (fs::is_directory(file, status))
    return input_error(fmt::format("{} is a directory, expected a TOML file", file));
  WHARF_TRY(sim::refuse_device(file));
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return input_error(fmt::format("{} cannot be read, expected a TOML file", file));
  constexpr std::size_t kLongest = std::size_t{16} << 20U;
  text_.clear();
  for (std::array<char, 65536> chunk; stream && text_.size() <= kLongest;) {
    stream.read(chunk.data(), chunk.size());
    text_.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (text_.size() > kLongest)
    return input_error(fmt::format("{} holds more than 16MiB, expected a TOML file", file));
  if (text_.find_first_not_of(" \t\r\n") == std::string::npos) {
    return input_error(
        fmt::format("{} is empty, expected a scenario file; `wharf list scenarios` shows the "
                    "shipped ones",
                    file));
  }
  return {};
}

Result<bool> ScenarioOptions::many_hosts() const {
  const auto kind = sim::kind_of_text(text_, file);
  if (!kind) return kind.error();
  return kind->kind == sim::ScenarioKind::kManyHosts;
}

Result<sim::Scenario> ScenarioOptions::load(const std::vector<std::string>& more_overrides,
                                            sim::WireMode wire) const {
  const auto kind = sim::kind_of_text(text_, file);
  if (!kind) return kind.error();
  if (kind->kind == sim::ScenarioKind::kManyHosts) {
    return input_error(fmt::format(
        "{} is a scenario of many hosts by its key {}, expected one of two hosts; `wharf run`, `check` and "
        "`sweep` take either",
        file, kind->reason));
  }
  sim::ScenarioSource source;
  source.file = file;
  source.text = text_;
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
