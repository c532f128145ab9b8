// SPDX-License-Identifier: Apache-2.0
#include "cli/scenario_options.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "wharf/data_folders.h"

namespace wharf::cli {

Result<void> refuse_twice(const std::vector<std::string>& overrides) {
  std::map<std::string, std::string> given;
  for (const std::string& assignment : overrides) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos) continue;  // Refused where it is read.
    const std::string value = assignment.substr(equals + 1);
    const auto [place, fresh] = given.try_emplace(assignment.substr(0, equals), value);
    if (!fresh)
      return input_error(fmt::format("--set {} is given twice, with {} and {}, expected it once",
                                     place->first, place->second, value));
  }
  return {};
}

void ScenarioOptions::declare(Options& app) {
  app.add_option("scenario", file, "A scenario: a TOML file, or the name of a shipped one")
      .type_name("SCENARIO")
      .required();
  app.add_option("--set", overrides, "Override one key, as key=value; may be repeated")
      .type_name("KEY=VALUE")
      .one_value_each();
  app.add_option("--profile", profile, "A profile by its name or path; short for --set model.profile=PROFILE")
      .type_name("PROFILE")
      .not_empty();
  constexpr auto kMostSeed = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  seed_option_ = app.add_option("--seed", seed, "The seed of every random stream; short for --set run.seed=N")
                     .type_name("N")
                     .range(std::uint64_t{0}, kMostSeed);
  app.add_flag("-v,--verbose", verbose, "Say what is read, where it was found, and what follows from it")
      .excludes(app.option("--quiet"));
}

void ScenarioOptions::declare_memory(Options& app) {
  app.add_flag("--any-memory", any_memory, "Run it even if it seems to need more memory than there is");
}

Result<void> ScenarioOptions::take_seed() {
  constexpr std::string_view kKey = "run.seed=";
  if (!seed_given()) return {};
  for (const std::string& assignment : overrides) {
    if (assignment.starts_with(kKey))
      return input_error("--seed and --set run.seed are both given, expected one of them");
  }
  overrides.push_back(fmt::format("{}{}", kKey, seed));
  return {};
}

std::string ScenarioOptions::stem() const { return std::filesystem::path(name).stem().string(); }

Result<void> ScenarioOptions::read() {
  if (file.empty()) return input_error("scenario: found no name, expected a scenario file or a shipped one");
  const auto shipped = data_folders("scenarios");
  auto found = sim::find_scenario(file, shipped ? *shipped : SearchFolders());
  // Where the shipped ones cannot be found, a name that is missing says nothing about itself.
  if (!found) return shipped ? found.error() : shipped.error();
  name = file;
  file = *std::move(found);
  auto text = sim::read_scenario(file);
  if (!text) return text.error();
  text_ = *std::move(text);
  return {};
}

Result<sim::RunRequest> ScenarioOptions::request(const std::vector<std::string>& varied) const {
  WHARF_TRY(refuse_twice(overrides));
  auto profiles = data_folders("profiles");
  if (!profiles) return profiles.error();
  auto traces = data_folders("traces");
  sim::RunRequest request{
      profiles->list(), traces ? *std::move(traces) : SearchFolders(), file, text_, profile, overrides};
  request.varied = varied;
  return request;
}

Result<bool> ScenarioOptions::many_hosts() const {
  const auto asked = request();
  if (!asked) return asked.error();
  const auto kind = sim::kind_of(*asked);
  if (!kind) return kind.error();
  return *kind == sim::ScenarioKind::kManyHosts;
}

Result<sim::Scenario> ScenarioOptions::load(const std::vector<std::string>& varied,
                                            sim::WireMode wire) const {
  auto asked = request(varied);
  if (!asked) return asked.error();
  asked->wire = wire;
  return sim::prepare_programs(*asked);
}

}  // namespace wharf::cli
