// SPDX-License-Identifier: Apache-2.0
// What live engines hold: builds one interface with many peers, lets it talk to each, and asks it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory_use.h"
#include "base/result.h"
#include "wire/packet.h"

namespace wharf::study::openurma {

/// The account of one interface of `protocol` (default configuration, queues of 128 requests and 128 receive
/// entries) whose `endpoints` each reach `hosts` other hosts: every endpoint has one segment, and has written
/// 64 bytes to and read them from each host and has been written to and read by it. UB: one jetty per
/// endpoint. RoCE: one queue pair per endpoint and host. Takes the memory that it reports; 1 <= both <= 1024.
Result<std::vector<MemoryUse>> measure_live_state(wire::Protocol protocol, std::uint32_t endpoints,
                                                  std::uint32_t hosts);

}  // namespace wharf::study::openurma
