// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/config.h"

#include <fmt/format.h>

#include <bit>

namespace wharf::ub {
namespace {

Result<void> power_of_two(const char* key, std::uint32_t value, std::uint32_t low, std::uint32_t high) {
  if (std::has_single_bit(value) && value >= low && value <= high) return {};
  return input_error(
      fmt::format("ub.{}: found {}, expected a power of two from {} to {}", key, value, low, high));
}

Result<void> in_range(const char* key, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return {};
  return input_error(fmt::format("ub.{}: found {}, expected {} to {}", key, value, low, high));
}

Result<void> check_congestion(const UbConfig& config) {
  if (config.min_time_between_cnps < kTimeZero) {
    return input_error("ub.min_time_between_cnps: found less than zero, expected zero or a duration");
  }
  if (!config.congestion) return {};
  if (std::holds_alternative<congestion::NsccConfig>(*config.congestion)) {
    return input_error(
        "ub.congestion: found NSCC, which needs what only Ultra Ethernet's acknowledgements carry, expected "
        "a "
        "constant window, DCQCN, C-AQM, LDCP or Swift");
  }
  if (std::holds_alternative<congestion::CaqmConfig>(*config.congestion) && config.mtu > kCaqmMtuMax) {
    return input_error(
        fmt::format("ub.mtu: found {}, expected at most {} with C-AQM, whose 8-bit Hint holds no larger one",
                    config.mtu, kCaqmMtuMax));
  }
  const congestion::ControllerConfig chosen = controller_for(config, config.mtu);
  if (auto made = congestion::AnyController::create(chosen); !made) {
    return input_error("ub.congestion." + made.error().message);
  }
  return {};
}

}  // namespace

congestion::ControllerConfig controller_for(const UbConfig& config, std::uint32_t mtu) {
  congestion::ControllerConfig chosen = *config.congestion;
  if (auto* caqm = std::get_if<congestion::CaqmConfig>(&chosen)) caqm->mtu_bytes = mtu;
  if (auto* ldcp = std::get_if<congestion::LdcpConfig>(&chosen)) ldcp->mtu_bytes = mtu;
  if (auto* swift = std::get_if<congestion::SwiftConfig>(&chosen)) swift->packet_bytes = mtu;
  return chosen;
}

Result<void> check_transport(const UbConfig& config, engine::TransportMode transport,
                             engine::ServiceMode service) {
  using wire::UbEncapsulation;
  if (transport != engine::TransportMode::kCompact) {
    if (config.encapsulation != UbEncapsulation::kCna16OnLink) return {};
    return input_error(
        "ub.encapsulation: found a CNA16 link with transport rtp, expected udp, ip_on_link, cna24_on_link, "
        "raw_ethernet, or transport ctp, because CNA16 cannot announce the reliable transport header");
  }
  if (config.encapsulation == UbEncapsulation::kRawEthernet)
    return input_error("ub.transport: found ctp with raw_ethernet, expected rtp: OpenURMA has no CTP header");
  if (!travels_compactly(service)) {
    return input_error(fmt::format(
        "ub.transport: found ctp with service mode {}, expected roi or rtp, because {}",
        engine::name(service),
        service == engine::ServiceMode::kOrderedByTarget
            ? "the target of rot counts the requests of a jetty, and ctp counts those of a pair of hosts"
        : service == engine::ServiceMode::kOrderedByTransport
            ? "the answers of rol are acknowledgements of rtp"
            : "uno goes over utp"));
  }
  if (config.spread == ChannelSpread::kPacket) {
    return input_error(
        "ub.spread: found packet with transport ctp, expected flow or request: what is overtaken on the way "
        "is "
        "lost there");
  }
  if (config.congestion && !std::holds_alternative<congestion::DcqcnConfig>(*config.congestion)) {
    return input_error(
        "ub.congestion: found a controller that lives on acknowledgements with transport ctp, which has "
        "none, "
        "expected none or DCQCN");
  }
  return {};
}

Result<void> validate(const UbConfig& config) {
  using wire::UbEncapsulation;
  if (config.encapsulation == UbEncapsulation::kMemoryOnLink) {
    return input_error(
        "ub.encapsulation: found memory_on_link, whose headers carry loads and stores alone, expected udp, "
        "ip_on_link, cna24_on_link or raw_ethernet");
  }
  WHARF_TRY(check_transport(config, config.transport, config.service));
  const bool openurma = config.encapsulation == UbEncapsulation::kRawEthernet;
  WHARF_TRY(power_of_two("mtu", config.mtu, 64, openurma ? 256 : 8192));
  if (config.segment_bytes < config.mtu || config.segment_bytes > kSegmentBytesMax ||
      config.segment_bytes % config.mtu != 0) {
    return input_error(
        fmt::format("ub.segment_bytes: found {}, expected a multiple of the MTU ({}) up to 65536",
                    config.segment_bytes, config.mtu));
  }
  WHARF_TRY(in_range("channels", config.channels, 1, kChannelsMax));
  WHARF_TRY(power_of_two("send_window", config.send_window, 1, 1U << 22U));
  WHARF_TRY(power_of_two("receive_window", config.receive_window, 64, 1U << 22U));
  WHARF_TRY(in_range("acknowledge_every", config.acknowledge_every, 1, config.receive_window));
  WHARF_TRY(in_range("first_psn", config.first_psn, 0, wire::kPsnMask));
  WHARF_TRY(power_of_two("transactions_per_jetty", config.transactions_per_jetty, 1, 32768));
  WHARF_TRY(in_range("rnr_retry", config.rnr_retry, 0, kRnrRetryForever));
  WHARF_TRY(in_range("min_rnr_timer", config.min_rnr_timer, 0, 31));
  WHARF_TRY(in_range("page_fault_timer", config.page_fault_timer, 0, 31));
  WHARF_TRY(in_range("err_timeout", config.err_timeout, 0, 31));
  WHARF_TRY(in_range("inbound_messages", config.inbound_messages, 1, 1U << 24U));
  WHARF_TRY(in_range("parked_packets", config.parked_packets, 1, 1U << 24U));
  WHARF_TRY(in_range("fetch_ahead_packets", config.fetch_ahead_packets, 1, 1U << 22U));
  WHARF_TRY(in_range("load_store_services", config.load_store_services, 1, 1U << 24U));
  WHARF_TRY(in_range("load_store_slots", config.load_store_slots, 1, 256));
  WHARF_TRY(in_range("host", config.host.number, 0, hosts_max(config.encapsulation) - 1));
  if (config.context_cache_entries > 0) {
    WHARF_TRY(in_range("context_records_max", config.context_records_max, 1, 1U << 24U));
  }
  if (config.retransmission.base <= kTimeZero) {
    return input_error("ub.retransmission.base: found zero, expected a positive time");
  }
  if (config.retransmission.floor < kTimeZero || config.retransmission.floor > config.retransmission.base) {
    return input_error("ub.retransmission.floor: found more than the base, expected at most that");
  }
  if (config.load_store_reissue.base <= kTimeZero) {
    return input_error("ub.load_store_reissue.base: found zero, expected a positive time");
  }
  return check_congestion(config);
}

}  // namespace wharf::ub
