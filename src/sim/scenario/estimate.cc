// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <variant>

#include "sim/fabric/topology_survey.h"
#include "sim/host/replay/trace_reader.h"
#include "sim/scenario/host_list.h"
#include "sim/scenario/memory_estimate.h"
#include "workload/workload.h"

namespace wharf::sim {
namespace {

/// Of a text trace, with the lines of its instructions: 46 to 57 bytes for an access in traces/README.md.
constexpr std::uint64_t kTextBytesPerAccess = 52;
/// A packet that passes a switch wakes it, often together with others: 0.6 times with 53 clients of one
/// server, once with one client (events over packets of switches, fat_tree:54 and fat_tree:1024 against
/// stars).
constexpr double kEventsPerHop = 0.8;
/// Memory that is touched for the first time: 0.5 to 1.1 where 33 to 1,024 hosts are made.
constexpr double kNanosecondsPerByte = 0.7;
/// The caches of the machine hold ever less of more hosts: an event took 250 ns with 9 hosts, 600 with 129,
/// 2,000 with 513, 2,300 with 1,024, which is this power of their number within a factor of 1.7.
constexpr double kCachePower = 0.45;

constexpr std::uint32_t kSampleHostsMost = 16;
constexpr std::uint64_t kSampleMemoryMost = std::uint64_t{32} << 20U;
constexpr std::uint64_t kSampleBytes = std::uint64_t{4} << 20U;
constexpr std::uint64_t kSampleEvents = 300'000;
constexpr std::uint64_t kSampleOperationsMost = 20'000;
/// Accesses of a trace in the second run of a sample, and half as many in the first: what they miss has
/// settled by then. Of text, which takes longer to read, fewer.
constexpr std::uint64_t kTraceAccesses = 8'000'000;
constexpr std::uint64_t kTextAccesses = 1'000'000;

std::uint64_t payload_of(const workload::WorkloadConfig& config) {
  return std::visit(
      [](const auto& chosen) -> std::uint64_t {
        if constexpr (requires { chosen.payload; }) {
          return std::max<std::uint64_t>(chosen.payload, 1);
        } else {
          return 64;
        }
      },
      config);
}

/// Halves what decides how much memory the program has at its server.
void halve_memory(workload::WorkloadConfig& config) {
  std::visit(
      [](auto& chosen) {
        if constexpr (requires { chosen.lines; }) {
          chosen.lines /= 2;
        } else if constexpr (requires { chosen.keys; }) {
          chosen.keys /= 2;
        } else if constexpr (requires { chosen.region_bytes; }) {
          chosen.region_bytes /= 2;
        } else if constexpr (requires { chosen.table_bytes; }) {
          chosen.table_bytes /= 2;
        } else if constexpr (requires { chosen.items; }) {
          chosen.items /= 2;
        } else if constexpr (requires { chosen.buffer_bytes; }) {
          chosen.buffer_bytes = chosen.buffer_bytes / 16 * 8;
        }
      },
      config);
}

/// As little memory as a sample should have, as far as the program can be cut down.
void shrink_memory(workload::WorkloadConfig& config, workload::Party party) {
  while (workload::memory_needed(config, party) > kSampleMemoryMost) {
    workload::WorkloadConfig smaller = config;
    halve_memory(smaller);
    if (workload::memory_needed(smaller, party) == workload::memory_needed(config, party) ||
        !workload::check(smaller, party)) {
      return;
    }
    config = smaller;
  }
}

/// Fetches of 8 bytes, four at a time.
workload::WorkloadConfig fetches(Stack stack) {
  workload::VerbLoopConfig loop;
  loop.verb = traits(stack).load_store ? verbs::Verb::kLoad : verbs::Verb::kRead;
  loop.payload = 8;
  loop.loop.concurrency = 4;
  return loop;
}

/// Whether a sample may read the trace, and the run as well.
bool can_be_read_again(const std::string& trace) {
  std::error_code status;
  return std::filesystem::is_regular_file(trace, status);
}

bool samples_trace(const ScenarioConfig& config) {
  return config.program == ProgramKind::kReplay && can_be_read_again(config.replay.trace);
}

/// Accesses of the trace; 0 where nobody can say without using it up.
std::uint64_t trace_accesses(const std::string& trace) {
  if (!can_be_read_again(trace)) return 0;
  const auto reader = TraceReader::open(trace);
  if (!reader) return 0;
  if (reader->binary() != nullptr) return reader->binary()->counts().accesses();
  std::error_code status;
  const auto bytes = std::filesystem::file_size(trace, status);
  return status ? 0 : std::max<std::uint64_t>(1, bytes / kTextBytesPerAccess);
}

/// Accesses that the second run of a sample may have.
std::uint64_t sample_accesses(const std::string& trace) {
  const auto reader = TraceReader::open(trace);
  return reader && reader->binary() != nullptr ? kTraceAccesses : kTextAccesses;
}

/// Whether an operation takes more where more clients of one server do it.
bool has_rivals(const ScenarioConfig& config) {
  return config.program == ProgramKind::kWorkload &&
         std::holds_alternative<workload::CasLockConfig>(config.workload);
}

/// Operations of each client of a sample.
std::uint64_t sample_size(const ScenarioConfig& sample) {
  return sample.program == ProgramKind::kReplay ? sample.replay.most_records
                                                : workload::loop_config(sample.workload).operations;
}

/// Links between clients and their servers, or between neighbours (`peers`), in the mean over some of them.
double mean_hops(const PlannedWorld& plan, bool peers) {
  constexpr std::uint32_t kPairsMost = 256;
  PathSurvey paths(plan.config.topology);
  const ProgramHosts& hosts = plan.programs.front();
  const std::size_t step = (hosts.clients.size() + kPairsMost - 1) / kPairsMost;
  double sum = 0;
  std::uint32_t pairs = 0;
  for (std::size_t client = 0; client < hosts.clients.size(); client += step) {
    const std::uint32_t other =
        peers ? hosts.clients[(client + 1) % hosts.clients.size()] : hosts.server_of(client);
    sum += paths.hops(hosts.clients[client], other);
    ++pairs;
  }
  return sum / pairs;
}

/// Operations that each client is asked for: the most there can be with a duration alone, and with a trace
/// that can be read once.
std::uint64_t operations_asked(const Scenario& scenario) {
  if (samples_trace(scenario.config)) return trace_accesses(scenario.config.replay.trace);
  const workload::LoopConfig& loop = workload::loop_config(scenario.config.workload);
  const bool counted = scenario.config.program != ProgramKind::kReplay && loop.operations != 0;
  return counted ? loop.operations + loop.warmup_operations : std::numeric_limits<std::uint64_t>::max();
}

/// `share` of what `loop` would do.
void shorten(workload::LoopConfig& loop, double share) {
  const auto part = [share](std::uint64_t whole) {
    return whole == 0
               ? 0
               : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(whole) * share));
  };
  loop.operations = part(loop.operations);
  loop.warmup_operations = part(loop.warmup_operations);
  if (loop.duration > kTimeZero)
    loop.duration =
        max(picoseconds(1),
            picoseconds(static_cast<std::int64_t>(static_cast<double>(loop.duration.ps) * share)));
}

