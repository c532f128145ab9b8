// SPDX-License-Identifier: Apache-2.0
// wharf topo show: draw and check a topology.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "report/counted.h"
#include "report/text_table.h"
#include "sim/fabric/port_names.h"
#include "sim/fabric/topology_cut.h"
#include "sim/fabric/topology_survey.h"
#include "sim/scenario/topology_source.h"
#include "wharf/data_folders.h"

namespace wharf::cli {
namespace {

std::string range(std::uint32_t low, std::uint32_t high) {
  return low == high ? fmt::format("{}", low) : fmt::format("{}-{}", low, high);
}

std::string_view tier_name(std::uint32_t tier) {
  constexpr std::string_view kNames[] = {"leaf", "middle", "top"};
  return tier < 3 ? kNames[tier] : "higher";
}

/// The tiers from the top down, as lines of a picture.
std::string drawing(const sim::TopologySummary& summary) {
  std::string text;
  for (std::size_t i = summary.tiers.size(); i-- > 0;) {
    const sim::TierSummary& tier = summary.tiers[i];
    const std::size_t boxes = std::min<std::size_t>(tier.switches, 8);
    std::string row;
    for (std::size_t box = 0; box < boxes; ++box) row += "[ ] ";
    if (tier.switches > boxes) row += "... ";
    text += fmt::format("  tier {}  {:<38} {}\n", tier.tier, row,
                        report::counted(tier.switches, "switch", "switches"));
    text += fmt::format("          {:<38} {} {} down each, {}\n", " |   |   |",
                        range(tier.ports_down_min, tier.ports_down_max),
                        tier.ports_down_max == 1 ? "link" : "links",
                        tier.link_delay_min == tier.link_delay_max
                            ? format_time(tier.link_delay_min)
                            : format_time(tier.link_delay_min) + " to " + format_time(tier.link_delay_max));
  }
  std::string row;
  for (std::size_t host = 0; host < std::min<std::size_t>(summary.hosts, 8); ++host) row += " o  ";
  if (summary.hosts > 8) row += "... ";
  return text + fmt::format("  hosts   {:<38} {} hosts\n", row, summary.hosts);
}

class TopoCommand : public Command {
 public:
  std::string_view name() const override { return "topo"; }
  std::string_view summary() const override { return "Draw and check a topology."; }
  std::string_view examples() const override {
    return "  wharf topo show studies/ultra_ethernet/leaf_spine_1024.topo\n"
           "  wharf topo show fat_tree:128\n"
           "  wharf topo show rails:2x4x8x4 --json\n"
           "  wharf topo show dragonfly:2x4x2\n"
           "  wharf topo show fat_tree:16 --ports\n";
  }
  void declare(Options& app) override {
    Options show = app.add_nested("show", "Tiers, paths, capacity and what is wrong with a topology.");
    show.add_option("topology", topology_,
                    "File (htsim's .topo, or a graph), or a name: back_to_back, star:HOSTS, fat_tree:HOSTS, "
                    "leaf_spine:HOSTS, rails:SEGMENTSxSERVERSxRAILSxSPINES, rail_servers likewise, "
                    "dragonfly:HOSTSxROUTERSxGLOBALS[xGROUPS]")
        .type_name("TOPOLOGY")
        .required();
    show.add_flag("--ports", ports_, "List every port by the name that options and result files use");
  }
  Result<ExitCode> run(const Console& console) override {
    auto file = sim::load_topology(data_file(topology_), {});
    if (!file) return file.error();
    for (const std::string& line : file->remarks) console.remark(line);
    if (ports_) {
      list_ports(*file, console);
      return ExitCode::kDone;
    }
    const sim::TopologySummary summary = sim::survey(file->topology);
    std::optional<std::uint64_t> halves;  // Tiers tell the bisection of a tree alone.
    if (summary.hosts > 1 && sim::has_links_within_tiers(file->topology))
      halves = sim::gbps_between_halves(file->topology);
    console.print(json_of(summary, halves));
    console.print(text_of(summary, halves, console));
    return ExitCode::kDone;
  }

 private:
  static void list_ports(const sim::TopologyFile& file, const Console& console) {
    const sim::PortNames names(file.topology, file.names);
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    report::TextTable table({{"port"}, {"Gb/s", report::Align::kRight}, {"delay", report::Align::kRight}});
    for (sim::PortId id = 0; id < file.topology.ports().size(); ++id) {
      const sim::TopologyPort& port = file.topology.port(id);
      const double gbps = static_cast<double>(port.rate.value) / 1e9;
      rows.push_back({{"port", names[id]}, {"rate_gbps", gbps}, {"delay_ns", as_nanoseconds(port.delay)}});
      table.add_row({names[id], fmt::format("{}", gbps), format_time(port.delay)});
    }
    console.print(nlohmann::ordered_json{{"ports", rows}});
    console.print(console.text_of(table));
  }

