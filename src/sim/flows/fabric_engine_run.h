// SPDX-License-Identifier: Apache-2.0
// The run of one protocol's engines, as a template so that nothing is dispatched per packet; each protocol
// has a .cc of its own.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/arena.h"
#include "base/huge_heap.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/packet_host.h"
#include "sim/flows/engine_endpoint.h"
#include "sim/flows/fabric_run.h"
#include "sim/flows/stall_watch.h"

namespace wharf::sim {

Result<FabricReport> run_uet_flows(const Topology&, const workload::FlowList&, const FabricRunConfig&,
                                   const FabricRunOptions&);
Result<FabricReport> run_ub_flows(const Topology&, const workload::FlowList&, const FabricRunConfig&,
                                  const FabricRunOptions&);
Result<FabricReport> run_roce_flows(const Topology&, const workload::FlowList&, const FabricRunConfig&,
                                    const FabricRunOptions&);

/// `Protocol` has: Engine; Prefetch; kName; kQueuePerPeer (a queue serves one peer); kInlineData;
/// make(config, host, payloads, arena) -> Result<unique_ptr<Engine>>; count(engine, totals).
template <typename Protocol>
class FabricEngineRun {
 public:
  using Engine = typename Protocol::Engine;
  using Endpoint = EngineEndpoint<Engine, FlowDriver, typename Protocol::Prefetch>;
  using Host = PacketHost<Endpoint>;

  FabricEngineRun(const Topology& topology, const workload::FlowList& flows, const FabricRunConfig& config)
      : topology_(topology),
        config_(config),
        names_(topology, config.switch_names),
        run_(flows, topology.host_count()) {
    run_.memory_base = kMemoryBase;
    run_.inline_data = Protocol::kInlineData;
    if (!config.observation.flows.empty()) {
      watch_.emplace(flows, config.observation.flows, topology.host_count());
      run_.watch = &*watch_;
    }
  }

  Result<FabricReport> run(const FabricRunOptions& options) {
    {
      wire::PayloadPool payloads;
      Arena arena;
      const auto tried = protocol_.make(config_, 0, payloads, arena);
      if (!tried) return tried.error();
    }
    expect_large_heap(topology_.host_count() * kHeapOfHost);
    // One arena per partition would do; one per host keeps engines of one thread apart from others.
    std::vector<std::unique_ptr<Arena>> arenas;
    arenas.reserve(topology_.host_count());
    Fabric<Host> fabric(
        topology_, observed(config_.fabric),
        [&](NodeId host, PacketContext& context) {
          context.wire = config_.wire;
          arenas.push_back(std::make_unique<Arena>(std::size_t{4} << 10U));
          auto engine = protocol_.make(config_, host, context.payloads, *arenas.back());
          return Host(Endpoint(host, *std::move(engine), FlowDriver(run_, context, host), context.payloads),
                      config_.charge, context);
        },
        config_.threads);
    connect_triggers(fabric);
    WHARF_TRY(connect(fabric));
    for (std::uint32_t i = 0; i < flows().size(); ++i) {
      if (flows()[i].trigger == workload::kNoTrigger) run_.wait(flows()[i].source, {flows()[i].start, i});
    }
    fabric.wake_hosts();

    auto captures = PortCaptures::open(config_.captures, names_);
    if (!captures) return captures.error();
    FabricReport report;
    report.threads = fabric.partition_count();
    report.outcome = drive(fabric, *captures, options);
    WHARF_TRY(captures->close());
    collect(fabric, report);
    return report;
  }

 private:
  /// Slices end at multiples of it, so that where a run stops depends on nothing but the run.
  static constexpr TimePs kSlice = microseconds(20);
  static constexpr TimePs kQuietSlice = milliseconds(1);
  /// A ring of held ports that has not moved for so long will not: every link that is not held serves a
  /// packet much sooner.
  static constexpr TimePs kRingLook = milliseconds(10);
  static constexpr std::uint64_t kMemoryBase = 1U << 20U;
  /// About what a host and its share of the fabric take.
  static constexpr std::size_t kHeapOfHost = std::size_t{96} << 10U;

  const std::vector<workload::Flow>& flows() const { return run_.list->flows; }
  Engine& engine(Fabric<Host>& fabric, NodeId host) { return fabric.host(host).endpoint().engine(); }

