// SPDX-License-Identifier: Apache-2.0
// The usual inputs of an engine, each in one pass: a request, packet or answer of memory that nothing holds
// back. What turns out to be unusual goes on to uet_engine.cc with nothing done, and the results are the same
// either way. Each call there is the last thing done, so that the usual way saves few registers.
#include "engine/uet/completion_writing.h"
#include "engine/uet/engine_parts.h"
#include "engine/uet/initiator_plain.h"
#include "engine/uet/pds_plain.h"
#include "engine/uet/uet_engine.h"

namespace wharf::uet {

[[gnu::always_inline]] inline void UetEngine::settle(TimePs now) {
  parts_->initiator.settle(now);
  parts_->pds.settle(now);
}

void UetEngine::forbid_short_ways() { parts_->plain.forbid(); }

engine::PostStatus UetEngine::post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                                   engine::Submission submission) {
  if (submission == engine::Submission::kInHand && parts_->initiator.post_plain(now, queue, request))
      [[likely]]
    return engine::PostStatus::kOk;
  return post_other(now, queue, request, submission);
}

bool UetEngine::transmit(TimePs now, std::uint32_t, wire::TrafficClassMask allowed, wire::Packet& out) {
  if (!parts_->rudi.has_answers() && parts_->pds.transmit_plain(now, allowed, out)) [[likely]]
    return true;
  return transmit_other(now, allowed, out);
}

void UetEngine::receive(TimePs now, std::uint32_t, const wire::Packet& packet) {
  EngineParts& parts = *parts_;
  if (packet.protocol != wire::Protocol::kUet || packet.destination != parts.host ||
      !parts.pds.receive_plain(now, packet)) {
    return receive_other(now, packet);
  }
  ++parts.counters.packets_received;
  settle(now);
}

// Each kind of answer in a function of its own, which is the last thing done: none saves registers for
// another.
void UetEngine::access_done(TimePs now, engine::AccessId access, const engine::AccessResult& answer) {
  EngineParts& parts = *parts_;
  if (!parts.accesses.is_pending(access)) return;
  const PendingAccess& taken = parts.accesses.take(access);
  if (taken.owner == AccessOwner::kPacketData) return payload_done(now, taken, answer);
  if (taken.owner == AccessOwner::kInbound) return placement_done(now, taken, answer);
  if (taken.owner != AccessOwner::kCompletion) return access_done_other(now, taken, answer);
  parts.endpoints.completion_done(taken.object, taken.detail, answer.status);
}

void UetEngine::payload_done(TimePs now, const PendingAccess& taken, const engine::AccessResult& answer) {
  EngineParts& parts = *parts_;
  if (answer.status != engine::AccessStatus::kDone || answer.data.length != taken.asked ||
      !parts.pds.take_plain_data(now, taken.object, answer)) {
    return access_done_other(now, taken, answer);
  }
  settle(now);
}

void UetEngine::placement_done(TimePs now, const PendingAccess& taken, const engine::AccessResult& answer) {
  EngineParts& parts = *parts_;
  const wire::BufferId buffer = taken.buffer;
  if (answer.status != engine::AccessStatus::kDone || !parts.pds.placed_plain(now, taken.object))
    return access_done_other(now, taken, answer);
  parts.payloads.release(buffer);
  settle(now);
}

}  // namespace wharf::uet
