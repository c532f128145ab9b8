// SPDX-License-Identifier: Apache-2.0
#include "cli/manifest.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/scenario/input_file.h"
#include "sim/scenario/input_hash.h"
#include "wharf/version.h"

namespace wharf::cli {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string_view text_of(sim::RunOutcome end) {
  switch (end) {
    case sim::RunOutcome::kDone:
      return "done";
    case sim::RunOutcome::kInterrupted:
      return "interrupted";
    case sim::RunOutcome::kStalled:
      return "stalled";
  }
  WHARF_UNREACHABLE();
}

}  // namespace

nlohmann::ordered_json manifest_head(const Console& console) {
  return {{"version", version()},
          {"commit", commit()},
          {"command", console.command},
          {"host", host_name()},
          {"written", utc_now()}};
}

nlohmann::ordered_json manifest_of(const Console& console, const sim::Scenario& scenario,
                                   const ScenarioOptions& options, const std::string& wire,
                                   const std::string& out, sim::RunOutcome end, double seconds) {
  nlohmann::ordered_json manifest;
  manifest["version"] = version();
  manifest["commit"] = commit();
  manifest["command"] = console.command;
  manifest["scenario"] = options.file;
  manifest["scenario_hash"] = sim::text_hash(options.text());
  manifest["profile"] = scenario.config.profile;
  for (const std::filesystem::path& file : scenario.profile_files)
    manifest["profile_hashes"][file.string()] = sim::file_hash(file);
  if (scenario.config.program == sim::ProgramKind::kReplay) {
    manifest["trace"] = scenario.config.replay.trace;
    manifest["trace_hash"] = sim::file_hash(scenario.config.replay.trace);
  }
  if (const std::string& topology = scenario.config.world.fabric.topology; sim::file_exists(topology)) {
    manifest["topology"] = topology;
    manifest["topology_hash"] = sim::file_hash(topology);
  }
  manifest["overrides"] = options.overrides;
  manifest["seed"] = scenario.config.seed;
  manifest["wire"] = wire;
  manifest["threads"] = scenario.config.world.threads;
  manifest["out"] = out;
  manifest["end"] = text_of(end);
  manifest["partial"] = end != sim::RunOutcome::kDone;
  manifest["host"] = host_name();
  manifest["written"] = utc_now();
  manifest["wall_seconds"] = seconds;
  return manifest;
}

}  // namespace wharf::cli
