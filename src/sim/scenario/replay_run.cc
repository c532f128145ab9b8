// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/replay_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/line.h"
#include "sim/scenario/assembly.h"
#include "sim/scenario/program_cells.h"
#include "sim/scenario/queue_depth.h"
#include "sim/scenario/replay_port.h"
#include "sim/scenario/replay_report.h"
#include "sim/scenario/world_traffic.h"

namespace wharf::sim {
namespace {

/// Far memory that holds no data: a trace has none either.
constexpr Bytes kFarMemory{std::uint64_t{1} << 34U};
constexpr std::uint32_t kPattern = 1;
constexpr std::uint32_t kMissSlotsMost = 64;
/// Of a trace that several clients share, at a time.
constexpr std::size_t kReadBytes = std::size_t{1} << 20U;

/// The host below a replay: its caches are the replay's own, so the load/store port has none and adds no
/// lookup.
HostConfig below_replay(HostConfig host, const ScenarioConfig& config) {
  host.cache.write_policy = WritePolicy::kUncached;
  host.cache.miss_detection = kTimeZero;
  host.core.outstanding_misses = std::min<std::uint32_t>(
      1024, std::min(host.core.outstanding_misses, kMissSlotsMost) + config.replay.core.write_slots);
  return host;
}

/// What `host` replays with.
TraceReplayConfig replay_config(const ScenarioConfig& config, const HostConfig& host) {
  TraceReplayConfig out = config.replay.core;
  out.cache = host.cache;
  out.local_memory = host.memory.load_latency;
  out.miss_slots = std::min(host.core.outstanding_misses, kMissSlotsMost);
  if (config.replay.far_memory == FarMemory::kPaged) out.paging = config.replay.paging;
  return out;
}

/// Host `index` of `groups`, as the scenario describes it.
const HostConfig& described(const std::vector<HostGroup>& groups, std::size_t index) {
  std::size_t group = 0;
  while (index >= groups[group].count) index -= groups[group++].count;
  return groups[group].host;
}

/// The trace, for a reader of each client. One client reads it as it comes, however long it is; several share
/// its bytes, which are read once.
class SharedTrace {
 public:
  static Result<SharedTrace> open(const std::string& path, std::uint32_t readers) {
    SharedTrace trace(path);
    if (readers == 1) return trace;
    std::ifstream file(path, std::ios::binary);
    std::vector<char>& bytes = trace.bytes_.emplace();
    std::vector<char> block(kReadBytes);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
      bytes.insert(bytes.end(), block.begin(), block.begin() + file.gcount());
    // It says why.
    if (!file.is_open() || file.bad()) WHARF_TRY(TraceReader::open(path));
    return trace;
  }
  /// The trace outlives the reader.
  Result<TraceReader> reader() const {
    return bytes_ ? TraceReader::from_memory(*bytes_, path_) : TraceReader::open(path_);
  }

 private:
  explicit SharedTrace(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::optional<std::vector<char>> bytes_;
};

/// Calls the replay when its clock is reached or an answer has come, until the trace is over.
verbs::Task<void> drive(SimCore& core, TraceReplay<ReplayPort>& replay, ReplayPort& port) {
  replay.advance(core.now());
  while (!replay.finished()) {
    if (replay.deadline() == kNever) {
      co_await port.answered().wait();
    } else {
      co_await core.resume_at(max(replay.deadline(), core.now()));
      if (replay.deadline() <= core.now()) replay.advance(core.now());
    }
  }
  port.stop();
}

/// A host that replays the trace against the memory of its server.
class Client {
 public:
  /// Exposes the memory and connects the client with it. `host` is what its replay runs on.
  static Result<std::unique_ptr<Client>> join(World& world, const ProgramHosts& hosts, std::uint32_t number,
                                              const SharedTrace& trace, const ScenarioConfig& config,
                                              const HostConfig& host) {
    auto reader = trace.reader();
    if (!reader) return reader.error();
    reader->stop_after(config.replay.most_records);
    TraceReplayConfig settings = replay_config(config, host);
    if (config.replay.warm_up_fraction > 0) {
      auto warm_up = warm_up_of(*reader, config.replay.warm_up_fraction);
      if (!warm_up) return warm_up.error();
      settings.warm_up_accesses = std::max(settings.warm_up_accesses, *warm_up);
    }
    const std::uint64_t total = reader->binary() != nullptr ? reader->binary()->counts().accesses() : 0;
    const RandomStream stream(config.seed, "replay.placement");
    auto placement =
        MemoryPlacement::create(config.replay.placement, number == 0 ? stream : stream.substream(number));
    if (!placement) return placement.error();

    const std::uint32_t client = hosts.clients[number];
    const std::uint32_t server = hosts.server_of(number);
    auto segment = world.expose_pattern(server, kFarMemory, kPattern);
    if (!segment) return segment.error();
    auto pair = world.connect(client, server, *segment, {}, kReplayQueueDepth);
    if (!pair) return pair.error();
    const bool load_store = traits(world.group_of(client).engine.stack).load_store;
    std::unique_ptr<Client> made(
        new Client(client, total, world.host(client).core(), *pair->near, load_store));
    auto replay = TraceReplay<ReplayPort>::create(settings, *std::move(placement), *std::move(reader),
                                                  made->port_, host.memory.rate);
    if (!replay) return replay.error();
    made->replay_.emplace(*std::move(replay));
    made->start(settings);
    return made;
  }

