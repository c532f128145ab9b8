// SPDX-License-Identifier: Apache-2.0
// Pointer chase: every hop's address comes from the data of the hop before, so nothing can be prefetched or
// overlapped within one worker. The lines form one random cycle: each is visited once before any is visited
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "verbs/core.h"
#include "verbs/remote_memory.h"
#include "workload/access_path.h"
#include "workload/crew.h"
#include "workload/loop.h"
#include "workload/party.h"
#include "workload/pattern.h"

namespace wharf::workload {

struct PointerChaseConfig {
  LoopConfig loop;
  AccessPath access = AccessPath::kAuto;
  std::uint64_t region_offset = 0;  ///< Bytes from the start of the segment.
  std::uint32_t lines = 16384;      ///< Nodes of the cycle.
  std::uint32_t line_bytes = 64;    ///< Distance between nodes, and what a read fetches. At least 8.
  bool local_load = true;           ///< Work requests: the core loads the fetched pointer through its caches.
};

template <typename Keys>
void bind_keys(PointerChaseConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  bind_keys(config.access, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.integer("lines", config.lines, "nodes of the random cycle", 2, std::int64_t{1} << 31);
  keys.bytes("line_bytes", config.line_bytes, "distance between nodes, and what a work request fetches", 8,
             std::uint64_t{1} << 20U);
  keys.flag("local_load", config.local_load,
            "after a read, the core loads the pointer through its own caches");
}

struct PointerChaseResult {
  LoopResult loop;
  std::uint64_t cycles_closed =
      0;  ///< Times that a worker came back to its start after exactly `lines` hops.
};

/// Target memory that the program needs from `region_offset` on.
inline std::uint64_t memory_needed(const PointerChaseConfig& config, Party) {
  return std::uint64_t{config.lines} * config.line_bytes;
}

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const PointerChaseConfig& config, Party) {
  WHARF_TRY(check(config.loop));
  if (config.line_bytes % 8 != 0) return refuse("line_bytes", config.line_bytes, "a multiple of 8 bytes");
  return {};
}

/// The pointer word of node `node`: the next node, sealed.
inline std::uint64_t chase_word(std::uint64_t seed, std::uint32_t node, std::uint32_t next) {
  return sealed(seed, node, next);
}

/// The successor of each node on a random cycle through all of them (Sattolo's shuffle).
inline std::vector<std::uint32_t> random_cycle(std::uint32_t nodes, std::uint64_t seed) {
  std::vector<std::uint32_t> next(nodes);
  std::iota(next.begin(), next.end(), 0U);
  RandomStream random(seed, "workload.pointer_chase.cycle");
  for (std::uint32_t last = nodes - 1; last > 0; --last) std::swap(next[last], next[random.below(last)]);
  return next;
}

/// Lays the cycle out in `region` (memory_needed() bytes).
inline void prepare(const PointerChaseConfig& config, Party, std::span<std::byte> region,
                    std::uint64_t seed) {
  const std::vector<std::uint32_t> next = random_cycle(config.lines, seed);
  for (std::uint32_t node = 0; node < config.lines; ++node) {
    const std::span<std::byte> line =
        region.subspan(std::uint64_t{node} * config.line_bytes, config.line_bytes);
    store_le64(line.data(), chase_word(seed, node, next[node]));
    fill_words(line.subspan(8), seed ^ node, 1);
  }
}

/// The program only reads: the region must be as prepared.
inline Verdict verify(const PointerChaseConfig& config, Party, std::span<const std::byte> region,
                      std::uint64_t seed, std::span<const PointerChaseResult>) {
  Verdict verdict;
  const std::vector<std::uint32_t> next = random_cycle(config.lines, seed);
  for (std::uint32_t node = 0; node < config.lines; ++node) {
    const std::uint64_t at = std::uint64_t{node} * config.line_bytes;
    const std::span<const std::byte> line = region.subspan(at, config.line_bytes);
    const std::uint64_t word = chase_word(seed, node, next[node]);
    verdict.expect(load_le64(line.data()) == word, {"node overwritten", at, word, load_le64(line.data())});
    const std::size_t wrong = first_wrong_byte(line.subspan(8), seed ^ node, 1);
    verdict.expect(wrong == line.size() - 8, {"line overwritten", at + 8 + wrong, 0, 0});
  }
  return verdict;
}

namespace pointer_chase_detail {

template <typename R, typename C>
using Chasers = Crew<PointerChaseConfig, PointerChaseResult, R, C>;

template <typename R, typename C>
verbs::Task<void> chase(Chasers<R, C>& crew, std::uint32_t worker) {
  const PointerChaseConfig& config = crew.config;
  Verdict& verdict = crew.loop.verdict();
  const std::uint64_t local = crew.load_store ? 0 : crew.core.allocate(Bytes{config.line_bytes});
  RandomStream random = crew.random.substream(worker);
  const auto start = static_cast<std::uint32_t>(random.below(config.lines));
  std::uint32_t node = start;
  std::uint64_t hops = 0;
  Loop::Ticket ticket;
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    crew.loop.start(crew.core.now(), ticket);
    const verbs::RemoteAddress target = crew.at(std::uint64_t{node} * config.line_bytes);
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
    std::uint64_t word = 0;
    std::uint32_t bytes = 8;
    if (crew.load_store) {
      const verbs::LoadedValue loaded = co_await crew.remote.load(target, 8);
      status = loaded.status;
      word = loaded.value;
    } else {
      const verbs::Completion completion = co_await crew.remote.read(local, target, config.line_bytes);
      status = completion.status;
      bytes = config.line_bytes;
    }
    crew.loop.finish(crew.core, "hop", worker, ticket, bytes, status);
    if (status != verbs::CompletionStatus::kSuccess)
      continue;  // The pointer is unknown: the same node again.
    if (!crew.load_store) {
      const std::span<const std::byte> line = crew.core.bytes(local, Bytes{config.line_bytes});
      word = load_le64(line.data());
      const std::size_t wrong = first_wrong_byte(line.subspan(8), crew.seed ^ node, 1);
      verdict.expect(wrong == line.size() - 8, {"wrong byte in line", target.address + 8 + wrong, 0, 0});
      if (config.local_load) word = co_await crew.core.load(local, 8);
    }
    const bool holds = seal_holds(crew.seed, node, word) && sealed_value(word) < config.lines;
    verdict.expect(holds, {"wrong pointer", target.address, 0, word});
    if (!holds) break;  // There is nowhere to go from here.
    node = sealed_value(word);
    ++hops;
    const bool lap = hops % config.lines == 0;
    verdict.expect(lap == (node == start), {"cycle of wrong length", node, config.lines, hops});
    if (lap) ++crew.result.cycles_closed;
  }
  crew.join.leave();
}

}  // namespace pointer_chase_detail

/// Runs the program on `core` against memory that prepare() laid out with the same config and `seed`.
/// `config`, `remote`, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const PointerChaseConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      PointerChaseResult& result) {
  WHARF_CHECK(check(config, party).ok());
  pointer_chase_detail::Chasers<R, C> crew(config, party, seed, remote, core, result);
  crew.join.spawn(core, config.loop.concurrency,
                  [&crew](std::uint32_t worker) { return pointer_chase_detail::chase(crew, worker); });
  co_await crew.join.all();
}

}  // namespace wharf::workload
