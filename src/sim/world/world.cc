// SPDX-License-Identifier: Apache-2.0
#include "sim/world/world.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/fingerprint.h"
#include "base/huge_heap.h"
#include "base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/packet_host.h"
#include "sim/fabric/port_names.h"
#include "sim/flows/observed_fabric.h"
#include "sim/world/full_host.h"
#include "sim/world/nic_map.h"
#include "sim/world/ordered_sink.h"
#include "sim/world/thin_host.h"

namespace wharf::sim {
namespace {

using WorldFabric = Fabric<PacketHost<WorldEndpointHandle>>;

/// How far a run goes before sinks are fed.
constexpr TimePs kSinkSlice = microseconds(5);
/// About what a full host with a queue or two has on the heap, and a thin one.
constexpr std::size_t kHeapOfFullHost = std::size_t{3} << 19U;
constexpr std::size_t kHeapOfThinHost = std::size_t{96} << 10U;
/// Where flows find the memory of thin hosts.
constexpr std::uint64_t kThinMemory = 1U << 20U;

/// Refuses a region that the machine that simulates does not give, now that it is about to be asked for.
/// Each is judged for itself: what is not touched is not backed, so that regions that exceed the machine's
/// memory together may still do.
Result<void> require_obtainable(Bytes length) {
  if (length.count == 0) return {};  // An empty mapping is refused, an empty region needs none.
  void* probe = ::mmap(nullptr, length.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe != MAP_FAILED) {
    ::munmap(probe, length.count);
    return {};
  }
  return Error{ErrorKind::kEnvironment, fmt::format("a simulated host needs {} of memory: {}",
                                                    format_bytes(length), std::strerror(errno))};
}

PacketCharge charge_of(const LinkConfig& link) {
  return {.rule = link.charged_bytes,
          .nominal_request_bytes = link.nominal_request_bytes,
          .nominal_response_bytes = link.nominal_response_bytes};
}

/// Where a flow of the background ends in a full host: real memory, a queue of the NIC's.
class FullFlowEnd final : public FlowEnd {
 public:
  explicit FullFlowEnd(Host& host) : host_(host) {}

  Result<engine::QueueId> create_queue(const engine::QueueConfig& config) override {
    return host_.create_queue(std::max(config.send_depth, config.receive_depth));
  }
  Result<engine::ExchangeBlob> export_queue(engine::QueueId queue) override {
    return host_.nic().export_queue(queue);
  }
  Result<engine::PeerId> connect(engine::QueueId queue, std::span<const std::byte> blob) override {
    return host_.nic().connect(queue, blob);
  }
  /// Nobody is there to take a message: check_background() lets none come.
  engine::PostStatus post_receive(engine::QueueId, const verbs::ReceiveRequest&) override {
    return engine::PostStatus::kUnsupported;
  }
  Result<Memory> expose(std::uint64_t length) override {
    WHARF_TRY(require_obtainable(Bytes{length}));
    auto segment = host_.expose({.base = host_.memory().allocate(Bytes{length}), .length = length});
    if (!segment) return segment.error();
    return Memory{segment->base, segment->token};
  }

 private:
  Host& host_;
};

/// NICs of each host.
std::uint32_t nics_of(const HostGroup& group) { return group.thin ? 1 : group.nics.count; }

/// Whether each switch reaches each other one over switches alone.
bool switches_are_joined(const Topology& topology) {
  const NodeId first = topology.host_count();
  std::vector<bool> seen(topology.nodes().size());
  std::vector<NodeId> pending;
  const auto reach = [&](NodeId node) {
    if (topology.is_host(node) || seen[node]) return;
    seen[node] = true;
    pending.push_back(node);
  };
  if (topology.switch_count() > 0) reach(first);
  for (std::size_t at = 0; at < pending.size(); ++at) {
    for (const PortId port : topology.node(pending[at]).ports) reach(topology.port(port).peer);
  }
  return pending.size() == topology.switch_count();
}

/// In the place of a host that could not be made.
class NoHost final : public WorldEndpoint {
 public:
  bool transmit(TimePs, std::uint32_t, wire::TrafficClassMask, wire::Packet&) override { return false; }
  void receive(TimePs, std::uint32_t, const wire::Packet&) override {}
  void expire(TimePs) override {}
};

}  // namespace

struct World::Parts {
  explicit Parts(WorldConfig chosen) : config(std::move(chosen)) {}

