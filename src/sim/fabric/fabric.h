// SPDX-License-Identifier: Apache-2.0
// A whole fabric: builds its state from a topology, runs it on one or several threads, and answers questions
// about it.
//
// Results do not depend on the number of threads: partitions run in windows no longer than the shortest delay
// of a link that could be cut, hand over what crosses after each window, and order equal times by numbers of
// the topology. A run ends at the end of a window, and windows depend on the topology alone.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim/fabric/partition.h"
#include "sim/fabric/partitioning.h"
#include "sim/kernel/window_barrier.h"

namespace wharf::sim {

/// How a run ended.
enum class FabricEnd : std::uint8_t {
  kFinished,     ///< As many flows as asked for have finished.
  kDrained,      ///< Nothing will happen any more.
  kTimeReached,  ///< The end time; more would happen.
};

template <FabricHost Host>
class Fabric {
 public:
  using Body = typename Host::Body;
  using Context = typename ContextOf<Host>::Type;

  /// `topology` outlives the fabric and is valid, as is `config`. `make(host, context)`, or `make(host)`,
  /// makes the hosts, in order; the context is that of the partition in which the host lives. `threads`:
  /// partitions; as many as there are leaves at most.
  template <typename Make>
  Fabric(const Topology& topology, FabricConfig config, Make&& make, std::uint32_t threads = 1)
      : state_(topology, std::move(config)) {
    window_ = notice_delay(topology);
    if (window_length(topology) == kNever) threads = 1;
    state_.partition_of = divide(topology, threads, state_.config.host_work);
    const std::uint32_t count =
        1U + *std::max_element(state_.partition_of.begin(), state_.partition_of.end());
    RandomStream random(state_.config.seed, "fabric");
    state_.draw_key = random.next_u64();
    build_ports(topology);
    build_switches(topology, random);
    build_tables(topology);
    build_nodes(topology);
    state_.turn = longest_turn(topology);
    for (std::uint32_t i = 0; i < count; ++i)
      partitions_.push_back(std::make_unique<Partition<Host>>(state_, i, count));
    state_.hosts.reserve(topology.host_count());
    for (NodeId host = 0; host < topology.host_count(); ++host) {
      if constexpr (std::is_invocable_v<Make&, NodeId, Context&>) {
        state_.hosts.push_back(make(host, partitions_[state_.partition_of[host]]->context()));
      } else {
        state_.hosts.push_back(make(host));
      }
    }
    state_.wake_at.assign(topology.nodes().size(), kNever);
    state_.roots.assign(topology.host_count(), nullptr);
    if (state_.config.ingest.limited()) state_.ingest.resize(topology.host_count());
    for (auto& partition : partitions_) partition->start();
  }

  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  /// Hosts give back what they hold of their partitions.
  ~Fabric() { state_.hosts.clear(); }

  /// Executes everything before `end`, or less: the run also ends with the window in which the number of
  /// finished flows reaches `flows`. Calls continue where the last one ended.
  FabricEnd run_until(TimePs end, std::uint64_t flows = ~std::uint64_t{0}) {
    flows_wanted_ = flows;
    published_.assign(partitions_.size() * 2, {});
    if (partitions_.size() == 1) return run_alone(end);
    mailboxes_.resize(partitions_.size() * partitions_.size() * 2);
    WindowBarrier barrier(static_cast<std::uint32_t>(partitions_.size()));
    std::vector<std::thread> threads;
    for (std::uint32_t i = 1; i < partitions_.size(); ++i)
      threads.emplace_back([this, i, end, &barrier] { run_partition(i, end, barrier); });
    const FabricEnd result = run_partition(0, end, barrier);
    for (std::thread& thread : threads) thread.join();
    return result;
  }

  /// Between runs, after hosts have been given something to do from outside.
  void wake_hosts() {
    for (auto& partition : partitions_) partition->wake_hosts();
  }

  /// A last look at everything that is sampled, when the last run has ended.
  void sample_end() {
    for (auto& partition : partitions_) partition->sample_end(now_);
  }

