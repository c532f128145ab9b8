// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/plain_ways.h"

#include <algorithm>

#include "engine/uet/message.h"
#include "engine/uet/packet_size.h"

namespace wharf::uet {

PlainWays::PlainWays(const UetConfig& config)
    : most_bytes(std::min(config.payload_mtu, config.max_message_bytes)),
      overhead(static_cast<std::uint16_t>(
          window_overhead(config, wire::kUetRequestBytes + wire::kUetStandardBytes))),
      one_sided(config.one_sided_delivery),
      two_sided(config.two_sided_delivery),
      traced(config.tracer != nullptr),
      data_overhead(static_cast<std::uint16_t>(window_overhead(
          config, wire::kUetRequestBytes + wire::uet_ses_bytes(wire::UetNextHeader::kResponseData)))),
      encapsulation(config.encapsulation),
      protection(config.protection),
      ses_mask(config.nominal_header_bytes != 0 ? std::uint16_t{0} : std::uint16_t{0xffff}),
      header_bytes(config.nominal_header_bytes != 0 ? config.nominal_header_bytes
                                                    : frame_overhead(config) + wire::kUetRequestBytes),
      payload_mtu(config.payload_mtu),
      fetch_ahead_packets(config.fetch_ahead_packets),
      ack_overhead(config.window_overhead_bytes),
      ack_min_bytes(config.ack_min_packet_bytes),
      ack_trigger_bytes(config.ack_trigger_bytes),
      stored_responses(config.stored_responses),
      base_mask(config.virtual_addresses ? ~std::uint64_t{0} : 0),
      most_room(config.payload_mtu + 0xffffU) {
  // Credits have a header of their own, and so may requests of one packet.
  const bool timed = std::holds_alternative<congestion::DcqcnConfig>(config.controller) ||
                     std::holds_alternative<congestion::CaqmConfig>(config.controller) ||
                     std::holds_alternative<congestion::SwiftConfig>(config.controller);
  const bool probes = config.infer_loss || config.tail_loss_time > kTimeZero;
  allowed =
      (config.congestion == CongestionControl::kNone || config.congestion == CongestionControl::kSender) &&
      !timed && !probes && !config.ack_per_packet;
  const bool standard = !config.medium_headers && !config.small_headers;
  others_wait = !allowed;
  if (!allowed || !standard || !on_pdc(one_sided) || !on_pdc(two_sided)) most_bytes = 0;
  if (config.large_send != LargeSend::kEager) most_bytes = std::min(most_bytes, config.large_send_bytes);
}

}  // namespace wharf::uet