  std::uint32_t count() const { return static_cast<std::uint32_t>(groups.size()); }
  /// Programs end the run at once where hosts are joined without a switch: no thread comes between.
  bool exact_end() const { return config.topology.switch_count() == 0; }

  /// When the last program ended, with an exact end.
  TimePs halted_at() const {
    for (const FullHost* one : full) {
      if (one->halted()) return one->now();
    }
    return now;
  }

  /// When the last program ended, wherever the hosts have been brought since.
  TimePs ended_at() const {
    TimePs last = now;
    for (const FullHost* one : full) last = max(last, one->ended_at());
    return last;
  }

  const HostGroup& group(std::size_t host) const { return config.groups[groups[host]]; }

  /// The NIC of the next queue of host `own` toward host `peer`.
  std::uint32_t next_nic(std::size_t own, std::size_t peer) {
    const NicSet& set = group(own).nics;
    if (set.count == 1) return 0;
    const std::uint32_t before = set.spread == NicSpread::kQueue ? queues[{own, peer}]++ : 0;
    return static_cast<std::uint32_t>((own + peer + before) % set.count);
  }

  /// Engines with addresses of their own: NICs, or where the flows of a thin host keep to a port, ports.
  std::uint32_t engines_of(std::uint32_t host) const {
    const HostGroup& own = group(host);
    if (!own.thin || !keeps_port(own.engine, config.background)) return nics_of(own);
    return static_cast<std::uint32_t>(config.topology.node(host).ports.size());
  }

  void number_nics() {
    NicMap map;
    std::uint32_t most = 1;
    for (std::uint32_t host = 0; host < count(); ++host) {
      const std::uint32_t own = engines_of(host);
      map.add_host(own, static_cast<std::uint32_t>(config.topology.node(host).ports.size()));
      most = std::max(most, own);
    }
    if (most > 1) nics = std::move(map);
    addresses = most * count();
  }

  Result<void> connect_background() {
    if (config.background.flows.empty()) return {};
    // All of them speak the protocol of the first.
    const std::uint32_t first = config.background.flows.front().source;
    const FlowRules& rules = rules_of(protocol_of(group(first).engine.stack)).flows;
    background->inline_data = rules.inline_data;
    listeners = listen_for_triggers(*background, *fabric);
    FlowEnds ends{[&](NodeId host, std::uint32_t port) -> std::unique_ptr<FlowEnd> {
      if (thin[host] != nullptr) return thin[host]->end(port);
      return std::make_unique<FullFlowEnd>(hosts[host]->host());
    }};
    for (std::uint32_t host = 0; host < count(); ++host)
      ends.ports.push_back(group(host).thin ? engines_of(host) : 1);
    WHARF_TRY(connect_flows(*background, rules, ends));
    start_flows(*background);
    return {};
  }

