// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/run_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "base/nearest_name.h"
#include "sim/scenario/input_file.h"

namespace wharf::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestScenario = std::size_t{16} << 20U;

constexpr std::string_view kFolder = "scenarios/";
constexpr std::string_view kEnding = ".toml";

Error missing_scenario(const std::string& name, const SearchFolders& shipped) {
  std::vector<std::string> known = shipped.stems(kEnding);
  if (name.find('/') != std::string::npos || name.ends_with(kEnding)) {
    for (std::string& each : known) each = fmt::format("{}{}{}", kFolder, each, kEnding);
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  const auto nearest = nearest_name(name, names);
  return input_error(
      nearest
          ? fmt::format("{} does not exist; did you mean {}?", name, *nearest)
          : fmt::format("{} does not exist, expected a scenario file or the name of a shipped one; `wharf "
                        "list scenarios` shows them",
                        name));
}

/// Loads with all that overrides the scenario. What loads without --vary is refused because of --vary.
template <typename Load>
auto loaded_with(const RunRequest& request, Load load) {
  constexpr std::string_view kSet = "--set";
  std::vector<std::string> all = request.overrides;
  all.insert(all.end(), request.varied.begin(), request.varied.end());
  auto loaded = load(std::move(all));
  if (loaded || request.varied.empty() || !loaded.error().message.starts_with(kSet) ||
      !load(request.overrides))
    return loaded;
  Error refused = loaded.error();
  refused.message.replace(0, kSet.size(), "--vary");
  return decltype(loaded)(std::move(refused));
}

/// A trace that is no file may be the name of a shipped one.
Result<void> find_trace(const RunRequest& request, std::string& trace) {
  if (trace.empty() || trace.find('/') != std::string::npos || file_exists(trace)) return {};
  for (const std::string& name : {trace, trace + ".wtrace"}) {
    if (const auto found = request.trace_directory.find(name)) {
      trace = found->string();
      return {};
    }
  }
  const std::vector<std::string> known = request.trace_directory.stems(".wtrace");
  const std::vector<std::string_view> names(known.begin(), known.end());
  const auto nearest = nearest_name(trace, names);
  return input_error(fmt::format(
      "{}: run.trace is \"{}\", expected a trace file or the name of a shipped one; `wharf list traces` "
      "shows "
      "them{}",
      request.file, trace, nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : std::string()));
}

bool names_flows(const FabricSettingsSource::Option& option) { return option.key.starts_with("traffic."); }

}  // namespace

Result<std::string> find_scenario(const std::string& name, const SearchFolders& shipped) {
  std::error_code status;
  if (fs::exists(name, status)) return name;
  const std::string file = name.starts_with(kFolder) ? name.substr(kFolder.size()) : name;
  if (file.find('/') == std::string::npos) {
    for (const std::string& each : {file, fmt::format("{}{}", file, kEnding)}) {
      if (const auto found = shipped.find(each)) return found->string();
    }
  }
  return missing_scenario(name, shipped);
}

Result<std::string> read_scenario(const std::string& file) {
  std::error_code status;
  if (fs::is_directory(file, status))
    return input_error(fmt::format("{} is a directory, expected a TOML file", file));
  WHARF_TRY(refuse_device(file));
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return input_error(fmt::format("{} cannot be read, expected a TOML file", file));
  std::string text;
  for (std::array<char, 65536> chunk; stream && text.size() <= kLongestScenario;) {
    stream.read(chunk.data(), chunk.size());
    text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (text.size() > kLongestScenario)
    return input_error(fmt::format("{} holds more than 16MiB, expected a TOML file", file));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return input_error(
        fmt::format("{} is empty, expected a scenario file; `wharf list scenarios` shows the "
                    "shipped ones",
                    file));
  }
  return text;
}

Result<ScenarioKind> kind_of(const RunRequest& request) {
  if (!request.file.empty()) {
    const auto kind = kind_of_text(request.text, request.file);
    if (!kind) return kind.error();
    if (kind->kind == ScenarioKind::kManyHosts) return kind->kind;
  }
  const bool flows = std::any_of(request.options.begin(), request.options.end(), [](const auto& option) {
    return names_flows(option) || option.key == "topology.from";
  });
  return flows ? ScenarioKind::kManyHosts : ScenarioKind::kTwoHosts;
}

Result<Scenario> prepare_programs(const RunRequest& request) {
  const auto kind = kind_of_text(request.text, request.file);
  if (!kind) return kind.error();
  if (kind->kind == ScenarioKind::kManyHosts) {
    return input_error(fmt::format(
        "{} is a scenario of many hosts by its key {}, expected one of two hosts; `wharf run`, `check` and "
        "`sweep` take either",
        request.file, kind->reason));
  }
  auto scenario = loaded_with(request, [&](std::vector<std::string> overrides) {
    return load_scenario({.file = request.file,
                          .text = request.text,
                          .profile = request.profile,
                          .overrides = std::move(overrides),
                          .profile_directory = request.profile_directory,
                          .wire = request.wire});
  });
  if (scenario && scenario->config.program == ProgramKind::kReplay)
    WHARF_TRY(find_trace(request, scenario->config.replay.trace));
  return scenario;
}

Result<FabricInputs> prepare_flows(const RunRequest& request) {
  if (std::count_if(request.options.begin(), request.options.end(), names_flows) > 1) {
    return Error{ErrorKind::kUsage,
                 "wharf run: found flows from several places, expected one of --cm, --flows, --goal, "
                 "--collective and --arrivals"};
  }
  auto loaded = loaded_with(request, [&](std::vector<std::string> overrides) {
    return load_fabric_settings({.profile = request.profile,
                                 .overrides = std::move(overrides),
                                 .profile_directory = request.profile_directory,
                                 .options = request.options,
                                 .file = request.file,
                                 .text = request.text});
  });
  if (!loaded) return loaded.error();
  if (!loaded->settings.traffic.any()) {
    if (!request.file.empty()) {
      return input_error(fmt::format(
          "{}: found no flows, expected traffic.cm, traffic.table, traffic.goal, traffic.collective or "
          "traffic.arrivals",
          request.file));
    }
    return Error{
        ErrorKind::kUsage,
        "wharf run: --topo needs flows, expected --cm, --flows, --goal, --collective or --arrivals too"};
  }
  return read_inputs(*std::move(loaded));
}

}  // namespace wharf::sim
