// SPDX-License-Identifier: Apache-2.0
// A lock taken by compare-and-swap, with exponential back-off. Inside it, a plain read and a plain write
// increment a shared counter: only real exclusion makes the total come out right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "workload/crew.h"

namespace wharf::workload {

/// How the holder gives the lock back.
enum class LockRelease : std::uint8_t {
  kWrite,        ///< A plain write of zero.
  kCompareSwap,  ///< Compare-and-swap of its own number to zero, which also proves that it still held the
                 ///< lock.
};
inline constexpr std::array<Choice<LockRelease>, 2> kLockReleaseChoices{
    {{"write", LockRelease::kWrite}, {"compare_swap", LockRelease::kCompareSwap}}};

struct CasLockConfig {
  LoopConfig loop;                        ///< One operation: take the lock once.
  std::uint64_t region_offset = 0;        ///< Bytes from the start of the segment.
  TimePs backoff_min = nanoseconds(500);  ///< Mean wait after the first failed attempt.
  TimePs backoff_max = microseconds(16);  ///< The mean doubles with every failure up to this.
  TimePs hold_time = kTimeZero;           ///< Core time spent inside, beside the read and the write.
  LockRelease release = LockRelease::kWrite;
};

template <typename Keys>
void bind_keys(CasLockConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.time("backoff_min", config.backoff_min, "mean wait after the first failed attempt");
  keys.time("backoff_max", config.backoff_max, "the mean wait doubles with every failure up to this");
  keys.time("hold_time", config.hold_time, "core time spent inside, beside the read and the write");
  keys.choice("release", config.release, std::span<const Choice<LockRelease>>(kLockReleaseChoices),
              "how the lock is given back");
}

struct CasLockResult {
  LoopResult loop;               ///< Latency: from arrival until the lock is held.
  std::uint64_t attempts = 0;    ///< Compare-and-swaps that tried to take the lock.
  std::uint64_t increments = 0;  ///< Critical sections that ended well.
  std::uint64_t uncertain = 0;   ///< Critical sections whose write failed: it may have happened or not.
  Histogram hold;                ///< From holding the lock until it was given back, in picoseconds.
};

/// The lock and the counter have a line each.
inline constexpr std::uint64_t kLockCounterOffset = 64;
inline std::uint64_t memory_needed(const CasLockConfig&, Party) { return 128; }

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const CasLockConfig& config, Party) {
  WHARF_TRY(check(config.loop));
  if (config.backoff_max < config.backoff_min) {
    return refuse("backoff_max (ps)", static_cast<std::uint64_t>(config.backoff_max.ps),
                  "at least `backoff_min`");
  }
  return {};
}

inline void prepare(const CasLockConfig&, Party, std::span<std::byte> region, std::uint64_t) {
  for (std::byte& byte : region.first(128)) byte = std::byte{0};
}

/// The lock is free and no increment was lost. `results` holds one entry per party.
inline Verdict verify(const CasLockConfig&, Party, std::span<const std::byte> region, std::uint64_t,
                      std::span<const CasLockResult> results) {
  Verdict verdict;
  std::uint64_t increments = 0;
  std::uint64_t uncertain = 0;
  std::uint64_t errors = 0;
  for (const CasLockResult& result : results) {
    increments += result.increments;
    uncertain += result.uncertain;
    errors += result.loop.errors;
  }
  const std::uint64_t counter = load_le64(region.data() + kLockCounterOffset);
  verdict.expect(counter >= increments && counter <= increments + uncertain,
                 {"increments lost or doubled", kLockCounterOffset, increments, counter});
  verdict.expect(errors != 0 || load_le64(region.data()) == 0,
                 {"lock never given back", 0, 0, load_le64(region.data())});
  return verdict;
}

