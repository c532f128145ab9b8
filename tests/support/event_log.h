// SPDX-License-Identifier: Apache-2.0
// The trace events of engines as text: all of a short run, for goldens of what they do step by step, or the
// last of a long one, for the message of a failure.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "trace/ring_sink.h"
#include "trace/text_sink.h"
#include "trace/tracer.h"

namespace wharf::test {

/// Hand `tracer` to the engine; the log outlives it.
class EventLog {
 public:
  /// Records the kinds in `mask`.
  explicit EventLog(std::uint32_t mask) : sink_(text_) { tracer.attach(sink_, mask); }

  std::string text() const { return text_.str(); }

  trace::Tracer tracer;

 private:
  std::ostringstream text_;
  trace::TextSink sink_;
};

/// The last repairs, changes of state and moves of context records.
class LastEvents {
 public:
  LastEvents() : sink_(64) {
    using trace::EventKind;
    tracer.attach(sink_, bit(EventKind::kRetransmission) | bit(EventKind::kTimeout) |
                             bit(EventKind::kStateChange) | bit(EventKind::kContextMiss) |
                             bit(EventKind::kContextEviction));
  }

  std::string text() const { return sink_.text(); }

  trace::Tracer tracer;

 private:
  trace::RingSink sink_;
};

}  // namespace wharf::test
