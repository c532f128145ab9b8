// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/fabric_config.h"

#include <fmt/format.h>

namespace wharf::sim {

PortProfile PortProfile::single_queue() { return {}; }

PortProfile PortProfile::composite(std::uint32_t data_bytes, std::uint32_t mark_min, std::uint32_t mark_max) {
  PortProfile profile;
  profile.queues[0].capacity_bytes = 2 * data_bytes;
  profile.queues[1] = {.capacity_bytes = data_bytes,
                       .mark_min_bytes = mark_min,
                       .mark_max_bytes = mark_max,
                       .overflow = OverflowRule::kTrimNewestOrArrival,
                       .priority = 1};
  profile.queue_of_class = {0, 0, 1, 1, 1, 1, 1, 1};
  profile.trimmed_queue = 0;
  return profile;
}

Result<void> validate(const FabricConfig& config, const Topology& topology) {
  WHARF_TRY(topology.validate());
  if (config.profiles.empty() || config.profiles.size() > 255)
    return input_error(
        fmt::format("fabric.profiles has {} entries, expected 1 to 255", config.profiles.size()));
  if (!config.port_profile.empty() && config.port_profile.size() != topology.ports().size())
    return input_error(fmt::format("fabric.port_profile has {} entries, expected one for each of {} ports",
                                   config.port_profile.size(), topology.ports().size()));
  for (const std::uint8_t profile : config.port_profile) {
    if (profile >= config.profiles.size())
      return input_error(fmt::format("fabric.port_profile names profile {}, expected 0 to {}", profile,
                                     config.profiles.size() - 1));
  }
  for (const PortProfile& profile : config.profiles) {
    for (const PortQueueConfig& queue : profile.queues) {
      if (queue.mark_min_bytes > queue.mark_max_bytes)
        return input_error(
            fmt::format("fabric.ecn_min is {} bytes, expected at most fabric.ecn_max ({} bytes)",
                        queue.mark_min_bytes, queue.mark_max_bytes));
      if (queue.weight == 0 || queue.weight > 1000)
        return input_error(fmt::format("fabric.weight is {}, expected 1 to 1000", queue.weight));
    }
    for (const std::uint8_t queue : profile.queue_of_class) {
      if (queue >= kPortQueues)
        return input_error(
            fmt::format("a traffic class goes to queue {}, expected 0 to {}", queue, kPortQueues - 1));
    }
    if (profile.trimmed_queue >= kPortQueues || profile.trimmed_bytes == 0)
      return input_error("fabric.trimmed_queue or fabric.trim_bytes is out of range");
  }
  return {};
}

}  // namespace wharf::sim
