// SPDX-License-Identifier: Apache-2.0
// Distributed barrier: every participant adds one to a shared counter and waits until all have. Each also
// writes the round that it has reached before it arrives, and after the barrier checks that nobody was left
// behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "workload/crew.h"

namespace wharf::workload {

struct BarrierConfig {
  LoopConfig loop;                          ///< `operations` is the number of rounds of every participant.
  std::uint64_t region_offset = 0;          ///< Bytes from the start of the segment.
  TimePs poll_interval = nanoseconds(500);  ///< Idle time between looks at the counter.
  std::uint32_t check_every = 1;            ///< Rounds between checks of the others' marks; 0: never.
};

template <typename Keys>
void bind_keys(BarrierConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.time("poll_interval", config.poll_interval, "idle time between looks at the counter");
  keys.integer("check_every", config.check_every,
               "rounds between checks that nobody was left behind; 0: never");
}

struct BarrierResult {
  LoopResult loop;             ///< One operation: one participant passes one barrier.
  std::uint64_t polls = 0;     ///< Reads of the counter.
  std::uint64_t arrivals = 0;  ///< Additions to the counter that ended well.
};

/// Every worker of every party takes part.
inline std::uint64_t participants(const BarrierConfig& config, Party party) {
  return std::uint64_t{party.count} * config.loop.concurrency;
}

/// The counter has a line of its own; then come the marks, 8 bytes each.
inline constexpr std::uint64_t kBarrierMarksOffset = 64;
inline std::uint64_t memory_needed(const BarrierConfig& config, Party party) {
  return kBarrierMarksOffset + 8 * participants(config, party);
}

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const BarrierConfig& config, Party) {
  WHARF_TRY(check(config.loop));
  if (config.loop.operations == 0)
    return refuse("operations", 0, "at least 1 round, the same for every participant");
  if (config.loop.duration != kTimeZero) {
    return refuse("duration", static_cast<std::uint64_t>(config.loop.duration.ps),
                  "0ns: participants that stop at different rounds would wait for ever");
  }
  return {};
}

inline void prepare(const BarrierConfig& config, Party party, std::span<std::byte> region, std::uint64_t) {
  for (std::uint64_t at = 0; at < memory_needed(config, party); ++at) region[at] = std::byte{0};
}

/// Everybody arrived in every round, exactly once. After a request that failed, whoever waits for the one
/// that left stays where it is; but nobody may be further than the last round.
inline Verdict verify(const BarrierConfig& config, Party party, std::span<const std::byte> region,
                      std::uint64_t, std::span<const BarrierResult> results) {
  Verdict verdict;
  std::uint64_t errors = 0;
  std::uint64_t arrivals = 0;
  for (const BarrierResult& result : results) {
    errors += result.loop.errors;
    arrivals += result.arrivals;
  }
  const std::uint64_t rounds = config.loop.operations + config.loop.warmup_operations;
  const std::uint64_t all = participants(config, party);
  const std::uint64_t counter = load_le64(region.data());
  // An addition whose answer was an error may have been made.
  verdict.expect(counter >= arrivals && counter <= arrivals + errors,
                 {"arrivals lost or doubled", 0, arrivals, counter});
  verdict.expect(errors != 0 || arrivals == rounds * all, {"rounds missing", 0, rounds * all, arrivals});
  for (std::uint64_t id = 0; id < all; ++id) {
    const std::uint64_t mark = load_le64(region.data() + kBarrierMarksOffset + 8 * id);
    verdict.expect(errors != 0 ? mark <= rounds : mark == rounds,
                   {"participant left behind", id, rounds, mark});
  }
  return verdict;
}

