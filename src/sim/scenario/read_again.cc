// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/read_again.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "sim/scenario/input_file.h"

namespace wharf::sim {
namespace {

bool reads_once(const std::string& file) {
  std::error_code status;
  return file == kStandardInput || (file_exists(file) && !std::filesystem::is_regular_file(file, status) &&
                                    !std::filesystem::is_directory(file, status));
}

}  // namespace

std::vector<InputFile> files_read_by(const Scenario& scenario) {
  const ScenarioConfig& config = scenario.config;
  std::vector<InputFile> files;
  const auto add = [&files](std::string_view key, const std::string& file) {
    if (!file.empty() && (file == kStandardInput || file_exists(file)))
      files.push_back({std::string(key), file});
  };
  if (config.program == ProgramKind::kReplay) add("run.trace", config.replay.trace);
  if (!config.world.given) return files;
  const FabricSettings& fabric = config.world.fabric;
  add("topology.from", fabric.topology);
  for (const TrafficFile& each : traffic_files()) add(each.key, fabric.traffic.*each.file);
  if (fabric.traffic.sizes_from_file()) add("traffic.arrivals", fabric.traffic.sizes_file);
  return files;
}

Result<void> require_readable_again(std::string_view key, const std::string& file) {
  if (!reads_once(file)) return {};
  return input_error(fmt::format("{}: found {}, which can be read once, expected a file: every run reads it",
                                 key, shown(file)));
}

Result<void> require_same_again(const Scenario& scenario) {
  for (const InputFile& input : files_read_by(scenario))
    WHARF_TRY(require_readable_again(input.key, input.file));
  return {};
}

Result<void> require_same_again(const FabricInputs& inputs) {
  for (const auto& [file, hash] : inputs.hashes) {
    if (reads_once(file))
      return input_error(
          fmt::format("found {}, which can be read once, expected a file: every run reads it", shown(file)));
  }
  return {};
}

}  // namespace wharf::sim
