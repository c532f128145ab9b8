// SPDX-License-Identifier: Apache-2.0
// Runs a list of flows over engines at the edge of a fabric: posts each flow when its time or its trigger has
// come, and notes when it has finished. A flow is one work request.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/contract.h"
#include "sim/fabric/fabric_state.h"
#include "sim/flows/flow_watch.h"
#include "verbs/completion.h"
#include "wire/protocol_traits.h"
#include "workload/flow_list.h"
#include "workload/rank_run.h"

namespace wharf::sim {

/// What became of a flow. Times are kNever where it did not come to that.
struct FlowRecord {
  TimePs start = kNever;  ///< Posted, or would have been if the queue had had room.
  TimePs end = kNever;    ///< Its completion: for a write, all of it has been acknowledged.
  verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
  // Each by its source and by its destination, which touch nothing of one another's.
  std::array<std::uint32_t, 2> retransmitted{};  ///< Packets sent again.
  std::array<std::uint32_t, 2> trimmed{};        ///< Packets that arrived without their payload.

  std::uint32_t retransmissions() const { return retransmitted[0] + retransmitted[1]; }
  std::uint32_t trims() const { return trimmed[0] + trimmed[1]; }
};

/// What became of a rank.
struct RankRecord {
  TimePs finish = kNever;  ///< Of its last operation; kNever where it did not come to that.
  TimePs computed{};       ///< Of all its computations that have ended.
};

/// Whether the sender says that it has sent the packet before.
inline bool is_retransmission(const wire::Packet& packet) {
  return packet.traffic_class == wire::TrafficClass::kRetransmission ||
         (wire::says_retransmitted(packet) && packet.operation != wire::OperationTag{});
}

/// What the drivers of a run share. A flow's source alone touches its record and starts it, its destination
/// alone counts what arrives; a trigger that stays on a host is touched by that host. Activations of the
/// others are told to all partitions, each of which counts for itself (RemoteTriggers).
struct FlowRun {
  FlowRun(const workload::FlowList& flow_list, std::uint32_t host_count)
      : list(&flow_list),
        triggers(flow_list),
        records(flow_list.flows.size()),
        requests(flow_list.flows.size()),
        hosts(host_count) {
    const workload::RankProgram& program = flow_list.ranks;
    for (std::uint32_t rank = 0; rank < program.ranks(); ++rank) ranks.emplace_back(program, rank);
    if (!ranks.empty()) rank_at.resize(hosts.size(), nullptr);
    for (std::uint32_t rank = 0; rank < program.ranks(); ++rank) rank_at[program.hosts[rank]] = &ranks[rank];
    if (!triggers.waits_for_receipts() && program.empty()) return;
    for (const workload::Flow& flow : flow_list.flows) to_receive.push_back(flow.bytes);
  }
  FlowRun(const FlowRun&) = delete;
  FlowRun& operator=(const FlowRun&) = delete;

  /// A flow whose start is known, and that waits for it.
  struct Waiting {
    TimePs at;
    std::uint32_t flow = 0;
    bool operator>(const Waiting& other) const { return at != other.at ? at > other.at : flow > other.flow; }
  };
  struct Host {
    std::vector<Waiting> waiting;     ///< A heap, earliest first.
    std::vector<std::uint32_t> held;  ///< Their queue was full: posted in order when something completes.
  };
  /// How a flow reaches its peer; filled in while connecting.
  struct Request {
    engine::QueueId queue = 0;
    verbs::PeerId peer = verbs::kNoPeer;
    verbs::SegmentToken token{};
    std::uint64_t base = 0;      ///< Of the peer's memory.
    std::uint32_t port = 0;      ///< Of the source, where each port has an engine,
    std::uint32_t far_port = 0;  ///< and of the destination.
  };

  void wait(std::uint32_t host, Waiting one) {
    if (stopped) return;
    hosts[host].waiting.push_back(one);
    std::push_heap(hosts[host].waiting.begin(), hosts[host].waiting.end(), std::greater<>());
  }

  /// Between runs: flows that have not started never will.
  void stop() {
    stopped = true;
    for (Host& host : hosts) {
      host.waiting.clear();
      host.held.clear();
    }
    for (workload::RankRun& rank : ranks) rank.stop();
  }

  /// The rank at `host`, or null.
  workload::RankRun* rank_of(std::uint32_t host) { return rank_at.empty() ? nullptr : rank_at[host]; }
  const workload::RankRun* rank_of(std::uint32_t host) const {
    return rank_at.empty() ? nullptr : rank_at[host];
  }
  /// What counts as finished when all is done: flows, and ranks.
  std::uint64_t to_finish() const { return list->flows.size() + ranks.size(); }