  std::uint32_t host() const { return host_; }
  const ReplayResult& result() const { return replay_->result(); }
  /// Why there is no result, if there is none.
  const Result<void>& status() const { return replay_->status(); }
  verbs::CompletionStatus failure() const { return port_.failure(); }
  /// The share of the trace that has been replayed; zero for text, whose length nobody knows.
  double fraction() const {
    return accesses_ == 0
               ? 0.0
               : static_cast<double>(replay_->accesses_replayed()) / static_cast<double>(accesses_);
  }

 private:
  Client(std::uint32_t host, std::uint64_t accesses, SimCore& core, SimRemote& remote, bool load_store)
      : host_(host), accesses_(accesses), core_(core), port_(core, remote, load_store) {}

  void start(const TraceReplayConfig& settings) {
    const bool paged = settings.paging.has_value();
    const std::uint32_t workers = paged ? settings.paging->outstanding_writes + settings.paging->window_pages
                                        : settings.miss_slots + settings.write_slots;
    const std::uint64_t buffer =
        paged ? std::uint64_t{settings.paging->window_pages} * kPageBytes : kLineBytes;
    port_.start(*replay_, workers, buffer);
    core_.spawn(drive(core_, *replay_, port_));
  }

  std::uint32_t host_;
  std::uint64_t accesses_;  ///< Of the trace; 0: not known.
  SimCore& core_;
  ReplayPort port_;
  std::optional<TraceReplay<ReplayPort>> replay_;
};

using Clients = std::vector<std::unique_ptr<Client>>;

/// What kept a client from a result, if anything did.
Result<void> outcome_of(const Clients& clients, const ScenarioConfig& config) {
  for (const auto& client : clients) {
    if (!client->status().ok()) return client->status().error();
    if (client->failure() == verbs::CompletionStatus::kSuccess) continue;
    const std::string who = clients.size() == 1 ? "" : fmt::format(" by host {}", client->host());
    return Error{ErrorKind::kStalled, fmt::format("{}: far memory could not be reached{}: {}",
                                                  config.replay.trace, who, verbs::name(client->failure()))};
  }
  return {};
}

void fill_replay(const Clients& clients, const ScenarioConfig& config, RunReport& report) {
  std::vector<ClientReplay> results;
  for (const auto& client : clients) results.push_back({client->host(), &client->result()});
  report.replay = replay_report(results, config.world.given);
  const ReplayResult all = together(results);
  report.program_operations = all.counts.accesses();
  if (all.time > kTimeZero) {
    report.operations_per_second =
        static_cast<double>(all.counts.accesses()) * 1e12 / static_cast<double>(all.time.ps);
  }
}

}  // namespace

Result<void> check_replay(const ScenarioConfig& config) {
  return validate_trace_replay(replay_config(config, config.host));
}

Result<RunReport> run_replay(const Scenario& scenario, const RunOptions& options) {
  const ScenarioConfig& config = scenario.config;
  auto plan = plan_world(config);
  if (!plan) return plan.error();
  WHARF_TRY(apply_options(options, plan->config));
  const ProgramHosts& hosts = plan->programs.front();
  auto trace = SharedTrace::open(config.replay.trace, static_cast<std::uint32_t>(hosts.clients.size()));
  if (!trace) return trace.error();
  const std::vector<HostGroup> groups = plan->config.groups;
  for (HostGroup& group : plan->config.groups) group.host = below_replay(std::move(group.host), config);
  auto made = World::create(std::move(plan->config));
  if (!made) return made.error();
  World& world = **made;
  world.keep_spans_of(0, options.waterfall_operation);
  if (options.sink != nullptr) world.attach(*options.sink, options.sink_mask);

  Clients clients;
  for (std::uint32_t number = 0; number < hosts.clients.size(); ++number) {
    auto joined =
        Client::join(world, hosts, number, *trace, config, described(groups, hosts.clients[number]));
    if (!joined) return joined.error();
    clients.push_back(*std::move(joined));
  }

  auto beside = ProgramsBeside::join(world, config, *plan);
  if (!beside) return beside.error();
  beside->spawn(world);

  RunReport report;
  RunHooks hooks;
  hooks.fraction = [&] {
    double sum = 0;
    for (const auto& client : clients) sum += client->fraction();
    return sum / static_cast<double>(clients.size());
  };
  hooks.at_rest = [&] { beside->judge_records(world.now()); };
  report.end = run_to_the_end(world, config.time_limit, options, hooks, report.waiting);
  beside->judge_records(kNever);
  fill_from(world, config, report);
  if (!world.background().flows.empty())
    report.background = background_report(world, config.world.fabric.traffic);
  world.stop_background();
  WHARF_TRY(outcome_of(clients, config));
  fill_replay(clients, config, report);
  beside->report(report);
  if (report.end == RunOutcome::kDone) beside->judge(world, report);
  WHARF_TRY(world.close_captures());
  report.log = world.log();
  return report;
}

}  // namespace wharf::sim
