// SPDX-License-Identifier: Apache-2.0
// How the components of a host report its operations: opens and closes their accounts and writes the log.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/host/core/operation_log.h"
#include "trace/attribution.h"
#include "trace/tracer.h"

namespace wharf::sim {

/// What hosts of one partition hand over when they meet.
struct HostMeeting {
  std::vector<trace::ForeignSpan>& foreign;  ///< For operations of other hosts.
  std::vector<std::uint32_t>& to_close;      ///< Hosts that have operations to close.
};

/// One per host. An operation that has ended is closed when all hosts have met: only then is everything known
/// that others did for it.
class RunRecords {
 public:
  /// `attribute` false: operations get no tag, and no account of their time.
  RunRecords(trace::Tracer& tracer, OperationLog& log, bool attribute, std::uint32_t host,
             const HostMeeting& meeting, const TimePs& clock)
      : tracer_(tracer), log_(log), meeting_(meeting), attribution_(host), host_(host) {
    if (!attribute) return;
    attributes_ = true;
    tracer_.attach(attribution_, host, meeting_.foreign, clock);
  }
  RunRecords(const RunRecords&) = delete;
  RunRecords& operator=(const RunRecords&) = delete;

  /// Opens an operation of `bytes` that a program of `host` awaits from `at` on.
  wire::OperationTag begin(TimePs at, std::uint16_t host, verbs::Verb verb, std::uint32_t bytes) {
    const wire::OperationTag tag = attributes_ ? attribution_.begin(at) : wire::OperationTag{};
    if (tracer_.wants(trace::EventKind::kOperationBegin)) [[unlikely]] {
      tracer_.emit({.kind = trace::EventKind::kOperationBegin,
                    .host = host,
                    .begin = at,
                    .end = at,
                    .operation = tag,
                    .a = static_cast<std::uint64_t>(verb),
                    .b = bytes});
    }
    return tag;
  }

  /// `tag` has ended as the entry says.
  void end(wire::OperationTag tag, const OperationEntry& entry) {
    const TimePs at = entry.begin + entry.latency;
    if (tracer_.wants(trace::EventKind::kOperationEnd)) [[unlikely]] {
      tracer_.emit({.kind = trace::EventKind::kOperationEnd,
                    .host = entry.host,
                    .begin = at,
                    .end = at,
                    .operation = tag,
                    .a = static_cast<std::uint64_t>(entry.status)});
    }
    if (tag == wire::OperationTag{}) {
      log_.add(entry, nullptr);
      return;
    }
    const Ended ended{tag, entry, count_++};
    if (!entry.remote) {  // No other host knows of it.
      close(ended);
      return;
    }
    attribution_.finish(tag, at);
    if (ended_.empty()) meeting_.to_close.push_back(host_);
    ended_.push_back(ended);
  }

  /// The hosts have met.
  void add_foreign(const trace::ForeignSpan& span) { attribution_.add(span); }
  void close() {
    for (const Ended& each : ended_) close(each);
    ended_.clear();
  }

  /// Keeps the spans of the operation that ends as number `operation` of this host, counted from 0.
  void keep_spans_of(std::uint64_t operation) { kept_operation_ = operation; }
  const std::vector<trace::Attribution::Span>& kept_spans() const { return kept_spans_; }
  /// The operation that kept_spans() belong to; the log need not have kept it.
  const OperationEntry& kept_entry() const { return kept_entry_; }

  trace::Tracer& tracer() { return tracer_; }
  const trace::Attribution& attribution() const { return attribution_; }
  OperationLog& log() { return log_; }

 private:
  struct Ended {
    wire::OperationTag tag;
    OperationEntry entry;
    std::uint64_t number = 0;
  };

  void close(const Ended& ended) {
    const trace::OperationPath& path = attribution_.end(ended.tag, ended.entry.begin + ended.entry.latency);
    log_.add(ended.entry, &path);
    if (ended.number != kept_operation_) [[likely]]
      return;
    const auto spans = attribution_.last_spans();
    kept_spans_.assign(spans.begin(), spans.end());
    const auto rests = attribution_.last_rests();
    kept_spans_.insert(kept_spans_.end(), rests.begin(), rests.end());
    kept_entry_ = ended.entry;
  }

  trace::Tracer& tracer_;
  OperationLog& log_;
  HostMeeting meeting_;
  trace::Attribution attribution_;
  std::uint32_t host_;
  bool attributes_ = false;
  std::vector<Ended> ended_;  ///< Since the last meeting.
  std::uint64_t count_ = 0;   ///< Operations that have ended.
  std::uint64_t kept_operation_ = ~std::uint64_t{0};
  std::vector<trace::Attribution::Span> kept_spans_;
  OperationEntry kept_entry_;
};

}  // namespace wharf::sim
