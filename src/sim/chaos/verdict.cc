// SPDX-License-Identifier: Apache-2.0
#include "sim/chaos/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "sim/chaos/judge_peers.h"
#include "sim/scenario/counter_report.h"
#include "sim/scenario/fabric_results.h"
#include "sim/scenario/run.h"
#include "sim/scenario/run_request.h"

namespace wharf::sim {
namespace {

using Json = nlohmann::ordered_json;

/// Rows of operations that nobody reads.
constexpr std::uint64_t kFewRecords = 16;

/// Threads meet after each fraction of a microsecond: where there are more of them than processors, that
/// takes its time.
constexpr TimePs kLongForThreads = milliseconds(2);

void find(Verdict& verdict, std::string check, std::string what) {
  verdict.findings.push_back({std::move(check), std::move(what)});
}

std::uint64_t count(const Json& counters, const char* name) {
  return counters.contains(name) ? counters[name].get<std::uint64_t>() : 0;
}

/// Whatever goes into the links of some hosts comes out or is counted as lost.
void check_links(const Json& host, const std::string& name, Verdict& verdict) {
  if (!host.contains("link_out")) return;
  const Json& link = host["link_out"];
  std::uint64_t gone = count(link, "delivered") + count(link, "lost") + count(link, "corrupted");
  if (link.contains("refused")) {
    for (const auto& each : link["refused"]) gone += each.get<std::uint64_t>();
  }
  const std::uint64_t in = count(link, "packets") + count(link, "duplicated");
  if (in != gone)
    find(verdict, "links",
         fmt::format("{}: {} packets and copies went in, {} came out or were lost", name, in, gone));
}

/// "host0.engine.duplicates" to "PROTOCOL.duplicates"; empty for what is no counter of an engine.
std::string engine_counter(const std::string& name, const std::string& protocol) {
  const std::size_t at = name.find(".engine.");
  return at == std::string::npos ? "" : protocol + "." + name.substr(at + 8);
}

void note_reached(const Json& counters, const std::string& prefix, std::set<std::string>& out) {
  for (const auto& [name, value] : counters.items()) {
    if (value.is_object()) {
      note_reached(value, prefix + name + ".", out);
    } else if (value.get<std::uint64_t>() > 0) {
      out.insert(prefix + name);
    }
  }
}

void note_coverage(const Scenario& scenario, const RunReport& report, Verdict& verdict) {
  const std::string stack(name(scenario.config.stack));
  const std::string protocol = stack.substr(0, stack.find('_'));
  std::set<std::string> known;
  for (const std::string& each : counter_names(scenario.config)) known.insert(engine_counter(each, protocol));
  known.erase("");
  std::set<std::string> reached;
  for (const auto& host : report.counters) {
    if (host.contains("engine")) note_reached(host["engine"], protocol + ".", reached);
  }
  verdict.known.assign(known.begin(), known.end());
  verdict.reached.assign(reached.begin(), reached.end());
}

/// What one run of programs shows by itself.
void judge_report(const RunReport& report, Verdict& verdict) {
  if (report.end == RunOutcome::kStalled) {
    find(verdict, "end", fmt::format("the run stalled: {}", fmt::join(report.waiting, "; ")));
    return;
  }
  if (!report.verdict.empty()) find(verdict, "memory", report.verdict);
  if (report.program_errors > 0)
    find(verdict, "errors",
         fmt::format("{} of {} operations failed although no peer is given up", report.program_errors,
                     report.program_operations));
  if (report.program_operations == 0) find(verdict, "operations", "no operation ended");
  for (const VerbReport& verb : report.verbs) {
    if (verb.failed > 0)
      find(verdict, "completions",
           fmt::format("{} of {} work requests ({}) failed although no peer is given up", verb.failed,
                       verb.count, verbs::name(verb.verb)));
  }
  for (const auto& [host, counters] : report.counters.items()) check_links(counters, host, verdict);
}

/// Two runs that must be one history.
void compare(std::uint64_t first, std::uint64_t second, const char* check, const char* ways,
             Verdict& verdict) {
  if (first == second) return;
  find(verdict, check,
       fmt::format("{} have different histories, {:#018x} and {:#018x}", ways, first, second));
}

RunRequest request_for(const DrawnRun& run, const std::filesystem::path& profiles) {
  RunRequest request;
  request.profile_directory = profiles;
  request.file = fmt::format("chaos-{}.toml", run.seed);
  request.text = scenario_text(run);
  return request;
}

Result<Verdict> judge_programs(const DrawnRun& run, const std::filesystem::path& profiles) {
  Verdict verdict;
  RunRequest request = request_for(run, profiles);
  auto scenario = prepare_programs(request);
  if (!scenario) {
    verdict.refused = scenario.error().message;
    return verdict;
  }
  scenario->config.record_limit = kFewRecords;
  RunOptions options;
  auto first = run_scenario(*scenario, options);
  if (!first) {
    if (first.error().kind == ErrorKind::kEnvironment) return first.error();
    verdict.refused = first.error().message;
    return verdict;
  }
  verdict.operations += first->program_operations;
  judge_report(*first, verdict);
  note_coverage(*scenario, *first, verdict);
  if (!verdict.ok()) return verdict;

  options.wire = WireMode::kBytes;
  auto second = run_scenario(*scenario, options);
  if (!second) return second.error();
  verdict.operations += second->program_operations;
  compare(first->fingerprint, second->fingerprint, "wire", "runs through structs and through bytes", verdict);
  if (run.threads == 1 || first->simulated > kLongForThreads) return verdict;
  options.wire = WireMode::kStructs;
  scenario->config.world.threads = run.threads;
  auto third = run_scenario(*scenario, options);
  if (!third) return third.error();
  verdict.operations += third->program_operations;
  compare(first->fingerprint, third->fingerprint, "threads", "runs with one thread and with several",
          verdict);
  return verdict;
}

/// What one run of flows shows by itself.
void judge_flows_report(const FabricInputs& inputs, const FabricReport& report, Verdict& verdict) {
  if (report.outcome == FabricOutcome::kStalled) {
    find(verdict, "end", "the run stalled: " + report.waiting);
    return;
  }
  const std::size_t flows = inputs.flows.flows.size();
  if (report.failed > 0) find(verdict, "errors", fmt::format("{} of {} flows failed", report.failed, flows));
  if (report.finished != flows)
    find(verdict, "operations", fmt::format("{} of {} flows finished", report.finished, flows));
  for (const FlowRecord& record : report.records) {
    if (record.start == kNever || record.end == kNever || record.end < record.start) {
      find(verdict, "completions", "a flow ended before it started, or never did");
      return;
    }
  }
}

Result<Verdict> judge_flows(const DrawnRun& run, const std::filesystem::path& profiles) {
  Verdict verdict;
  const auto inputs = prepare_flows(request_for(run, profiles));
  if (!inputs) {
    verdict.refused = inputs.error().message;
    return verdict;
  }
  const auto derived = derive(*inputs, {inputs->topology.topology, inputs->topology.names});
  if (!derived) {
    verdict.refused = derived.error().message;
    return verdict;
  }
  FabricRunConfig config = derived->config;
  const auto execute = [&] { return run_flows(inputs->topology.topology, inputs->flows, config, {}); };
  const auto first = execute();
  if (!first) {
    verdict.refused = first.error().message;
    return verdict;
  }
  verdict.operations += first->finished;
  judge_flows_report(*inputs, *first, verdict);
  if (!verdict.ok()) return verdict;

  config.wire = WireMode::kBytes;
  const auto second = execute();
  if (!second) return second.error();
  verdict.operations += second->finished;
  compare(first->history, second->history, "wire", "runs through structs and through bytes", verdict);
  if (run.threads == 1 || first->simulated > kLongForThreads) return verdict;
  config.wire = WireMode::kStructs;
  config.threads = run.threads;
  const auto third = execute();
  if (!third) return third.error();
  verdict.operations += third->finished;
  compare(first->history, third->history, "threads", "runs with one thread and with several", verdict);
  return verdict;
}

}  // namespace

nlohmann::ordered_json to_json(const Verdict& verdict) {
  Json findings = Json::array();
  for (const Finding& each : verdict.findings)
    findings.push_back({{"check", each.check}, {"what", each.what}});
  return {{"refused", verdict.refused},
          {"findings", std::move(findings)},
          {"operations", verdict.operations},
          {"known", verdict.known},
          {"reached", verdict.reached}};
}

Verdict verdict_from(const nlohmann::ordered_json& document) {
  Verdict verdict;
  verdict.refused = document["refused"].get<std::string>();
  for (const auto& each : document["findings"])
    verdict.findings.push_back({each["check"].get<std::string>(), each["what"].get<std::string>()});
  verdict.operations = document["operations"].get<std::uint64_t>();
  verdict.known = document["known"].get<std::vector<std::string>>();
  verdict.reached = document["reached"].get<std::vector<std::string>>();
  return verdict;
}

Result<Verdict> judge_run(const DrawnRun& run, const std::filesystem::path& profiles) {
  if (run.peers) return judge_peers(run, profiles);
  return run.flows ? judge_flows(run, profiles) : judge_programs(run, profiles);
}

}  // namespace wharf::sim
