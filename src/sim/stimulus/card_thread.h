// SPDX-License-Identifier: Apache-2.0
// One software thread of the measurements on network cards (ASPLOS '26, Figures 2, 3 and 7): it posts batches
// of verbs to a queue pair of its own with as many doorbells as calls, polls, and works on what came. A host
// of the simulator has one core for its programs; these threads bring a core each, and post several requests
// with one call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "sim/host/nic/nic.h"
#include "sim/two_hosts/two_hosts.h"
#include "verbs/work_request.h"

namespace wharf::sim {

/// What a thread does. Its requests go to items that lie one behind the other in a segment of host 1.
struct CardLoad {
  /// Posted with one call; remote addresses are filled in. With several, batches take them in turn: all
  /// gets of a batch do their first step, then all do their second. Each has as many requests.
  std::vector<std::vector<verbs::WorkRequest>> steps;
  std::uint32_t calls = 1;          ///< In a batch.
  std::uint64_t batches = 1;        ///< In all.
  std::uint32_t batches_ahead = 1;  ///< Posted and not complete.
  bool blue_flame = false;          ///< The entry of a call of one request goes to the card with it.
  bool inline_payload = false;      ///< And its payload, too.
  TimePs work;                      ///< Per call, when the batch is complete.
  verbs::RemoteSegment segment;
  std::uint64_t items = 1;        ///< Each call goes to one of them, drawn uniformly.
  std::uint64_t item_stride = 0;  ///< Bytes from one item to the next.
};

/// The thread, on host 0.
class CardThread final : public Component, public QueueClient {
 public:
  /// Connects a new queue pair. `config` is what `two` was built from; `number` draws this thread's items.
  static Result<std::unique_ptr<CardThread>> create(TwoHosts& two, const TwoHostsConfig& config,
                                                    const CardLoad& load, std::uint32_t number);

  void start(TimePs at);
  void handle(const Event& event) override;

  // QueueClient.
  const verbs::WorkRequest& request(std::uint32_t slot) override { return requests_[slot]; }
  const verbs::ReceiveRequest& receive_request(std::uint32_t) override { return no_receive_; }
  void posted(std::uint32_t slot, engine::PostStatus status) override;
  void completed(const verbs::Completion& completion) override;

  bool is_done() const { return finished_ == load_.batches; }
  std::uint64_t failures() const { return failures_; }
  TimePs begin() const { return begin_; }
  /// When the last batch had been worked on.
  TimePs end() const { return ends_.back(); }
  /// Batches done at `at`; of the one under way, the share of its time that has passed.
  double batches_done(TimePs at) const;
  /// From a batch's first call until its last completion has been polled; one batch ahead only.
  const std::vector<TimePs>& latencies() const { return latencies_; }

 private:
  enum EventKind : std::uint16_t { kBatch, kCalled, kPolled };

  CardThread(TwoHosts& two, const TwoHostsConfig& config, const CardLoad& load, std::uint32_t number);
  const std::vector<verbs::WorkRequest>& step() const {
    return load_.steps[posted_batches_ % load_.steps.size()];
  }
  void begin_batch(TimePs now);
  void ring(TimePs now);
  void post(std::uint32_t index, TimePs reached, std::uint64_t item);
  void poll(TimePs now, ComponentId source);
  void end_batch(TimePs now);

  TwoHosts& two_;
  Nic& nic_;
  HostConfig config_;
  CardLoad load_;
  RandomStream random_;
  verbs::ReceiveRequest no_receive_;
  std::uint16_t client_ = 0;
  std::vector<verbs::WorkRequest> requests_;  ///< Used in turn.
  std::uint32_t next_request_ = 0;
  std::uint32_t signaled_ = 0;  ///< Completions of a batch.
  TimePs call_time_;
  TimePs poll_time_;
  TimePs gate_free_;  ///< When the queue pair takes its next request.

  std::uint32_t calls_ = 0;  ///< Of the batch that is being posted.
  std::uint64_t posted_batches_ = 0;
  std::uint64_t finished_ = 0;
  std::uint32_t polled_ = 0;   ///< Completions of the oldest batch.
  std::uint32_t arrived_ = 0;  ///< Completions to be polled.
  bool polls_ = false;         ///< Nothing to do until one comes.
  std::uint64_t failures_ = 0;
  TimePs begin_;
  TimePs batch_begin_;
  std::vector<TimePs> ends_;  ///< Of batches, with the work.
  std::vector<TimePs> latencies_;
};

/// Batches per second, in millions, while all of the threads were at work.
double million_batches_per_second(const std::vector<std::unique_ptr<CardThread>>& threads);

/// Runs the threads from now on, each begun 300 ns after the one before, until nothing is left to happen.
/// Refuses (kStalled) a run in which one of them does not come to its end.
Result<void> run_threads(TwoHosts& two, const std::vector<std::unique_ptr<CardThread>>& threads);

}  // namespace wharf::sim