/// Operations of each client.
double operations_each(const workload::LoopConfig& loop, const SampleCost& sample) {
  const double asked = loop.operations == 0 ? std::numeric_limits<double>::infinity()
                                            : static_cast<double>(loop.operations + loop.warmup_operations);
  if (loop.duration == kTimeZero) return asked;
  const double there_is_time_for =
      static_cast<double>(loop.duration.ps) / 1e12 * sample.operations_per_second;
  return std::min(asked, there_is_time_for);
}

}  // namespace

SampleRun sample_run_of(const RunReport& report, double taken_ns) {
  SampleRun run;
  run.operations = report.program_operations + report.program_errors;
  run.events = report.events;
  run.operations_per_second = report.operations_per_second;
  run.taken_ns = taken_ns;
  for (const char* host : {"host0", "host1", "hosts"}) {
    const auto found = report.counters.find(host);
    if (found == report.counters.end()) continue;
    const auto& link = (*found)["link_out"];
    if (const auto packets = link.find("packets"); packets != link.end())
      run.packets += packets->get<std::uint64_t>();
  }
  return run;
}

Scenario sample_of(const Scenario& scenario, std::uint64_t operations, std::uint32_t most_clients) {
  Scenario sample = scenario;
  sample.expectations.clear();
  ScenarioConfig& config = sample.config;
  if (samples_trace(config)) {
    config.replay.most_records = operations;
    config.replay.core.warm_up_accesses = 0;
    config.replay.warm_up_fraction = 0;
  } else if (config.program == ProgramKind::kReplay) {
    config.program = ProgramKind::kWorkload;
    config.workload = fetches(config.stack);
  }
  config.world.fabric.traffic = {};
  config.world.fabric.observation = {};
  config.world.traffic_root = TrafficRoot::kThin;
  workload::LoopConfig& loop = workload::loop_config(config.workload);
  // What runs beside does its share of it.
  const double share =
      std::min(1.0, static_cast<double>(operations) /
                        static_cast<double>(std::max<std::uint64_t>(operations_asked(scenario), 1)));
  for (ProgramSettings& program : config.programs) shorten(workload::loop_config(program.workload), share);
  loop.operations = operations;
  loop.warmup_operations = 0;
  loop.duration = kTimeZero;
  config.world.threads = 1;
  const auto plan = plan_world(config);
  std::uint32_t parties =
      plan ? plan->programs[0].parties(config.workload) : workload::parties_needed(config.workload);
  const bool shared = workload::arrangement(config.workload) == workload::Arrangement::kShared;
  // Lists of hosts mean the hosts that there are.
  const bool listed = workload::arrangement(config.workload) == workload::Arrangement::kPeers ||
                      !config.programs.empty() || !config.groups.empty() ||
                      config.placement.clients != kAuto || config.placement.servers != kServers;
  if (plan && config.program == ProgramKind::kReplay && !listed) config.world.clients = 1;
  if (plan && plan->roles.hosts > kSampleHostsMost && !listed) {
    const std::uint32_t clients = std::min(shared ? parties : 1, most_clients);
    config.world.fabric.topology = fmt::format("star:{}", clients + 1);
    config.world.fabric.slow_links = 0;
    config.world.servers = 1;
    config.world.clients = clients;
    if (shared) parties = clients;
  }
  shrink_memory(config.workload, {0, parties});
  return sample;
}

