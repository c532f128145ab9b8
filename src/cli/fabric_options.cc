// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_options.h"

#include <fmt/format.h>

#include "wharf/data_folders.h"

namespace wharf::cli {

void FabricOptions::declare(Options& app) {
  app.add_option("--cm", matrix, "Connection matrix of htsim: a run of many hosts; - is standard input")
      .not_empty();
  app.add_option("--flows", flows, "Flows from CSV: src,dst,bytes,start_ns[,op,priority,after]").not_empty();
  app.add_option("--goal", goal,
                 "Ranks that compute, send and receive: a text in the Group Operation Assembly Language of "
                 "LogGOPSim")
      .not_empty();
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
  app.add_option(
         "--threads", threads,
         "Short for --set run.threads=N in runs of flows, --set hosts.threads=N in others on a topology")
      .range(1, 64);
}

Result<sim::RunRequest> FabricOptions::request(const ScenarioOptions& scenario) const {
  auto request = scenario.request();
  if (!request) return request.error();
  const auto stands_for = [&request](std::string_view key, const std::string& value, std::string_view name) {
    if (!value.empty()) request->options.push_back({key, value, name});
  };
  stands_for("run.threads", threads == 0 ? "" : fmt::format("{}", threads), "--threads");
  stands_for("traffic.cm", data_file(matrix), "--cm");
  stands_for("traffic.table", data_file(flows), "--flows");
  stands_for("traffic.goal", data_file(goal), "--goal");
  stands_for("traffic.collective", collective, "--collective");
  stands_for("traffic.arrivals", data_file(arrivals), "--arrivals");
  stands_for("topology.from", data_file(topology), "--topo");
  return request;
}

}  // namespace wharf::cli
