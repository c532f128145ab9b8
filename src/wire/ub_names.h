// SPDX-License-Identifier: Apache-2.0
// The words for the numbers of Unified Bus headers that are no opcodes: as `wharf dissect` and Wireshark show
// them.
#pragma once

#include <string_view>

#include "wire/ub_lph.h"
#include "wire/ub_nth.h"
#include "wire/ub_opcode.h"
#include "wire/ub_tph.h"

namespace wharf::wire {

// "reserved" where the number has no meaning.

std::string_view link_config_name(LinkConfig config);
std::string_view congestion_mode_name(CongestionMode mode);
std::string_view nth_next_name(NthNext next);
std::string_view tph_next_name(TphNext next);
std::string_view ctp_opcode_name(CtpOpcode opcode);
std::string_view ub_status_name(UbResponseStatus status);
std::string_view ub_info_name(UbResponseInfo info);
std::string_view requester_type_name(RequesterContextType type);
std::string_view target_type_name(TargetContextType type);

}  // namespace wharf::wire