  FabricConfig observed(FabricConfig fabric) const {
    const Observation& observation = config_.observation;
    fabric.sample_interval = observation.period;
    fabric.sampled_ports = observation.ports;
    fabric.fullest_ports = observation.fullest_ports;
    fabric.record_pauses = observation.any();
    if (watch_) fabric.sampled_hosts = watch_->hosts();
    for (const PortCapture& capture : config_.captures) fabric.captured_ports.push_back(capture.port);
    return fabric;
  }

  /// Every partition hears what activates triggers that reach from host to host.
  void connect_triggers(Fabric<Host>& fabric) {
    if (run_.triggers.stays_on_hosts()) return;
    for (std::uint32_t i = 0; i < fabric.partition_count(); ++i) {
      std::vector<bool> own(topology_.host_count());
      for (NodeId host = 0; host < topology_.host_count(); ++host) own[host] = fabric.partition_of(host) == i;
      PacketContext& context = fabric.context(i);
      remote_.push_back(std::make_unique<RemoteTriggers>(run_, context, std::move(own)));
      context.listener = remote_.back().get();
    }
  }

  /// Queues, segments and peers for every pair that talks.
  Result<void> connect(Fabric<Host>& fabric) {
    const std::uint32_t hosts = topology_.host_count();
    struct Pair {
      std::uint32_t sends = 0;
      std::uint32_t receives = 0;
      engine::QueueId queue = 0;
      engine::QueueId far_queue = 0;
      verbs::PeerId peer = verbs::kNoPeer;
    };
    const auto pair_of = [](const workload::Flow& flow) {
      return std::uint64_t{flow.source} << 32U | flow.destination;
    };
    std::map<std::uint64_t, Pair> pairs;
    std::vector<std::uint32_t> sends(hosts, 0);
    std::vector<std::uint32_t> receives(hosts, 0);
    std::vector<std::uint64_t> largest(hosts, 1);
    for (const workload::Flow& flow : flows()) {
      Pair& pair = pairs[pair_of(flow)];
      ++sends[flow.source];
      ++pair.sends;
      if (flow.verb == verbs::Verb::kSend) {
        ++receives[flow.destination];
        ++pair.receives;
      }
      for (const std::uint32_t host : {flow.source, flow.destination})
        largest[host] = std::max(largest[host], flow.bytes);
    }
    std::vector<verbs::SegmentToken> tokens(hosts);
    for (NodeId host = 0; host < hosts; ++host) {
      if (sends[host] == 0 && largest[host] == 1) continue;
      const auto token =
          engine(fabric, host)
              .register_segment(kTimeZero, {.base = kMemoryBase, .length = std::bit_ceil(largest[host])});
      if (!token) return token.error();
      tokens[host] = *token;
    }
    // In the order of the list, so that queue numbers do not depend on anything else.
    std::vector<engine::QueueId> queues(hosts, kNoQueue);
    const auto make_queue = [&](NodeId host, std::uint32_t sent,
                                std::uint32_t received) -> Result<engine::QueueId> {
      engine::QueueConfig depth;
      depth.send_depth = std::clamp(std::bit_ceil(sent), 1U, kDepthMax);
      depth.receive_depth = std::clamp(std::bit_ceil(received), 1U, kDepthMax);
      if (depth.receive_depth < received)
        return input_error(fmt::format("{}: host {} is sent {} messages, expected at most {}",
                                       run_.list->name, host, received, kDepthMax));
      const auto queue = engine(fabric, host).create_queue(kTimeZero, depth);
      if (queue) queues[host] = *queue;
      return queue;
    };
    // A queue of the host's own for the pair, or the one that serves all its peers.
    const auto queue_of = [&](NodeId host, std::uint32_t sent, std::uint32_t received) {
      if (Protocol::kQueuePerPeer) return make_queue(host, sent, received);
      if (queues[host] != kNoQueue) return Result<engine::QueueId>(queues[host]);
      return make_queue(host, sends[host], receives[host]);
    };
    for (std::uint32_t i = 0; i < flows().size(); ++i) {
      const workload::Flow& flow = flows()[i];
      Pair& pair = pairs[pair_of(flow)];
      if (pair.peer == verbs::kNoPeer) {
        const auto near = queue_of(flow.source, pair.sends, 0);
        if (!near) return near.error();
        const auto far = queue_of(flow.destination, 0, pair.receives);
        if (!far) return far.error();
        pair.queue = *near;
        pair.far_queue = *far;
        const auto near_blob = engine(fabric, flow.source).export_queue(pair.queue);
        const auto far_blob = engine(fabric, flow.destination).export_queue(pair.far_queue);
        if (!near_blob || !far_blob) return (near_blob ? far_blob : near_blob).error();
        const auto peer = engine(fabric, flow.source).connect(kTimeZero, pair.queue, *far_blob);
        if (!peer) return peer.error();
        pair.peer = *peer;
        if (Protocol::kBothConnect) {
          const auto back = engine(fabric, flow.destination).connect(kTimeZero, pair.far_queue, *near_blob);
          if (!back) return back.error();
        }
      }
      run_.requests[i] = {pair.queue, pair.peer, tokens[flow.destination]};
      if (flow.verb == verbs::Verb::kSend) {
        verbs::ReceiveRequest receive;
        receive.id = i;
        receive.local_count = 1;
        receive.local[0] = {kMemoryBase,
                            static_cast<std::uint32_t>(std::bit_ceil(largest[flow.destination]))};
        if (engine(fabric, flow.destination).post_receive(kTimeZero, pair.far_queue, receive) !=
            engine::PostStatus::kOk) {
          return input_error(fmt::format("{}: {} takes no receive for flow {}, expected fewer sends",
                                         run_.list->name, Protocol::kName, flow.id));
        }
      }
    }
    return {};
  }

