// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/fabric_config.h"

#include <fmt/format.h>

namespace wharf::sim {
namespace {

/// Queues that some packets go to.
std::array<bool, kPortQueues> queues_in_use(const PortProfile& profile) {
  std::array<bool, kPortQueues> used{};
  used[profile.trimmed_queue] = true;
  for (const std::uint8_t queue : profile.queue_of_class) used[queue] = true;
  return used;
}

Result<void> validate_profile(const PortProfile& profile) {
  for (const PortQueueConfig& queue : profile.queues) {
    if (queue.mark_min_bytes > queue.mark_max_bytes)
      return input_error(fmt::format("fabric.ecn_min is {} bytes, expected at most fabric.ecn_max ({} bytes)",
                                     queue.mark_min_bytes, queue.mark_max_bytes));
    if (queue.mark_most_ppm > 1'000'000)
      return input_error(
          fmt::format("fabric.ecn_most is {} millionths, expected at most 1000000", queue.mark_most_ppm));
    if (queue.weight == 0 || queue.weight > 1000)
      return input_error(fmt::format("fabric.weight is {}, expected 1 to 1000", queue.weight));
  }
  for (const std::uint8_t queue : profile.queue_of_class) {
    if (queue >= kPortQueues)
      return input_error(
          fmt::format("a traffic class goes to queue {}, expected 0 to {}", queue, kPortQueues - 1));
  }
  if (profile.trimmed_queue >= kPortQueues)
    return input_error(
        fmt::format("fabric.trimmed_queue is {}, expected 0 to {}", profile.trimmed_queue, kPortQueues - 1));
  const std::array<bool, kPortQueues> used = queues_in_use(profile);
  std::uint32_t replacing = kPortQueues;
  for (std::uint32_t queue = 0; queue < kPortQueues; ++queue) {
    if (!used[queue] || !replaces_newest(profile.queues[queue].overflow)) continue;
    if (replacing != kPortQueues)
      return input_error(fmt::format(
          "queues {} and {} of a port replace their newest packet, expected one at most", replacing, queue));
    replacing = queue;
  }
  if (profile.trimmed_bytes == 0) return input_error("fabric.trim_bytes is 0, expected at least 1");
  return {};
}

Result<void> validate_flow_control(const FlowControlConfig& flow) {
  if (flow.xon_bytes > flow.xoff_bytes)
    return input_error(fmt::format("fabric.pfc_xon is {} bytes, expected at most fabric.pfc_xoff ({} bytes)",
                                   flow.xon_bytes, flow.xoff_bytes));
  if (flow.credit_bytes == 0) return input_error("fabric.credit_size is 0, expected at least 1 byte");
  if (flow.kind == FlowControl::kCredit && flow.credit_limit_bytes / flow.credit_bytes > kMostCredits)
    return input_error(
        fmt::format("fabric.credit_limit is {} credits of {} bytes, expected at most {} credits",
                    flow.credit_limit_bytes / flow.credit_bytes, flow.credit_bytes, kMostCredits));
  if (flow.credit_overhead_bytes < -16 || flow.credit_overhead_bytes > 127)
    return input_error(
        fmt::format("fabric.credit_overhead is {}, expected -16 to 127", flow.credit_overhead_bytes));
  if (flow.frame_bytes == 0 || flow.update_bytes == 0)
    return input_error("the frames of flow control have 0 bytes, expected at least 1");
  return {};
}

}  // namespace

bool PortProfile::shares_priority() const {
  const std::array<bool, kPortQueues> used = queues_in_use(*this);
  int last = -1;
  for (std::uint32_t queue = 0; queue < kPortQueues; ++queue) {
    if (!used[queue]) continue;
    if (queues[queue].priority <= last) return true;
    last = queues[queue].priority;
  }
  return false;
}

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

void PortProfile::share_with_trimmed(std::uint32_t percent) {
  trimmed_queue = 2;
  queues[2] = {.capacity_bytes = queues[1].capacity_bytes, .priority = queues[1].priority, .weight = percent};
  queues[1].weight = 100 - percent;
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
  for (const PortProfile& profile : config.profiles) WHARF_TRY(validate_profile(profile));
  WHARF_TRY(validate_flow_control(config.flow_control));
  for (const PortProfile& profile : config.profiles) {
    for (std::uint32_t queue = 0; queue < kPortQueues; ++queue) {
      if (config.flow_control.kind != FlowControl::kNone &&
          (config.flow_control.queues & (1U << queue)) != 0 &&
          profile.queues[queue].overflow != OverflowRule::kDrop)
        return input_error(
            fmt::format("queue {} trims and is under flow control, expected one or the other", queue));
    }
  }
  const std::size_t ports = topology.ports().size();
  if (config.faults.size() > 1 && config.faults.size() != ports)
    return input_error(
        fmt::format("fabric.faults has {} entries, expected 0, 1 or {}", config.faults.size(), ports));
  for (const LinkFaults& faults : config.faults) WHARF_TRY(validate(faults));
  for (PortId port = 0; port < ports && config.any_retries(); ++port) {
    if (config.retries(port) != config.retries(topology.port(port).reverse))
      return input_error(
          fmt::format("fabric.faults: port {} retries and the other direction of its link does not, "
                      "expected both or neither",
                      config.retries(port) ? port : topology.port(port).reverse));
    const TimePs round =
        topology.port(port).delay + topology.port(topology.port(port).reverse).delay + config.fec_delay * 2;
    const TimePs timer =
        config.retries(port) ? config.faults_of(port)->retry_rules.replay_timer_max : kTimeZero;
    if (timer != kTimeZero && timer < round)
      return input_error(fmt::format(
          "llr_replay_timer_max is {}, expected at least the round trip of every link, {} here, or 0ns",
          format_time(timer), format_time(round)));
  }
  for (const LinkChange& change : config.changes) {
    if (change.port >= ports || change.at < kTimeZero)
      return input_error(
          fmt::format("a link change names port {} at {}, expected a port below {} and a time "
                      "from 0",
                      change.port, format_time(change.at), ports));
  }
  for (const auto* list : {&config.sampled_ports, &config.captured_ports}) {
    for (const PortId port : *list) {
      if (port >= ports)
        return input_error(fmt::format("port {} is observed, expected a port below {}", port, ports));
    }
  }
  if (config.fec_delay < kTimeZero || config.fec_delay > milliseconds(1))
    return input_error(
        fmt::format("fabric.fec_delay is {}, expected 0 to 1ms", format_time(config.fec_delay)));
  return {};
}

}  // namespace wharf::sim
