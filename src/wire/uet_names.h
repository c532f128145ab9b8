// SPDX-License-Identifier: Apache-2.0
// The specification's words for the numbers of Ultra Ethernet headers. Values outside a table are "unknown".
#pragma once

#include <string_view>

#include "wire/uet_packet.h"

namespace wharf::wire {

std::string_view uet_pds_type_name(UetPdsType type);
std::string_view uet_next_header_name(UetNextHeader next);
std::string_view uet_control_name(UetControlType control);
std::string_view uet_ack_request_name(UetAckRequest request);
std::string_view uet_cc_type_name(UetCcType type);
std::string_view uet_nack_name(UetNackCode code);
std::string_view uet_opcode_name(UetOpcode opcode);
std::string_view uet_atomic_name(UetAtomicOpcode opcode);
std::string_view uet_datatype_name(UetDatatype datatype);
std::string_view uet_response_name(UetResponseOpcode opcode);
std::string_view uet_list_name(UetListCode list);
std::string_view uet_return_code_name(UetReturnCode code);

/// What the packet is: the control type of a CP, "ACK", "NACK" and the like, or the SES operation it carries.
std::string_view uet_packet_name(const UetPacket& uet);

}  // namespace wharf::wire
