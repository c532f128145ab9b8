// SPDX-License-Identifier: Apache-2.0
// What a run will cost, before it runs: computed from what the scenario asks for, and from a short sample of
// its program on a few of its hosts.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace wharf::sim {

struct CostEstimate {
  std::uint32_t hosts = 2;
  std::uint32_t clients = 1;
  double hops = 1;               ///< Links between a client and its server, in the mean.
  std::uint64_t operations = 0;  ///< Of all clients; 0: not known beforehand.
  std::uint64_t events = 0;
  std::uint64_t memory_bytes = 0;
  double seconds = 0;  ///< On one core of the machine whose cost was handed in.
};

/// What the operations of a sample took on the machine that is to run the scenario.
struct SampleCost {
  double event_ns = 0;  ///< Processor time of one event.
  double operation_ns =
      0;  ///< Of one operation; what traces are estimated by, as most accesses make no event.
  double events_per_operation = 0;
  /// By which that grows with each client that fights for the same thing.
  double events_per_rival = 0;
  std::uint32_t rivals = 0;          ///< Clients of one server in the sample.
  double packets_per_operation = 0;  ///< That hosts hand to their links.
  double hops = 1;                   ///< Links between client and server in the sample.
  double operations_per_second = 0;  ///< Of a client, in simulated time; 0: not known.
  std::uint32_t hosts = 2;           ///< In the sample.
};

/// What a run of a sample was. The caller has the clock.
struct SampleRun {
  std::uint64_t operations = 0;
  std::uint64_t events = 0;
  std::uint64_t packets = 0;
  double operations_per_second = 0;
  double taken_ns = 0;  ///< Processor time.
};
SampleRun sample_run_of(const RunReport& report, double taken_ns);

inline constexpr std::uint32_t kSampleClientsMost = 8;
/// `scenario` with `operations` operations of each client, with little memory, and on a star of few hosts if
/// its world has many, without traffic beside. Of a recorded trace that many accesses, by one client where
/// that stands for all. What is asked of a trace that can be read once is asked of fetches.
Scenario sample_of(const Scenario& scenario, std::uint64_t operations,
                   std::uint32_t most_clients = kSampleClientsMost);
/// Operations of each client in the first run of a sample, and in the second, of a few hundred thousand
/// events, but no more than the scenario has.
std::uint64_t first_sample_operations(const Scenario& scenario);
std::uint64_t second_sample_operations(const Scenario& scenario, const SampleRun& first);
/// As many as the second would have if the scenario had more: what an event takes is seen over many.
std::uint64_t timing_sample_operations(const Scenario& scenario, const SampleRun& first);
/// What the operations took by which the second run of a sample of `scenario` has more than the first: both
/// make the same hosts. Where the second has all operations of a client, those that find caches empty count,
/// too; so they do of a trace, of which the rest goes on as the second run ended.
SampleCost cost_of(const Scenario& scenario, const Scenario& sample, const SampleRun& first,
                   const SampleRun& second);
/// What an event took in `longer` beyond `first`.
double event_ns_of(const SampleRun& first, const SampleRun& longer);

struct MeasuredSample {
  SampleCost cost;
  std::uint64_t operations = 0;
};
/// Runs samples of `scenario` by `run`, which has the clock, for about a tenth of a second.
Result<MeasuredSample> measure_sample(const Scenario& scenario,
                                      const std::function<Result<SampleRun>(const Scenario&)>& run);

/// Within a factor of two for loss-free runs. Loss, queues in the network and caches that the sample does not
/// fill make a run slower. Refuses what plan_world() refuses.
Result<CostEstimate> estimate_cost(const Scenario& scenario, const SampleCost& sample);

}  // namespace wharf::sim