  FabricOutcome drive(Fabric<Host>& fabric, PortCaptures& captures, const FabricRunOptions& options) {
    const TimePs limit = min(config_.end, config_.time_limit);
    StallWatch stall(config_.end == kNever ? config_.stall_after : kNever);
    FabricProgress progress{.flows = flows().size()};
    for (const workload::Flow& flow : flows()) progress.bytes += flow.bytes;
    if (options.progress != nullptr) options.progress(options.progress_context, progress);
    for (;;) {
      // Silence is simulated in longer strides, which cost less.
      const TimePs slice = stall.moved() ? kSlice : kQuietSlice;
      const TimePs slice_end = min(limit, (fabric.now() / slice + 1) * slice);
      const FabricEnd end = fabric.run_until(slice_end, flows().size());
      for (std::uint32_t i = 0; i < fabric.partition_count(); ++i) captures.take(fabric.context(i).captured);
      captures.write_until(fabric.now());
      if (fabric.finished() >= flows().size()) return FabricOutcome::kFinished;
      if (end == FabricEnd::kDrained) {
        return config_.end == kNever ? FabricOutcome::kStalled : FabricOutcome::kTimeReached;
      }
      if (slice_end == limit) {
        return limit == config_.end ? FabricOutcome::kTimeReached : FabricOutcome::kStalled;
      }
      if (stall.looks(fabric.now(), fabric.delivered_bytes(), fabric.finished())) {
        if (!awaits_something(fabric.now())) {
          silent_since_ = stall.since();
          return FabricOutcome::kStalled;
        }
        stall.excuse(fabric.now());
      }
      if (deadlocked(fabric)) return FabricOutcome::kStalled;
      if (options.interrupt != nullptr && options.interrupt->load()) return FabricOutcome::kInterrupted;
      if (options.progress != nullptr) {
        progress.finished = fabric.finished();
        progress.delivered_bytes = fabric.delivered_bytes();
        progress.simulated = fabric.now();
        progress.hops = fabric.counters().hops;
        options.progress(options.progress_context, progress);
      }
    }
  }

  /// Looks now and then for ports that hold one another in a ring and have sent nothing since the look
  /// before, whatever the rest of the fabric does.
  bool deadlocked(Fabric<Host>& fabric) {
    if (config_.fabric.flow_control.kind == FlowControl::kNone || config_.stall_after == kNever ||
        config_.end != kNever || fabric.now() < next_ring_look_)
      return false;
    next_ring_look_ = fabric.now() + min(config_.stall_after, kRingLook);
    std::vector<PortId> ring = fabric.waiting_cycle();
    std::uint64_t sent = 0;
    for (const PortId port : ring)
      sent += fabric.port(port).sent_packets - fabric.port_counters(port).pause_frames;
    const bool stuck = !ring.empty() && ring == ring_ && sent == ring_sent_;
    ring_ = std::move(ring);
    ring_sent_ = sent;
    if (stuck) deadlock_ = ring_;
    return stuck;
  }

