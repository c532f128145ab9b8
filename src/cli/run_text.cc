// SPDX-License-Identifier: Apache-2.0
#include "cli/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "report/text_table.h"
#include "report/wrapped_text.h"
#include "sim/protocols/protocols.h"
#include "verbs/verb.h"

namespace wharf::cli {
namespace {

using report::Align;

using report::Part;
using report::TextTable;

TextTable latency_table(const sim::RunReport& report) {
  TextTable table({{"operation"},
                   {"count", Align::kRight},
                   {"failed", Align::kRight},
                   {"mean ns", Align::kRight},
                   {"p50", Align::kRight},
                   {"p99", Align::kRight},
                   {"p99.9", Align::kRight},
                   {"max", Align::kRight}});
  const auto row = [&table](std::string_view name, std::uint64_t failed, const sim::LatencySummary& latency) {
    table.add_row({std::string(name), std::to_string(latency.count), std::to_string(failed),
                   nanoseconds_text(latency.mean_ns), nanoseconds_text(latency.p50_ns),
                   nanoseconds_text(latency.p99_ns), nanoseconds_text(latency.p999_ns),
                   nanoseconds_text(latency.max_ns)});
  };
  for (const sim::VerbReport& verb : report.verbs) row(verbs::name(verb.verb), verb.failed, verb.latency);
  row("program", report.program_errors, report.program_latency);
  for (const sim::ProgramReport& program : report.programs)
    row(program.name, program.errors, program.latency);
  return table;
}

/// What percentiles are when not all operations were recorded; empty when all were.
std::string latency_remark(const sim::RunReport& report) {
  const bool verbs_exact = std::all_of(report.verbs.begin(), report.verbs.end(),
                                       [](const sim::VerbReport& verb) { return verb.latency.exact; });
  const bool programs_exact = report.program_latency.exact &&
                              std::all_of(report.programs.begin(), report.programs.end(),
                                          [](const sim::ProgramReport& each) { return each.latency.exact; });
  if (!verbs_exact)
    return report::in_lines(
        "More operations than run.record_operations: percentiles are up to 1/128 too high.");
  if (!programs_exact)
    return report::in_lines("Percentiles of programs are those of a histogram: up to 1/128 too high.");
  return "";
}

/// The stages of the verb with most operations, longest first; nothing without any.
std::optional<TextTable> stage_table(const sim::RunReport& report) {
  const auto busiest = std::max_element(report.verbs.begin(), report.verbs.end(),
                                        [](const auto& a, const auto& b) { return a.count < b.count; });
  if (busiest == report.verbs.end() || busiest->count == 0 || busiest->path.latency == kTimeZero) return {};
  std::vector<int> stages;
  for (int stage = 0; stage < trace::kStageCount; ++stage) {
    const auto index = static_cast<std::size_t>(stage);
    if (busiest->path.critical[index] > kTimeZero || busiest->path.overlapped[index] > kTimeZero)
      stages.push_back(stage);
  }
  std::stable_sort(stages.begin(), stages.end(), [&](int a, int b) {
    return busiest->path.critical[static_cast<std::size_t>(a)] >
           busiest->path.critical[static_cast<std::size_t>(b)];
  });
  TextTable table({{"where the time of a " + std::string(verbs::name(busiest->verb)) + " goes"},
                   {"critical ns", Align::kRight},
                   {"overlapped ns", Align::kRight}});
  const double count = static_cast<double>(busiest->count);
  for (const int stage : stages) {
    const auto index = static_cast<std::size_t>(stage);
    table.add_row({std::string(trace::name(static_cast<trace::Stage>(stage))),
                   fmt::format("{:.1f}", as_nanoseconds(busiest->path.critical[index]) / count),
                   fmt::format("{:.1f}", as_nanoseconds(busiest->path.overlapped[index]) / count)});
  }
  return table;
}

/// What became of the traffic beside the programs, a line; nothing without any.
std::string background_text(const nlohmann::ordered_json& background) {
  if (background.is_null()) return "";
  std::string text =
      fmt::format("traffic beside the programs: {} of {} flows finished, {} failed",
                  background["finished"].get<std::uint64_t>(), background["flows"].get<std::uint64_t>(),
                  background["failed"].get<std::uint64_t>());
  if (const auto times = background.find("completion_ns"); times != background.end())
    text += fmt::format(", completion {} ns on average, at most {}",
                        nanoseconds_text((*times)["mean"].get<double>()),
                        nanoseconds_text((*times)["max"].get<double>()));
  return report::in_lines(text);
}

/// Gets of a key-value store that gave up, by program; nothing without any.
std::vector<Part> unreadable_parts(const sim::RunReport& report) {
  std::vector<Part> parts;
  const auto add = [&parts](std::string_view program, std::uint64_t count) {
    if (count == 0) return;
    parts.emplace_back(report::in_lines(
        fmt::format("{}: {} of them unreadable, a put was under way at each try", program, count)));
  };
  if (const auto counts = report.counters.find("program"); counts != report.counters.end())
    add("gets", counts->value("unreadable_gets", std::uint64_t{0}));
  for (const sim::ProgramReport& program : report.programs) {
    for (const workload::NamedCount& each : program.counts) {
      if (each.name == "unreadable_gets") add("gets of " + program.name, each.value);
    }
  }
  return parts;
}

/// What became of gets beside writers, by program, and what their reads met at root complexes; nothing
/// without any.
std::vector<Part> gets_parts(const sim::Scenario& scenario, const sim::RunReport& report) {
  std::vector<Part> parts;
  const auto add = [&parts](std::string_view program, const auto& count) {
    parts.emplace_back(report::in_lines(
        fmt::format("{}: {} torn, {} stale, {} given up; {} beside a put, {} retries", program, count("torn"),
                    count("stale"), count("given_up"), count("overlaps"), count("retries"))));
  };
  const sim::ScenarioConfig& config = scenario.config;
  if (config.program == sim::ProgramKind::kWorkload &&
      workload::kind_of(config.workload) == workload::WorkloadKind::kItemGets) {
    const auto counts = report.counters.find("program");
    add("gets", [&](std::string_view name) {
      return counts == report.counters.end() ? 0 : counts->value(std::string(name), std::uint64_t{0});
    });
  }
  for (const sim::ProgramReport& program : report.programs) {
    if (program.kind != workload::WorkloadKind::kItemGets) continue;
    add("gets of " + program.name, [&program](std::string_view name) -> std::uint64_t {
      for (const workload::NamedCount& each : program.counts) {
        if (each.name == name) return each.value;
      }
      return 0;
    });
  }
  if (parts.empty()) return parts;
  if (config.host.memory.system == sim::MemorySystem::kFlat) {
    parts.emplace_back(
        report::in_lines("with model.memory.system = \"flat\" each access is one step, so that no order of "
                         "lines can tear a get"));
    return parts;
  }
  std::uint64_t squashes = 0;
  std::uint64_t passed = 0;
  std::uint64_t passed_to_memory = 0;
  for (const auto& host : report.counters) {
    const auto complex = host.is_object() ? host.find("root_complex") : host.end();
    if (complex == host.end()) continue;
    squashes += complex->value("squashed_reads", std::uint64_t{0});
    passed += complex->value("passed", std::uint64_t{0});
    passed_to_memory += complex->value("passed_to_memory", std::uint64_t{0});
  }
  parts.emplace_back(report::in_lines(
      fmt::format("root complexes: {} requests passed earlier ones on the link and {} messages on the way to "
                  "memory, {} reads were squashed",
                  passed, passed_to_memory, squashes)));
  return parts;
}

/// What the replay of a trace came to, with the clients of a world side by side as far as they are told
/// apart; nothing without any.
std::vector<Part> replay_parts(const nlohmann::ordered_json& replay) {
  std::vector<Part> parts;
  if (replay.is_null()) return parts;
  const auto microseconds_text = [](const nlohmann::ordered_json& nanoseconds) {
    return fmt::format("{:.3f}", nanoseconds.get<double>() / 1e3);
  };
  const auto clients = replay.find("clients");
  const bool several = clients != replay.end() && (*clients)["count"].get<std::uint64_t>() > 1;
  if (several && clients->contains("each")) {
    TextTable table({{"replay by host"}, {"time us", Align::kRight}, {"slow-down", Align::kRight}});
    for (const auto& each : (*clients)["each"])
      table.add_row({std::to_string(each["host"].get<std::uint64_t>()), microseconds_text(each["time_ns"]),
                     fmt::format("{:.4f}", each["slow_down"].get<double>())});
    parts.emplace_back(std::move(table));
    parts.emplace_back("\n");
  } else if (several) {
    const auto& times = (*clients)["time_ns"];
    const auto& slow_downs = (*clients)["slow_down"];
    parts.emplace_back(report::in_lines(fmt::format(
        "{} clients: {} to {} us, median {}; slowed down {:.4f} to {:.4f} times, median {:.4f}",
        (*clients)["count"].get<std::uint64_t>(), microseconds_text(times["min"]),
        microseconds_text(times["max"]), microseconds_text(times["median"]), slow_downs["min"].get<double>(),
        slow_downs["max"].get<double>(), slow_downs["median"].get<double>())));
  }
  std::string text = fmt::format("replay: {} cache misses", replay["misses"].get<std::uint64_t>());
  if (const auto paging = replay.find("paging"); paging != replay.end()) {
    text += fmt::format(
        ", {} page faults, {} pages read, {} written", (*paging)["faults"].get<std::uint64_t>(),
        (*paging)["pages_read"].get<std::uint64_t>(), (*paging)["pages_written"].get<std::uint64_t>());
  } else {
    text += fmt::format(", {} of them far; {} lines or stores written there",
                        replay["remote_loads"].get<std::uint64_t>(),
                        replay["remote_stores"].get<std::uint64_t>());
  }
  text += fmt::format("; {}{} us, {:.4f} times the {} us with all memory local",
                      several ? "the slowest client took " : "", microseconds_text(replay["time_ns"]),
                      replay["slow_down"].get<double>(), microseconds_text(replay["all_local_time_ns"]));
  parts.emplace_back(report::in_lines(text));
  return parts;
}

}  // namespace

std::string rate_text(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.2f} M/s", per_second / 1e6);
  if (per_second >= 1e3) return fmt::format("{:.1f} k/s", per_second / 1e3);
  return fmt::format("{:.0f} /s", per_second);
}

