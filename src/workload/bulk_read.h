// SPDX-License-Identifier: Apache-2.0
// Bulk read: each operation fetches one block of a prepared region, in order or at random, and every byte is
// checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/line.h"
#include "workload/block_order.h"
#include "workload/crew.h"
#include "workload/pattern.h"

namespace wharf::workload {

struct BulkReadConfig {
  LoopConfig loop;
  AccessPath access = AccessPath::kAuto;
  std::uint64_t region_offset = 0;         ///< Bytes from the start of the segment.
  std::uint64_t region_bytes = 1U << 20U;  ///< A part of a block at its end is left out.
  std::uint32_t payload = 64;  ///< Bytes per operation, a multiple of 8. Loads: one word of each line.
  BlockOrder order = BlockOrder::kSequential;
};

template <typename Keys>
void bind_keys(BulkReadConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  bind_keys(config.access, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.bytes("region_bytes", config.region_bytes,
             "size of the region that is read; a part of a block is left out", 8);
  keys.bytes("payload", config.payload,
             "bytes per operation; load_store: one word of each 64-byte line is loaded", 8,
             std::uint64_t{1} << 30U);
  bind_keys(config.order, keys);
}

struct BulkReadResult {
  LoopResult loop;
};

/// Whole blocks in the region.
inline std::uint64_t block_count(const BulkReadConfig& config) {
  return config.region_bytes / config.payload;
}

/// Target memory that the program needs from `region_offset` on.
inline std::uint64_t memory_needed(const BulkReadConfig& config, Party) { return config.region_bytes; }

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const BulkReadConfig& config, Party) {
  WHARF_TRY(check(config.loop));
  if (config.payload % 8 != 0) return refuse("payload", config.payload, "a multiple of 8 bytes");
  if (config.region_bytes < config.payload)
    return refuse("region_bytes", config.region_bytes, "at least `payload`");
  return {};
}

inline void prepare(const BulkReadConfig&, Party, std::span<std::byte> region, std::uint64_t seed) {
  fill_words(region, seed, 0);
}

/// The program only reads: the region must be as prepared.
inline Verdict verify(const BulkReadConfig&, Party, std::span<const std::byte> region, std::uint64_t seed,
                      std::span<const BulkReadResult>) {
  Verdict verdict;
  const std::size_t wrong = first_wrong_byte(region, seed, 0);
  verdict.expect(wrong == region.size(), {"byte overwritten", wrong, 0, 0});
  return verdict;
}

namespace bulk_read_detail {

template <typename R, typename C>
using Readers = Crew<BulkReadConfig, BulkReadResult, R, C>;

template <typename R, typename C>
verbs::Task<void> read_blocks(Readers<R, C>& crew, std::uint32_t worker) {
  const BulkReadConfig& config = crew.config;
  Verdict& verdict = crew.loop.verdict();
  const std::uint64_t local = crew.load_store ? 0 : crew.core.allocate(Bytes{config.payload});
  const std::uint64_t blocks = block_count(config);
  RandomStream random = crew.random.substream(worker);
  Loop::Ticket ticket;
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    crew.loop.start(crew.core.now(), ticket);
    const std::uint64_t offset = choose_block(config.order, ticket.number, blocks, random) * config.payload;
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
    if (crew.load_store) {
      for (std::uint64_t at = offset; at < offset + config.payload; at += kLineBytes - at % kLineBytes) {
        const verbs::RemoteAddress target = crew.at(at);
        const verbs::LoadedValue loaded = co_await crew.remote.load(target, 8);
        status = loaded.status;
        if (status != verbs::CompletionStatus::kSuccess) break;
        const std::uint64_t expected = mix(crew.seed, at / 8, 0);
        verdict.expect(loaded.value == expected, {"wrong word", at, expected, loaded.value});
      }
    } else {
      const verbs::RemoteAddress target = crew.at(offset);
      const verbs::Completion completion = co_await crew.remote.read(local, target, config.payload);
      status = completion.status;
    }
    crew.loop.finish(crew.core, "bulk_read", worker, ticket, config.payload, status);
    if (status == verbs::CompletionStatus::kSuccess && !crew.load_store) {
      const std::span<std::byte> block = crew.core.bytes(local, Bytes{config.payload});
      const std::size_t wrong = first_wrong_byte(block, crew.seed, offset / 8);
      verdict.expect(wrong == block.size(), {"wrong byte", offset + wrong, 0, 0});
      if (!block.empty())
        block[0] = ~block[0];  // So that a read that moves nothing is noticed the next time.
    }
  }
  crew.join.leave();
}

}  // namespace bulk_read_detail

/// Runs the program on `core` against memory that prepare() laid out with the same config and `seed`.
/// `config`, `remote`, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const BulkReadConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      BulkReadResult& result) {
  WHARF_CHECK(check(config, party).ok());
  bulk_read_detail::Readers<R, C> crew(config, party, seed, remote, core, result);
  crew.join.spawn(core, config.loop.concurrency,
                  [&crew](std::uint32_t worker) { return bulk_read_detail::read_blocks(crew, worker); });
  co_await crew.join.all();
}

}  // namespace wharf::workload
