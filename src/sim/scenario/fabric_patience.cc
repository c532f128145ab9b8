// SPDX-License-Identifier: Apache-2.0
// How long a run may be silent before it counts as stalled.
#include <algorithm>

#include "sim/scenario/fabric_settings.h"

namespace wharf::sim {
namespace {

/// Time-outs in a row that random losses make no likelier than one in a thousand million; at least 8. With
/// links that let nothing through, 8: waiting does not help.
std::uint32_t timeouts_in_a_row(double loss, std::uint32_t hops) {
  constexpr std::uint32_t kLeast = 8;
  constexpr std::uint32_t kMost = 1U << 20U;
  if (loss >= 1) return kLeast;
  // A packet there and its answer back.
  double arrives = 1;
  for (std::uint32_t i = 0; i < 2 * hops; ++i) arrives *= 1 - loss;
  double silent = 1;
  std::uint32_t count = 0;
  while (silent > 1e-9 && count < kMost) {
    silent *= 1 - arrives;
    ++count;
  }
  return std::max(count, kLeast);
}

/// The time-out after `expiries` others.
TimePs timeout_of(const FabricRunConfig& config, std::uint32_t expiries) {
  return visit_protocol(config.protocol, [&]<typename P>(std::type_identity<P>) {
    return P::timeout(std::get<typename P::Config>(config.engines), expiries);
  });
}

}  // namespace

TimePs stall_patience(const FabricSettings& settings, const FabricDerived& derived, const Topology& topology,
                      const TopologySummary& summary, const FabricRunConfig& config) {
  if (settings.stall_after != kTimeZero) return settings.stall_after;
  BitsPerSecond slowest = derived.link;
  for (const TopologyPort& port : topology.ports()) slowest = std::min(slowest, port.rate);
  for (const LinkChange& change : config.fabric.changes) {
    if (change.rate.value != 0) slowest = std::min(slowest, change.rate);
  }
  if (config.fabric.ingest.limited()) slowest = std::min(slowest, config.fabric.ingest.rate);
  TimePs patience = (derived.base_rtt + transfer_time(Bytes{derived.full_packet}, slowest)) * 64;
  const std::uint32_t timeouts =
      timeouts_in_a_row(loss_of(settings.links, settings.loss), summary.diameter_hops);
  for (std::uint32_t i = 0; i < timeouts; ++i) {
    const TimePs one = timeout_of(config, i);
    // Beyond the limit of simulated time nobody looks.
    if (one >= config.time_limit || patience >= config.time_limit) return kNever;
    patience += one;
  }
  // Controllers that pace may leave a flow alone for a few milliseconds.
  return max(patience, milliseconds(10));
}

}  // namespace wharf::sim
