// SPDX-License-Identifier: Apache-2.0
// The run of one protocol's engines, as a template so that nothing is dispatched per packet.
#pragma once

#include <algorithm>
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
#include "sim/flows/flow_connections.h"
#include "sim/flows/observed_fabric.h"
#include "sim/flows/stall_watch.h"

namespace wharf::sim {

/// `Protocol`: see sim/protocols/protocol.h.
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
    if (config.flows_keep_ports) engine_ports_ = topology.host_ports();
    run_.inline_data = Protocol::kRules.flows.inline_data;
    if (!config.observation.flows.empty()) {
      watch_.emplace(flows, config.observation.flows, topology.host_count());
      run_.watch = &*watch_;
    }
  }

  Result<FabricReport> run(const FabricRunOptions& options) {
    expect_large_heap(topology_.host_count() * kHeapOfHost);
    // One arena per partition would do; one per host keeps engines of one thread apart from others.
    std::vector<std::unique_ptr<Arena>> arenas;
    arenas.reserve(topology_.host_count());
    Fabric<Host> fabric(
        topology_, observed(config_.fabric),
        [&](NodeId host, PacketContext& context) {
          context.wire = config_.wire;
          arenas.push_back(std::make_unique<Arena>(std::size_t{4} << 10U));
          const auto make = [&](std::uint32_t port) {
            return *makers_.make(own_config(), port * topology_.host_count() + host, context.payloads,
                                 *arenas.back());
          };
          Endpoint endpoint(host, make(0), FlowDriver(run_, context, host), context.payloads);
          if (!engine_ports_.empty()) {
            std::vector<Engine> others;
            for (std::uint32_t port = 1; port < engine_ports_[host]; ++port) others.push_back(make(port));
            endpoint.add_ports(std::move(others), topology_.host_count());
          }
          return Host(std::move(endpoint), config_.charge, context);
        },
        config_.threads);
    remote_ = listen_for_triggers(run_, fabric);
    WHARF_TRY(connect(fabric));
    start_flows(run_);
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
  const typename Protocol::Config& own_config() const {
    return std::get<typename Protocol::Config>(config_.engines);
  }
  PortEngines<Engine> engines(Fabric<Host>& fabric, NodeId host) {
    return fabric.host(host).endpoint().engines();
  }

  FabricConfig observed(FabricConfig fabric) const {
    observe(config_.observation, config_.captures, fabric);
    if (watch_) fabric.sampled_hosts = watch_->hosts();
    return fabric;
  }

  /// Queues, memory and peers for every pair that talks.
  Result<void> connect(Fabric<Host>& fabric) {
    return connect_flows(run_, Protocol::kRules.flows,
                         {[&](NodeId host, std::uint32_t port) {
                            return std::make_unique<EngineFlowEnd<Engine>>(engines(fabric, host).of(port),
                                                                           kMemoryBase);
                          },
                          engine_ports_});
  }

  FabricOutcome drive(Fabric<Host>& fabric, PortCaptures& captures, const FabricRunOptions& options) {
    const TimePs limit = min(config_.end, config_.time_limit);
    StallWatch stall(config_.end == kNever ? config_.stall_after : kNever, config_.stall_learns);
    FabricProgress progress{.flows = flows().size()};
    for (const workload::Flow& flow : flows()) progress.bytes += flow.bytes;
    if (options.progress != nullptr) options.progress(options.progress_context, progress);
    TimePs now = fabric.now();
    for (;;) {
      // Silence is simulated in longer strides, which cost less. Where everybody is idle for all of one, no
      // thread is woken: only the time goes on.
      const TimePs slice = stall.moved() ? kSlice : kQuietSlice;
      const TimePs slice_end = min(limit, (now / slice + 1) * slice);
      const TimePs next = fabric.next_time();
      const bool idle = next >= slice_end && next != kNever && slice_end != limit;
      const FabricEnd end = idle ? FabricEnd::kTimeReached : fabric.run_until(slice_end, run_.to_finish());
      now = slice_end;
      if (!idle) write_captured(fabric, captures);
      if (fabric.finished() >= run_.to_finish()) return FabricOutcome::kFinished;
      if (end == FabricEnd::kDrained) {
        return config_.end == kNever ? FabricOutcome::kStalled : FabricOutcome::kTimeReached;
      }
      if (slice_end == limit) {
        limit_reached_ = limit != config_.end;
        return limit_reached_ ? FabricOutcome::kStalled : FabricOutcome::kTimeReached;
      }
      if (stall.looks(now, fabric.delivered_bytes(), fabric.finished())) {
        if (!awaits_something(now)) {
          silent_since_ = stall.since();
          if (idle) (void)fabric.run_until(now, run_.to_finish());
          return FabricOutcome::kStalled;
        }
        stall.excuse(now);
      }
      if (deadlocked(fabric, now)) {
        if (idle) (void)fabric.run_until(now, run_.to_finish());
        return FabricOutcome::kStalled;
      }
      if (options.interrupt != nullptr && options.interrupt->load()) return FabricOutcome::kInterrupted;
      if (options.progress != nullptr) {
        progress.finished = fabric.finished() - ranks_done();
        progress.delivered_bytes = fabric.delivered_bytes();
        progress.simulated = now;
        progress.hops = fabric.counters().hops;
        options.progress(options.progress_context, progress);
      }
    }
  }

  /// Looks now and then for ports that hold one another in a ring and have sent no data since the look
  /// before, whatever the rest of the fabric does.
  bool deadlocked(Fabric<Host>& fabric, TimePs now) {
    if (config_.fabric.flow_control.kind == FlowControl::kNone || config_.stall_after == kNever ||
        config_.end != kNever || now < next_ring_look_)
      return false;
    next_ring_look_ = now + min(config_.stall_after, kRingLook);
    std::vector<PortId> ring = fabric.waiting_cycle();
    std::uint64_t sent = 0;
    for (const PortId port : ring)
      sent += fabric.port(port).sent_packets - fabric.port_counters(port).control_frames;
    const bool stuck = !ring.empty() && ring == ring_ && sent == ring_sent_;
    ring_ = std::move(ring);
    ring_sent_ = sent;
    if (stuck) deadlock_ = ring_;
    return stuck;
  }

  std::uint64_t ranks_done() const {
    return static_cast<std::uint64_t>(
        std::count_if(run_.ranks.begin(), run_.ranks.end(), [](const auto& rank) { return rank.done(); }));
  }

  /// Whether a flow is to start, a rank to compute on or a link to change by itself.
  bool awaits_something(TimePs now) const {
    for (const FlowRun::Host& host : run_.hosts) {
      if (!host.waiting.empty() && host.waiting.front().at >= now) return true;
    }
    for (const workload::RankRun& rank : run_.ranks) {
      if (rank.next_time() != kNever && rank.next_time() >= now) return true;
    }
    return std::any_of(config_.fabric.changes.begin(), config_.fabric.changes.end(),
                       [&](const LinkChange& change) { return change.at >= now; });
  }

  void collect(Fabric<Host>& fabric, FabricReport& report) {
    report.ranks = ranks_of(run_);
    report.finished = fabric.finished() - ranks_done();
    report.delivered_bytes = fabric.delivered_bytes();
    if (fabric.config().ingest.limited()) {
      for (NodeId host = 0; host < topology_.host_count(); ++host)
        report.refused_by_hosts += fabric.ingest(host).refused;
    }
    report.simulated = fabric.now();
    const PartitionCounters counters = fabric.counters();
    report.hops = counters.hops;
    report.events = counters.events();
    report.history = counters.history;
    for (const FlowRecord& record : run_.records) {
      if (record.end != kNever && record.status != verbs::CompletionStatus::kSuccess) ++report.failed;
    }
    for (NodeId host = 0; host < topology_.host_count(); ++host) {
      const auto all = engines(fabric, host);
      for (std::uint32_t port = 0; port < all.count(); ++port) Protocol::count(all.of(port), report.totals);
    }
    report.ports = totals_of_ports(fabric);
    for (const auto& [packets, bytes, port, rate] : report.ports) {
      report.totals.trimmed += port.trimmed;
      report.totals.marked += port.marked;
      report.totals.dropped += port.dropped_full + port.dropped_no_route;
      report.totals.lost += port.lost + port.damaged;
      report.totals.pause_frames += port.pause_frames;
    }
    if (report.outcome == FabricOutcome::kStalled) report.waiting = describe_stall(fabric);
    fabric.sample_end();
    report.seen = seen_of(fabric);
    if (watch_) {
      report.seen.flows = watch_->samples();
      report.seen.paths = watch_->paths();
    }
    report.records = std::move(run_.records);
  }

  std::string describe_stall(Fabric<Host>& fabric) {
    std::uint32_t first = 0;
    while (first < flows().size() && run_.records[first].end != kNever) ++first;
    std::string text = run_.ranks.empty() ? unfinished_flows(fabric, first) : unfinished_ranks(fabric);
    if (limit_reached_)
      text = fmt::format("run.time_limit of {} was reached; ", format_time(config_.time_limit)) + text;
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
    if (first == flows().size()) return text;  // Only ranks have not finished.
    std::vector<std::string> waits;
    engines(fabric, flows()[first].source).of(run_.requests[first].port).describe_waiting(waits);
    if (!waits.empty()) text += "; " + waits.front();
    return text;
  }

  std::string unfinished_flows(Fabric<Host>& fabric, std::uint32_t first) const {
    const workload::Flow& flow = flows()[first];
    return fmt::format(
        "{} of {} flows have not finished at {}, the first of them flow {} ({}->{}), which has {}",
        flows().size() - fabric.finished(), flows().size(), format_time(fabric.now()), flow.id, flow.source,
        flow.destination, run_.records[first].start == kNever ? "not started" : "started");
  }

  std::string unfinished_ranks(Fabric<Host>& fabric) const {
    const auto first = std::find_if(run_.ranks.begin(), run_.ranks.end(),
                                    [](const workload::RankRun& rank) { return !rank.done(); });
    std::string text = fmt::format("{} of {} ranks have not finished at {}", run_.ranks.size() - ranks_done(),
                                   run_.ranks.size(), format_time(fabric.now()));
    if (first == run_.ranks.end()) return text;
    return text + fmt::format(", the first of them rank {}, which waits for {}", first - run_.ranks.begin(),
                              first->waiting());
  }

  const Topology& topology_;
  const FabricRunConfig& config_;
  PortNames names_;
  FlowRun run_;
  std::vector<std::uint32_t> engine_ports_;  ///< By host, where each port has an engine; else empty.
  std::vector<std::unique_ptr<RemoteTriggers>> remote_;  ///< By partition, if there are any.
  std::optional<FlowWatch> watch_;
  TimePs silent_since_ = kNever;
  bool limit_reached_ = false;  ///< The run's own, not that of the traffic.
  TimePs next_ring_look_{};
  std::vector<PortId> ring_;      ///< At the last look,
  std::uint64_t ring_sent_ = 0;   ///< and what its ports had sent.
  std::vector<PortId> deadlock_;  ///< Found while others went on.
  typename Protocol::Engines makers_;
};

}  // namespace wharf::sim
