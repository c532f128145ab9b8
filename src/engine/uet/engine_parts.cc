// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/engine_parts.h"

namespace wharf::uet {

EngineParts::EngineParts(const UetConfig& its_config, wire::PayloadPool& its_payloads, Arena& its_arena)
    : config(its_config),
      payloads(its_payloads),
      arena(its_arena),
      events(8),
      endpoints(*this),
      cms(*this),
      pds(*this),
      initiator(*this),
      target(*this),
      atomics(*this),
      rudi(*this) {}

EngineParts::~EngineParts() {
  accesses.release_buffers(payloads);
  pds.release_buffers();
  initiator.release_buffers();
  target.release_buffers();
  atomics.release_buffers();
  rudi.release_buffers();
}

wire::Payload EngineParts::keep(const wire::Payload& payload) {
  if (payload.kind != wire::PayloadKind::kBytes) return payload;
  if (payload.buffer != wire::kNoBuffer) {
    payloads.retain(payload.buffer);
    return payload;
  }
  const wire::BufferId buffer = payloads.acquire(payload.length);
  wire::fill(payload, {payloads.data(buffer), payload.length});
  return wire::bytes_payload(payloads.data(buffer), payload.length, buffer);
}

}  // namespace wharf::uet
