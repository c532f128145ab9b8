// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/draw_plots.h"
#include "cli/fabric_plots.h"
#include "cli/html_page.h"
#include "cli/interrupt.h"
#include "cli/manifest.h"
#include "cli/memory_check.h"
#include "cli/progress.h"
#include "cli/run_page.h"
#include "cli/run_text.h"
#include "cli/verbose.h"
#include "report/counted.h"
#include "report/part.h"
#include "report/plot_drawing.h"
#include "report/result_directory.h"
#include "report/text_table.h"
#include "report/wrapped_text.h"
#include "sim/scenario/fabric_results.h"
#include "sim/scenario/fabric_summary.h"
#include "sim/scenario/input_hash.h"
#include "sim/scenario/observed_network.h"
#include "sim/scenario/rank_results.h"
#include "sim/scenario/traffic_results.h"
#include "wharf/schema_version.h"

namespace wharf::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

struct ProgressState {
  Progress* progress = nullptr;
  Clock::time_point begun = Clock::now();
  Clock::time_point running = begun;  ///< When everything was built.
  TimePs end = kNever;                ///< Of the run, if it has one.
};

struct TimedReport {
  sim::FabricReport report;
  double setup_seconds = 0;
  double run_seconds = 0;
};

void show_progress(void* context, const sim::FabricProgress& at) {
  auto& state = *static_cast<ProgressState*>(context);
  if (at.hops == 0) state.running = Clock::now();
  const double seconds = seconds_between(state.running, Clock::now());
  const double rate = seconds > 0 ? static_cast<double>(at.hops) / seconds / 1e6 : 0;
  // Flows of one size end all at once, so bytes tell more than flows.
  double share = std::max(static_cast<double>(at.finished) / static_cast<double>(at.flows),
                          static_cast<double>(at.delivered_bytes) / static_cast<double>(at.bytes));
  if (state.end != kNever)
    share = std::max(share, static_cast<double>(at.simulated.ps) / static_cast<double>(state.end.ps));
  state.progress->update(share, fmt::format("{} of {} flows, {:.1f} us simulated, {:.1f} M packet-hops/s",
                                            at.finished, at.flows, as_nanoseconds(at.simulated) / 1e3, rate));
}

Result<TimedReport> execute(const sim::FabricInputs& inputs, const sim::FabricRunConfig& config,
                            const Console& console) {
  Progress progress(console, "run");
  ProgressState state{&progress};
  state.end = config.end;
  sim::FabricRunOptions options;
  options.interrupt = &interrupt_requested();
  options.progress = show_progress;
  options.progress_context = &state;
  auto report = sim::run_flows(inputs.topology.topology, inputs.flows, config, options);
  if (!report) return report.error();
  return TimedReport{*std::move(report), seconds_between(state.begun, state.running),
                     seconds_between(state.running, Clock::now())};
}

std::string microseconds_text(double ns) { return fmt::format("{:.3f}", ns / 1e3); }

report::TextTable table_of(const sim::FlowStatistics& statistics) {
  using report::Align;
  report::TextTable table({{""},
                           {"min", Align::kRight},
                           {"mean", Align::kRight},
                           {"p50", Align::kRight},
                           {"p95", Align::kRight},
                           {"p99", Align::kRight},
                           {"max", Align::kRight}});
  table.add_row({"flow completion, us", microseconds_text(statistics.fct_ns_min),
                 microseconds_text(statistics.fct_ns_mean), microseconds_text(statistics.fct_ns_p50),
                 microseconds_text(statistics.fct_ns_p95), microseconds_text(statistics.fct_ns_p99),
                 microseconds_text(statistics.fct_ns_max)});
  table.add_row(
      {"slowdown", fmt::format("{:.3f}", statistics.slowdown_min),
       fmt::format("{:.3f}", statistics.slowdown_mean), fmt::format("{:.3f}", statistics.slowdown_p50),
       fmt::format("{:.3f}", statistics.slowdown_p95), fmt::format("{:.3f}", statistics.slowdown_p99),
       fmt::format("{:.3f}", statistics.slowdown_max)});
  return table;
}

/// Edges of size classes are powers of ten.
std::string size_text(std::uint64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{}KB", bytes / 1000) : fmt::format("{}MB", bytes / 1'000'000);
}

