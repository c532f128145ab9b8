// SPDX-License-Identifier: Apache-2.0
// Bulk write: each operation replaces one block by its next version. One worker at a time writes a block, so
// at the end every block must hold its last version, whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/line.h"
#include "workload/block_order.h"
#include "workload/crew.h"
#include "workload/pattern.h"

namespace wharf::workload {

struct BulkWriteConfig {
  LoopConfig loop;
  AccessPath access = AccessPath::kAuto;
  std::uint64_t region_offset = 0;         ///< Bytes from the start of the segment.
  std::uint64_t region_bytes = 1U << 20U;  ///< Shared out evenly among the parties and their workers.
  std::uint32_t payload = 64;  ///< Bytes per operation, a multiple of 8. Stores: one word of each line.
  BlockOrder order = BlockOrder::kSequential;
};

template <typename Keys>
void bind_keys(BulkWriteConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  bind_keys(config.access, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.bytes("region_bytes", config.region_bytes, "size of the region, shared out among the workers", 8);
  keys.bytes("payload", config.payload,
             "bytes per operation; load_store: one word of each 64-byte line is stored", 8,
             std::uint64_t{1} << 30U);
  bind_keys(config.order, keys);
}

/// Versions of one block. Blocks are numbered through the whole region.
struct BlockVersions {
  std::uint32_t acknowledged = 0;  ///< The last write that ended well.
  std::uint32_t issued = 0;        ///< The last write that was started.
  std::uint32_t failed = 0;        ///< The last write that ended in an error: any part of it may be there.
};

struct BulkWriteResult {
  LoopResult loop;
  bool load_store = false;  ///< Which access path was taken.
  std::vector<BlockVersions> blocks;
};

/// Each worker writes the blocks whose number is its own modulo the number of writers.
inline std::uint64_t writer_count(const BulkWriteConfig& config, Party party) {
  return std::uint64_t{party.count} * config.loop.concurrency;
}
inline std::uint64_t block_count(const BulkWriteConfig& config) {
  return config.region_bytes / config.payload;
}
/// Target memory that the program needs from `region_offset` on.
inline std::uint64_t memory_needed(const BulkWriteConfig& config, Party) { return config.region_bytes; }

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const BulkWriteConfig& config, Party party) {
  WHARF_TRY(check(config.loop));
  if (config.payload % 8 != 0) return refuse("payload", config.payload, "a multiple of 8 bytes");
  if (block_count(config) < writer_count(config, party)) {
    return refuse("region_bytes", config.region_bytes, "at least one block of `payload` bytes per worker");
  }
  return {};
}

/// Word `word` of a block in a version.
constexpr std::uint64_t block_word(std::uint64_t seed, std::uint64_t block, std::uint32_t version,
                                   std::uint64_t word) {
  return sealed(seed ^ (word << 40U), block, version);
}

inline void prepare(const BulkWriteConfig& config, Party, std::span<std::byte> region, std::uint64_t seed) {
  for (std::uint64_t block = 0; block < block_count(config); ++block) {
    for (std::uint64_t word = 0; word < config.payload / 8; ++word) {
      store_le64(region.data() + block * config.payload + word * 8, block_word(seed, block, 0, word));
    }
  }
}

/// Every block must hold the last acknowledged version of its writer, or a later one that was issued, in
/// every word that the access path writes, and nothing new in the others. The words agree on the version,
/// unless the last write of the block failed. `results` holds one entry per party.
inline Verdict verify(const BulkWriteConfig& config, Party, std::span<const std::byte> region,
                      std::uint64_t seed, std::span<const BulkWriteResult> results) {
  Verdict verdict;
  for (std::uint64_t block = 0; block < block_count(config); ++block) {
    BlockVersions versions;
    bool load_store = false;
    for (const BulkWriteResult& result : results) {
      if (block >= result.blocks.size() || result.blocks[block].issued == 0) continue;
      versions = result.blocks[block];
      load_store = result.load_store;
    }
    const std::byte* bytes = region.data() + block * config.payload;
    const std::uint32_t version = sealed_value(load_le64(bytes));
    verdict.expect(version >= versions.acknowledged && version <= versions.issued,
                   {"lost write", block, versions.acknowledged, version});
    for (std::uint64_t word = 0; word < config.payload / 8; ++word) {
      const std::uint64_t found = load_le64(bytes + word * 8);
      const bool written = !load_store || word * 8 % kLineBytes == 0;
      const std::uint32_t own = sealed_value(found);
      const bool patched =
          versions.failed > versions.acknowledged && own >= versions.acknowledged && own <= versions.issued;
      const std::uint32_t right = !written ? 0 : patched ? own : version;
      const std::uint64_t expected = block_word(seed, block, right, word);
      verdict.expect(found == expected, {"torn write", block * config.payload + word * 8, expected, found});
    }
  }
  return verdict;
}

namespace bulk_write_detail {

template <typename R, typename C>
using Writers = Crew<BulkWriteConfig, BulkWriteResult, R, C>;

template <typename R, typename C>
verbs::Task<void> write_blocks(Writers<R, C>& crew, std::uint32_t worker) {
  const BulkWriteConfig& config = crew.config;
  const std::uint64_t words = config.payload / 8;
  const std::uint64_t local = crew.load_store ? 0 : crew.core.allocate(Bytes{config.payload});
  const std::uint64_t writers = writer_count(config, crew.party);
  const std::uint64_t writer = std::uint64_t{crew.party.index} * config.loop.concurrency + worker;
  const std::uint64_t own_blocks = (block_count(config) - writer + writers - 1) / writers;
  RandomStream random = crew.random.substream(worker);
  std::uint64_t number = 0;
  Loop::Ticket ticket;
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    const std::uint64_t block = choose_block(config.order, number++, own_blocks, random) * writers + writer;
    const std::uint32_t version = ++crew.result.blocks[block].issued;
    if (!crew.load_store) {
      const std::span<std::byte> bytes = crew.core.bytes(local, Bytes{config.payload});
      for (std::uint64_t word = 0; word < words; ++word) {
        store_le64(bytes.data() + word * 8, block_word(crew.seed, block, version, word));
      }
    }
    crew.loop.start(crew.core.now(), ticket);
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
    if (crew.load_store) {
      for (std::uint64_t word = 0; word < words; word += kLineBytes / 8) {
        const verbs::RemoteAddress target = crew.at(block * config.payload + word * 8);
        status = co_await crew.remote.store(target, 8, block_word(crew.seed, block, version, word));
        if (status != verbs::CompletionStatus::kSuccess) break;
      }
    } else {
      const verbs::RemoteAddress target = crew.at(block * config.payload);
      const verbs::Completion completion = co_await crew.remote.write(local, target, config.payload);
      status = completion.status;
    }
    BlockVersions& versions = crew.result.blocks[block];
    (status == verbs::CompletionStatus::kSuccess ? versions.acknowledged : versions.failed) = version;
    crew.loop.finish(crew.core, "bulk_write", worker, ticket, config.payload, status);
  }
  crew.join.leave();
}

}  // namespace bulk_write_detail

/// Runs the program on `core` against memory that prepare() laid out with the same config and `seed`.
/// `config`, `remote`, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const BulkWriteConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      BulkWriteResult& result) {
  WHARF_CHECK(check(config, party).ok());
  result.blocks.resize(block_count(config));
  bulk_write_detail::Writers<R, C> crew(config, party, seed, remote, core, result);
  result.load_store = crew.load_store;
  crew.join.spawn(core, config.loop.concurrency,
                  [&crew](std::uint32_t worker) { return bulk_write_detail::write_blocks(crew, worker); });
  co_await crew.join.all();
}

}  // namespace wharf::workload
