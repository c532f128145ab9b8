// SPDX-License-Identifier: Apache-2.0
// Parameters of a device's DMA engine.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace wharf::sim {

/// What a device does itself to keep the accesses of a stream in order. Streams never wait for each other.
enum class SourceOrdering : std::uint8_t {
  kNone,     ///< Nothing: everything is under way at once.
  kMessage,  ///< An access begins when the one before is complete; its lines are not ordered.
  kLine,     ///< Every line waits for the one before.
};

struct DmaConfig {
  /// From the issue of one access of a stream, or where the device waits its completion, to the next issue.
  /// (ASPLOS '26, Table 2: 3 ns per DMA request.)
  TimePs issue = nanoseconds(3);
  bool shared_issue = false;  ///< All streams share one issue slot.
};

}  // namespace wharf::sim