  WorldConfig config;
  std::vector<std::uint32_t> groups;                                    ///< By host.
  std::optional<NicMap> nics;                                           ///< Where hosts have several.
  std::uint32_t addresses = 0;                                          ///< Of all NICs.
  std::map<std::pair<std::size_t, std::size_t>, std::uint32_t> queues;  ///< So far, by host and peer.
  ProgramTally tally;                                                   ///< Of all hosts, with an exact end.
  std::vector<FullHost*> hosts;                                         ///< By host; null where it is thin.
  std::vector<FullHost*> full;                                          ///< All that there are.
  std::vector<ThinHost*> thin;                                          ///< By host, likewise.
  std::optional<FlowRun> background;
  std::vector<std::unique_ptr<RemoteTriggers>> listeners;
  std::unique_ptr<WorldFabric> fabric;
  std::unique_ptr<OrderedSink> sink;
  std::unique_ptr<trace::Tracer> link_tracer;
  std::optional<PortCaptures> captures;  ///< If there are any.
  TimePs now;
  std::size_t kept_host = 0;
  std::unique_ptr<OperationLog> log;
};

World::World(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
World::~World() = default;

Result<void> check_nics(const WorldConfig& config) {
  std::uint32_t host = 0;
  std::uint32_t most = 1;
  bool alike = config.background.flows.empty();
  for (const HostGroup& group : config.groups) {
    const std::uint32_t nics = nics_of(group);
    alike = alike && nics == nics_of(config.groups.front());
    most = std::max(most, nics);
    for (std::uint32_t end = host + group.count; host < end; ++host) {
      const std::size_t ports = config.topology.node(host).ports.size();
      if (nics > ports) {
        return input_error(fmt::format(
            "nics is {}, expected at most {}: host {} has {} in the topology, and each NIC needs one", nics,
            ports, host, ports == 1 ? "one port" : fmt::format("{} ports", ports)));
      }
    }
  }
  if (most == 1 || alike || switches_are_joined(config.topology)) return {};
  return input_error(fmt::format(
      "nics is {} at some hosts alone, expected one number for all hosts and no traffic beside: no switch "
      "joins the planes of the topology",
      most));
}

Result<void> check_background(const WorldConfig& config) {
  const workload::FlowList& list = config.background;
  if (list.flows.empty()) return {};
  std::vector<const HostGroup*> hosts;
  for (const HostGroup& group : config.groups) hosts.insert(hosts.end(), group.count, &group);
  const wire::Protocol protocol = protocol_of(config.groups.front().engine.stack);
  for (const workload::Flow& flow : list.flows) {
    const auto refuse = [&](std::string_view what) {
      return input_error(fmt::format("{}: flow {} ({}->{}) {}", list.place_of(flow), flow.id, flow.source,
                                     flow.destination, what));
    };
    if (std::max(flow.source, flow.destination) >= hosts.size())
      return refuse(fmt::format("names a host beyond the {} of the topology", hosts.size()));
    if (!hosts[flow.source]->thin)
      return refuse("starts at a host that runs programs, expected one that makes traffic alone");
    if (flow.verb == verbs::Verb::kSend && !hosts[flow.destination]->thin)
      return refuse(
          "is a send to a host that runs programs, which takes no messages; expected a write or a read");
    for (const std::uint32_t host : {flow.source, flow.destination}) {
      if (protocol_of(hosts[host]->engine.stack) != protocol)
        return refuse("joins hosts of different protocols, expected one protocol for all hosts");
    }
  }
  return workload::check_startable(list);
}

/// Makes the hosts of a world, one after the other, and keeps the first error.
class HostMaker {
 public:
  explicit HostMaker(World::Parts& parts) : parts_(parts) {}

  std::unique_ptr<WorldEndpoint> operator()(std::uint32_t number, PacketContext& context) {
    parts_.hosts.push_back(nullptr);
    parts_.thin.push_back(nullptr);
    if (outcome_.ok()) {
      auto made = parts_.config.groups[parts_.groups[number]].thin ? make_thin(number, context)
                                                                   : make_full(number, context);
      if (made.ok()) return *std::move(made);
      outcome_ = made.error();
    }
    return std::make_unique<NoHost>();
  }
  const Result<void>& outcome() const { return outcome_; }

 private:
  using Made = Result<std::unique_ptr<WorldEndpoint>>;

  Made make_full(std::uint32_t number, PacketContext& context) {
    const WorldConfig& config = parts_.config;
    const HostGroup& group = config.groups[parts_.groups[number]];
    const std::uint32_t nics = group.nics.count;
    FullHostParts parts{
        number, context, config.seed, config.attribution, config.record_limit, config.record_reserve, {}, {}};
    if (parts_.exact_end()) parts.end = {&parts_.tally, &context.halted};
    for (std::uint32_t nic = 0; nic < nics; ++nic) parts.links.push_back(link_of(number, nic));
    parts.nics = own_map();
    if (!config.cores.empty()) parts.cores = config.cores[number];
    auto full = FullHost::create(group.host, parts);
    if (!full) return full.error();
    for (std::uint32_t nic = 0; nic < nics; ++nic) {
      WHARF_TRY(install_engine(**full, group.host, group.engine,
                               {number, number + nic * parts_.count(), parts_.addresses, config.seed}));
    }
    WHARF_TRY((*full)->attach());
    parts_.hosts.back() = full->get();
    parts_.full.push_back(full->get());
    return std::unique_ptr<WorldEndpoint>(*std::move(full));
  }

  Made make_thin(std::uint32_t number, PacketContext& context) {
    const WorldConfig& config = parts_.config;
    auto thin = ThinHost::create(config.groups[parts_.groups[number]].engine, number, parts_.count(),
                                 parts_.engines_of(number), config.seed, *parts_.background, context);
    if (!thin) return thin.error();
    parts_.thin.back() = thin->get();
    return std::unique_ptr<WorldEndpoint>(*std::move(thin));
  }

  const NicMap* own_map() const { return parts_.nics ? &*parts_.nics : nullptr; }

  /// The links behind the ports of a NIC.
  HostLink link_of(std::uint32_t number, std::uint32_t nic) const {
    const WorldConfig& config = parts_.config;
    const FabricConfig& fabric = config.fabric;
    const std::vector<PortId>& ports = config.topology.node(number).ports;
    const BitsPerSecond rate = config.topology.port(ports.front()).rate;
    const bool retries = std::any_of(fabric.faults.begin(), fabric.faults.end(),
                                     [](const LinkFaults& faults) { return faults.retry; });
    return HostLink(
        rate, charge_of(config.link),
        fabric.flow_control.kind == FlowControl::kNone && fabric.changes.empty() && !retries,
        parts_.nics ? parts_.nics->ports_of(number, nic) : static_cast<std::uint32_t>(ports.size()),
        own_map());
  }

  World::Parts& parts_;
  Result<void> outcome_;
};

Result<std::unique_ptr<World>> World::create(WorldConfig config) {
  auto parts = std::make_unique<Parts>(std::move(config));
  WorldConfig& own = parts->config;
  for (std::uint32_t group = 0; group < own.groups.size(); ++group)
    parts->groups.insert(parts->groups.end(), own.groups[group].count, group);
  WHARF_CHECK(parts->groups.size() == own.topology.host_count());
  WHARF_TRY(check_nics(own));
  WHARF_TRY(check_background(own));
  std::size_t heap = 0;
  for (const HostGroup& group : own.groups)
    heap += group.count * (group.thin ? kHeapOfThinHost : kHeapOfFullHost);
  expect_large_heap(heap);
  parts->number_nics();
  own.fabric.traced = own.attribution;
  own.fabric.paced_hosts = true;
  own.fabric.seed = own.seed;
  own.fabric.turns = !own.in_time_order;
  observe(own.observation, own.captures, own.fabric);
  parts->background.emplace(own.background, parts->count());
  parts->background->memory_base = kThinMemory;
  parts->background->awaited = false;
  HostMaker maker(*parts);
  parts->fabric = std::make_unique<WorldFabric>(
      own.topology, own.fabric,
      [&](NodeId number, PacketContext& context) {
        context.wire = own.link.wire;
        context.wire_options = own.link.wire_options;
        return PacketHost<WorldEndpointHandle>(
            WorldEndpointHandle(maker(number, context), parts->nics ? &*parts->nics : nullptr),
            charge_of(own.link), context);
      },
      parts->exact_end() || own.in_time_order ? 1U : own.threads);
  WHARF_TRY(maker.outcome());
  WHARF_TRY(parts->connect_background());
  if (!own.captures.empty()) {
    auto opened = PortCaptures::open(own.captures, PortNames(own.topology, own.switch_names));
    if (!opened) return opened.error();
    parts->captures.emplace(*std::move(opened));
  }
  return std::unique_ptr<World>(new World(std::move(parts)));
}

std::uint32_t World::host_count() const { return parts_->count(); }
Host& World::host(std::size_t index) { return parts_->hosts[index]->host(); }
Simulation& World::simulation(std::size_t index) { return parts_->hosts[index]->simulation(); }
wire::PayloadPool& World::payloads(std::size_t index) { return parts_->hosts[index]->payloads(); }
const Topology& World::topology() const { return parts_->config.topology; }
const std::vector<std::string>& World::switch_names() const { return parts_->config.switch_names; }
const Observation& World::observation() const { return parts_->config.observation; }
bool World::pauses() const { return parts_->config.fabric.flow_control.kind == FlowControl::kPause; }
std::uint32_t World::threads() const { return parts_->fabric->partition_count(); }
const HostGroup& World::group_of(std::size_t index) const {
  return parts_->config.groups[parts_->groups[index]];
}

// --- Memory and queues

Result<verbs::RemoteSegment> World::expose(std::size_t index, Bytes length, verbs::AccessRights rights,
                                           verbs::AccessOrder read_order) {
  WHARF_TRY(require_obtainable(length));
  return host(index).expose({.base = host(index).memory().allocate(length),
                             .length = length.count,
                             .rights = rights,
                             .read_order = read_order});
}

Result<verbs::RemoteSegment> World::expose_pattern(std::size_t index, Bytes length, std::uint32_t pattern,
                                                   verbs::AccessRights rights) {
  return host(index).expose({.base = host(index).memory().allocate_pattern(length, pattern),
                             .length = length.count,
                             .rights = rights});
}

Result<RemotePair> World::connect(std::size_t near, std::size_t far, const verbs::RemoteSegment& near_segment,
                                  const verbs::RemoteSegment& far_segment, std::uint32_t depth,
                                  std::array<std::uint32_t, 2> cores) {
  const std::array<std::size_t, 2> ends{near, far};
  const std::array<std::uint32_t, 2> nics{parts_->next_nic(near, far), parts_->next_nic(far, near)};
  std::array<engine::QueueId, 2> queues{};
  std::array<engine::ExchangeBlob, 2> blobs;
  for (std::size_t end = 0; end < 2; ++end) {
    auto queue = host(ends[end]).create_queue(depth, nics[end]);
    if (!queue) return queue.error();
    queues[end] = *queue;
    auto blob = host(ends[end]).nic(nics[end]).export_queue(*queue);
    if (!blob) return blob.error();
    blobs[end] = std::move(blob).value();
  }
  std::array<engine::PeerId, 2> peers{};
  for (std::size_t end = 0; end < 2; ++end) {
    auto peer = host(ends[end]).nic(nics[end]).connect(queues[end], blobs[1 - end]);
    if (!peer) return peer.error();
    peers[end] = *peer;
  }
  const verbs::RemoteSegment seen_near = host(far).segment_at(nics[1], near_segment);
  const verbs::RemoteSegment seen_far = host(near).segment_at(nics[0], far_segment);
  return RemotePair{&host(near).add_remote(queues[0], peers[0], seen_near, nics[0], cores[0]),
                    &host(far).add_remote(queues[1], peers[1], seen_far, nics[1], cores[1])};
}

// --- Running

bool World::programs_ended() const {
  return std::all_of(parts_->full.begin(), parts_->full.end(),
                     [](FullHost* full) { return full->programs_running() == 0; });
}

RunResult World::run(TimePs limit) {
  Parts& own = *parts_;
  own.log.reset();
  const std::uint64_t before = events_executed();
  std::uint64_t waited_for = 0;
  for (FullHost* full : own.full) waited_for += full->begin_run() ? 1U : 0U;
  for (std::uint32_t i = 0; i < own.fabric->partition_count(); ++i) own.fabric->context(i).halted = false;
  own.fabric->wake_hosts();
  // To the limit and what happens at it.
  const TimePs end = limit == kNever ? kNever : limit + picoseconds(1);
  const std::uint64_t wanted = waited_for == 0 ? ~std::uint64_t{0} : own.fabric->finished() + waited_for;
  FabricEnd outcome = FabricEnd::kTimeReached;
  // Where everybody is idle until then, no thread is woken.
  const TimePs next = own.fabric->next_time();
  const TimePs from = next == kNever || next < end ? own.fabric->now() : end;
  for (TimePs reached = from; outcome == FabricEnd::kTimeReached && reached < end;) {
    reached = own.sink == nullptr ? end : min(end, max(reached, own.fabric->next_time()) + kSinkSlice);
    outcome = own.fabric->run_until(reached, wanted);
    if (own.sink != nullptr)
      own.sink->flush(outcome == FabricEnd::kTimeReached && reached < end ? reached : kNever);
    if (own.captures) write_captured(*own.fabric, *own.captures);
  }
  TimePs last;
  for (FullHost* full : own.full) last = max(last, full->simulation().now());
  RunResult result{.end = RunEnd::kDrained, .events = events_executed() - before};
  if (outcome == FabricEnd::kFinished) {
    result.end = RunEnd::kStopped;
    own.now = own.exact_end() ? own.halted_at() : own.ended_at();
  } else if (outcome == FabricEnd::kTimeReached) {
    result.end = RunEnd::kTimeReached;
    own.now = limit;
  } else {
    own.now = max(own.now, last);
  }
  // Behind switches, hosts may have been brought forward beyond the end of the last program.
  const bool beyond = outcome == FabricEnd::kFinished && !own.exact_end();
  const TimePs reached = beyond ? max(own.now, own.fabric->now()) : own.now;
  for (FullHost* full : own.full) {
    if (full->simulation().next_time() >= reached) full->simulation().skip_to(reached);
  }
  return result;
}

void World::stop_background() { parts_->background->stop(); }
const std::vector<FlowRecord>& World::background_records() const { return parts_->background->records; }
std::vector<RankRecord> World::background_ranks() const { return ranks_of(*parts_->background); }
const workload::FlowList& World::background() const { return parts_->config.background; }

TimePs World::now() const { return parts_->now; }

std::uint64_t World::events_executed() const {
  std::uint64_t sum = parts_->fabric->counters().events();
  for (const FullHost* full : parts_->full) sum += full->events_executed();
  return sum;
}

std::uint64_t World::fingerprint() const {
  Fingerprint all;
  for (const FullHost* full : parts_->full) all.add(full->fingerprint());
  all.add(parts_->fabric->counters().history);
  return all.value();
}

// --- Observation

void World::attach(trace::Sink& sink, std::uint32_t mask) {
  Parts& own = *parts_;
  WHARF_CHECK(own.fabric->partition_count() == 1 && own.sink == nullptr);
  own.sink = std::make_unique<OrderedSink>(sink, mask, own.fabric->context(0).payloads, own.count());
  for (FullHost* full : own.full) own.sink->add(full->tracer(), full->simulation().moment());
  own.link_tracer = std::make_unique<trace::Tracer>();
  own.sink->add_behind(*own.link_tracer, own.fabric->moment());
  own.fabric->context(0).tracer = own.link_tracer.get();
}

void World::keep_spans_of(std::size_t index, std::uint64_t operation) {
  parts_->kept_host = index;
  parts_->hosts[index]->records().keep_spans_of(operation);
}
const std::vector<trace::Attribution::Span>& World::kept_spans() const {
  return parts_->hosts[parts_->kept_host]->records().kept_spans();
}
const OperationEntry& World::kept_entry() const {
  return parts_->hosts[parts_->kept_host]->records().kept_entry();
}

const OperationLog& World::log_of(std::size_t index) { return parts_->hosts[index]->log(); }

const OperationLog& World::log() {
  Parts& own = *parts_;
  if (own.log == nullptr) {
    std::vector<const OperationLog*> logs;
    for (FullHost* full : own.full) logs.push_back(&full->log());
    own.log = std::make_unique<OperationLog>(OperationLog::merge(logs, own.config.record_limit));
  }
  return *own.log;
}

LinkReport World::link(PortId direction) const {
  const WorldFabric& fabric = *parts_->fabric;
  const Port& port = fabric.port(direction);
  LinkReport report{port.sent_packets, port.sent_bytes, 0, fabric.port_counters(direction)};
  report.packets += report.counters.lost_unsent;  // They came to the link all the same.
  std::uint64_t refused = 0;
  for (const std::uint32_t count : report.counters.refused) refused += count;
  report.delivered = report.packets + report.counters.duplicated - report.counters.lost -
                     report.counters.damaged - refused - fabric.in_flight(direction);
  return report;
}

ObservedRun World::seen() const { return seen_of(*parts_->fabric); }
std::vector<PortTotals> World::port_totals() const { return totals_of_ports(*parts_->fabric); }

Result<void> World::close_captures() {
  if (!parts_->captures) return {};
  write_captured(*parts_->fabric, *parts_->captures);
  return parts_->captures->close();
}

std::vector<std::string> World::describe_waiting() {
  std::vector<std::string> lines;
  for (FullHost* full : parts_->full) full->describe_waiting(lines);
  for (FullHost* full : parts_->full) {
    for (std::string& line : full->simulation().stall_report().waiting) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace wharf::sim
