// SPDX-License-Identifier: Apache-2.0
// How the components of a run report operations: opens and closes their accounts and writes the log.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/host/operation_log.h"
#include "trace/attribution.h"
#include "trace/tracer.h"

namespace wharf::sim {

/// One per run; shared by its hosts.
class RunRecords {
 public:
  /// `attribute` false: operations get no tag, and no account of their time.
  RunRecords(trace::Tracer& tracer, OperationLog& log, bool attribute) : tracer_(tracer), log_(log) {
    if (!attribute) return;
    attributes_ = true;
    tracer_.attach(attribution_);
  }

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

  /// Closes `tag` at the end of the entry.
  void end(wire::OperationTag tag, const OperationEntry& entry) {
    const trace::OperationPath* path =
        tag == wire::OperationTag{} ? nullptr : &attribution_.end(tag, entry.begin + entry.latency);
    log_.add(entry, path);
    if (path != nullptr && ended_++ == kept_operation_) [[unlikely]] {
      const auto spans = attribution_.last_spans();
      kept_spans_.assign(spans.begin(), spans.end());
      kept_entry_ = entry;
    }
    if (tracer_.wants(trace::EventKind::kOperationEnd)) [[unlikely]] {
      tracer_.emit({.kind = trace::EventKind::kOperationEnd,
                    .host = entry.host,
                    .begin = entry.begin + entry.latency,
                    .end = entry.begin + entry.latency,
                    .operation = tag,
                    .a = static_cast<std::uint64_t>(entry.status)});
    }
  }

  /// Keeps the spans of the operation that ends as number `operation`, counted from 0.
  void keep_spans_of(std::uint64_t operation) { kept_operation_ = operation; }
  const std::vector<trace::Attribution::Span>& kept_spans() const { return kept_spans_; }
  /// The operation that kept_spans() belong to; the log need not have kept it.
  const OperationEntry& kept_entry() const { return kept_entry_; }

  trace::Tracer& tracer() { return tracer_; }
  const trace::Attribution& attribution() const { return attribution_; }
  OperationLog& log() { return log_; }

 private:
  trace::Tracer& tracer_;
  OperationLog& log_;
  trace::Attribution attribution_;
  bool attributes_ = false;
  std::uint64_t ended_ = 0;
  std::uint64_t kept_operation_ = ~std::uint64_t{0};
  std::vector<trace::Attribution::Span> kept_spans_;
  OperationEntry kept_entry_;
};

}  // namespace wharf::sim
