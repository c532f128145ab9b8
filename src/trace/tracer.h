// SPDX-License-Identifier: Apache-2.0
// The one object through which components and engines report events. With no sink attached it costs one
// predictable branch.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/attribution.h"
#include "trace/event.h"

namespace wharf::trace {

/// Receives the events of the kinds it asked for. One virtual call per wanted event; the attribution, which
/// every host study uses, is called directly.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void record(const TraceEvent& event) = 0;
};

/// Fans events out to sinks. Not thread-safe: one Tracer per partition or live thread.
class Tracer {
 public:
  /// Attaches `sink`, which must outlive the tracer, for the kinds in `mask`.
  void attach(Sink& sink, std::uint32_t mask) {
    sinks_.push_back({&sink, mask});
    mask_ |= mask;
  }
  /// Spans and operation ends also go to `attribution`, which accounts for the operations of host `owner`.
  /// What belongs to another host's operation goes to `foreign`, which somebody empties when hosts meet.
  /// `clock` tells when something is reported.
  void attach(Attribution& attribution, std::uint32_t owner, std::vector<ForeignSpan>& foreign,
              const TimePs& clock) {
    attribution_ = &attribution;
    owner_ = owner;
    foreign_ = &foreign;
    clock_ = &clock;
  }

  bool wants(EventKind kind) const { return (mask_ & bit(kind)) != 0; }
  bool wants_spans() const { return attribution_ != nullptr || wants(EventKind::kSpan); }

  /// Time of `operation` in `stage`. Ignored without an operation and for empty spans.
  void span(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end, std::uint32_t host = 0) {
    // Most spans of waiting are empty: only this much is inlined.
    if (operation.value != 0 && end > begin) report_span(operation, stage, begin, end, host);
  }

  /// From `at` on, time of `operation` that no span claims belongs to `stage`; see Attribution::rest().
  void rest(wire::OperationTag operation, Stage stage, TimePs at) {
    if (attribution_ == nullptr || !Attribution::is_tag(operation)) return;
    if (Attribution::owner_of(operation) == owner_) {
      attribution_->rest(operation, stage, at);
    } else {
      foreign_->push_back({operation, at, kNever, *clock_, stage, 0});
    }
  }

  /// Hands `event` to every sink that wants its kind. Guard with wants() where building the event costs
  /// something.
  void emit(const TraceEvent& event) {
    for (const Attached& attached : sinks_) {
      if ((attached.mask & bit(event.kind)) != 0) attached.sink->record(event);
    }
  }

 private:
  [[gnu::noinline]] void report_span(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end,
                                     std::uint32_t host) {
    if (wants(EventKind::kSpan)) [[unlikely]] {
      emit_span(operation, stage, begin, end, host);
      return;
    }
    attribute(operation, stage, begin, end);
  }
  void attribute(wire::OperationTag operation, Stage stage, TimePs begin, TimePs end) {
    if (attribution_ == nullptr || !Attribution::is_tag(operation)) return;
    if (Attribution::owner_of(operation) == owner_) {
      attribution_->span(operation, stage, begin, end, *clock_);
    } else {
      foreign_->push_back({operation, begin, end, *clock_, stage, 0});
    }
  }
  /// report_span() where a sink wants spans; apart, so that the usual case saves no registers.
  [[gnu::noinline, gnu::cold]] void emit_span(wire::OperationTag operation, Stage stage, TimePs begin,
                                              TimePs end, std::uint32_t host) {
    emit({.kind = EventKind::kSpan,
          .stage = stage,
          .host = host,
          .begin = begin,
          .end = end,
          .operation = operation});
    attribute(operation, stage, begin, end);
  }

  struct Attached {
    Sink* sink;
    std::uint32_t mask;
  };
  std::uint32_t mask_ = 0;
  Attribution* attribution_ = nullptr;
  std::uint32_t owner_ = 0;
  std::vector<ForeignSpan>* foreign_ = nullptr;
  const TimePs* clock_ = nullptr;
  std::vector<Attached> sinks_;
};

}  // namespace wharf::trace