report::TextTable size_table(const std::vector<sim::SizeClass>& classes) {
  using report::Align;
  report::TextTable table({{"slowdown by size"},
                           {"flows", Align::kRight},
                           {"mean", Align::kRight},
                           {"p50", Align::kRight},
                           {"p95", Align::kRight},
                           {"p99", Align::kRight},
                           {"max", Align::kRight}});
  for (const sim::SizeClass& each : classes) {
    const std::string size = each.bytes_up_to != 0 ? "up to " + size_text(each.bytes_up_to)
                                                   : "above " + size_text(each.bytes_above);
    table.add_row({size, fmt::format("{}", each.flows), fmt::format("{:.3f}", each.mean),
                   fmt::format("{:.3f}", each.p50), fmt::format("{:.3f}", each.p95),
                   fmt::format("{:.3f}", each.p99), fmt::format("{:.3f}", each.max)});
  }
  return table;
}

/// What generated traffic is judged by; nothing for other flows of one class of sizes.
void add_traffic(std::vector<report::Part>& parts, const sim::FabricInputs& inputs,
                 const sim::FabricReport& report, const std::vector<TimePs>& ideal) {
  const sim::TrafficSettings& traffic = inputs.loaded.settings.traffic;
  if (const auto result = sim::collective_result(traffic, inputs.topology.topology.host_count(), report)) {
    parts.emplace_back(report::in_lines(fmt::format(
        "{} of {} over {} ranks took {} us: algorithm bandwidth {:.1f} Gb/s, bus bandwidth {:.1f} Gb/s",
        inputs.flows.name, format_bytes(Bytes{traffic.size}), result->ranks,
        microseconds_text(as_nanoseconds(result->completion)), result->algorithm_bandwidth_gbps,
        result->bus_bandwidth_gbps)));
  }
  const auto classes = sim::slowdown_by_size(inputs.flows, report, ideal, traffic.warm_up);
  if (classes.size() > 1) parts.emplace_back(size_table(classes));
  if (traffic.warm_up > kTimeZero) {
    parts.emplace_back(
        report::in_lines(fmt::format("left out of that: {} that arrived in the first {}",
                                     report::counted(sim::left_out(traffic, inputs.flows), "flow", "flows"),
                                     format_time(traffic.warm_up))));
  }
}

report::TextTable rank_table(const sim::RankStatistics& statistics) {
  using report::Align;
  report::TextTable table({{"ranks"},
                           {"min", Align::kRight},
                           {"mean", Align::kRight},
                           {"p50", Align::kRight},
                           {"p95", Align::kRight},
                           {"p99", Align::kRight},
                           {"max", Align::kRight}});
  const auto add = [&table](std::string name, const sim::TimeSpread& spread) {
    std::vector<std::string> row{std::move(name)};
    for (const TimePs time : {spread.min, spread.mean, spread.p50, spread.p95, spread.p99, spread.max})
      row.push_back(microseconds_text(as_nanoseconds(time)));
    table.add_row(row);
  };
  add("finished after, us", statistics.finish);
  add("computed for, us", statistics.computed);
  return table;
}

/// Where the run was long.
report::TextTable slowest_ranks(const sim::RankStatistics& statistics, const workload::RankProgram& program,
                                const std::vector<sim::RankRecord>& ranks) {
  using report::Align;
  report::TextTable table({{"last ranks", Align::kRight},
                           {"host", Align::kRight},
                           {"finished, us", Align::kRight},
                           {"computed, us", Align::kRight},
                           {"share", Align::kRight}});
  for (const std::uint32_t rank : statistics.slowest) {
    const auto [finish, computed] = ranks[rank];
    table.add_row({fmt::format("{}", rank), fmt::format("{}", program.hosts[rank]),
                   microseconds_text(as_nanoseconds(finish)), microseconds_text(as_nanoseconds(computed)),
                   finish == kTimeZero ? std::string("-")
                                       : fmt::format("{:.1f} %", 100.0 * static_cast<double>(computed.ps) /
                                                                     static_cast<double>(finish.ps))});
  }
  return table;
}

