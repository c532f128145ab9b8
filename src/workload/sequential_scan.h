// SPDX-License-Identifier: Apache-2.0
// Sequential scan: each worker walks its part of a table in order, element by element, and sums a column; the
// sums are compared with those of the prepared table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "workload/crew.h"
#include "workload/pattern.h"

namespace wharf::workload {

struct SequentialScanConfig {
  LoopConfig loop;
  AccessPath access = AccessPath::kAuto;
  std::uint64_t region_offset = 0;        ///< Bytes from the start of the segment.
  std::uint64_t table_bytes = 1U << 20U;  ///< Size of the table.
  std::uint32_t element_bytes = 64;       ///< One operation: one element. A multiple of 8.
  std::uint32_t load_step = 64;  ///< Loads: distance between the words that are loaded. A multiple of 8.
  TimePs compute = kTimeZero;    ///< Core time spent on each element.
};

template <typename Keys>
void bind_keys(SequentialScanConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  bind_keys(config.access, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.bytes("table_bytes", config.table_bytes,
             "size of the table; a part of an element at its end is left out", 8);
  keys.bytes("element_bytes", config.element_bytes, "one operation: one element", 8, std::uint64_t{1} << 30U);
  keys.bytes("load_step", config.load_step, "load_store: distance between the words that are loaded", 8,
             4096);
  keys.time("compute", config.compute, "core time spent on each element");
}

struct SequentialScanResult {
  LoopResult loop;
  std::uint64_t passes = 0;  ///< Times that a worker came to the end of its part.
};

inline std::uint64_t element_count(const SequentialScanConfig& config) {
  return config.table_bytes / config.element_bytes;
}
/// Target memory that the program needs from `region_offset` on.
inline std::uint64_t memory_needed(const SequentialScanConfig& config, Party) { return config.table_bytes; }

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const SequentialScanConfig& config, Party) {
  WHARF_TRY(check(config.loop));
  if (config.element_bytes % 8 != 0)
    return refuse("element_bytes", config.element_bytes, "a multiple of 8 bytes");
  if (config.load_step % 8 != 0) return refuse("load_step", config.load_step, "a multiple of 8 bytes");
  if (element_count(config) < config.loop.concurrency) {
    return refuse("table_bytes", config.table_bytes, "at least one element per worker");
  }
  return {};
}

inline void prepare(const SequentialScanConfig&, Party, std::span<std::byte> region, std::uint64_t seed) {
  fill_words(region, seed, 0);
}

/// The program only reads: the region must be as prepared.
inline Verdict verify(const SequentialScanConfig&, Party, std::span<const std::byte> region,
                      std::uint64_t seed, std::span<const SequentialScanResult>) {
  Verdict verdict;
  const std::size_t wrong = first_wrong_byte(region, seed, 0);
  verdict.expect(wrong == region.size(), {"byte overwritten", wrong, 0, 0});
  return verdict;
}

namespace sequential_scan_detail {

template <typename R, typename C>
using Scanners = Crew<SequentialScanConfig, SequentialScanResult, R, C>;

template <typename R, typename C>
verbs::Task<void> scan(Scanners<R, C>& crew, std::uint32_t worker) {
  const SequentialScanConfig& config = crew.config;
  Verdict& verdict = crew.loop.verdict();
  const std::uint64_t local = crew.load_store ? 0 : crew.core.allocate(Bytes{config.element_bytes});
  const std::uint64_t elements = element_count(config);
  const std::uint64_t first = elements * worker / config.loop.concurrency;
  const std::uint64_t last = elements * (worker + 1) / config.loop.concurrency;
  const std::uint32_t step = crew.load_store ? config.load_step : 8;
  std::uint64_t element = first;
  std::uint64_t sum = 0;
  std::uint64_t expected_sum = 0;
  Loop::Ticket ticket;
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    crew.loop.start(crew.core.now(), ticket);
    const std::uint64_t offset = element * config.element_bytes;
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
    if (crew.load_store) {
      for (std::uint32_t at = 0; at < config.element_bytes; at += step) {
        const verbs::RemoteAddress target = crew.at(offset + at);
        const verbs::LoadedValue loaded = co_await crew.remote.load(target, 8);
        status = loaded.status;
        if (status != verbs::CompletionStatus::kSuccess) break;
        sum += loaded.value;
      }
    } else {
      const verbs::RemoteAddress target = crew.at(offset);
      const verbs::Completion completion = co_await crew.remote.read(local, target, config.element_bytes);
      status = completion.status;
    }
    if (status == verbs::CompletionStatus::kSuccess && !crew.load_store) {
      const std::span<const std::byte> bytes = crew.core.bytes(local, Bytes{config.element_bytes});
      for (std::uint32_t at = 0; at < config.element_bytes; at += step) sum += load_le64(bytes.data() + at);
    }
    if (status == verbs::CompletionStatus::kSuccess && config.compute > kTimeZero) {
      co_await crew.core.compute(config.compute);
    }
    crew.loop.finish(crew.core, "scan", worker, ticket, config.element_bytes, status);
    if (status != verbs::CompletionStatus::kSuccess) {
      sum = expected_sum;  // Part of a failed element may be in the sum.
      continue;
    }
    for (std::uint32_t at = 0; at < config.element_bytes; at += step) {
      expected_sum += mix(crew.seed, (offset + at) / 8, 0);
    }
    verdict.expect(sum == expected_sum, {"wrong sum", offset, expected_sum, sum});
    if (++element == last) {
      element = first;
      ++crew.result.passes;
    }
  }
  crew.join.leave();
}

}  // namespace sequential_scan_detail

/// Runs the program on `core` against memory that prepare() laid out with the same config and `seed`.
/// `config`, `remote`, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const SequentialScanConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      SequentialScanResult& result) {
  WHARF_CHECK(check(config, party).ok());
  sequential_scan_detail::Scanners<R, C> crew(config, party, seed, remote, core, result);
  crew.join.spawn(core, config.loop.concurrency,
                  [&crew](std::uint32_t worker) { return sequential_scan_detail::scan(crew, worker); });
  co_await crew.join.all();
}

}  // namespace wharf::workload
