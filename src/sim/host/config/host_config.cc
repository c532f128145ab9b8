// SPDX-License-Identifier: Apache-2.0
#include "sim/host/config/host_config.h"

#include "base/line.h"

#include <bit>

#include <fmt/format.h>

namespace wharf::sim {
namespace {

Result<void> require_range(std::string_view key, std::uint64_t found, std::uint64_t least,
                           std::uint64_t most) {
  if (found >= least && found <= most) return {};
  return input_error(fmt::format("{} is {}, expected {} to {}", key, found, least, most));
}

Result<void> require_duration(std::string_view key, TimePs found) {
  if (found >= kTimeZero && found <= seconds(1)) return {};
  return input_error(fmt::format("{} is {}, expected 0 to 1s", key, format_time(found)));
}

/// The unit must have room for the largest message and for the lines that may pass its last: those which
/// leave while one is on the way for the longest time, and a core's buffers full that waited for credits.
Result<void> validate_stream(const MmioStreamConfig& stream) {
  WHARF_TRY(require_range("mmio_stream.combining_buffers", stream.combining_buffers, 1, 64));
  WHARF_TRY(require_range("mmio_stream.largest", stream.largest, 0, 8192));
  WHARF_TRY(require_range("mmio_stream.buffers", stream.buffers, 1, 4096));
  WHARF_TRY(require_duration("mmio_stream.spread", stream.spread));
  WHARF_TRY(require_duration("mmio_stream.unit_cycle", stream.unit_cycle));
  if (stream.line < picoseconds(1) || stream.line > microseconds(1))
    return input_error(fmt::format("mmio_stream.line is {}, expected 1ps to 1us", format_time(stream.line)));
  const auto passing =
      static_cast<std::uint64_t>(stream.spread.ps / stream.line.ps) + 2 + stream.combining_buffers;
  const std::uint64_t least = stream.largest + 2 * kLineBytes + passing * kLineBytes;
  if (!std::has_single_bit(stream.buffer_bytes) || stream.buffer_bytes < least)
    return input_error(fmt::format(
        "mmio_stream.buffer_bytes is {}, expected a power of two of at least {}: the largest message and "
        "{} lines that may pass it",
        stream.buffer_bytes, least, passing));
  if (!std::has_single_bit(stream.window_bytes) || stream.window_bytes < 4 * stream.buffer_bytes)
    return input_error(
        fmt::format("mmio_stream.window_bytes is {}, expected a power of two of at least {}, four data "
                    "buffers",
                    stream.window_bytes, 4 * stream.buffer_bytes));
  if (stream.memory_bytes % kLineBytes != 0 || stream.memory_bytes < stream.buffer_bytes)
    return input_error(
        fmt::format("mmio_stream.memory_bytes is {}, expected a multiple of 64 of at least {}, one data "
                    "buffer",
                    stream.memory_bytes, stream.buffer_bytes));
  return {};
}

}  // namespace

PipelineKeys pipeline_keys(wire::Protocol protocol) {
  const std::string_view key = wire::key_of(protocol);
  if (!wire::has_load_store(protocol)) return {"", fmt::format("{}_cycles", key)};
  return {fmt::format("{}_load_store_cycles", key), fmt::format("{}_queue_cycles", key)};
}

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
  for (const wire::Protocol protocol : wire::kProtocols) {
    const PipelineKeys keys = pipeline_keys(protocol);
    if (!keys.load_store.empty())
      WHARF_TRY(require_range("nic." + keys.load_store, nic.load_store_cycles, 1, 10'000));
    WHARF_TRY(require_range("nic." + keys.queue, nic.queue_cycles[wire::index_of(protocol)], 1, 10'000));
  }
  WHARF_TRY(require_range("nic.receive_match_cycles", nic.receive_match_cycles, 0, 10'000));
  WHARF_TRY(require_range("nic.transmit_queue", nic.transmit_queue, 1, 256));
  WHARF_TRY(require_range("nic.port_buffer", nic.port_buffer, 0, 1U << 24U));
  WHARF_TRY(require_range("nic.inline_limit", nic.inline_limit, 0, 256));
  WHARF_TRY(require_duration("nic.order_gate", nic.order_gate));
  if (config.memory.system == MemorySystem::kCoherent) WHARF_TRY(validate(config.coherent.host));
  return validate_stream(config.mmio_stream);
}

}  // namespace wharf::sim
