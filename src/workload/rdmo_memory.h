// SPDX-License-Identifier: Apache-2.0
// Where the program `rdmo` has what in the target's memory, and what records and rows hold, so that whoever
// reads one knows who wrote it, when, and whether it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "workload/pattern.h"
#include "workload/rdmo_config.h"
#include "workload/violation.h"

namespace wharf::workload {

/// Offsets in the program's memory: the cell of the log, or the four words of the queue; the clients' lock;
/// then bytes of the log, bytes of the queue, or rows.
inline constexpr std::uint64_t kRdmoCell = 0;
inline constexpr std::uint64_t kRdmoLock = 8;  ///< Next to the cell: one write moves one and frees the other.
inline constexpr std::uint64_t kRdmoData = 64;
/// The address that the memory has for worker and clients, whatever host it is on.
inline constexpr std::uint64_t kRdmoBase = 1U << 16U;

/// Target memory that the program needs from `region_offset` on.
inline std::uint64_t memory_needed(const RdmoConfig& config, Party party) {
  if (config.use == RdmoUse::kScatter) return kRdmoData + std::uint64_t{config.rows} * config.payload;
  if (config.use == RdmoUse::kQueue) return kRdmoData + config.queue_bytes;
  if (config.log_bytes != 0) return kRdmoData + config.log_bytes / 8 * 8;
  const std::uint64_t records = std::uint64_t{writers_of(config, party)} * records_of_writer(config);
  constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 60U;
  return records > kTooMuch / config.payload ? kTooMuch : kRdmoData + records * config.payload;
}

/// Memory of a client's own: a slot for the records of each of its workers.
inline std::uint64_t own_memory_needed(const RdmoConfig& config) {
  return std::uint64_t{config.loop.concurrency} * config.batch * (config.payload + 24);
}

/// Record `number` of writer `writer`.
inline void write_rdmo_record(std::span<std::byte> record, std::uint64_t seed, std::uint32_t writer,
                              std::uint64_t number) {
  store_le64(record.data(), number);
  store_le64(record.data() + 8, sealed(seed, number, writer));
  fill_words(record.subspan(16), seed ^ number, writer);
}

/// Row `row` in its version `version`; 0: as before the run.
inline void write_rdmo_row(std::span<std::byte> row_bytes, std::uint64_t seed, std::uint64_t row,
                           std::uint32_t version) {
  store_le64(row_bytes.data(), sealed(seed, row, version));
  fill_words(row_bytes.subspan(8), seed ^ row, version);
}

/// Takes the records of a log or queue in the order of their places, and says what is wrong with them.
class RdmoRecordChecker {
 public:
  /// `ordered`: records of one writer follow each other as it numbered them.
  RdmoRecordChecker(std::uint64_t seed, std::uint32_t writers, bool ordered)
      : seed_(seed), ordered_(ordered), seen_(writers), next_(writers, 0) {}

  void take(std::span<const std::byte> record, std::uint64_t place, Verdict& verdict) {
    const std::uint64_t number = load_le64(record.data());
    const std::uint64_t seal = load_le64(record.data() + 8);
    const std::uint32_t writer = sealed_value(seal);
    const auto rest = record.subspan(16);
    const bool whole = seal_holds(seed_, number, seal) && writer < seen_.size() && number < kMostRecords &&
                       first_wrong_byte(rest, seed_ ^ number, writer) == rest.size();
    verdict.expect(whole, {"torn record", place, 0, number});
    if (!whole) return;
    ++records_;
    std::vector<bool>& seen = seen_[writer];
    if (seen.size() <= number) seen.resize(std::max<std::size_t>(2 * seen.size(), number + 64));
    verdict.expect(!seen[number], {"record doubled", place, number, writer});
    seen[number] = true;
    if (ordered_)
      verdict.expect(number >= next_[writer], {"record out of order", place, next_[writer], number});
    next_[writer] = std::max(next_[writer], number + 1);
  }
  std::uint64_t records() const { return records_; }
  bool has(std::uint32_t writer, std::uint64_t number) const {
    return number < seen_[writer].size() && seen_[writer][number];
  }

