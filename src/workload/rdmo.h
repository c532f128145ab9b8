// SPDX-License-Identifier: Apache-2.0
// Appends of many clients to one log: through the RDMO worker, through a thread of the target's program, or
// by what clients do themselves on the target's memory, fetch-and-add before the write, or a lock. The
// worker's other uses have the same program. [docs/rdmo.md]
#pragma once

#include <cstdint>

#include "workload/rdmo_client.h"
#include "workload/rdmo_host.h"

namespace wharf::workload {

namespace rdmo_detail {

template <typename R, typename C>
struct Appenders : Crew<RdmoConfig, RdmoResult, R, C> {
  using Crew<RdmoConfig, RdmoResult, R, C>::Crew;
  std::uint64_t next_number = 0;
};

/// Reserves and writes by itself, under either protocol that needs nobody at the target.
template <typename R, typename C>
verbs::Task<void> append_alone(Appenders<R, C>& crew, std::uint32_t worker) {
  const RdmoConfig& config = crew.config;
  const std::uint32_t bytes = config.batch * config.payload;
  const std::uint64_t local = crew.core.allocate(Bytes{bytes});
  const std::uint64_t words = crew.core.allocate(Bytes{16});
  const std::uint64_t holder = std::uint64_t{crew.party.index} << 32U | (worker + 1);
  const bool locks = config.protocol == RdmoProtocol::kClientLock;
  const std::uint64_t end = kRdmoBase + memory_needed(config, crew.party);
  Loop::Ticket ticket;
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    crew.loop.start(crew.core.now(), ticket);
    const std::uint64_t number = crew.next_number;
    crew.next_number += config.batch;
    for (std::uint32_t i = 0; i < config.batch; ++i)
      write_rdmo_record(crew.core.bytes(local + std::uint64_t{i} * config.payload, Bytes{config.payload}),
                        crew.seed, crew.party.index, number + i);
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
    std::uint64_t place = 0;
    if (locks) {
      for (;;) {
        const verbs::Completion taken = co_await crew.remote.compare_swap(crew.at(kRdmoLock), 0, holder);
        status = taken.status;
        if (!taken.ok() || taken.atomic_result[0] == 0) break;
        ++crew.result.retries;
        if (config.retry_wait > kTimeZero) co_await crew.core.sleep(config.retry_wait);
      }
      if (status == verbs::CompletionStatus::kSuccess) {
        const verbs::Completion read = co_await crew.remote.read(words, crew.at(kRdmoCell), 8);
        status = read.status;
        place = load_le64(crew.core.bytes(words, Bytes{8}).data());
      }
    } else {
      const verbs::Completion added = co_await crew.remote.fetch_add(crew.at(kRdmoCell), bytes);
      status = added.status;
      place = added.atomic_result[0];
    }
    if (status == verbs::CompletionStatus::kSuccess &&
        (place < kRdmoBase || place > end || end - place < bytes))
      status = verbs::CompletionStatus::kRemoteAccess;  // The log is full: the segment ends there.
    if (status == verbs::CompletionStatus::kSuccess) {
      const verbs::Completion written = co_await crew.remote.write(local, crew.at(place - kRdmoBase), bytes);
      status = written.status;
    }
    if (locks && status == verbs::CompletionStatus::kSuccess) {
      store_le64(crew.core.bytes(words, Bytes{16}).data(), place + bytes);
      store_le64(crew.core.bytes(words, Bytes{16}).data() + 8, 0);
      const verbs::Completion freed = co_await crew.remote.write(words, crew.at(kRdmoCell), 16);
      status = freed.status;
    }
    crew.loop.finish(crew.core, "append", worker, ticket, bytes, status);
    if (status == verbs::CompletionStatus::kSuccess) crew.result.records += config.batch;
  }
  crew.join.leave();
}

}  // namespace rdmo_detail

/// Runs one party on `core`; all arguments outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const RdmoConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      RdmoResult& result, Peers<R> peers) {
  WHARF_CHECK(check(config, party).ok());
  if (!is_attended(config)) {
    rdmo_detail::Appenders<R, C> crew(config, party, seed, remote, core, result);
    crew.join.spawn(core, config.loop.concurrency,
                    [&crew](std::uint32_t worker) { return rdmo_detail::append_alone(crew, worker); });
    co_await crew.join.all();
  } else if (party.index == 1) {
    R* const target = config.worker_at == RdmoWorkerPlace::kBeside ? peers.memory : nullptr;
    RdmoHost<R, C> host(config, party, core, peers, target, result);
    co_await host.run();
  } else {
    RdmoClient<R, C> client(config, party, seed, remote, core, peers, result);
    co_await client.run();
  }
}

}  // namespace wharf::workload
