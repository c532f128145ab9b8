// SPDX-License-Identifier: Apache-2.0
// Counts events by kind: the cheapest witness of what a run did, for tests and summaries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/tracer.h"

namespace wharf::trace {

class CountingSink : public Sink {
 public:
  void record(const TraceEvent& event) override { ++counts_[static_cast<std::size_t>(event.kind)]; }

  std::uint64_t count(EventKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts_) sum += count;
    return sum;
  }

 private:
  std::array<std::uint64_t, kEventKindCount> counts_{};
};

}  // namespace wharf::trace
