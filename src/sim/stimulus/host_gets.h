// SPDX-License-Identifier: Apache-2.0
// Gets of items over a whole protocol stack between two hosts with coherent memory: how many, how fast, and
// whether what they return is a snapshot. Apart from device_gets.h, whose device asks the root complex
// without a protocol in between.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "sim/stimulus/get_outcome.h"
#include "sim/two_hosts/two_hosts.h"
#include "workload/item_gets.h"

namespace wharf::sim {

/// Host 0 reads items of host 1, over `queues` queues; all of them, and the writer, share one program.
struct HostGets {
  std::string name;  ///< For messages.
  /// Its operations are those of one queue; its read_order is what the segment asks the root complex for. All
  /// queues are judged together.
  workload::ItemGetsConfig program;
  std::uint32_t queues = 1;
  TimePs limit = kNever;  ///< A run that has not ended by then says so in `blocked`.
};

struct HostGetOutcome {
  GetOutcome gets;
  TimePs elapsed;  ///< From the begin to the last get.

  double million_gets_per_second() const;
};

/// Refuses what two hosts refuse. Memory is coherent in `config`.
Result<HostGetOutcome> run_host_gets(const TwoHostsConfig& config, const HostGets& asked);

}  // namespace wharf::sim
