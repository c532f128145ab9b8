// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/config.h"

#include <fmt/format.h>

#include <bit>

namespace wharf::uet {
namespace {

Result<void> in_range(const char* key, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return {};
  return input_error(fmt::format("uet.{}: found {}, expected {} to {}", key, value, low, high));
}

Result<void> time_in(const char* key, TimePs value, TimePs low, TimePs high) {
  if (value >= low && value <= high) return {};
  return input_error(
      fmt::format("uet.{}: found {} ps, expected {} ps to {} ps", key, value.ps, low.ps, high.ps));
}

Result<void> pdcid_pool(const char* key, std::uint32_t first, std::uint32_t count) {
  if (first > 0 && first + count <= 0x10000) return {};
  return input_error(fmt::format("uet.{}: found {}, expected 1 to {}, so that {} identifiers fit", key, first,
                                 0x10000 - count, count));
}

}  // namespace

Result<void> validate(const UetConfig& config) {
  WHARF_TRY(in_range("endpoint.job_id", config.endpoint.job_id, 1, 0xff'ffff));
  WHARF_TRY(in_range("endpoint.pid_on_fep", config.endpoint.pid_on_fep, 0, 0xfff));
  WHARF_TRY(in_range("endpoint.resource_index", config.endpoint.resource_index, 1, 0xfff));
  WHARF_TRY(in_range("payload_mtu", config.payload_mtu, 256, kPayloadMtuMost));
  if (config.payload_mtu % 2 != 0) {
    return input_error(
        fmt::format("uet.payload_mtu: found {}, expected a multiple of 2", config.payload_mtu));
  }
  WHARF_TRY(in_range("default_mpr", config.default_mpr, 0, 255));
  WHARF_TRY(in_range("max_ack_data_bytes", config.max_ack_data_bytes, 0, config.payload_mtu));
  WHARF_TRY(in_range("ack_trigger_bytes", config.ack_trigger_bytes, 1, 32768));
  WHARF_TRY(in_range("ack_min_packet_bytes", config.ack_min_packet_bytes, 1, 2048));
  WHARF_TRY(time_in("rto_init", config.rto_init, TimePs{1}, seconds(8)));
  WHARF_TRY(time_in("rto_floor", config.rto_floor, kTimeZero, config.rto_init));
  WHARF_TRY(time_in("rto_cap", config.rto_cap, config.rto_init, seconds(4096)));
  WHARF_TRY(in_range("max_rto_retries", config.max_rto_retries, 0, kRtoRetriesForever));
  WHARF_TRY(time_in("nack_retransmit_time", config.nack_retransmit_time, kTimeZero, seconds(8)));
  WHARF_TRY(in_range("max_nack_retries", config.max_nack_retries, 0, kNackRetriesForever));
  WHARF_TRY(time_in("clear_time", config.clear_time, TimePs{1}, seconds(8)));
  WHARF_TRY(time_in("close_request_time", config.close_request_time, TimePs{1}, seconds(8)));
  WHARF_TRY(in_range("pdc_limit", config.pdc_limit, 1, 16384));
  WHARF_TRY(in_range("reserved_pdc_limit", config.reserved_pdc_limit, 0, 4096));
  const std::uint32_t identifiers = config.pdc_limit + config.reserved_pdc_limit;
  WHARF_TRY(pdcid_pool("first_initiator_pdcid", config.first_initiator_pdcid, identifiers));
  WHARF_TRY(pdcid_pool("first_target_pdcid", config.first_target_pdcid, identifiers));
  if (config.first_initiator_pdcid + identifiers > config.first_target_pdcid) {
    return input_error(
        fmt::format("uet.first_target_pdcid: found {}, expected at least {}, the end of the initiator's "
                    "pools",
                    config.first_target_pdcid, config.first_initiator_pdcid + identifiers));
  }
  if (!std::has_single_bit(config.paths) || config.paths > 65536) {
    return input_error(
        fmt::format("uet.paths: found {}, expected a power of two from 1 to 65536", config.paths));
  }
  WHARF_TRY(in_range("eager_bytes", config.eager_bytes, 0, config.payload_mtu));
  if (config.message_retries != kMessageRetriesForever)
    WHARF_TRY(in_range("message_retries", config.message_retries, 0, 65535));
  WHARF_TRY(in_range("rudi_window", config.rudi_window, 1, 65535));
  WHARF_TRY(in_range("outbound_messages", config.outbound_messages, 1, 65535));
  WHARF_TRY(in_range("inbound_messages", config.inbound_messages, 1, 1U << 24U));
  WHARF_TRY(in_range("stored_responses", config.stored_responses, 1, 1U << 24U));
  WHARF_TRY(in_range("packets_in_execution", config.packets_in_execution, 1, 1U << 24U));
  WHARF_TRY(in_range("fetch_ahead_packets", config.fetch_ahead_packets, 1, 4096));
  if (auto made = congestion::AnyController::create(config.controller); !made) {
    return input_error("uet.controller." + made.error().message);
  }
  if (config.infer_loss &&
      (!std::holds_alternative<congestion::NsccConfig>(config.controller) ||
       config.congestion == CongestionControl::kNone || config.congestion == CongestionControl::kReceiver)) {
    return input_error("uet.infer_loss: found true, expected false when NSCC does not control the window");
  }
  if (config.target_flow_control &&
      (!std::holds_alternative<congestion::NsccConfig>(config.controller) ||
       config.congestion == CongestionControl::kNone || config.congestion == CongestionControl::kReceiver)) {
    return input_error(
        "uet.target_flow_control: found true, expected false when NSCC does not control the window");
  }
  if (config.backlog_high_bytes <= config.backlog_low_bytes) {
    return input_error(
        fmt::format("uet.backlog_high_bytes: found {}, expected more than the {} of "
                    "backlog_low_bytes",
                    config.backlog_high_bytes, config.backlog_low_bytes));
  }
  if (const auto checked = congestion::check(config.credit); !checked) {
    return input_error("uet.credit." + checked.error().message);
  }
  if (config.oversubscribed) {
    if (const auto checked = congestion::check(*config.oversubscribed); !checked) {
      return input_error("uet.oversubscribed." + checked.error().message);
    }
  }
  return {};
}

}  // namespace wharf::uet
