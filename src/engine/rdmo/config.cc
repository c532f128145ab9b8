// SPDX-License-Identifier: Apache-2.0
#include "engine/rdmo/config.h"

#include <fmt/format.h>

#include "wire/rdmo_control.h"

namespace wharf::rdmo {
namespace {

constexpr std::uint32_t kObjectsMax = 1U << 20U;

Result<void> within(const char* key, std::uint64_t found, std::uint64_t least, std::uint64_t most) {
  if (found >= least && found <= most) return {};
  return input_error(fmt::format("{} is {}, expected {} to {}", key, found, least, most));
}

}  // namespace

Result<void> check(const WorkerConfig& config) {
  // Sixteen bits of key name no more regions, zero left out. [DOCA UROM RDMO Application Guide: 16-bit keys]
  const std::uint32_t regions_most = config.layout == wire::RdmoLayout::kGuide ? 0xffffU : kObjectsMax;
  WHARF_TRY(within("clients_max", config.clients_max, 1, 4096));
  WHARF_TRY(within("regions_max", config.regions_max, 1, regions_most));
  WHARF_TRY(within("regions_per_client_max", config.regions_per_client_max, 1, config.regions_max));
  WHARF_TRY(within("connections_max", config.connections_max, 1, kObjectsMax));
  WHARF_TRY(
      within("connections_per_client_max", config.connections_per_client_max, 1, config.connections_max));
  WHARF_TRY(within("window", config.window, 1, 1U << 16U));
  WHARF_TRY(within("requests_max", config.requests_max, config.window, 1U << 24U));
  WHARF_TRY(within("cells_max", config.cells_max, 1, kObjectsMax));
  WHARF_TRY(within("writes_max", config.writes_max, 2, kObjectsMax));
  WHARF_TRY(within("coalesce_bytes", config.coalesce_bytes, 1, 1U << 20U));
  WHARF_TRY(within("message_bytes_max", config.message_bytes_max, config.coalesce_bytes, 1U << 31U));
  WHARF_TRY(within("address", config.address.size(), 0, wire::kRdmoTailBytesMax));
  if (config.memory_time_max <= kTimeZero) return input_error("memory_time_max is not positive");
  if (config.sender_time_max <= kTimeZero) return input_error("sender_time_max is not positive");
  if (config.coalesce_delay < kTimeZero) return input_error("coalesce_delay is negative");
  if (config.publish_delay < kTimeZero) return input_error("publish_delay is negative");
  return {};
}

}  // namespace wharf::rdmo