  const workload::FlowList* list;
  workload::FlowTriggers triggers;
  std::vector<FlowRecord> records;
  std::vector<Request> requests;
  std::vector<Host> hosts;
  std::uint64_t memory_base = 0;  ///< Where flows read from and write to, at their source.
  bool inline_data = false;       ///< The engine takes described data with the request.
  bool awaited = true;            ///< The run is about them: it ends when they have ended.
  bool stopped = false;
  FlowWatch* watch = nullptr;               ///< Of chosen flows, if there are any.
  std::vector<std::uint64_t> to_receive;    ///< By flow, bytes; only when something waits for receipts.
  std::vector<workload::RankRun> ranks;     ///< Of the list's program. Each is touched by its host alone.
  std::vector<workload::RankRun*> rank_at;  ///< By host; empty without a program.
};

inline std::vector<RankRecord> ranks_of(const FlowRun& run) {
  std::vector<RankRecord> records;
  for (const workload::RankRun& rank : run.ranks) records.push_back({rank.finish(), rank.computed()});
  return records;
}

/// What the hosts of one partition hear of triggers that reach from host to host. An activation is heard
/// everywhere at the same instant, later than it happened (sim/fabric/notice.h), so every partition counts
/// the same.
class RemoteTriggers : public NoticeListener {
 public:
  /// `own[host]`: the host is of this partition. `run` and `context` outlive this.
  RemoteTriggers(FlowRun& run, PartitionContext& context, std::vector<bool> own)
      : run_(&run), context_(&context), own_(std::move(own)), activations_(run.list->triggers.size(), 0) {}

  void hear(const Notice& notice) override {
    const std::uint32_t trigger = notice.subject;
    for (const std::uint32_t flow : run_->triggers.started_by(trigger, ++activations_[trigger])) {
      const workload::Flow& starting = run_->list->flows[flow];
      if (!own_[starting.source]) continue;
      run_->wait(starting.source, {max(notice.at, starting.start), flow});
      context_->woken.push_back(starting.source);
    }
  }

 private:
  FlowRun* run_;
  PartitionContext* context_;
  std::vector<bool> own_;
  std::vector<std::uint32_t> activations_;  ///< By trigger, so far.
};

/// One host's part. `run` and `context` outlive it.
class FlowDriver {
 public:
  FlowDriver(FlowRun& run, PartitionContext& context, std::uint32_t host)
      : run_(&run), context_(&context), host_(host) {}

  template <typename Engines>
  void act(TimePs now, const Engines& engines) {
    FlowRun::Host& mine = run_->hosts[host_];
    if (workload::RankRun* rank = run_->rank_of(host_)) [[unlikely]]
      of_rank(now, *rank, [&] { rank->advance(now); });
    while (!mine.waiting.empty() && mine.waiting.front().at <= now) {
      const std::uint32_t flow = mine.waiting.front().flow;
      std::pop_heap(mine.waiting.begin(), mine.waiting.end(), std::greater<>());
      mine.waiting.pop_back();
      run_->records[flow].start = now;
      if (!mine.held.empty() || !post(now, engines, flow)) mine.held.push_back(flow);
    }
  }

  template <typename Engines>
  void completed(TimePs now, const Engines& engines, const verbs::Completion& completion) {
    if (completion.kind == verbs::CompletionKind::kReceive) return;
    const auto flow = static_cast<std::uint32_t>(completion.id);
    FlowRecord& record = run_->records[flow];
    WHARF_CHECK(record.end == kNever);
    record.end = now;
    record.status = completion.status;
    if (run_->awaited) ++context_->finished;
    release_held(now, engines);
    if (!completion.ok()) return;  // What waits for it has no data to go on with.
    activate(now, flow, workload::FlowEvent::kFinished);
    if (workload::RankRun* rank = run_->rank_of(host_)) [[unlikely]]
      of_rank(now, *rank, [&] { rank->sent(now, flow); });
    act(now, engines);
  }

  // What passes the endpoint. Packets and accesses carry the flow, counted from 1, as their operation.
  void sent(const wire::Packet& packet) {
    const bool again = is_retransmission(packet);
    if (again) [[unlikely]]
      count(packet.operation, &FlowRecord::retransmitted);
    if (run_->watch != nullptr) [[unlikely]]
      run_->watch->sent(host_, packet, again);
  }
  void arrived(const wire::Packet& packet) {
    if (packet.trim == wire::TrimState::kWhole) [[likely]]
      return;
    count(packet.operation, &FlowRecord::trimmed);
    if (run_->watch != nullptr) run_->watch->arrived(host_, packet);
  }
  void written(TimePs now, const engine::Access& access) {
    context_->delivered_bytes += access.length;
    if (run_->watch != nullptr) [[unlikely]]
      run_->watch->written(host_, access);
    if (!run_->to_receive.empty()) [[unlikely]]
      take_receipt(now, access);
  }
  template <typename Engines>
  void sample(TimePs now, const Engines& engines) {
    if (run_->watch != nullptr) run_->watch->sample(now, host_, engines, run_->requests);
  }

