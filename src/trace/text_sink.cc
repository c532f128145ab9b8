// SPDX-License-Identifier: Apache-2.0
#include "trace/text_sink.h"

namespace wharf::trace {

void TextSink::record(const TraceEvent& event) {
  line_.clear();
  append_event(line_, event, event.packet != nullptr ? summarize(*event.packet) : PacketSummary{}, names_);
  line_ += '\n';
  out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
}

}  // namespace wharf::trace