std::string nanoseconds_text(double nanoseconds) {
  return nanoseconds < 10'000 ? fmt::format("{:.1f}", nanoseconds) : fmt::format("{:.0f}", nanoseconds);
}

/// What the program came to. A replay moves lines of memory, no messages; programs that were interrupted
/// before any of them ended have no rate.
std::string rates_text(const sim::Scenario& scenario, const sim::RunReport& report) {
  if (report.end == sim::RunOutcome::kInterrupted && report.program_operations == 0)
    return " of programs that ended";
  const std::string rate = ", " + rate_text(report.operations_per_second);
  if (scenario.config.program == sim::ProgramKind::kReplay) return rate;
  return fmt::format("{}, goodput {:.2f} Gb/s", rate, report.goodput_bps / 1e9);
}

std::vector<report::Part> run_parts(const sim::Scenario& scenario, const sim::RunReport& report,
                                    const std::vector<sim::JudgedExpectation>& judged) {
  std::vector<Part> parts;
  const auto add = [&parts](std::vector<Part> more) {
    for (Part& part : more) parts.push_back(std::move(part));
  };
  add({latency_table(report), latency_remark(report), "\n"});
  if (auto stages = stage_table(report)) add({*std::move(stages), "\n"});
  if (!judged.empty()) add({expectation_table(judged), "\n"});
  add({background_text(report.background)});
  add(replay_parts(report.replay));
  add(unreadable_parts(report));
  add(gets_parts(scenario, report));
  parts.emplace_back(report::in_lines(
      fmt::format("{} operations{}, {:.3f} us simulated, {} events, fingerprint {:#018x}",
                  report.program_operations, rates_text(scenario, report),
                  as_nanoseconds(report.simulated) / 1e3, report.events, report.fingerprint)));
  return parts;
}

std::string run_text(const sim::Scenario& scenario, const std::string& parts) {
  std::string out;
  if (!scenario.config.title.empty()) out += report::in_lines(scenario.config.title);
  out += report::in_lines(fmt::format("stack {}, profile {}, seed {}", sim::name(scenario.config.stack),
                                      scenario.config.profile, scenario.config.seed));
  return out + "\n" + parts;
}

report::TextTable expectation_table(const std::vector<sim::JudgedExpectation>& judged) {
  TextTable table({{"expectation"},
                   {"found", Align::kRight},
                   {"expected", Align::kRight},
                   {"holds", Align::kLeft, true}});
  for (const sim::JudgedExpectation& each : judged) {
    table.add_row({each.expectation.value, fmt::format("{:g}", each.found), range_text(each.expectation),
                   each.holds ? "yes" : "NO"});
  }
  return table;
}

}  // namespace wharf::cli