void add_ranks(std::vector<report::Part>& parts, const workload::RankProgram& program,
               const std::vector<sim::RankRecord>& ranks) {
  const sim::RankStatistics statistics = sim::statistics_of(ranks);
  parts.emplace_back(
      report::in_lines(fmt::format("{} of {} finished, with {} and {}", statistics.finished,
                                   report::counted(ranks.size(), "rank", "ranks"),
                                   report::counted(program.ops.size(), "operation", "operations"),
                                   report::counted(program.messages.size(), "message", "messages"))));
  if (statistics.finished == 0) return;
  parts.emplace_back(rank_table(statistics));
  parts.emplace_back(slowest_ranks(statistics, program, ranks));
}

/// What is a function of scenario and seed.
std::vector<report::Part> parts_of(const sim::FabricInputs& inputs, const sim::FabricReport& report,
                                   const sim::FabricResults& results) {
  const sim::FlowStatistics& statistics = results.statistics;
  const sim::FabricTotals& totals = report.totals;
  using report::counted;
  std::vector<report::Part> parts;
  parts.emplace_back(
      report::in_lines(fmt::format("{}: {} of {} finished, {}, {}", inputs.flows.name, statistics.count,
                                   counted(inputs.flows.flows.size(), "flow", "flows"),
                                   counted(inputs.topology.topology.host_count(), "host", "hosts"),
                                   counted(inputs.topology.topology.switch_count(), "switch", "switches"))));
  if (statistics.count != 0) {
    parts.emplace_back(table_of(statistics));
    add_traffic(parts, inputs, report, results.ideal);
  }
  if (!report.ranks.empty()) add_ranks(parts, inputs.flows.ranks, report.ranks);
  if (statistics.cut) {
    parts.emplace_back(report::in_lines(fmt::format(
        "cut at {} us: {} bytes had arrived, those of unfinished flows counted, goodput {:.1f} Gb/s",
        microseconds_text(as_nanoseconds(report.simulated)), statistics.bytes, statistics.goodput_gbps)));
  } else {
    parts.emplace_back(statistics.count == 0
                           ? std::string("no flow has ended well, so there is no goodput to tell\n")
                           : report::in_lines(fmt::format("last flow ended at {} us, goodput {:.1f} Gb/s",
                                                          microseconds_text(statistics.last_end_ns),
                                                          statistics.goodput_gbps)));
  }
  parts.emplace_back(report::in_lines(
      fmt::format("packets: {} new, {} retransmitted, {} ACK, {} NACK, {} control, {}", totals.new_packets,
                  totals.retransmitted, totals.acknowledgements, totals.negative_acknowledgements,
                  totals.control_packets, counted(totals.timeouts, "time-out", "time-outs"))));
  parts.emplace_back(
      report::in_lines(fmt::format("switches: {} trimmed, {} marked, {} dropped; {} lost on links",
                                   totals.trimmed, totals.marked, totals.dropped, totals.lost)));
  if (report.refused_by_hosts > 0) {
    parts.emplace_back(
        report::in_lines(fmt::format("hosts: {} refused, slower than their links (fabric.pcie_rate)",
                                     counted(report.refused_by_hosts, "packet", "packets"))));
  }
  if (!results.judged.empty()) parts.emplace_back(expectation_table(results.judged));
  return parts;
}

std::string text_of(const sim::FabricInputs& inputs, const TimedReport& timed, const std::string& parts) {
  const sim::FabricReport& report = timed.report;
  std::string text =
      inputs.loaded.settings.title.empty() ? "" : report::in_lines(inputs.loaded.settings.title);
  text += parts;
  text += fmt::format(
      "{} packet-hops, {:.2f} M per second, {:.2f} s (set-up {:.2f} s)\nfingerprint {:#018x}\n", report.hops,
      timed.run_seconds > 0 ? static_cast<double>(report.hops) / timed.run_seconds / 1e6 : 0,
      timed.run_seconds, timed.setup_seconds, report.history);
  return text;
}

std::vector<report::Plot> plots_of(const FabricRunRequest& request, const sim::FabricInputs& inputs,
                                   const sim::FabricReport& report, const sim::ObservedNetwork& network) {
  std::vector<report::Plot> plots =
      fabric_plots(report, inputs.flows, network, inputs.loaded.settings.traffic.warm_up);
  put_name_into_titles(plots, request.scenario.file.empty() ? inputs.flows.name : request.scenario.file);
  return plots;
}

