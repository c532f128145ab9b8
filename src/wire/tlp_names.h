// SPDX-License-Identifier: Apache-2.0
// The specification's words for the numbers of transaction layer packets, and what it says about each message
// code. Values outside a table are "reserved".
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/tlp_packet.h"

namespace wharf::wire {

std::string_view tlp_type_name(TlpType type);  ///< "MRd", "CplD".
std::string_view tlp_status_name(TlpStatus status);
std::string_view tlp_routing_name(TlpRouting routing);
std::string_view tlp_address_type_name(TlpAddressType type);
std::string_view tlp_prefix_name(TlpPrefixType type);

/// One message code. [PCIe Base 5.0 2.2.8; 10.2 to 10.4 for the translation service]
struct TlpMessageInfo {
  std::string_view name;
  std::uint8_t code = 0;
  std::uint8_t routings = 0;  ///< Bit r: it may be routed as TlpRouting r.
  bool without_data = true;   ///< May be a Msg.
  bool with_data = false;     ///< May be a MsgD.
  bool any_class = false;     ///< Otherwise traffic class 0 only.
};

/// What is known about `code`; nullptr for one that nobody has defined.
const TlpMessageInfo* tlp_message_info(std::uint8_t code);

}  // namespace wharf::wire