 private:
  static constexpr std::uint64_t kMostRecords = std::uint64_t{1} << 32U;
  std::uint64_t seed_;
  bool ordered_;
  std::vector<std::vector<bool>> seen_;  ///< By writer and number.
  std::vector<std::uint64_t> next_;
  std::uint64_t records_ = 0;
};

struct RdmoResult {
  LoopResult loop;            ///< Of clients that write.
  std::uint64_t records = 0;  ///< Appended, warm-up included; rows of scatters.
  std::uint64_t flushes = 0;
  std::uint64_t retries = 0;            ///< A lock that another had, a queue without room, a tail not moved.
  std::uint64_t read_records = 0;       ///< By readers.
  std::uint64_t messages = 0;           ///< The worker's, or thread's: taken.
  std::uint64_t data_writes = 0;        ///< The worker's: of neighbouring records together.
  std::uint64_t cell_reads = 0;         ///< The worker's.
  std::vector<std::uint32_t> versions;  ///< Scatter, by row: what its owner was told is there.
};

inline void prepare(const RdmoConfig& config, Party, std::span<std::byte> region, std::uint64_t seed) {
  std::fill(region.begin(), region.end(), std::byte{0});
  if (config.use == RdmoUse::kScatter) {
    for (std::uint64_t row = 0; row < config.rows; ++row)
      write_rdmo_row(region.subspan(kRdmoData + row * config.payload, config.payload), seed, row, 0);
  } else if (config.use == RdmoUse::kQueue) {
    store_le64(region.data() + kRdmoCell + 16, kRdmoBase + kRdmoData);
    store_le64(region.data() + kRdmoCell + 24, config.queue_bytes);
  } else {
    store_le64(region.data() + kRdmoCell, kRdmoBase + kRdmoData);
  }
}

/// Every record is there once and whole, in its writer's order where that is promised; the tail is behind the
/// last. Where requests failed, records may be missing, but none is torn. `results`: one per party.
inline Verdict verify(const RdmoConfig& config, Party party, std::span<const std::byte> region,
                      std::uint64_t seed, std::span<const RdmoResult> results) {
  Verdict verdict;
  std::uint64_t errors = 0;
  std::uint64_t records = 0;
  for (const RdmoResult& result : results) {
    errors += result.loop.errors;
    records += result.records;
  }
  if (config.use == RdmoUse::kScatter) {
    for (std::uint64_t row = 0; row < config.rows; ++row) {
      const auto bytes = region.subspan(kRdmoData + row * config.payload, config.payload);
      std::uint32_t expected = 0;
      for (const RdmoResult& result : results)
        if (!result.versions.empty()) expected = std::max(expected, result.versions[row]);
      const std::uint64_t first = load_le64(bytes.data());
      const std::uint32_t version = sealed_value(first);
      const bool whole = seal_holds(seed, row, first) &&
                         first_wrong_byte(bytes.subspan(8), seed ^ row, version) == bytes.size() - 8;
      verdict.expect(whole || errors > 0, {"torn row", row, expected, version});
      verdict.expect(version == expected || errors > 0, {"lost row", row, expected, version});
    }
    return verdict;
  }
  if (config.use == RdmoUse::kQueue) {
    std::uint64_t consumed = 0;
    for (const RdmoResult& result : results) consumed += result.read_records;
    verdict.expect(consumed == records || errors > 0, {"records of the queue", 0, records, consumed});
    return verdict;
  }
  const std::uint64_t tail = load_le64(region.data() + kRdmoCell) - kRdmoBase - kRdmoData;
  verdict.expect(tail == records * config.payload || errors > 0,
                 {"tail of the log", 0, records * config.payload, tail});
  if (tail > region.size() - kRdmoData) {
    verdict.note({"tail behind the log", 0, region.size() - kRdmoData, tail});
    return verdict;
  }
  if (errors > 0) return verdict;
  RdmoRecordChecker checker(seed, writers_of(config, party), config.protocol == RdmoProtocol::kWorker);
  for (std::uint64_t at = 0; at + config.payload <= tail; at += config.payload)
    checker.take(region.subspan(kRdmoData + at, config.payload), at, verdict);
  verdict.expect(checker.records() == records, {"records lost", 0, records, checker.records()});
  return verdict;
}

}  // namespace wharf::workload