std::uint64_t first_sample_operations(const Scenario& scenario) {
  if (samples_trace(scenario.config))
    return std::max<std::uint64_t>(1, timing_sample_operations(scenario, {}) / 2);
  const workload::LoopConfig& loop = workload::loop_config(scenario.config.workload);
  const std::uint64_t wanted = std::max<std::uint64_t>(16, loop.concurrency);
  const std::uint64_t affordable =
      std::clamp<std::uint64_t>(kSampleBytes / payload_of(scenario.config.workload), 1, wanted);
  return std::clamp<std::uint64_t>(operations_asked(scenario) / 2, 1, affordable);
}

std::uint64_t timing_sample_operations(const Scenario& scenario, const SampleRun& first) {
  if (samples_trace(scenario.config))
    return std::min(sample_accesses(scenario.config.replay.trace), operations_asked(scenario));
  const std::uint64_t few = first_sample_operations(scenario);
  const std::uint64_t factor =
      std::max<std::uint64_t>(2, kSampleEvents / std::max<std::uint64_t>(first.events, 1));
  return std::min(few * factor, std::max(kSampleOperationsMost, 2 * few));
}

std::uint64_t second_sample_operations(const Scenario& scenario, const SampleRun& first) {
  const std::uint64_t few = first_sample_operations(scenario);
  return std::max(few + 1, std::min(timing_sample_operations(scenario, first), operations_asked(scenario)));
}

double event_ns_of(const SampleRun& first, const SampleRun& longer) {
  if (longer.events <= first.events) return 1;
  // Noise may make the first run the longer one; never below a nanosecond.
  return std::max(1.0,
                  (longer.taken_ns - first.taken_ns) / static_cast<double>(longer.events - first.events));
}

SampleCost cost_of(const Scenario& scenario, const Scenario& sample, const SampleRun& first,
                   const SampleRun& second) {
  SampleCost cost;
  const auto more = [](std::uint64_t a, std::uint64_t b) { return b > a ? static_cast<double>(b - a) : 0.0; };
  cost.event_ns = event_ns_of(first, second);
  // All that a client does, from its beginning on, or what it does once it is warm.
  const bool whole = sample_size(sample.config) >= operations_asked(scenario);
  const double asked = static_cast<double>(operations_asked(scenario));
  const double had = static_cast<double>(sample_size(sample.config));
  const auto per_operation = [&](double before, double after) {
    const double operations = more(first.operations, second.operations);
    const double rate = operations > 0 ? std::max(0.0, after - before) / operations : 0;
    const double mean = second.operations > 0 ? after / static_cast<double>(second.operations) : 0;
    if (whole) return mean;
    return samples_trace(scenario.config) ? rate + (mean - rate) * had / asked : rate;
  };
  cost.events_per_operation =
      per_operation(static_cast<double>(first.events), static_cast<double>(second.events));
  cost.packets_per_operation =
      per_operation(static_cast<double>(first.packets), static_cast<double>(second.packets));
  cost.operation_ns = std::max(1e-3, per_operation(first.taken_ns, second.taken_ns));
  const bool peers = workload::arrangement(sample.config.workload) == workload::Arrangement::kPeers;
  if (const auto plan = plan_world(sample.config)) {
    cost.hosts = plan->roles.hosts;
    cost.rivals = plan->programs[0].parties(sample.config.workload);
    cost.hops = mean_hops(*plan, peers);
    if (peers) {  // What they move grows with their buffers.
      const workload::Party party{0, plan->programs[0].parties(sample.config.workload)};
      const double larger = static_cast<double>(workload::memory_needed(scenario.config.workload, party)) /
                            static_cast<double>(workload::memory_needed(sample.config.workload, party));
      cost.events_per_operation *= larger;
      cost.packets_per_operation *= larger;
    }
    cost.operations_per_second =
        second.operations_per_second / static_cast<double>(plan->programs[0].threads());
  }
  return cost;
}

