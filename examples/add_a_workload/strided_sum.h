// SPDX-License-Identifier: Apache-2.0
// Example of docs/guides/add-a-workload.md: sums one word of every `stride` bytes of a remote table, as a
// scan of one column does. The same text runs in the simulator and live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/line.h"
#include "workload/crew.h"
#include "workload/pattern.h"

namespace wharf::examples {

// guide: begin
struct StridedSumConfig {
  workload::LoopConfig loop;
  workload::AccessPath access = workload::AccessPath::kAuto;
  std::uint64_t region_offset = 0;  ///< Bytes from the start of the segment.
  std::uint64_t words = 1024;       ///< Words that one pass sums.
  std::uint64_t stride = 64;        ///< Bytes from one word to the next. A multiple of 8.
};

template <typename Keys>
void bind_keys(StridedSumConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  bind_keys(config.access, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.integer("words", config.words, "words that one pass sums", 1);
  keys.bytes("stride", config.stride, "distance between the words", 8, std::uint64_t{1} << 30U);
}
// guide: end

struct StridedSumResult {
  workload::LoopResult loop;
  std::uint64_t sum = 0;  ///< Modulo 2^64, of the operations that ended well.
};

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const StridedSumConfig& config, workload::Party) {
  WHARF_TRY(check(config.loop));
  if (config.stride == 0 || config.stride % 8 != 0) {
    return workload::refuse("stride", config.stride, "a multiple of 8 bytes");
  }
  return {};
}

/// Target memory that the program needs from `region_offset` on. A load brings its whole line, so the last
/// line belongs to the program too.
inline std::uint64_t memory_needed(const StridedSumConfig& config, workload::Party) {
  const std::uint64_t end = (config.words - 1) * config.stride + 8;
  return (end + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// guide: begin
/// Every word proves its place, so that a wrong or stale answer shows.
inline void prepare(const StridedSumConfig& config, workload::Party, std::span<std::byte> region,
                    std::uint64_t seed) {
  for (std::uint64_t word = 0; word < config.words; ++word) {
    store_le64(region.data() + word * config.stride, workload::mix(seed, word, 0));
  }
}

template <typename Crew>
verbs::Task<void> sum_words(Crew& crew, std::uint32_t worker) {
  const std::uint64_t local = crew.core.allocate(Bytes{8});
  workload::Loop::Ticket ticket;
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    crew.loop.start(crew.core.now(), ticket);
    const std::uint64_t word = ticket.number % crew.config.words;
    const verbs::RemoteAddress target = crew.at(word * crew.config.stride);
    verbs::LoadedValue found;
    if (crew.load_store) {
      found = co_await crew.remote.load(target, 8);
    } else {
      const verbs::Completion completion = co_await crew.remote.read(local, target, 8);
      found = {load_le64(crew.core.bytes(local, Bytes{8}).data()), completion.status};
    }
    crew.loop.finish(crew.core, "word", worker, ticket, 8, found.status);
    if (found.status != verbs::CompletionStatus::kSuccess) continue;
    const std::uint64_t expected = workload::mix(crew.seed, word, 0);
    crew.loop.verdict().expect(found.value == expected, {"wrong word", word, expected, found.value});
    crew.result.sum += found.value;
  }
  crew.join.leave();
}

/// Runs the program on `core`; all arguments outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const StridedSumConfig& config, workload::Party party, std::uint64_t seed, R& remote,
                      C& core, StridedSumResult& result) {
  workload::Crew<StridedSumConfig, StridedSumResult, R, C> crew(config, party, seed, remote, core, result);
  crew.join.spawn(core, config.loop.concurrency,
                  [&crew](std::uint32_t worker) { return sum_words(crew, worker); });
  co_await crew.join.all();
}
// guide: end

}  // namespace wharf::examples
