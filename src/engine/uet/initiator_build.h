// SPDX-License-Identifier: Apache-2.0
// The SES header of a request that is all of its message: most packets are one.
// Inlined where packets leave. [UE 1.0 3.4]
#pragma once

#include <new>

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

[[gnu::always_inline]] inline void Initiator::build_simple(OutboundMessage& message, std::uint32_t slot,
                                                           wire::Packet& out) {
  if (message.expects_data) message.answered_psn = out.uet.request.psn;
  out.uet.prologue.next = wire::UetNextHeader::kRequestStandard;
  ::new (&out.uet.ses)
      wire::UetSesRequest{.buffer_offset = message.buffer_offset,
                          .memory_key = message.memory_key,
                          .header_data = message.header_data,
                          .job_id = message.to.job_id,
                          .initiator = message.initiator,
                          .request_length = message.length,
                          .message_offset = 0,
                          .message_id = message_id_of(slot),
                          .pid_on_fep = message.to.pid_on_fep,
                          .resource_index = message.to.resource_index,
                          .payload_length = 0,
                          .ri_generation = message.to.ri_generation,
                          .opcode = message.opcode,
                          .flags = static_cast<std::uint8_t>(message.flags | wire::kUetSom | wire::kUetEom)};
}

[[gnu::always_inline]] inline void Initiator::build(OutboundMessage& message, std::uint32_t slot,
                                                    std::uint32_t offset, std::uint32_t length, bool failed,
                                                    wire::Packet& out) {
  message.first_sent = true;
  if (!message.simple || message.terminating || failed) {
    build_any(message, slot, offset, length, failed, out);
    return;
  }
  build_simple(message, slot, out);
}

}  // namespace wharf::uet