Result<MeasuredSample> measure_sample(const Scenario& scenario,
                                      const std::function<Result<SampleRun>(const Scenario&)>& run) {
  const Scenario few = sample_of(scenario, first_sample_operations(scenario));
  const auto first = run(few);
  if (!first) return first.error();
  const std::uint64_t operations = second_sample_operations(scenario, *first);
  const Scenario more = sample_of(scenario, operations);
  const auto second = run(more);
  if (!second) return second.error();
  MeasuredSample sample{cost_of(scenario, more, *first, *second), second->operations};
  if (has_rivals(scenario.config) && sample.cost.rivals > 1) {
    const Scenario alone = sample_of(scenario, operations, kSampleClientsMost / 2);
    const auto third = run(alone);
    if (!third) return third.error();
    // All operations of both count: a few more or less make the waits of all longer or shorter.
    const auto mean = [](const SampleRun& one) {
      return static_cast<double>(one.events) /
             static_cast<double>(std::max<std::uint64_t>(one.operations, 1));
    };
    const auto plan = plan_world(alone.config);
    const std::uint32_t rivals = plan ? plan->programs[0].parties(alone.config.workload) : 1;
    sample.cost.events_per_operation = mean(*second);
    if (rivals < sample.cost.rivals)
      sample.cost.events_per_rival =
          std::max(0.0, (mean(*second) - mean(*third)) / (sample.cost.rivals - rivals));
  }
  // Of a short program, more is run than it has.
  const std::uint64_t enough = timing_sample_operations(scenario, *first);
  if (enough <= operations) return sample;
  const auto longer = run(sample_of(scenario, enough));
  if (!longer) return longer.error();
  sample.cost.event_ns = event_ns_of(*first, *longer);
  sample.operations = longer->operations;
  return sample;
}

Result<CostEstimate> estimate_cost(const Scenario& scenario, const SampleCost& sample) {
  const ScenarioConfig& config = scenario.config;
  const auto plan = plan_world(config);
  if (!plan) return plan.error();
  const auto memory = estimate_memory(config);
  if (!memory) return memory.error();
  CostEstimate estimate;
  estimate.hosts = plan->roles.hosts;
  estimate.clients = static_cast<std::uint32_t>(plan->programs[0].clients.size());
  estimate.memory_bytes = *memory;
  const bool replay = config.program == ProgramKind::kReplay;
  const bool peers = !replay && workload::arrangement(config.workload) == workload::Arrangement::kPeers;
  estimate.hops = mean_hops(*plan, peers);
  const double operations = static_cast<double>(plan->programs[0].threads()) *
                            (replay ? static_cast<double>(trace_accesses(config.replay.trace))
                                    : operations_each(workload::loop_config(config.workload), sample));
  const double further = sample.packets_per_operation * (estimate.hops - sample.hops) * kEventsPerHop;
  // Most accesses of a trace make no event.
  const std::uint32_t rivals = plan->programs[0].parties(config.workload);
  const double fights = rivals > sample.rivals ? sample.events_per_rival * (rivals - sample.rivals) : 0;
  const double events =
      operations * std::max(replay ? 0.0 : 1.0, sample.events_per_operation + further + fights);
  estimate.operations = static_cast<std::uint64_t>(operations + 0.5);
  estimate.events = static_cast<std::uint64_t>(events + 0.5);
  const double taken_ns = replay
                              ? operations * (sample.operation_ns + std::max(0.0, further) * sample.event_ns)
                              : events * sample.event_ns;
  const double larger = std::max(1.0, static_cast<double>(estimate.hosts) / sample.hosts);
  estimate.seconds =
      (taken_ns * std::pow(larger, kCachePower) + static_cast<double>(*memory) * kNanosecondsPerByte) / 1e9;
  return estimate;
}

}  // namespace wharf::sim
