// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_options.h"

#include <fmt/format.h>

#include <utility>

#include "cli/data_files.h"

namespace wharf::cli {

void FabricOptions::declare(Options& app) {
  app.add_option("--cm", matrix, "Connection matrix of htsim: a run of many hosts; - is standard input")
      .not_empty();
  app.add_option("--flows", flows, "Flows from CSV: src,dst,bytes,start_ns[,op,priority,after]").not_empty();
  app.add_option(
         "--collective", collective,
         "Flows of a collective: ring_all_reduce, all_to_all, ... (`wharf list collectives`); sizes and "
         "ranks are keys, traffic.*")
      .not_empty();
  app.add_option("--arrivals", arrivals,
                 "Flows that arrive at random: web_search, ..., fixed (`wharf list sizes`), or a CSV file "
                 "size_bytes,cumulative; load and pattern are keys, traffic.*")
      .not_empty();
  app.add_option("--topo", topology, "Topology file (htsim's .topo, or a graph), or a name like fat_tree:128")
      .not_empty();
  app.add_option("--threads", threads, "Short for --set run.threads=N, in runs of many hosts").range(1, 64);
}

Result<FabricInputs> FabricOptions::load(const ScenarioOptions& scenario,
                                         const std::vector<std::string>& more_overrides) const {
  const int sources = (matrix.empty() ? 0 : 1) + (flows.empty() ? 0 : 1) + (collective.empty() ? 0 : 1) +
                      (arrivals.empty() ? 0 : 1);
  if (sources > 1) {
    return Error{ErrorKind::kUsage,
                 "wharf run: found flows from several places, expected one of --cm, --flows, --collective "
                 "and --arrivals"};
  }
  const auto profiles = data_directory("profiles");
  if (!profiles) return profiles.error();
  sim::FabricSettingsSource source{scenario.profile, scenario.overrides, *profiles};
  source.overrides.insert(source.overrides.end(), more_overrides.begin(), more_overrides.end());
  source.file = scenario.file;
  source.text = scenario.text();
  const auto stands_for = [&source](std::string_view key, const std::string& value, std::string_view name) {
    if (!value.empty()) source.options.push_back({key, value, name});
  };
  stands_for("run.threads", threads == 0 ? "" : fmt::format("{}", threads), "--threads");
  stands_for("traffic.cm", matrix, "--cm");
  stands_for("traffic.table", flows, "--flows");
  stands_for("traffic.collective", collective, "--collective");
  stands_for("traffic.arrivals", arrivals, "--arrivals");
  stands_for("topology.from", topology, "--topo");
  auto loaded = sim::load_fabric_settings(source);
  if (!loaded) return loaded.error();
  if (!loaded->settings.traffic.any()) {
    if (!scenario.file.empty()) {
      return input_error(fmt::format(
          "{}: found no flows, expected traffic.cm, traffic.table, traffic.collective or traffic.arrivals",
          scenario.file));
    }
    return Error{ErrorKind::kUsage,
                 "wharf run: --topo needs flows, expected --cm, --flows, --collective or --arrivals too"};
  }
  return read_inputs(*std::move(loaded));
}

}  // namespace wharf::cli
