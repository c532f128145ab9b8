// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/engine_parts.h"

#include <utility>

namespace wharf::uet {

EngineParts::EngineParts(std::shared_ptr<const UetConfig> its_config, wire::HostAddress its_host,
                         std::uint64_t seed, wire::PayloadPool& its_payloads, Arena& its_arena)
    : shared_config(std::move(its_config)),
      config(*shared_config),
      host(its_host),
      payloads(its_payloads),
      arena(its_arena),
      plain(config),
      endpoints(*this),
      initiator(*this),
      rudi(*this),
      events(8),
      cms(*this, seed),
      pds(*this, seed),
      target(*this),
      atomics(*this) {}

EngineParts::~EngineParts() {
  accesses.release_buffers(payloads);
  pds.release_buffers();
  initiator.release_buffers();
  target.release_buffers();
  atomics.release_buffers();
  rudi.release_buffers();
}

void EngineParts::access_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result) {
  switch (owner.owner) {
    case AccessOwner::kInboundRead:
      target.read_done(now, owner, result);
      return;
    case AccessOwner::kAtomic:
      atomics.access_done(now, owner, result);
      return;
    case AccessOwner::kHeld:
      target.held_done(now, owner, result.status);
      return;
    case AccessOwner::kAnswerData:
      initiator.data_done(now, owner, result);
      return;
    case AccessOwner::kWorkRequest:
      initiator.work_request_done(now, owner, result.status);
      return;
    case AccessOwner::kSharedCompletion:
      endpoints.shared_completion_done(owner, result.status);
      return;
    case AccessOwner::kPacketData:
    case AccessOwner::kInbound:
    case AccessOwner::kCompletion:
      return;  // UetEngine::access_done() itself.
  }
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
