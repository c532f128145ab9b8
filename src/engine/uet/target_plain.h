// SPDX-License-Identifier: Apache-2.0
// Where the usual Write or Read may go: inlined where packets arrive. [UE 1.0 3.4]
#pragma once

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

[[gnu::always_inline]] inline std::uint32_t Target::find_plain(EngineParts& parts, const wire::Packet& packet,
                                                               bool verbs::AccessRights::*right,
                                                               std::uint64_t& address) {
  const wire::UetSesRequest& request = packet.uet.ses;
  const std::uint32_t length = request.request_length;
  engine::QueueId queue = 0;
  if (parts.endpoints.look_up(request, queue) != wire::UetReturnCode::kOk) return kNoSlot;
  const std::uint32_t region = parts.regions.find(request.memory_key, request.job_id);
  if (region == kNoSlot) return kNoSlot;
  const verbs::SegmentConfig& memory = parts.regions[region].config;
  const std::uint64_t offset = request.buffer_offset - (memory.base & parts.plain.base_mask);
  // An address below the base is an offset beyond the end.
  if (!(memory.rights.*right) || offset > memory.length || length > memory.length - offset) return kNoSlot;
  address = memory.base + offset;
  return region;
}

}  // namespace wharf::uet
