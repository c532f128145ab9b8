// SPDX-License-Identifier: Apache-2.0
// What became of every operation of a run: one record each, and per verb the sums and the latency
// distribution, with the account of where the time went.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/fingerprint.h"
#include "base/histogram.h"
#include "base/time.h"
#include "trace/attribution.h"
#include "verbs/completion.h"
#include "verbs/verb.h"

namespace wharf::sim {

/// One operation that a program awaited.
struct OperationEntry {
  TimePs begin;
  TimePs latency;
  std::uint32_t bytes = 0;
  std::uint16_t host = 0;
  verbs::Verb verb = verbs::Verb::kLoad;
  verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
  bool remote = true;  ///< False: answered by the caches.
};

/// Sums of the operations of one verb.
struct OperationTotals {
  std::uint64_t count = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;
  TimePs latency_min = kNever;
  TimePs latency_max;
  trace::OperationPath path;  ///< Sums; empty when the run attributes nothing.

  OperationTotals& operator+=(const OperationTotals& other) {
    count += other.count;
    failed += other.failed;
    bytes += other.bytes;
    latency_min = min(latency_min, other.latency_min);
    latency_max = max(latency_max, other.latency_max);
    path += other.path;
    return *this;
  }
};

/// Records are kept up to a limit set beforehand, so that a long run needs bounded memory; sums always cover
/// all.
class OperationLog {
 public:
  /// Keeps the first `record_limit` records; room for `reserve` of them is taken at once.
  explicit OperationLog(std::size_t record_limit, std::size_t reserve = 0) : record_limit_(record_limit) {
    entries_.reserve(reserve < record_limit ? reserve : record_limit);
  }

  /// Adds an operation; `path` may be null.
  void add(const OperationEntry& entry, const trace::OperationPath* path) {
    if (entries_.size() < record_limit_) {
      entries_.push_back(entry);
    } else {
      ++dropped_;
    }
    OperationTotals& totals = totals_[static_cast<std::size_t>(entry.verb)];
    ++totals.count;
    if (entry.status != verbs::CompletionStatus::kSuccess) [[unlikely]]
      ++totals.failed;
    totals.bytes += entry.bytes;
    totals.latency_min = min(totals.latency_min, entry.latency);
    totals.latency_max = max(totals.latency_max, entry.latency);
    if (path != nullptr) totals.path += *path;
    if (entry.status == verbs::CompletionStatus::kSuccess) latency_of(entry.verb).record(entry.latency.ps);
    history_.add(static_cast<std::uint64_t>(entry.begin.ps));
    history_.add(static_cast<std::uint64_t>(entry.latency.ps) ^ std::uint64_t{entry.bytes} << 32U ^
                 static_cast<std::uint64_t>(entry.verb) << 8U ^ static_cast<std::uint64_t>(entry.status));
  }

  /// The operations of several hosts: records by the time of their end, those of one instant in the order of
  /// `logs`, up to `record_limit`; sums of all.
  static OperationLog merge(const std::vector<const OperationLog*>& logs, std::size_t record_limit);

  /// In the order in which they ended.
  const std::vector<OperationEntry>& entries() const { return entries_; }
  /// Records that the limit left out.
  std::uint64_t dropped() const { return dropped_; }
  const OperationTotals& totals(verbs::Verb verb) const { return totals_[static_cast<std::size_t>(verb)]; }
  /// Latencies in picoseconds of all operations of `verb` that ended well, kept or not; null when none did.
  const Histogram* latencies(verbs::Verb verb) const {
    const auto& histogram = latencies_[static_cast<std::size_t>(verb)];
    return histogram ? &*histogram : nullptr;
  }
  /// Hash of all operations, kept or not.
  std::uint64_t fingerprint() const { return history_.value(); }

 private:
  /// Made at the first operation of a verb: few runs use many of them.
  Histogram& latency_of(verbs::Verb verb) {
    auto& histogram = latencies_[static_cast<std::size_t>(verb)];
    if (!histogram) [[unlikely]]
      histogram.emplace();
    return *histogram;
  }

  std::size_t record_limit_;
  std::vector<OperationEntry> entries_;
  std::uint64_t dropped_ = 0;
  std::array<OperationTotals, verbs::kVerbCount> totals_{};
  std::array<std::optional<Histogram>, verbs::kVerbCount> latencies_;
  Fingerprint history_;
};

}  // namespace wharf::sim
