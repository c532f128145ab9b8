// SPDX-License-Identifier: Apache-2.0
// The trace events of an engine as text, for goldens of what it does step by step.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

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

}  // namespace wharf::test
