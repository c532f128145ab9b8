// SPDX-License-Identifier: Apache-2.0
// The uses of an RDMO worker, live: the program `rdmo` of the simulator, with the same records in the same
// order from the same seed, over UCX.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/rdmo_memory.h"

namespace wharf::live {

struct RdmoWorkloadConfig {
  /// What writers do. Who reads is the target's process, which has the memory: `readers` is not used.
  workload::RdmoConfig program;
  std::uint32_t clients = 4;  ///< That write.
  std::uint64_t seed = 1;
  std::string transports = "tcp,self";  ///< Of all of them.
  TimePs time_max = seconds(60);        ///< Without any progress.
};

struct RdmoWorkloadResult {
  std::uint64_t operations = 0;
  std::uint64_t records = 0;
  std::uint64_t flushes = 0;
  std::uint64_t retries = 0;  ///< Of producers that found the queue full.
  std::uint64_t read_records = 0;
  double seconds = 0;
  double latency_ns_p50 = 0;
  double latency_ns_p99 = 0;
  workload::Verdict verdict;
  std::vector<std::byte> memory;  ///< In the end, with addresses as the simulator has them.
};

/// Runs a worker in a process of its own, target and clients in this one. Refuses a program that makes no
/// sense; fails when the worker is lost or nothing happens any more.
Result<RdmoWorkloadResult> run_rdmo_workload(const RdmoWorkloadConfig& config, const std::atomic<bool>& stop);

}  // namespace wharf::live