/// The page of --html.
Result<void> write_page(const FabricRunRequest& request, const sim::FabricInputs& inputs,
                        const sim::FabricReport& report, const sim::FabricResults& results,
                        std::vector<report::Part> parts, const sim::ObservedNetwork& network,
                        const Console& console) {
  RunEnd end{results.failures, report.outcome == sim::FabricOutcome::kInterrupted,
             report.outcome == sim::FabricOutcome::kStalled, results.judged.size()};
  if (end.stalled) end.failures.insert(end.failures.begin(), "The run stalled: " + report.waiting);
  parts.emplace_back(fmt::format("{} packet-hops, fingerprint {:#018x}\n", report.hops, report.history));
  report::Page page = fabric_page(inputs, request.scenario, end, parts);
  request.page->add_plots(page, plots_of(request, inputs, report, network), console);
  add_flows(page, inputs.flows, report, results.ideal);
  add_configuration(page,
                    {inputs.loaded.settings.profile, request.scenario.overrides, inputs.loaded.effective});
  return request.page->finish(page, console);
}

nlohmann::ordered_json manifest(const FabricRunRequest& request, const sim::FabricInputs& inputs,
                                const TimedReport& timed, const Console& console) {
  const sim::FabricReport& report = timed.report;
  nlohmann::ordered_json manifest = manifest_head(console);
  if (!request.scenario.file.empty()) {
    manifest["scenario"] = request.scenario.file;
    manifest["scenario_hash"] = sim::text_hash(request.scenario.text());
  }
  for (const auto& [file, hash] : inputs.hashes) manifest["inputs"][file] = hash;
  manifest["profile"] = inputs.loaded.settings.profile;
  for (const auto& file : inputs.loaded.profile_files)
    manifest["profile_hashes"][file.string()] = sim::file_hash(file);
  manifest["overrides"] = request.scenario.overrides;
  manifest["seed"] = inputs.loaded.settings.seed;
  manifest["wire"] = request.bytes ? "bytes" : "structs";
  manifest["threads"] = report.threads;
  manifest["out"] = request.out;
  manifest["partial"] = report.outcome != sim::FabricOutcome::kFinished;
  manifest["setup_seconds"] = timed.setup_seconds;
  manifest["wall_seconds"] = timed.run_seconds;
  manifest["events"] = report.events;
  for (const sim::NamedCapture& capture : request.captures)
    manifest["captures"].push_back(fmt::format("{}={}", capture.ports, capture.file));
  return manifest;
}

}  // namespace

