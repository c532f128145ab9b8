// SPDX-License-Identifier: Apache-2.0
// Appends of one client, measured side by side in one run: bare active messages, the published form, the
// extended form in batches, and what one does without a worker: fetch-and-add, then put.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace wharf::live {

struct RdmoMeasurementConfig {
  std::uint32_t bytes = 64;   ///< Of a record.
  std::uint32_t window = 16;  ///< Messages in flight; chains of the two-step.
  std::uint32_t batch = 16;   ///< Records of a batch.
  std::uint32_t rounds = 3;
  TimePs turn = milliseconds(500);      ///< Of each kind in each round.
  std::string transports = "tcp,self";  ///< Of all of them.
  bool shared = true;  ///< The worker has the target's memory mapped; otherwise UCX carries it.
};

struct RdmoRate {
  std::string what;
  double appends_per_second = 0;  ///< Median of the rounds.
  double latency_ns_p50 = 0;      ///< Of those measured one at a time; 0 for others.
};

/// Runs a worker and a sink in processes of their own, the target and the client in this one. Every record
/// and the final tail of the appending kinds are checked; a difference is an error.
Result<std::vector<RdmoRate>> measure_rdmo(const RdmoMeasurementConfig& config,
                                           const std::atomic<bool>& stop);

}  // namespace wharf::live
