// SPDX-License-Identifier: Apache-2.0
// What takes the clients' messages at the target's end: the RDMO worker, or a thread of the target's program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "engine/rdmo/worker.h"
#include "workload/append_thread.h"
#include "workload/rdmo_config.h"
#include "workload/rdmo_memory.h"

namespace wharf::workload {

/// Both are machines with the same inputs and outputs.
class RdmoBrain {
 public:
  static constexpr std::uint64_t kTarget = 1;  ///< Its id in requests.

  /// `memory`: bytes at kRdmoBase. `direct`: a write is visible when it is done.
  RdmoBrain(const RdmoConfig& config, std::uint32_t clients, std::uint64_t memory, bool direct,
            std::uint64_t random) {
    if (config.protocol == RdmoProtocol::kServerThread) {
      thread_.emplace(clients, rdmo_window(config), kRdmoBase + kRdmoCell, kRdmoBase + kRdmoData,
                      kRdmoBase + memory);
      key_ = kTarget;
      return;
    }
    rdmo::WorkerConfig worker;
    worker.clients_max = 1;
    worker.regions_max = worker.regions_per_client_max = 1;
    worker.connections_max = worker.connections_per_client_max = clients;
    worker.window = rdmo_window(config);
    worker.requests_max = clients * rdmo_window(config);
    worker.cells_max = 4;
    worker.writes_max = writes_most(config, clients);
    worker.message_bytes_max = std::max({config.eager_most, config.payload, worker.coalesce_bytes});
    const bool watched = config.use == RdmoUse::kLog || config.use == RdmoUse::kQueue;
    if (watched) worker.publish_delay = config.publish_delay;
    auto made = rdmo::Worker::create(worker);
    WHARF_CHECK(made.ok());
    worker_.emplace(*std::move(made));
    open(clients, memory, direct, random);
  }

  static std::uint32_t writes_most(const RdmoConfig& config, std::uint32_t clients) {
    return std::clamp(clients * config.loop.concurrency, 64U, 4096U);
  }
  /// Accesses under way at most.
  static std::uint32_t accesses_most(const RdmoConfig& config, std::uint32_t clients) {
    return 2 * writes_most(config, clients) + clients * rdmo_window(config) + 64;
  }

  rdmo::Taken receive(TimePs now, std::uint32_t client, std::uint32_t id, std::span<const std::byte> header,
                      const rdmo::Payload& payload) {
    return worker_ ? worker_->receive(now, client, id, header, payload)
                   : thread_->receive(client, id, header, payload);
  }
  void access_done(TimePs now, std::uint32_t id, const rdmo::AccessResult& result) {
    worker_ ? worker_->access_done(now, id, result) : thread_->access_done(id, result);
  }
  void lost(TimePs now, std::uint32_t client) {
    if (worker_) worker_->peer_lost(now, client);
  }
  void expire(TimePs now) {
    if (worker_ && worker_->deadline() <= now) worker_->expire(now);
  }
  bool next_access(rdmo::Access& out) {
    return worker_ ? worker_->next_access(out) : thread_->next_access(out);
  }
  bool next_message(rdmo::Message& out) {
    return worker_ ? worker_->next_message(out) : thread_->next_message(out);
  }
  bool next_release(std::uint64_t& out) {
    return worker_ ? worker_->next_release(out) : thread_->next_release(out);
  }
  /// Endpoints are those of links: closing one takes nothing.
  void act(TimePs now) {
    if (!worker_) return;
    for (rdmo::Action action; worker_->next_action(action);) {
      rdmo::ActionResult result;
      result.peer = action.peer;
      worker_->action_done(now, action.id, result);
    }
  }
  bool publishes() const { return worker_ && worker_->config().publish_delay != kNever; }
  std::uint64_t key() const { return key_; }
  void count(RdmoResult& result) const {
    if (!worker_) return;
    result.data_writes = worker_->counters().data_writes;
    result.cell_reads = worker_->counters().cell_reads;
  }

 private:
  /// The control path, to its end: one target, its memory, a queue for each client.
  void open(std::uint32_t clients, std::uint64_t memory, bool direct, std::uint64_t random) {
    std::uint32_t next_peer = 0;
    const auto command = [&](const wire::RdmoCommand& asked) {
      std::vector<std::byte> bytes;
      wire::encode(asked, bytes);
      worker_->command(kTimeZero, 0, bytes);
      for (rdmo::Action action; worker_->next_action(action);) {
        rdmo::ActionResult result;
        result.direct = direct;
        result.random = random;
        if (action.kind == rdmo::ActionKind::kOpenPeer) result.peer = next_peer++;
        worker_->action_done(kTimeZero, action.id, result);
      }
      rdmo::Notice notice;
      WHARF_CHECK(worker_->next_notice(notice));
      wire::RdmoNotification answer;
      WHARF_CHECK(wire::decode(notice.bytes, answer) == wire::RdmoControlError::kNone &&
                  answer.status == wire::DocaError::kSuccess);
      return answer.value;
    };
    const std::vector<std::byte> name(1);
    wire::RdmoCommand init;
    init.id = kTarget;
    init.peer = name;
    command(init);
    wire::RdmoCommand region;
    region.type = wire::RdmoCommandType::kMrRegister;
    region.address = kRdmoBase;
    region.length = memory;
    region.rkey = name;
    key_ = command(region);
    wire::RdmoCommand queue;
    queue.type = wire::RdmoCommandType::kRqCreate;
    queue.peer = name;
    for (std::uint32_t client = 0; client < clients; ++client) command(queue);
  }

  std::optional<rdmo::Worker> worker_;
  std::optional<AppendThread> thread_;
  std::uint64_t key_ = 0;
};

}  // namespace wharf::workload