namespace cas_lock_detail {

template <typename R, typename C>
struct Contenders : Crew<CasLockConfig, CasLockResult, R, C> {
  using Crew<CasLockConfig, CasLockResult, R, C>::Crew;
  std::uint64_t last_written = 0;  ///< Highest counter value that a worker of this party wrote.
};

/// Stops at the first failed request: whether the lock is held is unknown then.
template <typename R, typename C>
verbs::Task<void> contend(Contenders<R, C>& crew, std::uint32_t worker) {
  const CasLockConfig& config = crew.config;
  Verdict& verdict = crew.loop.verdict();
  const std::uint64_t own = std::uint64_t{crew.party.index} * config.loop.concurrency + worker + 1;
  const std::uint64_t value = crew.core.allocate(Bytes{8});
  const std::uint64_t zero = crew.core.allocate(Bytes{8});
  const verbs::RemoteAddress lock = crew.at(0);
  const verbs::RemoteAddress counter = crew.at(kLockCounterOffset);
  RandomStream random = crew.random.substream(worker);
  Loop::Ticket ticket;
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    crew.loop.start(crew.core.now(), ticket);
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
    TimePs backoff = config.backoff_min;
    for (;;) {
      ++crew.result.attempts;
      const verbs::Completion swapped = co_await crew.remote.compare_swap(lock, 0, own);
      status = swapped.status;
      if (!swapped.ok() || swapped.atomic_result[0] == 0) break;
      verdict.expect(swapped.atomic_result[0] != own, {"lock held by who asks for it", 0, 0, own});
      const TimePs pause = random.exponential(backoff);
      if (pause > kTimeZero) co_await crew.core.sleep(pause);
      backoff = min(backoff * 2, config.backoff_max);
    }
    crew.loop.finish(crew.core, "acquire", worker, ticket, 8, status);
    if (status != verbs::CompletionStatus::kSuccess) break;

    const TimePs held_since = crew.core.now();
    const verbs::Completion fetched = co_await crew.remote.read(value, counter, 8);
    status = fetched.status;
    if (fetched.ok()) {
      const std::uint64_t before = load_le64(crew.core.bytes(value, Bytes{8}).data());
      verdict.expect(before >= crew.last_written, {"counter ran backwards", 0, crew.last_written, before});
      if (config.hold_time > kTimeZero) co_await crew.core.compute(config.hold_time);
      store_le64(crew.core.bytes(value, Bytes{8}).data(), before + 1);
      const verbs::Completion written = co_await crew.remote.write(value, counter, 8);
      status = written.status;
      if (written.ok()) {
        ++crew.result.increments;
        crew.last_written = before + 1;
      } else {
        ++crew.result.uncertain;
      }
    }
    if (status == verbs::CompletionStatus::kSuccess) {
      if (config.release == LockRelease::kCompareSwap) {
        const verbs::Completion released = co_await crew.remote.compare_swap(lock, own, 0);
        status = released.status;
        verdict.expect(!released.ok() || released.atomic_result[0] == own,
                       {"lock taken away from its holder", 0, own, released.atomic_result[0]});
      } else {
        const verbs::Completion released = co_await crew.remote.write(zero, lock, 8);
        status = released.status;
      }
    }
    const TimePs given_back = crew.core.now();
    verbs::record_operation(crew.core, {"hold", held_since, held_since, given_back, 16, worker, status});
    if (status != verbs::CompletionStatus::kSuccess) {
      LoopResult& counts = crew.result.loop;
      if (counts.errors++ == 0) counts.first_error = status;
      break;
    }
    crew.result.hold.record((given_back - held_since).ps);
  }
  crew.join.leave();
}

}  // namespace cas_lock_detail

/// Runs one party's workers on `core`. All parties share one region and use the same config.
/// `config`, `remote`, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const CasLockConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      CasLockResult& result) {
  WHARF_CHECK(check(config, party).ok());
  cas_lock_detail::Contenders<R, C> crew(config, party, seed, remote, core, result);
  crew.join.spawn(core, config.loop.concurrency,
                  [&crew](std::uint32_t worker) { return cas_lock_detail::contend(crew, worker); });
  co_await crew.join.all();
}

}  // namespace wharf::workload
