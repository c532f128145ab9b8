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
    most_bytes = 0;
  }

  bool allowed;              ///< Packets go the short ways.
  std::uint32_t most_bytes;  ///< Of a request that goes the short way; 0: none does.
  /// What a packet with the standard header of a request counts toward windows beside its payload.
  std::uint16_t overhead;
  verbs::Delivery one_sided;  ///< Of requests with Delivery::kDefault.
  verbs::Delivery two_sided;
  /// Something may have to leave before data: looked for and said anew by the general way.
  bool others_wait = false;
  bool ack_counts_overhead;     ///< Overhead counts toward ack_trigger_bytes, too.
  std::uint16_t data_overhead;  ///< `overhead` of a packet of returned data.
  wire::UetEncapsulation encapsulation;
  wire::UetProtection protection;
  /// Bytes of a packet beside its payload and SES headers; those count by this mask.
  std::uint16_t ses_mask;
  std::uint32_t header_bytes;
  std::uint32_t payload_mtu;
  std::uint32_t fetch_ahead_packets;
  /// As much room as no packet needs.
  std::uint32_t most_room;
};

}  // namespace wharf::uet
