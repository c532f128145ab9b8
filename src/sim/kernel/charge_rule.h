// SPDX-License-Identifier: Apache-2.0
// What a packet is charged for where it takes a share of a bandwidth: a rule of profiles, for links and NIC
// pipelines alike.
#pragma once

#include <cstdint>

namespace wharf::sim {

/// Keys link.charged_bytes and nic.charged_bytes.
enum class ChargeRule : std::uint8_t {
  kPacket,   ///< Every byte of the frame.
  kPayload,  ///< Payload bytes alone, with nominal sizes for packets that have none (accounting of
             ///< OpenURMA 5.2).
};

/// What kPayload charges a packet with `data` bytes of payload: those, or the nominal size of a request or
/// response that has none.
constexpr std::uint32_t payload_charge(std::uint32_t data, bool response, std::uint32_t nominal_request,
                                       std::uint32_t nominal_response) {
  if (data > 0) return data;
  return response ? nominal_response : nominal_request;
}

}  // namespace wharf::sim
