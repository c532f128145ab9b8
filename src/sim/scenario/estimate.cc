// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/estimate.h"

#include <algorithm>
#include <filesystem>
#include <variant>

namespace wharf::sim {
namespace {

// Measured on one core of a 2.6 GHz server with attribution on (bench/two_hosts_bench.cc,
// bench/replay_bench.cc).
constexpr double kEventNanoseconds = 40;
constexpr double kAccessNanoseconds = 40;
constexpr std::uint64_t kEventsPerLoad = 10;
constexpr std::uint64_t kEventsPerRequest = 24;
constexpr std::uint64_t kEventsPerFurtherPacket = 8;
constexpr std::uint64_t kBytesPerRecord = 64;
constexpr std::uint64_t kProgramBytes = 16U << 20U;
/// A binary trace stores about three bytes per access.
constexpr std::uint64_t kTraceBytesPerAccess = 3;

/// Bytes that one operation of the program moves.
std::uint64_t payload_of(const workload::WorkloadConfig& config) {
  return std::visit(
      [](const auto& chosen) -> std::uint64_t {
        if constexpr (requires { chosen.payload; }) {
          return chosen.payload;
        } else {
          return 64;
        }
      },
      config);
}

}  // namespace

CostEstimate estimate_cost(const Scenario& scenario) {
  const ScenarioConfig& config = scenario.config;
  CostEstimate estimate;
  estimate.memory_bytes = kProgramBytes;
  if (config.program == ProgramKind::kReplay) {
    std::error_code status;
    const auto bytes = std::filesystem::file_size(config.replay.trace, status);
    if (!status) estimate.operations = bytes / kTraceBytesPerAccess;
    estimate.seconds = static_cast<double>(estimate.operations) * kAccessNanoseconds / 1e9;
    return estimate;
  }
  const workload::LoopConfig& loop = workload::loop_config(config.workload);
  estimate.operations = loop.operations + loop.warmup_operations;
  const std::uint64_t mtu = is_ub(config.stack) ? config.ub.mtu : config.roce.path_mtu;
  const std::uint64_t further_packets = payload_of(config.workload) / mtu;
  const std::uint64_t each = (config.stack == Stack::kUbLoadStore ? kEventsPerLoad : kEventsPerRequest) +
                             further_packets * kEventsPerFurtherPacket;
  estimate.events = estimate.operations * each;
  estimate.memory_bytes += std::min(estimate.operations, config.record_limit) * 2 * kBytesPerRecord +
                           2 * workload::memory_needed(config.workload, {0, 2});
  estimate.seconds = static_cast<double>(estimate.events) * kEventNanoseconds / 1e9;
  return estimate;
}

}  // namespace wharf::sim
