// SPDX-License-Identifier: Apache-2.0
// The SES header of a request, made with its message: of one that is all of its message, which most packets
// are, it is what leaves. Inlined where packets leave. [UE 1.0 3.4]
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

[[gnu::always_inline]] inline void Initiator::address_to(OutboundMessage& message, const Destination& to,
                                                         std::uint32_t initiator_id) {
  message.host = to.host;
  message.ses.job_id = to.job_id;
  message.ses.initiator = initiator_id;
  message.ses.pid_on_fep = to.pid_on_fep;
  message.ses.resource_index = to.resource_index;
  message.ses.ri_generation = to.ri_generation;
  if (to.relative) message.ses.flags |= wire::kUetRelative;
}

[[gnu::always_inline]] inline void Initiator::build_simple(OutboundMessage& message, wire::Packet& out) {
  if (message.expects_data) message.answered_psn = out.uet.request.psn;
  out.uet.prologue.next = message.form;
  // In two steps, which the compiler unrolls.
  constexpr std::size_t kHalf = 32;
  static_assert(std::is_trivially_copyable_v<wire::UetSesRequest>);
  const auto* from = reinterpret_cast<const std::byte*>(&message.ses);
  auto* to = reinterpret_cast<std::byte*>(&out.uet.ses);
  std::memcpy(to, from, kHalf);
  std::memcpy(to + kHalf, from + kHalf, sizeof message.ses - kHalf);
}

[[gnu::always_inline]] inline void Initiator::build_read_response(const OutboundMessage& message,
                                                                  std::uint32_t slot, std::uint32_t offset,
                                                                  std::uint32_t length, bool failed,
                                                                  wire::Packet& out) {
  wire::UetSesResponse& response = wire::use_ses_response(out.uet, message.form);
  response.opcode = wire::UetResponseOpcode::kWithData;
  response.return_code = failed ? wire::UetReturnCode::kNoTranslation : wire::UetReturnCode::kOk;
  response.job_id = message.ses.job_id;
  response.payload_length = static_cast<std::uint16_t>(failed ? 0 : length);
  response.message_id = message_id_of(slot);
  response.read_request_message_id = message.answered_message_id;
  response.original_request_psn = message.answered_psn;
  response.modified_length = message.ses.request_length;
  response.message_offset = message.eager_length + offset;
}

[[gnu::always_inline]] inline void Initiator::build(OutboundMessage& message, std::uint32_t slot,
                                                    std::uint32_t offset, std::uint32_t length, bool failed,
                                                    wire::Packet& out) {
  message.first_sent = true;
  if (!message.simple || message.terminating || failed) {
    build_any(message, slot, offset, length, failed, out);
    return;
  }
  build_simple(message, out);
}

}  // namespace wharf::uet
