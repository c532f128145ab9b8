// SPDX-License-Identifier: Apache-2.0
#include "cli/run_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/html_page.h"
#include "report/counted.h"
#include "sim/protocols/protocols.h"
#include "verbs/verb.h"

namespace wharf::cli {
namespace {

using report::Align;
using report::Page;
using report::TextTable;

/// Flows with a row in the table, and a line in the picture.
constexpr std::size_t kFlowsListed = 1000;
constexpr std::size_t kFlowsDrawn = 40;

std::string title_of(const std::string& title, const std::string& name, std::string_view other) {
  if (!title.empty()) return title;
  return name.empty() ? std::string(other) : name;
}

void add_end(Page& page, const RunEnd& end) {
  if (end.stalled) return add_verdict(page, end.failures, "");
  if (end.interrupted)
    return page.verdict(false, "PARTIAL", "The run was interrupted: these are its results so far.");
  add_verdict(page, end.failures,
              end.judged == 0 ? std::string("Memory is as it must be; the scenario expects nothing else.")
                              : fmt::format("All that is expected: {}.",
                                            report::counted(end.judged, "number", "numbers")));
}

std::string microseconds_text(TimePs time) { return fmt::format("{:.3f}", as_nanoseconds(time) / 1e3); }

/// Places in the list of flows that have ended, the slowest first.
std::vector<std::size_t> slowest(const sim::FabricReport& report, const std::vector<TimePs>& ideal) {
  std::vector<std::pair<double, std::size_t>> slowdowns;
  for (std::size_t i = 0; i < report.records.size(); ++i) {
    const sim::FlowRecord& record = report.records[i];
    if (record.start == kNever || record.end == kNever) continue;
    slowdowns.emplace_back(
        static_cast<double>((record.end - record.start).ps) / static_cast<double>(ideal[i].ps), i);
  }
  std::stable_sort(slowdowns.begin(), slowdowns.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::size_t> places;
  for (const auto& [slowdown, place] : slowdowns) places.push_back(place);
  return places;
}

}  // namespace

Page run_page(const sim::Scenario& scenario, const ScenarioOptions& options, const RunEnd& end,
              const std::vector<report::Part>& parts) {
  const sim::ScenarioConfig& config = scenario.config;
  Page page(title_of(config.title, options.stem(), "A run"));
  add_end(page, end);
  page.facts({{"scenario", options.name},
              {"stack", std::string(sim::name(config.stack))},
              {"profile", config.profile},
              {"seed", fmt::format("{}", config.seed)}});
  page.section("Results");
  page.parts(parts);
  return page;
}

Page fabric_page(const sim::FabricInputs& inputs, const ScenarioOptions& options, const RunEnd& end,
                 const std::vector<report::Part>& parts) {
  const sim::FabricSettings& settings = inputs.loaded.settings;
  Page page(title_of(settings.title, options.stem(), inputs.flows.name));
  add_end(page, end);
  const sim::Topology& topology = inputs.topology.topology;
  page.facts({{"scenario", options.name},
              {"flows", fmt::format("{}, {}", inputs.flows.name, inputs.flows.flows.size())},
              {"hosts", fmt::format("{}", topology.host_count())},
              {"switches", fmt::format("{}", topology.switch_count())},
              {"profile", settings.profile},
              {"seed", fmt::format("{}", settings.seed)}});
  page.section("Results");
  page.parts(parts);
  return page;
}

void add_flows(Page& page, const workload::FlowList& list, const sim::FabricReport& report,
               const std::vector<TimePs>& ideal) {
  const std::vector<std::size_t> places = slowest(report, ideal);
  if (places.empty()) return;
  const std::size_t all = places.size();
  page.section(all > kFlowsListed ? fmt::format("The {} slowest of {} flows", kFlowsListed, all) : "Flows");
  std::vector<report::BarRow> rows;
  TextTable table({{"flow", Align::kRight},
                   {"from", Align::kRight},
                   {"to", Align::kRight},
                   {"bytes", Align::kRight},
                   {"start us", Align::kRight},
                   {"took us", Align::kRight},
                   {"alone us", Align::kRight},
                   {"slowdown", Align::kRight},
                   {"sent again", Align::kRight}});
  TimePs last;
  for (std::size_t at = 0; at < std::min(all, kFlowsListed); ++at) {
    const workload::Flow& flow = list.flows[places[at]];
    const sim::FlowRecord& record = report.records[places[at]];
    const TimePs alone = ideal[places[at]];
    const std::string slowdown = fmt::format(
        "{:.3f}", static_cast<double>((record.end - record.start).ps) / static_cast<double>(alone.ps));
    table.add_row({fmt::format("{}", flow.id), fmt::format("{}", flow.source),
                   fmt::format("{}", flow.destination), fmt::format("{}", flow.bytes),
                   microseconds_text(record.start), microseconds_text(record.end - record.start),
                   microseconds_text(alone), slowdown, fmt::format("{}", record.retransmissions())});
    if (at >= kFlowsDrawn) continue;
    last = max(last, record.end);
    rows.push_back({fmt::format("flow {}: {} to {}", flow.id, flow.source, flow.destination),
                    fmt::format("{} {} B, slowdown {}", verbs::name(flow.verb), flow.bytes, slowdown),
                    fmt::format("{} us", microseconds_text(record.end - record.start)),
                    {{as_nanoseconds(record.start) / 1e3, as_nanoseconds(record.end) / 1e3, true}}});
  }
  page.remark(fmt::format("{} as bars from start to end, along {} us; a pointer on one tells more.",
                          all > kFlowsDrawn ? fmt::format("The {} slowest flows", kFlowsDrawn)
                                            : std::string("The flows, the slowest first,"),
                          microseconds_text(last)));
  page.bars(rows, as_nanoseconds(last) / 1e3, "us");
  page.begin_details("Each flow as a row; a click on a title sorts", all <= kFlowsDrawn);
  page.table(table);
  page.end_details();
}

}  // namespace wharf::cli
