// SPDX-License-Identifier: Apache-2.0
// How many bytes of state a UB interface needs, from the sizes of the real structs: the context records, and
// apart from them what a window needs beyond the records.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/contract.h"
#include "engine/ub/config.h"

namespace wharf::ub {

/// One line of the report; bytes is count * bytes_each.
struct StateRow {
  std::string_view record;  ///< "jetty", "tp_channel", "segment", ...
  std::uint64_t bytes_each = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

struct StateReport {
  std::vector<StateRow> ub;       ///< 20-byte jetties.
  std::vector<StateRow> ub_full;  ///< 48-byte jetties.
  std::vector<StateRow> beyond;   ///< What windows and queues of `config` hold besides the records.
  std::uint64_t ub_bytes = 0;
  std::uint64_t ub_full_bytes = 0;
  std::uint64_t beyond_bytes = 0;
};

/// The state of one interface with `jetties` jetties that talk to `hosts` hosts, with one segment for each
/// jetty: N + M records instead of N * M (OpenURMA 5.4).
StateReport state_report(std::uint64_t jetties, std::uint64_t hosts, const UbConfig& config = {},
                         const engine::QueueConfig& queue = {});

}  // namespace wharf::ub
