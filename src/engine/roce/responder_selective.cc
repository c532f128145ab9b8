// SPDX-License-Identifier: Apache-2.0
// How a responder recovers by selective repeat: requests that come before one with a lower PSN are kept, and
// executed in order as if they came then. The peer is told of each of them. [decision 0110]
#include "engine/roce/responder.h"
#include "engine/roce/roce_engine.h"

namespace wharf::roce {

void Responder::receive_selective(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  EarlyRequests& early = pair.selective->early;
  const Psn psn = packet.roce.bth.psn;
  const std::int32_t ahead = wire::psn_difference(psn, pair.context.responder.expected);
  if (ahead < 0) {
    if (!has_room(pair)) return drop_for_room(pair);
    ++core_.counters.duplicate_requests;
    if (!duplicate(now, pair, packet)) fail(pair);
  } else if (ahead == 0 && has_room(pair)) {
    drop_early(pair);  // A copy that waits for room.
    take_expected(now, pair, packet);
  } else if (static_cast<std::uint32_t>(ahead) >= early.window()) {
    ++core_.counters.dropped_out_of_order;
  } else {
    if (early.find(psn) != nullptr) {
      ++core_.counters.duplicate_requests;
    } else {
      early.add(packet, *core_.pool);
    }
    if (ahead > 0) early.owe_report(psn);
    pair.context.responder.nak_sent = true;
  }
  list_if_ready(pair);
}

void Responder::take_expected(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  EarlyRequests& early = pair.selective->early;
  const Psn before = pair.context.responder.expected;
  const bool usable = in_order(now, pair, packet);
  early.forget(before, pair.context.responder.expected, *core_.pool);
  pair.context.responder.nak_sent = !early.empty();
  if (!usable) fail(pair);
}

const EarlyRequest* Responder::next_early(QueuePair& pair) {
  EarlyRequests& early = pair.selective->early;
  early.stalled = false;
  const EarlyRequest* const next = early.find(pair.context.responder.expected);
  if (next == nullptr || has_room(pair)) return next;
  early.stalled = true;
  if (!pair.answers.full()) {
    core_.starve(pair);
  } else if (pair.answers.back().kind == AnswerKind::kAcknowledge) {
    // The packet that would have asked for it waits for its place.
    pair.answers.back().closed = true;
    list_if_ready(pair);
  }
  return nullptr;
}

void Responder::take_early(TimePs now, QueuePair& pair) {
  const wire::Packet packet = pair.selective->early.take(pair.context.responder.expected);
  take_expected(now, pair, packet);
  core_.pool->release(packet.payload.buffer);
  list_if_ready(pair);
}

void Responder::drop_early(QueuePair& pair) {
  EarlyRequests& early = pair.selective->early;
  if (early.find(pair.context.responder.expected) == nullptr) return;
  core_.pool->release(early.take(pair.context.responder.expected).payload.buffer);
  pair.context.responder.nak_sent = !early.empty();
}

// The first request that has not arrived; those before it may wait for room.
Psn Responder::first_missing(const QueuePair& pair) {
  Psn psn = pair.context.responder.expected;
  while (const EarlyRequest* const kept = pair.selective->early.find(psn))
    psn = wire::psn_add(psn, kept->psns(pair.context.mtu_shift));
  return psn;
}

// Choice: a NAK sequence error whose PSN is the first request that is missing, with the PSN of one that is
// kept where other answers have the MSN. It acknowledges nothing, so it goes before the answers that wait.
bool Responder::transmit_report(QueuePair& pair, wire::Packet& out) {
  EarlyRequests& early = pair.selective->early;
  const Psn missing = first_missing(pair);
  while (early.owes_report()) {
    const EarlyRequest* const kept = early.next_report();
    if (kept == nullptr || !wire::psn_after(kept->roce.bth.psn, missing)) continue;
    begin_packet(pair.context, kept->operation, {}, out);
    out.traffic_class = wire::TrafficClass::kAcknowledgement;
    out.roce.bth.opcode = wire::RoceOpcode::kRcAcknowledge;
    out.roce.bth.psn = missing;
    out.roce.ack = {0, {wire::nak_syndrome(wire::NakCode::kSequenceError), kept->roce.bth.psn}};
    ++core_.counters.naks_sent;
    return true;
  }
  return false;
}

// --- The engine ---

// What came early and is the next by now is executed as if it came now.
void RoceEngine::take_early(TimePs now, QueuePair& pair) {
  while (!pair.fatal && rules_of(pair.context.state).serves_peers) {
    const EarlyRequest* const next = responder_.next_early(pair);
    if (next == nullptr) return;
    if (!contexts_.is_unlimited() && !contexts_.has_key(needed_key(pair, next->roce))) {
      // It waits for the record of its key as others that arrive; without a place there, for its repetition.
      wire::Packet packet = wire::roce_packet();
      packet.source = {pair.context.remote_host};
      packet.destination = core_.config.host;
      packet.roce = next->roce;
      packet.payload = next->payload;
      packet.operation = next->operation;
      if (contexts_.defer_packet(now, pair, packet)) responder_.drop_early(pair);
      return;
    }
    responder_.take_early(now, pair);
  }
}

}  // namespace wharf::roce