namespace barrier_detail {

template <typename R, typename C>
using Participants = Crew<BarrierConfig, BarrierResult, R, C>;

/// Leaves without passing every round when a request fails: the others cannot pass either, and say so in
/// their way.
template <typename R, typename C>
verbs::Task<void> take_part(Participants<R, C>& crew, std::uint32_t worker) {
  const BarrierConfig& config = crew.config;
  Verdict& verdict = crew.loop.verdict();
  const std::uint64_t all = participants(config, crew.party);
  const std::uint64_t id = std::uint64_t{crew.party.index} * config.loop.concurrency + worker;
  const auto marks_bytes = static_cast<std::uint32_t>(8 * all);
  const std::uint64_t mark = crew.core.allocate(Bytes{8});
  const std::uint64_t seen = crew.core.allocate(Bytes{8});
  const std::uint64_t marks = crew.core.allocate(Bytes{marks_bytes});
  const verbs::RemoteAddress counter = crew.at(0);
  const verbs::RemoteAddress own_mark = crew.at(kBarrierMarksOffset + 8 * id);
  const verbs::RemoteAddress every_mark = crew.at(kBarrierMarksOffset);
  LoopConfig own_rounds = config.loop;
  own_rounds.concurrency = 1;
  // Every participant counts its own rounds, at its own share of the arrival rate.
  own_rounds.arrivals_per_second = own_rounds.arrivals_per_second / config.loop.concurrency + 1;
  Loop rounds(own_rounds, crew.random.substream(worker), crew.result.loop);
  Loop::Ticket ticket;
  while (rounds.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    const std::uint64_t round = ticket.number + 1;
    store_le64(crew.core.bytes(mark, Bytes{8}).data(), round);
    const verbs::Completion marked = co_await crew.remote.write(mark, own_mark, 8);
    rounds.start(crew.core.now(), ticket);
    ticket.arrived = ticket.started;  // The mark is for the check; it is no part of the barrier.
    verbs::CompletionStatus status = marked.status;
    if (status == verbs::CompletionStatus::kSuccess) {
      const verbs::Completion arrived = co_await crew.remote.fetch_add(counter, 1);
      status = arrived.status;
      crew.result.arrivals += arrived.ok() ? 1U : 0U;
      std::uint64_t count = arrived.atomic_result[0] + 1;
      if (arrived.ok()) {
        verdict.expect(count > all * (round - 1) && count <= all * round,
                       {"arrival counted in a wrong round", round, all * round, count});
      }
      while (status == verbs::CompletionStatus::kSuccess && count < all * round) {
        if (config.poll_interval > kTimeZero) co_await crew.core.sleep(config.poll_interval);
        const verbs::Completion polled = co_await crew.remote.read(seen, counter, 8);
        status = polled.status;
        if (!polled.ok()) break;
        const std::span<const std::byte> bytes = crew.core.bytes(seen, Bytes{8});
        verdict.expect(load_le64(bytes.data()) >= count,
                       {"counter ran backwards", round, count, load_le64(bytes.data())});
        count = load_le64(bytes.data());
        ++crew.result.polls;
      }
    }
    rounds.finish(crew.core, "barrier", worker, ticket, 8, status);
    if (status != verbs::CompletionStatus::kSuccess) break;
    if (config.check_every == 0 || round % config.check_every != 0) continue;
    const verbs::Completion checked = co_await crew.remote.read(marks, every_mark, marks_bytes);
    if (!checked.ok()) {
      LoopResult& counts = crew.result.loop;
      if (counts.errors++ == 0) counts.first_error = checked.status;
      break;
    }
    const std::span<const std::byte> found = crew.core.bytes(marks, Bytes{marks_bytes});
    for (std::uint64_t other = 0; other < all; ++other) {
      const std::uint64_t reached = load_le64(found.data() + 8 * other);
      // Nobody can be more than one round ahead: it would have passed a barrier that this one has not
      // reached.
      verdict.expect(reached == round || reached == round + 1,
                     {"passed before all arrived", other, round, reached});
    }
  }
  crew.join.leave();
}

}  // namespace barrier_detail

/// Runs one party's participants on `core`. All parties share one region and use the same config.
/// `config`, `remote`, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const BarrierConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      BarrierResult& result) {
  WHARF_CHECK(check(config, party).ok());
  barrier_detail::Participants<R, C> crew(config, party, seed, remote, core, result);
  crew.join.spawn(core, config.loop.concurrency,
                  [&crew](std::uint32_t worker) { return barrier_detail::take_part(crew, worker); });
  co_await crew.join.all();
}

}  // namespace wharf::workload
