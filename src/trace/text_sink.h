// SPDX-License-Identifier: Apache-2.0
// Writes every event as one line of text, for golden logs and for reading a short run event by event.
#pragma once

#include <ostream>
#include <string>

#include "trace/event_text.h"
#include "trace/tracer.h"

namespace wharf::trace {

class TextSink : public Sink {
 public:
  /// `out` outlives the sink; its state says whether writing worked.
  explicit TextSink(std::ostream& out, ValueNames names = {}) : out_(out), names_(names) {}

  void record(const TraceEvent& event) override;

 private:
  std::ostream& out_;
  ValueNames names_;
  std::string line_;  // Its capacity is kept from event to event.
};

}  // namespace wharf::trace
