// SPDX-License-Identifier: Apache-2.0
// The keys "observe.*" of a fabric run, and what they name.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "sim/config/binder.h"
#include "sim/fabric/port_names.h"
#include "sim/flows/observation.h"
#include "workload/flow_list.h"

namespace wharf::sim {

/// The keys. Nothing is observed, and nothing is paid, while `period` is 0.
struct ObservationSettings {
  TimePs period{};                  ///< Between two looks; at least kObservationPeriodLeast.
  std::string flows{};              ///< Ids separated by commas.
  std::string ports{};              ///< As PortNames::find() takes them.
  std::uint32_t fullest_ports = 8;  ///< So many ports with the longest queues at each look; 0: none.
};
inline constexpr TimePs kObservationPeriodLeast = nanoseconds(10);

/// Lists the keys; those of `flows` where all flows can be followed.
void bind_observation(Binder& binder, ObservationSettings& settings, bool flows);
/// Refuses a period that is too short, and flows and ports that do not exist, with the nearest that do.
Result<Observation> resolve(const ObservationSettings& settings, const workload::FlowList& list,
                            const PortNames& names);

}  // namespace wharf::sim
