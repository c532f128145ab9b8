// SPDX-License-Identifier: Apache-2.0
// The SES header of a request that is all of its message: most packets are one.
// Inlined where packets leave. [UE 1.0 3.4]
#pragma once

#include <memory>

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

[[gnu::always_inline]] inline void Initiator::build(OutboundMessage& message, std::uint32_t slot,
                                                    std::uint32_t offset, std::uint32_t length, bool failed,
                                                    wire::Packet& out) {
  message.first_sent = true;
  if (!message.simple || message.terminating || failed) {
    build_any(message, slot, offset, length, failed, out);
    return;
  }
  if (message.expects_data) message.answered_psn = out.uet.request.psn;
  out.uet.prologue.next = wire::UetNextHeader::kRequestStandard;
  wire::UetSesRequest& ses = *std::construct_at(&out.uet.ses);
  ses.buffer_offset = message.buffer_offset;
  ses.memory_key = message.memory_key;
  ses.header_data = message.header_data;
  ses.job_id = message.to.job_id;
  ses.initiator = message.initiator;
  ses.request_length = message.length;
  ses.message_id = message_id_of(slot);
  ses.pid_on_fep = message.to.pid_on_fep;
  ses.resource_index = message.to.resource_index;
  ses.ri_generation = message.to.ri_generation;
  ses.opcode = message.opcode;
  ses.flags = message.flags | wire::kUetSom | wire::kUetEom;
}

}  // namespace wharf::uet