Result<ExitCode> run_fabric(const FabricRunRequest& request, const Console& console) {
  const auto asked = request.options.request(request.scenario);
  if (!asked) return asked.error();
  const auto inputs = sim::prepare_flows(*asked);
  if (!inputs) return inputs.error();
  for (const std::string& line : inputs->remarks) console.remark(line);
  const sim::FabricSettings& settings = inputs->loaded.settings;
  const sim::PortNames names(inputs->topology.topology, inputs->topology.names);
  auto derived = sim::derive(*inputs, names);
  if (!derived) return derived.error();
  tell_inputs(request.scenario, *inputs, derived->derived, console);
  for (const std::string& line : derived->remarks) console.remark(line);
  derived->config.wire = request.bytes ? sim::WireMode::kBytes : sim::WireMode::kStructs;
  const bool observed = derived->config.observation.any();
  if (observed && request.out.empty() && !request.page->wanted())
    console.remark("observe.period has no influence without --out, where the series are written, or --html");
  if (request.plot && request.out.empty())
    return Error{ErrorKind::kUsage, "wharf run: --plot draws into the result directory, so it needs --out"};
  if (request.pdf) WHARF_TRY(report::expect_pdf("--pdf"));
  auto captures = sim::resolve(request.captures, names);
  if (!captures) return captures.error();
  derived->config.captures = *std::move(captures);
  WHARF_TRY(check_memory(*inputs, derived->config, request.scenario));

  WHARF_TRY(request.page->open());
  std::optional<report::ResultDirectory> directory;
  if (!request.out.empty()) {
    auto created = report::ResultDirectory::create(request.out, request.force);
    if (!created) return created.error();
    directory.emplace(*std::move(created));
    for (const std::string& left : directory->removed())
      console.remark(fmt::format("removed {}, which a run left that did not end", left));
  }
  if (request.capture_hosts) {
    const std::string file = directory->file("capture.pcapng").string();
    for (const sim::PortCapture& host : sim::captures_of_hosts(inputs->topology.topology, file))
      derived->config.captures.push_back(host);
  }
  auto timed = execute(*inputs, derived->config, console);
  if (!timed) return timed.error();
  const sim::FabricReport* report = &timed->report;
  if (report->threads < settings.threads) {
    console.remark(fmt::format("{} threads instead of {}: the fabric has too few leaves for more",
                               report->threads, settings.threads));
  }
  bool same = true;
  if (request.verify && report->outcome != sim::FabricOutcome::kInterrupted) {
    sim::FabricRunConfig other = derived->config;
    other.wire = request.bytes ? sim::WireMode::kStructs : sim::WireMode::kBytes;
    other.captures.clear();
    auto again = execute(*inputs, other, console);
    if (!again) return again.error();
    same = again->report.history == report->history;
    if (same)
      console.remark(fmt::format("verified: a second run has the same history {:#018x}", report->history));
  }

  const sim::FabricResults results = sim::results_of(*inputs, derived->derived, *report);
  const std::vector<TimePs>& ideal = results.ideal;
  const sim::ObservedNetwork network{
      .topology = inputs->topology.topology,
      .names = names,
      .asked = derived->config.observation,
      .pauses = derived->config.fabric.flow_control.kind == sim::FlowControl::kPause,
      .simulated = report->simulated,
      .ports = report->ports,
      .seen = report->seen,
  };
  if (directory) {
    const TimePs warm_up = inputs->loaded.settings.traffic.warm_up;
    WHARF_TRY(directory->write("summary.json", versioned(results.summary).dump(2) + "\n"));
    WHARF_TRY(directory->write("flows.csv", sim::flows_csv(inputs->flows, *report, ideal)));
    WHARF_TRY(directory->write("fct_cdf.csv", sim::fct_cdf_csv(*report, warm_up)));
    if (!report->ranks.empty())
      WHARF_TRY(directory->write("ranks.csv", sim::ranks_csv(inputs->flows, report->ranks)));
    for (const sim::ObservedFile& file : sim::files_of(network, inputs->flows))
      WHARF_TRY(directory->write(file.name, file.text));
    if (request.plot) {
      const TimePs period = network.asked.period;
      WHARF_TRY(draw(*directory, plots_of(request, *inputs, *report, network), request.pdf, console));
      if (observed && report->seen.deliveries.size() < 2) {
        console.remark(fmt::format("observe.period = {} gave {}, of which no series is drawn",
                                   format_time(period),
                                   report::counted(report->seen.deliveries.size(), "look", "looks")));
      }
    }
    WHARF_TRY(directory->write("config.effective.toml", inputs->loaded.effective));
    WHARF_TRY(directory->write("manifest.json",
                               versioned(manifest(request, *inputs, *timed, console)).dump(2) + "\n"));
    WHARF_TRY(directory->commit());
  }
  console.print(results.summary);
  const std::vector<report::Part> parts = parts_of(*inputs, *report, results);
  console.print(text_of(*inputs, *timed, console.text_of(parts)));
  if (directory && !console.json) console.print(fmt::format("results in {}\n", directory->path().string()));
  if (request.page->wanted())
    WHARF_TRY(write_page(request, *inputs, *report, results, parts, network, console));

  if (!same) {
    console.error("the run through bytes and the run through structs differ");
    return ExitCode::kBug;
  }
  switch (report->outcome) {
    case sim::FabricOutcome::kStalled:
      return Error{ErrorKind::kStalled, "the run stalled: " + report->waiting};
    case sim::FabricOutcome::kInterrupted:
      console.error("interrupted; the results so far are marked as partial");
      return ExitCode::kInterrupted;
    case sim::FabricOutcome::kFinished:
    case sim::FabricOutcome::kTimeReached:
      break;
  }
  for (const std::string& failure : results.failures) console.error(failure);
  return results.failures.empty() ? ExitCode::kDone : ExitCode::kJudgedFailed;
}

}  // namespace wharf::cli
