// SPDX-License-Identifier: Apache-2.0
// What the short ways of usual inputs need of the configuration, worked out once. [uet_engine_plain.cc]
#pragma once

#include <cstdint>

#include "engine/uet/config.h"
#include "verbs/work_request.h"
#include "wire/uet_packet.h"

namespace wharf::uet {

struct PlainWays {
  explicit PlainWays(const UetConfig& config);

  /// Nothing goes a short way any more: for tests, which compare the two.
  void forbid() {
    allowed = false;
    others_wait = true;
    most_bytes = 0;
  }

  bool allowed;              ///< Packets go the short ways.
  std::uint32_t most_bytes;  ///< Of a request that goes the short way; 0: none does.
  /// What a packet with the standard header of a request counts toward windows beside its payload.
  std::uint16_t overhead;
  verbs::Delivery one_sided;  ///< Of requests with Delivery::kDefault.
  verbs::Delivery two_sided;
  /// Something may have to leave before data, or nothing goes a short way: said anew by the general one.
  bool others_wait = false;
  /// Something waits for settle(): likewise said anew by whoever looks.
  bool unsettled = false;
  bool traced;                  ///< Somebody looks at where time goes.
  std::uint16_t data_overhead;  ///< `overhead` of a packet of returned data.
  wire::UetEncapsulation encapsulation;
  wire::UetProtection protection;
  /// Bytes of a packet beside its payload and SES headers; those count by this mask.
  std::uint16_t ses_mask;
  std::uint32_t header_bytes;
  std::uint32_t payload_mtu;
  std::uint32_t fetch_ahead_packets;
  // What a packet counts toward ack_trigger_bytes: its payload and this, but no less than that.
  std::uint32_t ack_overhead;
  std::uint32_t ack_min_bytes;
  std::uint32_t ack_trigger_bytes;
  std::uint32_t stored_responses;
  std::uint64_t base_mask;  ///< Of a region's base, which buffer_offset counts from 0 or from there.
  /// As much room as no packet needs.
  std::uint32_t most_room;
};

}  // namespace wharf::uet