  // --- Observation, between runs
  /// Up to where everything has been executed.
  TimePs now() const { return now_; }
  const TimePs& moment() const { return now_; }
  /// When something happens next; kNever when nothing will.
  TimePs next_time() const {
    TimePs next = kNever;
    for (const auto& partition : partitions_) next = min(next, partition->next_time());
    return next;
  }
  /// Packets under way on a link that stays within its partition.
  std::uint64_t in_flight(PortId id) const {
    return partitions_[state_.partition_of[topology().port(id).node]]->in_flight(id);
  }
  Host& host(NodeId id) { return state_.hosts[id]; }
  std::uint32_t partition_count() const { return static_cast<std::uint32_t>(partitions_.size()); }
  std::uint32_t partition_of(NodeId node) const { return state_.partition_of[node]; }
  Context& context(std::uint32_t partition) { return partitions_[partition]->context(); }
  const Topology& topology() const { return *state_.topology; }
  const FabricConfig& config() const { return state_.config; }
  const Port& port(PortId id) const { return state_.ports[id]; }
  /// Of a link that crosses, both ends count. Pauses that are in force count up to now.
  PortCounters port_counters(PortId id) const {
    PortCounters sum = state_.counters[id];
    const std::size_t far = id + topology().ports().size();
    if (far < state_.counters.size()) {
      sum.damaged += state_.counters[far].damaged;
      sum.retry_discarded += state_.counters[far].retry_discarded;
      sum.dropped_no_route += state_.counters[far].dropped_no_route;
    }
    for (unsigned rest = state_.ports[id].blocked; rest != 0; rest &= rest - 1) {
      const TimePs since = state_.extras[id].paused_since[static_cast<std::size_t>(std::countr_zero(rest))];
      sum.paused_ps += static_cast<std::uint64_t>((now_ - since).ps);
    }
    return sum;
  }
  const IngestState& ingest(NodeId host) const { return state_.ingest[host]; }
  PartitionCounters counters() const {
    PartitionCounters sum;
    for (const auto& partition : partitions_) {
      sum.hops += partition->counters().hops;
      sum.changes += partition->counters().changes;
      sum.history += partition->counters().history;
    }
    return sum;
  }
  std::uint64_t delivered_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& partition : partitions_) sum += partition->context().delivered_bytes;
    return sum;
  }
  std::uint64_t finished() const {
    std::uint64_t sum = 0;
    for (const auto& partition : partitions_) sum += partition->context().finished;
    return sum;
  }
  std::uint32_t packets_in_fabric() const {
    std::uint32_t sum = 0;
    for (const auto& partition : partitions_) sum += partition->packets_in_fabric();
    return sum;
  }
  /// Ordered by time, then port.
  std::vector<OccupancySample> samples() const {
    return merged<OccupancySample>([](const auto& partition) { return partition.samples().taken(); });
  }
  /// FabricConfig::fullest_ports of each instant, fullest first.
  std::vector<OccupancySample> fullest() const;
  /// What all hosts together had taken in at each instant.
  std::vector<DeliverySample> deliveries() const;
  std::vector<PauseRecord> pauses() const {
    return merged<PauseRecord>([](const auto& partition) { return partition.pauses(); });
  }
  /// What was captured since the last call, ordered by time, then link. Hosts that capture for themselves
  /// have it in their contexts.
  std::vector<CapturedPacket<Body>> take_captures() {
    std::vector<CapturedPacket<Body>> all;
    for (auto& partition : partitions_) {
      all.insert(all.end(), partition->captures().begin(), partition->captures().end());
      partition->captures().clear();
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.at != b.at ? a.at < b.at : a.link < b.link;
    });
    return all;
  }
  /// Ports that hold one another in a ring by flow control, in the order of who waits for whom; empty when
  /// there is no such deadlock.
  std::vector<PortId> waiting_cycle() const;
  /// Ports with packets that flow control holds back.
  std::vector<PortId> held_ports() const;

 private:
  struct alignas(64) Published {
    TimePs next = kNever;
    std::uint64_t finished = 0;
    std::vector<Notice> notices;  ///< At the times at which they are heard.
  };
  /// What is published by all, together.
  struct Known {
    TimePs next = kNever;
    std::uint64_t finished = 0;
  };
  struct alignas(64) Mailbox {
    std::vector<Crossing> packets;
    std::vector<std::byte> payloads;
    std::vector<BodyId> bodies;
    std::vector<trace::ForeignSpan> spans;
  };

  const Partition<Host>& partition_at(PortId port) const {
    return *partitions_[state_.partition_of[state_.topology->port(port).node]];
  }
  TimePs longest_turn(const Topology& topology) const;
  void build_ports(const Topology& topology);
  void build_extras(const Topology& topology);
  void build_nodes(const Topology& topology);
  void build_switches(const Topology& topology, const RandomStream& random);
  void build_tables(const Topology& topology);

  /// The end of the window that begins with the earliest event.
  TimePs window_end(TimePs next, TimePs end) const { return min(end, (next / window_ + 1) * window_); }

  /// After a window that has ended at `reached`, and before the first. `next`: when the partition will do
  /// something, or others can that have its packets.
  void publish(std::uint32_t partition, std::uint32_t phase, TimePs reached, TimePs next) {
    Context& context = partitions_[partition]->context();
    Published& place = published_[partition * 2 + phase];
    place.notices.clear();
    std::swap(place.notices, context.told);
    for (Notice& notice : place.notices) {
      notice.at += window_;
      WHARF_CHECK(notice.at >= reached);
      next = min(next, notice.at);
    }
    place.next = next;
    place.finished = context.finished;
  }

  /// Takes in what all have published.
  Known learn(Partition<Host>& mine, std::uint32_t phase) {
    Known known;
    for (std::uint32_t i = 0; i < partitions_.size(); ++i) {
      const Published& place = published_[i * 2 + phase];
      known.next = min(known.next, place.next);
      known.finished += place.finished;
      mine.take_notices(place.notices);
    }
    mine.hear_all();
    return known;
  }

  FabricEnd run_alone(TimePs end) {
    Partition<Host>& only = *partitions_[0];
    publish(0, 0, now_, only.next_time());
    for (;;) {
      const auto [next, finished] = learn(only, 0);
      if (finished >= flows_wanted_ || next == kNever) {
        if (!only.halted()) only.catch_up(now_);
        return finished >= flows_wanted_ ? FabricEnd::kFinished : FabricEnd::kDrained;
      }
      now_ = next >= end ? end : window_end(next, end);
      only.run_until(now_);
      only.hand_over_spans();
      only.close_accounts();
      publish(0, 0, now_, only.next_time());
      if (next >= end) {
        learn(only, 0);
        only.catch_up(end);
        return FabricEnd::kTimeReached;
      }
    }
  }

  Mailbox& mailbox(std::uint32_t from, std::uint32_t to, std::uint32_t phase) {
    return mailboxes_[(from * partitions_.size() + to) * 2 + phase];
  }

  /// What the others have left for partition `me` at the end of the last window.
  void take_mail(std::uint32_t me, std::uint32_t phase) {
    Partition<Host>& mine = *partitions_[me];
    for (std::uint32_t from = 0; from < partitions_.size(); ++from) {
      Mailbox& box = mailbox(from, me, phase);
      for (const Crossing& crossing : box.packets) mine.fetch(crossing);
      for (const Crossing& crossing : box.packets) mine.accept(crossing, box.payloads.data());
      box.packets.clear();
      box.payloads.clear();
      mine.accept_bodies(box.bodies);
      mine.accept_spans(box.spans);
    }
    mine.close_accounts();
  }

  FabricEnd run_partition(std::uint32_t me, TimePs end, WindowBarrier& barrier) {
    Partition<Host>& mine = *partitions_[me];
    const auto count = static_cast<std::uint32_t>(partitions_.size());
    std::uint32_t phase = 0;
    TimePs reached = now_;
    publish(me, phase, reached, mine.next_time());
    barrier.arrive_and_wait(me);
    for (;;) {
      take_mail(me, phase);
      const auto [next, finished] = learn(mine, phase);
      FabricEnd result = FabricEnd::kFinished;
      const bool last = finished >= flows_wanted_ || next >= end;
      if (last) {
        if (finished < flows_wanted_) result = next == kNever ? FabricEnd::kDrained : FabricEnd::kTimeReached;
        if (result != FabricEnd::kTimeReached) {
          mine.catch_up(reached);
          if (me == 0) now_ = reached;
          return result;
        }
      }
      reached = last ? end : window_end(next, end);
      mine.run_until(reached);
      mine.hand_over_spans();
      phase ^= 1U;
      TimePs earliest = mine.next_time();
      for (std::uint32_t to = 0; to < count; ++to) {
        Mailbox& box = mailbox(me, to, phase);
        std::swap(box.packets, mine.exchange().packets(to));
        std::swap(box.payloads, mine.exchange().payloads(to));
        std::swap(box.bodies, mine.exchange().bodies(to));
        std::swap(box.spans, mine.exchange().spans(to));
        for (const Crossing& crossing : box.packets) earliest = min(earliest, crossing.head.time);
      }
      publish(me, phase, reached, earliest);
      barrier.arrive_and_wait(me);
      if (last) {
        mine.catch_up(end);
        if (me == 0) now_ = end;
        take_mail(me, phase);
        learn(mine, phase);
        return result;
      }
    }
  }

  template <typename Record, typename Of>
  std::vector<Record> merged(Of&& of) const {
    std::vector<Record> all;
    for (const auto& partition : partitions_) {
      const auto& some = of(*partition);
      all.insert(all.end(), some.begin(), some.end());
    }
    std::stable_sort(all.begin(), all.end(), [](const Record& a, const Record& b) {
      return a.at != b.at ? a.at < b.at : a.port < b.port;
    });
    return all;
  }

  FabricState<Host> state_;
  std::vector<std::unique_ptr<Partition<Host>>> partitions_;
  TimePs window_ = kNever;
  TimePs now_;
  std::uint64_t flows_wanted_ = 0;
  std::vector<Published> published_;  ///< By partition and phase.
  std::vector<Mailbox> mailboxes_;    ///< By sender, receiver and phase.
};

}  // namespace wharf::sim

#include "sim/fabric/fabric_build.h"
#include "sim/fabric/fabric_observation.h"
