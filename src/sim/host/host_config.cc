// SPDX-License-Identifier: Apache-2.0
#include "sim/host/host_config.h"

#include <fmt/format.h>

namespace wharf::sim {
namespace {

Result<void> require_range(std::string_view key, std::uint64_t found, std::uint64_t least,
                           std::uint64_t most) {
  if (found >= least && found <= most) return {};
  return input_error(fmt::format("{} is {}, expected {} to {}", key, found, least, most));
}

Result<void> require_duration(std::string_view key, TimePs found) {
  if (found >= kTimeZero && found < seconds(1)) return {};
  return input_error(fmt::format("{} is {}, expected 0 to 1s", key, format_time(found)));
}

}  // namespace

Result<void> validate(const HostConfig& config) {
  const CoreConfig& core = config.core;
  const NicConfig& nic = config.nic;
  const PcieConfig& pcie = config.pcie;
  WHARF_TRY(require_duration("core.library_post", core.library_post));
  WHARF_TRY(require_duration("core.work_request_build", core.work_request_build));
  WHARF_TRY(require_duration("core.library_poll", core.library_poll));
  WHARF_TRY(require_duration("core.poll_host_memory", core.poll_host_memory));
  WHARF_TRY(require_duration("core.poll_on_chip", core.poll_on_chip));
  WHARF_TRY(require_range("core.outstanding_misses", core.outstanding_misses, 1, 1024));
  WHARF_TRY(require_duration("memory.row_hit", config.memory.row_hit));
  WHARF_TRY(require_duration("memory.load_latency", config.memory.load_latency));
  WHARF_TRY(require_duration("bus.crossing", config.bus.crossing));
  WHARF_TRY(require_duration("pcie.mmio_write", pcie.mmio_write));
  WHARF_TRY(require_duration("pcie.read_round_trip", pcie.read_round_trip));
  WHARF_TRY(require_duration("pcie.posted_write", pcie.posted_write));
  WHARF_TRY(require_range("pcie.tags", pcie.tags, 1, 4096));
  WHARF_TRY(require_range("pcie.posted_credits", pcie.posted_credits, 0, 4096));
  WHARF_TRY(require_range("pcie.max_payload", pcie.max_payload, 64, 4096));
  WHARF_TRY(require_range("pcie.max_read_request", pcie.max_read_request, 64, 4096));
  WHARF_TRY(require_range("pcie.request_header", pcie.request_header, 0, 256));
  WHARF_TRY(require_range("pcie.completion_header", pcie.completion_header, 0, 256));
  WHARF_TRY(require_duration("nic.cycle", nic.cycle));
  WHARF_TRY(require_range("nic.bytes_per_cycle", nic.bytes_per_cycle, 1, 4096));
  WHARF_TRY(require_range("nic.ub_load_store_cycles", nic.ub_load_store_cycles, 1, 10'000));
  WHARF_TRY(require_range("nic.ub_queue_cycles", nic.ub_queue_cycles, 1, 10'000));
  WHARF_TRY(require_range("nic.roce_cycles", nic.roce_cycles, 1, 10'000));
  WHARF_TRY(require_range("nic.receive_match_cycles", nic.receive_match_cycles, 0, 10'000));
  WHARF_TRY(require_range("nic.transmit_queue", nic.transmit_queue, 1, 256));
  WHARF_TRY(require_range("nic.inline_limit", nic.inline_limit, 0, 256));
  WHARF_TRY(require_duration("nic.order_gate", nic.order_gate));
  if (config.memory.system == MemorySystem::kCoherent) WHARF_TRY(validate(config.coherent.host));
  return {};
}

}  // namespace wharf::sim