  std::string text_of(const sim::TopologySummary& summary, std::optional<std::uint64_t> halves,
                      const Console& console) const {
    using report::Align;
    using report::counted;
    std::string text =
        fmt::format("{}: {}, {}, {}\n\n{}\n", topology_, counted(summary.hosts, "host", "hosts"),
                    counted(summary.switches, "switch", "switches"), counted(summary.links, "link", "links"),
                    drawing(summary));
    report::TextTable table({{"tier"},
                             {"switches", Align::kRight},
                             {"ports down", Align::kRight},
                             {"ports up", Align::kRight},
                             {"down Gb/s", Align::kRight},
                             {"up Gb/s", Align::kRight}});
    table.add_row({"hosts", "", "", range(summary.host_ports_min, summary.host_ports_max), "",
                   fmt::format("{}", summary.host_gbps)});
    for (const sim::TierSummary& tier : summary.tiers) {
      table.add_row({fmt::format("{} {}", tier.tier, tier_name(tier.tier)), fmt::format("{}", tier.switches),
                     range(tier.ports_down_min, tier.ports_down_max),
                     range(tier.ports_up_min, tier.ports_up_max), fmt::format("{}", tier.down_gbps),
                     fmt::format("{}", tier.up_gbps)});
    }
    text += console.text_of(table);
    text += fmt::format("longest shortest path: host {} to host {}, {}, {}\n", summary.diameter_from,
                        summary.diameter_to, counted(summary.diameter_hops, "link", "links"),
                        counted(summary.diameter_paths, "such path", "such paths"));
    if (halves) return text + halves_text(summary, *halves);
    text += fmt::format(
        "bisection {} Gb/s, {}\n", summary.bisection_gbps,
        summary.oversubscription_permille > 1000
            ? fmt::format("oversubscribed {}.{:03} to 1", summary.oversubscription_permille / 1000,
                          summary.oversubscription_permille % 1000)
            : "not oversubscribed");
    return text;
  }

  /// For graphs whose switches are linked within a tier. Halves by number are one bisection among many.
  static std::string halves_text(const sim::TopologySummary& summary, std::uint64_t gbps) {
    const std::uint32_t half = summary.hosts / 2;
    const std::uint64_t offered = summary.host_gbps * half / summary.hosts;
    return fmt::format("hosts 0 to {} reach hosts {} to {} with {} Gb/s, {}\n", half - 1, half,
                       summary.hosts - 1, gbps,
                       gbps < offered ? fmt::format("oversubscribed {:.3f} to 1",
                                                    static_cast<double>(offered) / static_cast<double>(gbps))
                                      : "not oversubscribed");
  }

  static nlohmann::ordered_json json_of(const sim::TopologySummary& summary,
                                        std::optional<std::uint64_t> halves) {
    nlohmann::ordered_json tiers = nlohmann::ordered_json::array();
    for (const sim::TierSummary& tier : summary.tiers) {
      tiers.push_back({{"tier", tier.tier},
                       {"switches", tier.switches},
                       {"ports_down_min", tier.ports_down_min},
                       {"ports_down_max", tier.ports_down_max},
                       {"ports_up_min", tier.ports_up_min},
                       {"ports_up_max", tier.ports_up_max},
                       {"down_gbps", tier.down_gbps},
                       {"up_gbps", tier.up_gbps},
                       {"link_delay_ns_min", as_nanoseconds(tier.link_delay_min)},
                       {"link_delay_ns_max", as_nanoseconds(tier.link_delay_max)}});
    }
    nlohmann::ordered_json document{{"hosts", summary.hosts},
                                    {"switches", summary.switches},
                                    {"links", summary.links},
                                    {"host_gbps", summary.host_gbps},
                                    {"tiers", tiers},
                                    {"diameter",
                                     {{"links", summary.diameter_hops},
                                      {"from", summary.diameter_from},
                                      {"to", summary.diameter_to},
                                      {"paths", summary.diameter_paths}}}};
    if (halves) {
      document["halves_gbps"] = *halves;
    } else {
      document["bisection_gbps"] = summary.bisection_gbps;
      document["oversubscription"] = static_cast<double>(summary.oversubscription_permille) / 1000;
    }
    return document;
  }

  std::string topology_;
  bool ports_ = false;
};

}  // namespace

std::unique_ptr<Command> make_topo_command() { return std::make_unique<TopoCommand>(); }

}  // namespace wharf::cli
