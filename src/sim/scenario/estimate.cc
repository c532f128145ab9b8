// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/estimate.h"

#include <algorithm>
#include <filesystem>
#include <variant>

#include "base/check.h"

namespace wharf::sim {
namespace {

/// An access of a replayed trace takes about a third of an event's time: 40 ns against 125 ns where a core
/// replays 25 million accesses, or simulates two million loads of four events, per second
/// (bench/replay_bench.cc, bench/two_hosts_bench.cc).
constexpr double kEventsPerAccess = 0.3;
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

/// Bytes of a full packet's payload.
std::uint64_t packet_payload(const ScenarioConfig& config) {
  switch (protocol_of(config.stack)) {
    case wire::Protocol::kUb:
      return config.ub.mtu;
    case wire::Protocol::kRoce:
      return config.roce.path_mtu;
    case wire::Protocol::kUet:
      return config.uet.payload;
  }
  WHARF_UNREACHABLE();
}

}  // namespace

std::vector<std::string> sample_overrides(Stack stack, std::uint64_t operations) {
  return {"model.stack=" + std::string(name(stack)),
          "run.workload=verb_loop",
          std::string("run.verb=") + (stack == Stack::kUbLoadStore ? "load" : "read"),
          "run.payload=8B",
          "run.concurrency=4",
          "run.operations=" + std::to_string(operations)};
}

CostEstimate estimate_cost(const Scenario& scenario, const SampleCost& sample) {
  const ScenarioConfig& config = scenario.config;
  CostEstimate estimate;
  estimate.memory_bytes = kProgramBytes;
  if (config.program == ProgramKind::kReplay) {
    std::error_code status;
    const auto bytes = std::filesystem::file_size(config.replay.trace, status);
    if (!status) estimate.operations = bytes / kTraceBytesPerAccess;
    estimate.seconds = static_cast<double>(estimate.operations) * kEventsPerAccess * sample.event_ns / 1e9;
    return estimate;
  }
  const workload::LoopConfig& loop = workload::loop_config(config.workload);
  estimate.operations = loop.operations + loop.warmup_operations;
  const std::uint64_t mtu = packet_payload(config);
  const std::uint64_t further_packets = payload_of(config.workload) / mtu;
  const double each =
      sample.events_per_operation + static_cast<double>(further_packets * kEventsPerFurtherPacket);
  estimate.events = static_cast<std::uint64_t>(static_cast<double>(estimate.operations) * each);
  estimate.memory_bytes += std::min(estimate.operations, config.record_limit) * 2 * kBytesPerRecord +
                           2 * workload::memory_needed(config.workload, {0, 2});
  estimate.seconds = static_cast<double>(estimate.events) * sample.event_ns / 1e9;
  return estimate;
}

}  // namespace wharf::sim
