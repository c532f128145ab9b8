// SPDX-License-Identifier: Apache-2.0
// Keeps the last events of a run in a fixed amount of memory: what a failed invariant prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "trace/event_text.h"
#include "trace/tracer.h"

namespace wharf::trace {

class RingSink : public Sink {
 public:
  /// Keeps the last `capacity` (at least 1) events. All memory is taken here.
  explicit RingSink(std::size_t capacity) : kept_(capacity) { WHARF_CHECK(capacity > 0); }

  void record(const TraceEvent& event) override {
    Kept& slot = kept_[static_cast<std::size_t>(recorded_++ % kept_.size())];
    slot.event = event;
    slot.event.packet = nullptr;  // The packet is gone when the call returns.
    slot.packet = event.packet != nullptr ? summarize(*event.packet) : PacketSummary{};
  }

  /// Events kept now.
  std::size_t size() const {
    return recorded_ < kept_.size() ? static_cast<std::size_t>(recorded_) : kept_.size();
  }
  /// Events seen since the beginning.
  std::uint64_t recorded() const { return recorded_; }
  /// The `i`-th oldest event that is kept, i below size().
  const TraceEvent& operator[](std::size_t i) const { return at(i).event; }
  /// The kept events as lines of text, oldest first.
  std::string text(const ValueNames& names = {}) const {
    std::string lines;
    for (std::size_t i = 0; i < size(); ++i) {
      append_event(lines, at(i).event, at(i).packet, names);
      lines += '\n';
    }
    return lines;
  }

 private:
  struct Kept {
    TraceEvent event;
    PacketSummary packet;
  };
  const Kept& at(std::size_t i) const {
    WHARF_CHECK(i < size());
    return kept_[static_cast<std::size_t>((recorded_ - size() + i) % kept_.size())];
  }

  std::vector<Kept> kept_;
  std::uint64_t recorded_ = 0;
};

}  // namespace wharf::trace
