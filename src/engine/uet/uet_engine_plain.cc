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

// What follows every input that may have freed something.
void UetEngine::settle_all(TimePs now) {
  parts_->initiator.settle(now);
  parts_->pds.settle(now);
}

[[gnu::always_inline]] inline void UetEngine::settle(TimePs now) {
  if (!parts_->plain.unsettled) [[likely]]
    return;
  return settle_all(now);
}

void UetEngine::forbid_short_ways() {
  parts_->plain.forbid();
  parts_->pds.forget_usual();
}

engine::PostStatus UetEngine::post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                                   engine::Submission submission) {
  if (submission == engine::Submission::kInHand && parts_->initiator.post_plain(*parts_, now, queue, request))
      [[likely]]
    return engine::PostStatus::kOk;
  return post_other(now, queue, request, submission);
}

bool UetEngine::transmit(TimePs now, std::uint32_t, wire::TrafficClassMask allowed, wire::Packet& out) {
  EngineParts& parts = *parts_;
  if (parts.pds.transmit_plain(parts, now, allowed, out)) [[likely]]
    return true;
  return transmit_other(now, allowed, out);
}

void UetEngine::receive(TimePs now, std::uint32_t, const wire::Packet& packet) {
  EngineParts& parts = *parts_;
  if (packet.protocol != wire::Protocol::kUet || packet.destination != parts.host ||
      !parts.pds.receive_plain(parts, now, packet)) {
    return receive_other(now, packet);
  }
  ++parts.counters.packets_received;
  if (packet.payload.buffer != wire::kNoBuffer) return keep(now, packet.payload.buffer);
  return settle(now);
}

// The rest of receive(), or of payload_done(), when the payload has a buffer.
void UetEngine::keep(TimePs now, wire::BufferId buffer) {
  parts_->payloads.retain(buffer);
  settle_all(now);
}

void UetEngine::access_done(TimePs now, engine::AccessId access, const engine::AccessResult& answer) {
  if (accesses_->is_pending(access)) return answered(now, access, answer);
}

// Each kind of answer in a function of its own, which is the last thing done: none saves registers for
// another.
void UetEngine::answered(TimePs now, engine::AccessId access, const engine::AccessResult& answer) {
  const PendingAccess& taken = accesses_->take(access);
  if (taken.owner == AccessOwner::kPacketData) return payload_done(now, taken, answer);
  if (taken.owner == AccessOwner::kInbound) return placement_done(now, taken, answer);
  if (taken.owner == AccessOwner::kCompletion) return completion_done(taken, answer);
  return access_done_other(now, taken, answer);
}

[[gnu::noinline]] void UetEngine::completion_done(const PendingAccess& taken,
                                                  const engine::AccessResult& answer) {
  parts_->endpoints.completion_done(taken.object, taken.detail, answer.status);
}

[[gnu::noinline]] void UetEngine::payload_done(TimePs now, const PendingAccess& taken,
                                               const engine::AccessResult& answer) {
  if (answer.status != engine::AccessStatus::kDone || answer.data.length != taken.asked ||
      !parts_->pds.take_plain_data(now, taken.object, answer)) {
    return access_done_other(now, taken, answer);
  }
  if (answer.data.buffer != wire::kNoBuffer) return keep(now, answer.data.buffer);
  return settle(now);
}

[[gnu::noinline]] void UetEngine::placement_done(TimePs now, const PendingAccess& taken,
                                                 const engine::AccessResult& answer) {
  EngineParts& parts = *parts_;
  if (answer.status != engine::AccessStatus::kDone || !parts.pds.placed_plain(parts, taken.object))
    return access_done_other(now, taken, answer);
  if (taken.buffer != wire::kNoBuffer) return release(now, taken.buffer);
  return settle(now);
}

void UetEngine::release(TimePs now, wire::BufferId buffer) {
  parts_->payloads.release(buffer);
  settle_all(now);
}

}  // namespace wharf::uet
