// SPDX-License-Identifier: Apache-2.0
// Measuring against a live server: one verb again and again, or a workload that runs on the server's memory.
// Opens the sessions, runs the programs, watches for a peer that is gone, and proves the bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "live/reactor/idle_policy.h"
#include "live/secure/key.h"
#include "live/udp/live_engine.h"
#include "live/udp/live_host.h"
#include "live/udp/place.h"
#include "verbs/verb.h"
#include "wire/packet.h"
#include "workload/loop.h"
#include "workload/workload.h"

namespace wharf::live {

/// One verb on slots of `size` bytes.
struct VerbRun {
  verbs::Verb verb = verbs::Verb::kRead;
  std::uint32_t size = 64;  ///< Bytes; atomics: a width of the verb.
  workload::LoopConfig loop;
  std::optional<std::uint64_t> tag;  ///< Sends carry it, and meet receive entries of it.
};

/// A workload whose region is a slice of the server's memory.
struct WorkloadRun {
  workload::WorkloadConfig config;
  std::uint32_t parties =
      1;  ///< Clients that this process opens; two-sided workloads: 1, the server answers.
};

struct MeasurementConfig {
  wire::Protocol protocol{};
  Place server;
  std::variant<VerbRun, WorkloadRun> program;
  FaultConfig faults;
  IdleConfig idle;
  std::uint64_t seed = 1;
  RepetitionTimes repetition{};
  bool unlimited_retries = false;
  std::uint32_t congestion = 0;  ///< EngineSettings::congestion.
  DeliveryChoice delivery{};
  std::optional<Key> psk;  ///< ClientConfig::psk and seal_packets.
  bool seal_packets = false;
  std::filesystem::path capture;  ///< Where to write the datagrams, or empty.
  TimePs connect_patience = seconds(2);
  TimePs stall_patience = seconds(10);  ///< Without any completion for so long the run counts as stalled.
};

struct Measurement {
  std::string program;                       ///< Name of the verb or workload.
  workload::LoopResult loop;                 ///< Of all parties together; `verdict` includes the read-back.
  std::vector<workload::NamedCount> counts;  ///< A workload's own, summed over the parties.
  LiveCounters counters;                     ///< Of all clients together.
  bool sealed = false;                       ///< One end at least wanted every packet sealed.
  bool interrupted = false;  ///< `stop` ended it: what was measured until then, without the read-back.
};

/// Called every few milliseconds with the fraction done (0 if unknown) and operations so far.
using MeasurementProgress = std::function<void(double fraction, std::uint64_t operations)>;

/// Refuses what cannot work, before anybody is asked: verbs that the protocol or live runs do not have,
/// sizes.
Result<void> check(const MeasurementConfig& config);

/// Measures. Errors: kInput for combinations that cannot work, kEnvironment when the server cannot be reached
/// or refuses for its own reasons, kStalled when it stops answering.
Result<Measurement> measure(const MeasurementConfig& config, const MeasurementProgress& progress,
                            const std::atomic<bool>& stop);

}  // namespace wharf::live