  /// Whether a flow is to start or a link to change by itself.
  bool awaits_something(TimePs now) const {
    for (const FlowRun::Host& host : run_.hosts) {
      if (!host.waiting.empty() && host.waiting.front().at >= now) return true;
    }
    return std::any_of(config_.fabric.changes.begin(), config_.fabric.changes.end(),
                       [&](const LinkChange& change) { return change.at >= now; });
  }

  void collect(Fabric<Host>& fabric, FabricReport& report) {
    report.finished = fabric.finished();
    report.simulated = fabric.now();
    const PartitionCounters counters = fabric.counters();
    report.hops = counters.hops;
    report.events = counters.events;
    report.history = counters.history;
    for (const FlowRecord& record : run_.records) {
      if (record.end != kNever && record.status != verbs::CompletionStatus::kSuccess) ++report.failed;
    }
    for (NodeId host = 0; host < topology_.host_count(); ++host)
      Protocol::count(engine(fabric, host), report.totals);
    for (PortId id = 0; id < topology_.ports().size(); ++id) {
      const PortCounters port = fabric.port_counters(id);
      report.ports.push_back({fabric.port(id).sent_packets, fabric.port(id).sent_bytes, port});
      report.totals.trimmed += port.trimmed;
      report.totals.marked += port.marked;
      report.totals.dropped += port.dropped_full + port.dropped_no_route;
      report.totals.lost += port.lost + port.damaged;
      report.totals.pause_frames += port.pause_frames;
    }
    if (report.outcome == FabricOutcome::kStalled) report.waiting = describe_stall(fabric);
    fabric.sample_end();
    report.seen = {fabric.deliveries(), fabric.samples(), fabric.fullest(), fabric.pauses()};
    if (watch_) {
      report.seen.flows = watch_->samples();
      report.seen.paths = watch_->paths();
    }
    report.records = std::move(run_.records);
  }

  std::string describe_stall(Fabric<Host>& fabric) {
    std::uint32_t first = 0;
    while (first < flows().size() && run_.records[first].end != kNever) ++first;
    const workload::Flow& flow = flows()[first];
    std::string text = fmt::format(
        "{} of {} flows have not finished at {}, the first of them flow {} ({}->{}), which has {}",
        flows().size() - fabric.finished(), flows().size(), format_time(fabric.now()), flow.id, flow.source,
        flow.destination, run_.records[first].start == kNever ? "not started" : "started");
    if (silent_since_ != kNever)
      text += fmt::format("; nothing has arrived since {}", format_time(silent_since_));
    if (!deadlock_.empty()) return text + "; deadlock by flow control: " + describe_cycle(names_, deadlock_);
    if (const auto cycle = fabric.waiting_cycle(); !cycle.empty())
      return text + "; deadlock by flow control: " + describe_cycle(names_, cycle);
    const auto held = fabric.held_ports();
    if (!held.empty()) {
      text += fmt::format("; flow control holds {} port{}, the first {}", held.size(),
                          held.size() == 1 ? "" : "s", names_[held.front()]);
    }
    std::vector<std::string> waits;
    engine(fabric, flow.source).describe_waiting(waits);
    if (!waits.empty()) text += "; " + waits.front();
    return text;
  }

  static constexpr engine::QueueId kNoQueue = 0xffff'ffff;
  static constexpr std::uint32_t kDepthMax = 65536;

  const Topology& topology_;
  const FabricRunConfig& config_;
  PortNames names_;
  FlowRun run_;
  std::vector<std::unique_ptr<RemoteTriggers>> remote_;  ///< By partition, if there are any.
  std::optional<FlowWatch> watch_;
  TimePs silent_since_ = kNever;
  TimePs next_ring_look_{};
  std::vector<PortId> ring_;      ///< At the last look,
  std::uint64_t ring_sent_ = 0;   ///< and what its ports had sent.
  std::vector<PortId> deadlock_;  ///< Found while others went on.
  Protocol protocol_;
};

}  // namespace wharf::sim
