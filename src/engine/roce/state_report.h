// SPDX-License-Identifier: Apache-2.0
// How many bytes of state a RoCE interface needs, from the sizes of the real structs: the context records,
// and apart from them what a window needs beyond the records.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/contract.h"
#include "engine/roce/config.h"

namespace wharf::roce {

/// One line of the report; bytes is count * bytes_each.
struct StateRow {
  std::string_view record;  ///< "queue_pair", "memory_key", ...
  std::uint64_t bytes_each = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

struct StateReport {
  std::vector<StateRow> roce;    ///< Context records: what the context cache stores and refills.
  std::vector<StateRow> beyond;  ///< What windows and queues hold besides the records.
  std::uint64_t roce_bytes = 0;
  std::uint64_t beyond_bytes = 0;
};

/// State of one interface whose `endpoints` each talk to `hosts` hosts: a reliable connection joins two queue
/// pairs, so every endpoint needs one per host; and one memory key per endpoint [OpenURMA 5.4].
StateReport state_report(std::uint64_t endpoints, std::uint64_t hosts, const RoceConfig& config = {},
                         const engine::QueueConfig& queue = {});

}  // namespace wharf::roce
