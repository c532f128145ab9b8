// SPDX-License-Identifier: Apache-2.0
// How a requester takes in answers: acknowledgements, NAKs, READ data and atomic results, and how it
// completes requests.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "engine/roce/requester.h"
#include "engine/roce/retransmission.h"

namespace wharf::roce {

using engine::AccessKind;
using engine::AccessResult;
using engine::AccessStatus;
using verbs::CompletionStatus;
using verbs::Verb;
using wire::RoceOpcode;

void Requester::take_credits(QueuePair& pair, const wire::Aeth& aeth) {
  RequesterContext& requester = pair.context.requester;
  requester.limited_outstanding = false;
  requester.credits_in_use = aeth.value() != wire::kAckUnlimited;
  if (requester.credits_in_use) {
    requester.credit_limit = wire::psn_add(aeth.msn, credits_of_code(aeth.value()));
  }
}

void Requester::complete_oldest(QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  SendEntry& entry = pair.send.front();
  const bool tells = entry.signaled || entry.status != CompletionStatus::kSuccess;
  const bool issues = tells && pair.plain && !pair.starved && core_.port.has(1);
  if (tells) {
    CompletionEntry& record = pair.send_completions.push_stale();
    record.id = entry.id;
    record.operation = entry.operation;
    record.value = entry.form == SendForm::kPlain ? 0 : entry.original;
    record.length = entry.status == CompletionStatus::kSuccess ? entry.length : 0;
    record.work = pair.send.head();
    record.remote_host = 0;
    record.remote_queue = 0;
    record.status = entry.status;
    record.kind = verbs::CompletionKind::kSend;
    record.verb = entry.verb;
    record.has_immediate = false;
    record.drain = verbs::DrainMark::kNone;
    record.solicited = false;
    record.visible = false;
    if (issues) core_.issue_send_completions(pair, 1);
  }
  if (requester.sending == pair.send.head()) {
    ++requester.sending;
    requester.packet = 0;
  }
  if (requester.assigned == pair.send.head()) {
    ++requester.assigned;  // Only when flushed: it never got its PSNs.
  } else if (expects_answer(entry.verb) && requester.reads_outstanding > 0) {
    --requester.reads_outstanding;
  }
  if (pair.fetch_issued == pair.send.head()) ++pair.fetch_issued;
  release_inline(entry);
  pair.send.pop();
  if (!issues) core_.issue_completions(pair);
}

// Completes the oldest request, which was sent and succeeded, but for what it counts among READs and atomics
// and for the completion's way to memory.
[[gnu::always_inline]] inline CompletionEntry& Requester::complete_plain(QueuePair& pair,
                                                                         const SendEntry& entry,
                                                                         std::uint64_t original) {
  // The place that the request had is the completion's.
  CompletionEntry& record = pair.send_completions.push_known();
  record.id = entry.id;
  record.status = CompletionStatus::kSuccess;
  record.kind = verbs::CompletionKind::kSend;
  record.verb = entry.verb;
  record.has_immediate = false;
  record.drain = verbs::DrainMark::kNone;
  record.length = entry.length;
  record.work = pair.send.head();
  record.remote_host = 0;
  record.remote_queue = 0;
  record.solicited = false;
  record.visible = false;
  record.value = original;
  record.operation = entry.operation;
  pair.send.pop_known();
  return record;
}

// Completes WRITEs and SENDs up to PSN `through`. Returns the READ or atomic that begins at or before
// `through` and has not been answered, if there is one: nothing behind it can be acknowledged.
SendEntry* Requester::acknowledge_through(QueuePair& pair, Psn through) {
  RequesterContext& requester = pair.context.requester;
  complete_plain_through(pair, through);
  while (pair.send.head() != requester.assigned) {
    SendEntry& entry = pair.send.front();
    if (wire::psn_after(entry.first_psn, through)) return nullptr;
    if (expects_answer(entry.verb)) return &entry;
    const Psn last = wire::psn_add(entry.first_psn, entry.packets - 1);
    if (wire::psn_before(through, last)) {
      if (!wire::psn_before(through, requester.unacknowledged)) {
        requester.unacknowledged = wire::psn_add(through, 1);
      }
      return nullptr;
    }
    requester.unacknowledged = wire::psn_add(last, 1);
    complete_oldest(pair);
    complete_plain_through(pair, through);
  }
  return nullptr;
}

// The same as long as requests of one packet that were sent and succeeded are the oldest.
[[gnu::always_inline]] inline void Requester::complete_plain_through(QueuePair& pair, Psn through) {
  RequesterContext& requester = pair.context.requester;
  if (!pair.plain || pair.starved || !core_.port.has(1)) return;
  const Position end = requester.sending;
  const auto most = static_cast<std::uint32_t>(core_.port.common());
  std::uint32_t count = 0;
  Psn last = 0;
  for (; pair.send.head() != end && count < most; ++count) {
    const SendEntry& entry = pair.send.front();
    if (entry.form != SendForm::kPlain || entry.status != CompletionStatus::kSuccess || !entry.signaled ||
        entry.packets != 1 || wire::psn_after(entry.first_psn, through)) {
      break;
    }
    last = entry.first_psn;
    complete_plain(pair, entry, 0);
  }
  if (count == 0) return;
  requester.unacknowledged = wire::psn_add(last, 1);
  core_.issue_send_completions(pair, count);
}

bool Requester::drop_stale(TimePs now, QueuePair& pair, const wire::RocePacket& roce) {
  const RequesterContext& requester = pair.context.requester;
  const Psn psn = roce.bth.psn;
  if (!wire::psn_before(psn, requester.unacknowledged) && wire::psn_before(psn, requester.highest_sent))
    return false;
  ++core_.counters.dropped_stale_response;
  // The newest acknowledgement may be repeated with more credit. [IBTA vol 1 9.7.7.2.5]
  if (roce.bth.opcode == RoceOpcode::kRcAcknowledge &&
      roce.ack.aeth.syndrome_class() == wire::AethClass::kAck &&
      wire::psn_add(psn, 1) == requester.unacknowledged) {
    take_credits(pair, roce.ack.aeth);
    advance(now, pair);
  }
  return true;
}

void Requester::receive(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  if (!rules_of(pair.context.state).ends_requests) {
    ++core_.counters.dropped_not_ready;
    return;
  }
  if (pair.selective != nullptr) [[unlikely]]
    return receive_selective(now, pair, packet);
  RequesterContext& requester = pair.context.requester;
  const wire::RocePacket& roce = packet.roce;
  const Psn psn = roce.bth.psn;
  const bool has_aeth = (wire::roce_headers(roce.bth.opcode) & wire::kRoceAeth) != 0;
  if (drop_stale(now, pair, roce)) return;
  const Psn before = requester.unacknowledged;
  if (roce.bth.opcode == RoceOpcode::kRcAcknowledge) {
    take_acknowledge(now, pair, roce);
  } else {
    SendEntry* waiting = acknowledge_through(pair, psn);
    const bool inside = waiting != nullptr && wire::psn_difference(psn, waiting->first_psn) <
                                                  static_cast<std::int32_t>(waiting->packets);
    if (has_aeth && roce.ack.aeth.syndrome_class() != wire::AethClass::kAck) {
      ++core_.counters.dropped_stale_response;
    } else if (!inside || psn != requester.unacknowledged) {
      // Data of the expected answer was skipped. [IBTA vol 1 9.7.5.2.4: implied NAK]
      if (waiting != nullptr) {
        if (requester.unacknowledged != before) retransmission_.note_progress(now, pair);
        retransmission_.implied_nak(now, pair);
        return advance(now, pair);
      }
      ++core_.counters.dropped_stale_response;
    } else if (waiting->verb == Verb::kRead) {
      take_read_response(now, pair, *waiting, packet);
    } else {
      take_atomic_answer(now, pair, packet);
    }
  }
  if (!rules_of(pair.context.state).ends_requests) return;
  if (requester.unacknowledged != before) {
    const bool is_ack = roce.bth.opcode == RoceOpcode::kRcAcknowledge &&
                        roce.ack.aeth.syndrome_class() == wire::AethClass::kAck;
    retransmission_.note_progress(now, pair, is_ack ? std::optional<Psn>(psn) : std::nullopt);
  }
  advance(now, pair);
}

void Requester::take_acknowledge(TimePs now, QueuePair& pair, const wire::RocePacket& roce) {
  RequesterContext& requester = pair.context.requester;
  const Psn psn = roce.bth.psn;
  const Psn before = requester.unacknowledged;
  const wire::Aeth& aeth = roce.ack.aeth;
  switch (aeth.syndrome_class()) {
    case wire::AethClass::kAck: {
      SendEntry* waiting = acknowledge_through(pair, psn);
      if (waiting != nullptr) {
        if (requester.unacknowledged != before) retransmission_.note_progress(now, pair);
        retransmission_.implied_nak(now, pair);
        return;
      }
      take_credits(pair, aeth);
      return;
    }
    case wire::AethClass::kReceiverNotReady:
    case wire::AethClass::kNak:
      break;
    case wire::AethClass::kReserved:
      ++core_.counters.dropped_stale_response;
      return;
  }
  // A NAK acknowledges everything before its PSN. [IBTA vol 1 9.7.5.1.1]
  SendEntry* waiting = acknowledge_through(pair, wire::psn_subtract(psn, 1));
  if (requester.unacknowledged != before) retransmission_.note_progress(now, pair);
  if (waiting != nullptr && wire::psn_after(psn, wire::psn_add(waiting->first_psn, waiting->packets - 1))) {
    retransmission_.implied_nak(now, pair);
    return;
  }
  if (pair.send.head() == requester.assigned) return;
  if (aeth.syndrome_class() == wire::AethClass::kReceiverNotReady) {
    if (psn == requester.unacknowledged) retransmission_.receiver_not_ready(now, pair, aeth.value());
    return;
  }
  if (aeth.value() == static_cast<std::uint8_t>(wire::NakCode::kSequenceError))
    return retransmission_.sequence_nak(now, pair);
  fail_refused(now, pair, aeth);
}

void Requester::fail_refused(TimePs now, QueuePair& pair, const wire::Aeth& aeth) {
  switch (static_cast<wire::NakCode>(aeth.value())) {
    case wire::NakCode::kSequenceError:
      break;
    case wire::NakCode::kInvalidRequest:
      fail(now, pair, CompletionStatus::kRemoteUnsupportedRequest);
      return;
    case wire::NakCode::kRemoteAccess:
      fail(now, pair, CompletionStatus::kRemoteAccess);
      return;
    case wire::NakCode::kRemoteOperation:
    case wire::NakCode::kInvalidRdRequest:
      fail(now, pair, CompletionStatus::kRemoteOperation);
      return;
  }
  ++core_.counters.dropped_stale_response;  // A NAK code that is not defined.
}

void Requester::take_read_response(TimePs now, QueuePair& pair, SendEntry& entry,
                                   const wire::Packet& packet) {
  RequesterContext& requester = pair.context.requester;
  const RoceOpcode opcode = packet.roce.bth.opcode;
  const std::uint32_t index =
      static_cast<std::uint32_t>(wire::psn_difference(requester.unacknowledged, entry.first_psn));
  const bool is_last = index + 1 == entry.packets;
  const bool says_last =
      opcode == RoceOpcode::kRcReadResponseLast || opcode == RoceOpcode::kRcReadResponseOnly;
  const std::uint32_t offset = index << pair.context.mtu_shift;
  const std::uint32_t length = std::min(pair.context.path_mtu, entry.length - offset);
  if (opcode == RoceOpcode::kRcAtomicAcknowledge || is_last != says_last || packet.payload.length != length) {
    // [IBTA vol 1 9.9.2.4: bad response]
    fail(now, pair, CompletionStatus::kResponseLength);
    return;
  }
  if (length > 0 && !place(pair, pair.send.head(), offset, packet.payload)) {
    ++core_.counters.dropped_no_resources;
    return;
  }
  if (opcode != RoceOpcode::kRcReadResponseMiddle) take_credits(pair, packet.roce.ack.aeth);
  requester.unacknowledged = wire::psn_add(requester.unacknowledged, 1);
  if (is_last) complete_oldest(pair);
}

bool Requester::take_plain_data(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  RequesterContext& requester = pair.context.requester;
  const Psn psn = packet.roce.bth.psn;
  const wire::Aeth& aeth = packet.roce.ack.aeth;
  if (pair.send.head() == requester.assigned || psn != requester.unacknowledged ||
      !wire::psn_before(psn, requester.sent) || requester.recovering ||
      aeth.syndrome != wire::kAckUnlimited || !pair.plain || pair.starved ||
      !core_.port.has_used(verbs::kMaxScatterEntries + 1)) {
    return false;
  }
  SendEntry& entry = pair.send.front();
  const bool is_atomic = packet.roce.bth.opcode == RoceOpcode::kRcAtomicAcknowledge;
  const std::uint32_t length = is_atomic ? 8 : packet.payload.length;
  if (!(is_atomic ? verbs::is_atomic(entry.verb) : entry.verb == Verb::kRead) || entry.first_psn != psn ||
      entry.packets != 1 || entry.local_count != 1 || length == 0 || length != entry.length ||
      entry.local.length[0] < length || !entry.signaled || entry.status != CompletionStatus::kSuccess ||
      requester.sending == pair.send.head()) {
    return false;
  }
  AccessSlot& slot = core_.open_access(AccessPurpose::kResponseData, AccessKind::kWrite, pair,
                                       pair.send.head(), false, entry.space());
  slot.access.address = entry.local.address[0];
  slot.access.length = length;
  if (is_atomic) {
    // The value lands in host byte order.
    entry.original = packet.roce.ack.atomic_original;
    const wire::BufferId buffer = core_.pool->acquire(8);
    std::byte* const bytes = core_.pool->data(buffer);
    std::memcpy(bytes, &entry.original, 8);
    slot.access.data = wire::bytes_payload(bytes, 8, buffer);
  } else {
    slot.access.data = packet.payload;
    core_.pool->retain(packet.payload.buffer);
  }
  slot.access.operation = entry.operation;
  core_.port.issue(slot);
  ++pair.responses_outstanding;
  requester.limited_outstanding = false;
  requester.credits_in_use = false;
  requester.unacknowledged = wire::psn_add(psn, 1);
  --requester.reads_outstanding;
  pair.usual = {};
  core_.issue_send_completion(pair, complete_plain(pair, entry, entry.original));
  retransmission_.note_progress(now, pair);
  advance(now, pair);
  return true;
}

void Requester::take_atomic_answer(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  RequesterContext& requester = pair.context.requester;
  if (packet.roce.bth.opcode != RoceOpcode::kRcAtomicAcknowledge) {
    fail(now, pair, CompletionStatus::kResponseLength);
    return;
  }
  if (!place_value(pair, pair.send.head(), packet.roce.ack.atomic_original)) {
    ++core_.counters.dropped_no_resources;
    return;
  }
  take_credits(pair, packet.roce.ack.aeth);
  requester.unacknowledged = wire::psn_add(requester.unacknowledged, 1);
  complete_oldest(pair);
}

// Writes answered data to the request's local memory; false when there are no slots.
bool Requester::place(QueuePair& pair, Position work, std::uint32_t offset, const wire::Payload& payload) {
  const SendEntry& entry = pair.send[work];
  if (core_.port.available(pair.share) < verbs::kMaxScatterEntries) return false;
  entry.local.for_parts(entry.local_count, offset, payload.length,
                        [&](std::uint64_t address, std::uint32_t done, std::uint32_t part) {
                          AccessSlot& slot =
                              core_.open_access(AccessPurpose::kResponseData, AccessKind::kWrite, pair, work,
                                                false, entry.space());
                          slot.access.address = address;
                          slot.access.length = part;
                          slot.access.data = wire::slice(payload, done, part);
                          slot.access.operation = entry.operation;
                          core_.pool->retain(payload.buffer);
                          core_.port.issue(slot);
                          ++pair.responses_outstanding;
                        });
  return true;
}

bool Requester::place_value(QueuePair& pair, Position work, std::uint64_t original) {
  SendEntry& entry = pair.send[work];
  if (entry.local_count > 0) {
    // The value lands in host byte order.
    const wire::BufferId buffer = core_.pool->acquire(8);
    std::byte* bytes = core_.pool->data(buffer);
    std::memcpy(bytes, &original, 8);
    const bool placed = place(pair, work, 0, wire::bytes_payload(bytes, 8, buffer));
    core_.pool->release(buffer);
    if (!placed) return false;
  }
  entry.original = original;
  return true;
}

void Requester::response_placed(QueuePair& pair, const AccessSlot& slot, const AccessResult& result) {
  if (pair.responses_outstanding > 0) --pair.responses_outstanding;
  if (pair.responses_outstanding == 0) core_.kick(pair);
  if (result.status == AccessStatus::kDone) return;
  // The completion is ordered behind this write, so it has not been seen yet.
  const CompletionStatus status = result.status == AccessStatus::kPoison ? CompletionStatus::kLocalPoison
                                                                         : CompletionStatus::kLocalAccess;
  if (pair.send.contains(slot.position)) pair.send[slot.position].status = status;
  for (Position at = pair.send_completions.head(); at != pair.send_completions.tail(); ++at) {
    CompletionEntry& entry = pair.send_completions[at];
    if (entry.work == slot.position && !entry.visible) entry.status = status;
  }
  // Of this connection, whether or not anybody is told of the request. [IBTA vol 1 10.3.1]
  if (static_cast<std::int32_t>(slot.position - pair.first_work) < 0) return;
  pair.fatal = true;
  core_.kick(pair);
}

// --- Completion ---

void Requester::flush(QueuePair& pair) {
  discard_prepared(pair);
  if (pair.selective != nullptr) discard_repairs(pair);
  while (!pair.send.empty()) {
    SendEntry& entry = pair.send.front();
    if (!entry.fetched && pair.config.entries == engine::EntryFormat::kBytes) {
      entry.signaled = false;  // The interface never saw it: it is the host's own.
      entry.status = CompletionStatus::kSuccess;
    } else if (entry.status == CompletionStatus::kSuccess) {
      entry.status = CompletionStatus::kFlushed;
    }
    complete_oldest(pair);
  }
  pair.waiting = false;
}

void Requester::fail(TimePs now, QueuePair& pair, CompletionStatus status) {
  stop_waiting(now, pair);
  if (pair.context.service != Service::kReliable) return fail_sending(now, pair, status);
  retransmission_.stop(pair);
  if (pair.context.state != QueueState::kError) core_.step(now, pair, QueueEvent::kFail);
  if (!pair.send.empty()) {
    pair.send.front().status = status;
    // Receive entries go with it, see RoceEngine.
    flush(pair);
  }
  core_.push_event(engine::AsyncEventKind::kQueueError, pair);
  core_.kick(pair);
}

}  // namespace wharf::roce