  TimePs deadline() const {
    const FlowRun::Host& mine = run_->hosts[host_];
    const TimePs flow = mine.waiting.empty() ? kNever : mine.waiting.front().at;
    const workload::RankRun* rank = std::as_const(*run_).rank_of(host_);
    return rank == nullptr ? flow : min(flow, rank->next_time());
  }

 private:
  /// The last byte of a flow starts what waits for it.
  void take_receipt(TimePs now, const engine::Access& access) {
    if (access.operation == wire::OperationTag{}) return;
    const auto flow = static_cast<std::uint32_t>(access.operation.value - 1);
    std::uint64_t& left = run_->to_receive[flow];
    if (run_->list->flows[flow].destination != host_ || left == 0) return;
    left -= std::min<std::uint64_t>(left, access.length);
    if (left > 0) return;
    bool wake = activate(now, flow, workload::FlowEvent::kReceived);
    if (workload::RankRun* rank = run_->rank_of(host_)) [[unlikely]] {
      of_rank(now, *rank, [&] { rank->received(now, flow); });
      wake = true;
    }
    if (wake) context_->woken.push_back(host_);
  }

  /// `happen` to the rank; sends that it makes start now, and it is counted when it is done.
  template <typename Happen>
  void of_rank(TimePs now, workload::RankRun& rank, Happen&& happen) {
    const bool was_done = rank.finish() != kNever;
    happen();
    for (const std::uint32_t flow : rank.starting()) run_->wait(host_, {now, flow});
    rank.starting().clear();
    if (!was_done && rank.finish() != kNever && run_->awaited) ++context_->finished;
  }

  /// What waits for `event` of a flow at this host starts, or will when other hosts have been told. True: a
  /// flow of this host starts now.
  bool activate(TimePs now, std::uint32_t flow, workload::FlowEvent event) {
    bool starts = false;
    run_->triggers.for_each_activated(flow, event, [&](std::uint32_t trigger) {
      if (!run_->triggers.stays_on_host(trigger)) {
        context_->told.push_back({now, trigger});
        return;
      }
      for (const std::uint32_t next : run_->triggers.activate(trigger)) {
        run_->wait(host_, {max(now, run_->list->flows[next].start), next});
        starts = true;
      }
    });
    return starts;
  }

  void count(wire::OperationTag operation, std::array<std::uint32_t, 2> FlowRecord::*what) {
    if (operation == wire::OperationTag{}) return;
    const auto flow = static_cast<std::size_t>(operation.value - 1);
    ++(run_->records[flow].*what)[run_->list->flows[flow].source == host_ ? 0 : 1];
  }

  template <typename Engines>
  void release_held(TimePs now, const Engines& engines) {
    std::vector<std::uint32_t>& held = run_->hosts[host_].held;
    std::size_t posted = 0;
    while (posted < held.size() && post(now, engines, held[posted])) ++posted;
    held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(posted));
  }

  /// False: the queue is full.
  template <typename Engines>
  bool post(TimePs now, const Engines& engines, std::uint32_t flow) {
    const workload::Flow& what = run_->list->flows[flow];
    const FlowRun::Request& how = run_->requests[flow];
    verbs::WorkRequest request;
    request.id = flow;
    request.operation = {flow + 1U};
    request.verb = what.verb;
    request.peer = how.peer;
    request.length = static_cast<std::uint32_t>(what.bytes);
    request.remote = {how.base, how.token};
    if (run_->inline_data && verbs::carries_payload(what.verb)) {
      request.inline_data = wire::pattern_payload(host_, run_->memory_base, request.length);
    } else {
      request.local_count = 1;
      request.local[0] = {run_->memory_base, request.length};
    }
    const engine::PostStatus status =
        engines.of(how.port).post(now, how.queue, request, engine::Submission::kInHand);
    WHARF_CHECK(status == engine::PostStatus::kOk || status == engine::PostStatus::kQueueFull);
    return status == engine::PostStatus::kOk;
  }

  FlowRun* run_;
  PartitionContext* context_;
  std::uint32_t host_;
};

}  // namespace wharf::sim
