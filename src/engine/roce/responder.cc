// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/responder.h"

#include <algorithm>

#include "base/check.h"

namespace wharf::roce {
namespace {

using engine::AccessKind;
using engine::AccessResult;
using engine::AccessStatus;
using verbs::CompletionStatus;
using verbs::Verb;
using wire::NakCode;
using wire::RoceOpcode;

/// From an entry: a position that no placement under way has.
constexpr Position kFarAway = Position{1} << 31U;

bool carries_immediate(RoceOpcode opcode) { return (wire::roce_headers(opcode) & wire::kRoceImmediate) != 0; }

}  // namespace

// --- Answers ---

// The answer that follows acknowledges everything before it as well.
void Responder::close_acknowledge(QueuePair& pair) {
  if (pair.answers.empty()) return;
  Answer& last = pair.answers.back();
  if (last.kind != AnswerKind::kAcknowledge || last.closed) return;
  last.closed = true;
  last.silent = true;
}

void Responder::push_nak(QueuePair& pair, std::uint8_t syndrome, Psn psn) {
  close_acknowledge(pair);
  push_answer(pair, AnswerKind::kNak, psn).syndrome = syndrome;
}

bool Responder::refuse(QueuePair& pair, NakCode code, Psn psn) {
  push_nak(pair, wire::nak_syndrome(code), psn);
  return false;
}

void Responder::receiver_not_ready(QueuePair& pair, Psn psn) {
  push_nak(pair, wire::rnr_syndrome(pair.attributes.min_rnr_timer), psn);
  if (pair.selective != nullptr) pair.selective->early.refusing = true;
}

void Responder::fill_header(const QueuePair& pair, const Answer& answer, wire::Packet& out) const {
  const QueuePairContext& context = pair.context;
  begin_packet(context, answer.operation, {}, out);
  out.traffic_class = wire::TrafficClass::kAcknowledgement;
  wire::RocePacket& roce = out.roce;
  roce.bth.opcode = RoceOpcode::kRcAcknowledge;
  roce.bth.psn = answer.psn;
  roce.ack = {answer.original, {answer.syndrome, answer.message_sequence}};
}

// An acknowledgement covers all before it: those that are ready together become one, which stays in front.
// One that nobody asked for may stand for what was dropped, see drop_reads(): it says nothing.
void Responder::merge_acknowledgements(QueuePair& pair, wire::Packet& out) {
  if (core_.config.acknowledge_every_request) return;
  const Answer* last = nullptr;
  while (pair.answers.size() > 1) {
    const Answer& next = pair.answers[pair.answers.head() + 1];
    if (next.kind != AnswerKind::kAcknowledge || !next.closed || next.outstanding > 0 || next.failed ||
        next.silent) {
      break;
    }
    pair.answers.pop();
    ++core_.counters.acknowledgements_merged;
    last = &next;
  }
  if (last == nullptr) return;
  out.operation = last->operation;
  out.roce.bth.psn = last->psn;
  out.roce.ack = {last->original, {last->syndrome, last->message_sequence}};
}

// The engine has asked ready_class() just before.
bool Responder::transmit(TimePs, QueuePair& pair, wire::Packet& out) {
  if (pair.selective != nullptr) [[unlikely]] {
    EarlyRequests& early = pair.selective->early;
    if (early.owes_report()) return transmit_report(pair, out);
    if (early.stalled) core_.kick(pair);  // There will be room among the answers.
  }
  Answer& answer = pair.answers.front();
  fill_header(pair, answer, out);
  Counters& counters = core_.counters;
  if (answer.failed) {
    // [IBTA vol 1 9.7.5.2.6: the responder could not complete the operation]
    out.roce.ack = {0, {wire::nak_syndrome(NakCode::kRemoteOperation), answer.message_sequence}};
    out.roce.bth.psn = answer.fault_psn;
    ++counters.naks_sent;
    discard(pair);
    fail(pair);
    return true;
  }
  switch (answer.kind) {
    case AnswerKind::kAcknowledge:
      merge_acknowledgements(pair, out);
      ++counters.acknowledgements_sent;
      pair.answers.pop();
      break;
    case AnswerKind::kNak:
      if (out.roce.ack.aeth.syndrome_class() == wire::AethClass::kReceiverNotReady) {
        ++counters.rnr_naks_sent;
        if (pair.selective != nullptr) pair.selective->early.refusing = false;
      } else {
        ++counters.naks_sent;
      }
      pair.answers.pop();
      break;
    case AnswerKind::kAtomic:
      out.roce.bth.opcode = RoceOpcode::kRcAtomicAcknowledge;
      pair.answers.pop();
      break;
    case AnswerKind::kRead: {
      const ReadAhead data = pair.read_ahead.front();
      pair.read_ahead.pop();
      const Psn psn = wire::psn_add(answer.psn, answer.sent);
      out.roce.bth.psn = psn;
      if (data.failed) {
        const NakCode code = answer.revoked ? NakCode::kRemoteAccess : NakCode::kRemoteOperation;
        out.roce.ack.aeth.syndrome = wire::nak_syndrome(code);
        ++counters.naks_sent;
        core_.pool->release(data.payload.buffer);
        discard(pair);
        fail(pair);
        return true;
      }
      out.traffic_class = wire::TrafficClass::kData;
      out.payload = data.payload;
      const bool first = answer.sent == 0;
      const bool last = answer.sent + 1 == answer.packets;
      out.roce.bth.opcode =
          first ? (last ? RoceOpcode::kRcReadResponseOnly : RoceOpcode::kRcReadResponseFirst)
                : (last ? RoceOpcode::kRcReadResponseLast : RoceOpcode::kRcReadResponseMiddle);
      ++answer.sent;
      if (last) pair.answers.pop();
      break;
    }
  }
  expand_reads(pair);
  return true;
}

// --- Requests ---

bool Responder::is_taking(const QueuePair& pair) const {
  const ResponderContext& responder = pair.context.responder;
  return pair.in_use && pair.context.state == QueueState::kReadyToSend &&
         pair.service == Service::kReliable && pair.context.partition_key == wire::kDefaultPartitionKey &&
         responder.message == MessageInProgress::kNone && !responder.nak_sent && !pair.holds_back() &&
         !core_.config.advertise_credits;
}

void Responder::drop_for_room(QueuePair& pair) {
  ++core_.counters.dropped_no_resources;
  // The packet that would have asked for the open acknowledgement may never find room: it leaves now.
  if (pair.answers.full() && pair.answers.back().kind == AnswerKind::kAcknowledge) {
    pair.answers.back().closed = true;
    list_if_ready(pair);
  }
}

void Responder::receive_other(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  ResponderContext& responder = pair.context.responder;
  if (pair.selective != nullptr) [[unlikely]]
    return receive_selective(now, pair, packet);
  if (!has_room(pair)) return drop_for_room(pair);
  const std::int32_t ahead = wire::psn_difference(packet.roce.bth.psn, responder.expected);
  bool usable = true;
  if (ahead == 0) {
    responder.nak_sent = false;  // It came, whatever becomes of it.
    usable = in_order(now, pair, packet);
  } else if (ahead < 0) {
    ++core_.counters.duplicate_requests;
    usable = duplicate(now, pair, packet);
  } else if (!responder.nak_sent) {
    // [IBTA vol 1 9.7.5.1.2: one NAK sequence error, then silence until the expected packet arrives]
    responder.nak_sent = true;
    push_nak(pair, wire::nak_syndrome(NakCode::kSequenceError), responder.expected);
  } else {
    ++core_.counters.dropped_out_of_order;
  }
  if (!usable) fail(pair);
  list_if_ready(pair);
}

// The queue pair goes to the error state at the end of the current input; what is queued up to the NAK still
// leaves.
void Responder::fail(QueuePair& pair) {
  pair.fatal = true;
  core_.kick(pair);
}

bool Responder::in_order(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  const ResponderContext& responder = pair.context.responder;
  const Psn psn = packet.roce.bth.psn;
  const RoceOpcode opcode = packet.roce.bth.opcode;
  if (opcode == RoceOpcode::kRcReadRequest || is_atomic_request(opcode)) {
    if (responder.message != MessageInProgress::kNone) return refuse(pair, NakCode::kInvalidRequest, psn);
    return opcode == RoceOpcode::kRcReadRequest ? take_read(now, pair, packet)
                                                : take_atomic(now, pair, packet);
  }
  const Step step = step_of(opcode);
  // FLUSH and ATOMIC WRITE are known on the wire but not offered.
  if (step.kind == MessageInProgress::kNone) return refuse(pair, NakCode::kInvalidRequest, psn);
  // [IBTA vol 1 9.7.4.1.3: opcode sequence]
  const bool fits =
      step.first ? responder.message == MessageInProgress::kNone : responder.message == step.kind;
  if (!fits) return refuse(pair, NakCode::kInvalidRequest, psn);
  // [IBTA vol 1 9.7.4.1.6: First and Middle carry exactly the path MTU, Last at least one byte, none more]
  const std::uint32_t length = packet.payload.length;
  const std::uint32_t mtu = pair.context.path_mtu;
  const bool length_fits = step.last ? length <= mtu && (step.first || length > 0) : length == mtu;
  if (!length_fits) return refuse(pair, NakCode::kInvalidRequest, psn);
  return step.kind == MessageInProgress::kWrite ? take_write(pair, packet, step.first, step.last)
                                                : take_send(pair, packet, step.first, step.last);
}

// `answer`, the newest one, waits for the placement.
void Responder::place(QueuePair& pair, Answer& answer, const wire::Packet& packet, std::uint64_t address,
                      const wire::Payload& data, verbs::AccessOrder order, verbs::AddressSpaceId space,
                      std::uint32_t remote_key) {
  const Position entry = pair.context.responder.receive_position;
  if (remote_key == 0 && pair.receives.is_bad(entry)) return;  // See refuse_bad_entry().
  ++answer.outstanding;
  AccessSlot& slot = core_.open_access(AccessPurpose::kPlacement, AccessKind::kWrite, pair,
                                       pair.answers.tail() - 1, true, space);
  slot.detail = packet.roce.bth.psn;
  slot.access.address = address;
  slot.access.length = data.length;
  slot.access.data = data;
  slot.access.order = order;
  slot.access.operation = packet.operation;
  core_.pool->retain(data.buffer);
  slot.for_receive = remote_key == 0;
  slot.needs_entry = slot.for_receive && !pair.receives.is_fetched(entry);
  slot.entry = entry;
  slot.remote_key = remote_key;
  if (slot.needs_entry || pair.holds_back()) {
    core_.hold(pair, slot, pair.atomics_taken);
  } else {
    core_.port.issue(slot);
  }
}

bool Responder::take_write(QueuePair& pair, const wire::Packet& packet, bool first, bool last) {
  ResponderContext& responder = pair.context.responder;
  const wire::RocePacket& roce = packet.roce;
  const Psn psn = roce.bth.psn;
  const std::uint32_t length = packet.payload.length;
  // An access-flag violation is an invalid request, not an access error. [Linux rdma_rxe behaviour]
  if (!pair.attributes.rights.remote_write) return refuse(pair, NakCode::kInvalidRequest, psn);
  // [IBTA vol 1 9.7.4.1.6: the DMA length is at most 2^31]
  if (first && roce.reth.length > verbs::kMaxMessageBytes) return refuse(pair, NakCode::kInvalidRequest, psn);
  const bool takes_entry = carries_immediate(roce.bth.opcode);
  if (takes_entry && !has_entry(pair)) {
    receiver_not_ready(pair, psn);
    return true;
  }
  const std::uint32_t total = first ? roce.reth.length : responder.length;
  const std::uint32_t key = first ? roce.reth.remote_key : responder.remote_key;
  const std::uint64_t address = first ? roce.reth.address : responder.address;
  const std::uint32_t received = first ? 0 : responder.received;
  const std::uint32_t remaining = total - received;
  const MemoryKeyRecord* record = nullptr;
  if (remaining > 0) {
    record = core_.keys.find(pair.context.domain, key, address, remaining, RemoteAccess::kWrite);
    if (record == nullptr) return refuse(pair, NakCode::kRemoteAccess, psn);
  }
  // [IBTA vol 1 9.7.4.1.6: the packets carry exactly the DMA length]
  if (last ? length != remaining : remaining <= length) return refuse(pair, NakCode::kInvalidRequest, psn);

  Answer& answer = open_acknowledge(pair);
  if (length > 0) {
    place(pair, answer, packet, address, packet.payload, record->write_order, core_.keys.space_of(*record),
          key);
  }
  responder.remote_key = key;
  responder.length = total;
  responder.address = address + length;
  responder.received = received + length;
  responder.message = last ? MessageInProgress::kNone : MessageInProgress::kWrite;
  accept(pair, answer, packet, last);
  if (takes_entry) {
    responder.receive_position = pair.receives.take();
    fetch_receives(pair, packet.operation);
    complete_receive(pair, packet, Verb::kWriteImm, total);
    refuse_bad_entry(pair, packet);
  }
  return true;
}

bool Responder::take_send(QueuePair& pair, const wire::Packet& packet, bool first, bool last) {
  ResponderContext& responder = pair.context.responder;
  const wire::RocePacket& roce = packet.roce;
  const Psn psn = roce.bth.psn;
  const std::uint32_t length = packet.payload.length;
  if (first && !has_entry(pair)) {
    receiver_not_ready(pair, psn);
    return true;
  }
  const bool invalidates = (wire::roce_headers(roce.bth.opcode) & wire::kRoceIeth) != 0;
  if (invalidates && !core_.keys.is_valid(pair.context.domain, roce.invalidate_key))
    return refuse(pair, NakCode::kRemoteAccess, psn);

  const Position position = first ? pair.receives.taken() : responder.receive_position;
  const ReceiveEntry& entry = pair.receives.entry(position);
  const std::uint32_t offset = first ? 0 : responder.received;
  const std::uint64_t room = entry.local.bytes(entry.local_count);
  // [IBTA vol 1 9.7.4.1.6: the receive buffer is too small]
  if (std::uint64_t{offset} + length > room) {
    pair.receives.note_fault(position, verbs::CompletionStatus::kLocalLength);
    return refuse(pair, NakCode::kInvalidRequest, psn);
  }

  if (first) {
    responder.receive_position = pair.receives.take();
    responder.received = 0;
    fetch_receives(pair, packet.operation);
  }
  Answer& answer = open_acknowledge(pair);
  entry.local.for_parts(entry.local_count, offset, length,
                        [&](std::uint64_t address, std::uint32_t done, std::uint32_t part) {
                          place(pair, answer, packet, address, wire::slice(packet.payload, done, part),
                                verbs::AccessOrder::kRelaxed, entry.space, 0);
                        });
  responder.received += length;
  responder.message = last ? MessageInProgress::kNone : MessageInProgress::kSend;
  accept(pair, answer, packet, last);
  if (last) {
    if (invalidates) {
      core_.keys.invalidate(roce.invalidate_key);
      for (const auto& other : core_.queues) revoke(*other, roce.invalidate_key, other.get() == &pair);
    }
    const Verb verb = invalidates                          ? Verb::kSendInvalidate
                      : carries_immediate(roce.bth.opcode) ? Verb::kSendImm
                                                           : Verb::kSend;
    complete_receive(pair, packet, verb, responder.received);
  }
  refuse_bad_entry(pair, packet);
  return true;
}

// The completion of the oldest receive entry, which says nothing of a message yet.
CompletionEntry& Responder::push_receive_completion(QueuePair& pair, Verb verb,
                                                    verbs::CompletionStatus status) {
  CompletionEntry& record = pair.receive_completions.push_stale();
  record.id = pair.receives.entry(pair.receives.head()).id;
  record.operation = {};
  record.value = std::uint64_t{pair.atomics_taken} << 32U;
  record.length = 0;
  record.work = pair.receives.head();
  record.remote_host = 0;
  record.remote_queue = 0;
  record.status = status;
  record.kind = verbs::CompletionKind::kReceive;
  record.verb = verb;
  record.has_immediate = false;
  record.drain = verbs::DrainMark::kNone;
  record.solicited = false;
  record.visible = false;
  return record;
}

void Responder::complete_receive(QueuePair& pair, const wire::Packet& packet, Verb verb,
                                 std::uint32_t length) {
  CompletionEntry& record = push_receive_completion(pair, verb, pair.receives.fault_of(pair.receives.head()));
  record.operation = packet.operation;
  record.length = length;
  const bool datagram = pair.context.service == Service::kDatagram;
  record.remote_host = datagram ? packet.source.number : pair.context.remote_host;
  record.remote_queue = datagram ? packet.roce.deth.source_queue_pair : pair.context.remote_queue_number;
  record.has_immediate = carries_immediate(packet.roce.bth.opcode);
  if (record.has_immediate) record.value |= packet.roce.immediate;
  record.solicited = packet.roce.bth.solicited;
  pair.receives.pop();
  core_.issue_completions(pair);
}

// --- Receive entries ---

void Responder::post_receive(QueuePair& pair, const verbs::ReceiveRequest& request,
                             verbs::AddressSpaceId space) {
  pair.receives.post(request, space);
  fetch_receives(pair);
}

void Responder::fetch_receives_ahead(QueuePair& pair, wire::OperationTag operation) {
  const std::uint32_t ring_mask = pair.config.receive_depth - 1;
  // One fetch has its slot, see kAccessesPerPacket; those ahead of need leave the packet's own slots alone.
  for (std::uint32_t kept = 0;; kept = kAccessesPerPacket) {
    const std::uint32_t wanted = pair.receives.fetch_wanted(core_.config.receive_prefetch);
    if (wanted == 0) return;
    if (core_.port.available(pair.share) <= kept) return core_.starve(pair);
    const Position first = pair.receives.fetch_issued();
    std::uint32_t count = 1;
    while (count < wanted && count < core_.config.fetch_batch && ((first + count) & ring_mask) != 0) ++count;
    AccessSlot& slot = core_.open_access(AccessPurpose::kFetchReceive, AccessKind::kFetchReceiveEntry, pair,
                                         first + count, true, pair.config.space);
    slot.access.count = static_cast<std::uint8_t>(count);
    slot.access.operation = operation;
    slot.access.length = count * core_.config.receive_entry_bytes;
    slot.access.address =
        pair.config.receive_ring + std::uint64_t{first & ring_mask} * core_.config.receive_entry_bytes;
    core_.port.issue(slot);
    pair.receives.note_fetch_issued(count);
  }
}

void Responder::receive_fetched(QueuePair& pair, const AccessSlot& slot, const AccessResult& result) {
  const Position first = slot.position - slot.access.count;
  // Entries of an earlier life of the queue pair say nothing about those that it has now.
  const bool cleared = pair.receives.is_cleared(first);
  const bool failed = result.status != AccessStatus::kDone;
  pair.receives.note_fetched(slot.position);
  if (failed && !cleared) pair.receives.note_bad(first);
  if (release_held(pair, failed && cleared)) return list_if_ready(pair);
  // A message that needs no memory but its entry may have been acknowledged meanwhile.
  if (!failed || cleared || !pair.receives.is_bad(pair.receives.taken() - 1)) return;
  end_entry(pair, pair.receives.taken() - 1, verbs::CompletionStatus::kLocalOperation);
  fail(pair);
}

bool Responder::release_held(QueuePair& pair, bool fetch_failed) {
  // What is held across a flush is held for entries that were flushed.
  const auto is_bad = [&](Position entry) {
    return pair.receives.is_bad(entry) || (fetch_failed && pair.receives.is_cleared(entry));
  };
  bool refused = false;
  while (pair.held_first != kNoSlot) {
    AccessSlot& held = core_.port.slot(pair.held_first);
    if (is_behind_atomic(pair, held) || (held.needs_entry && !pair.receives.is_fetched(held.entry))) break;
    pair.held_first = held.next;
    if (pair.held_first == kNoSlot) pair.held_last = kNoSlot;
    held.run = 0;
    if (held.for_receive && held.purpose == AccessPurpose::kPlacement && is_bad(held.entry)) {
      if (pair.answers.contains(held.position)) {
        --pair.answers[held.position].outstanding;
        fail_placement(pair, pair.answers[held.position], held.detail, held.entry);
        refused = true;
      }
      core_.close_access(held);
    } else {
      core_.port.issue(held);
    }
  }
  return refused;
}

void Responder::refuse_bad_entry(QueuePair& pair, const wire::Packet& packet) {
  const Position entry = pair.context.responder.receive_position;
  if (!pair.receives.is_bad(entry)) return;
  fail_placement(pair, pair.answers.back(), packet.roce.bth.psn, entry);
}

void Responder::fail_placement(QueuePair& pair, Answer& answer, Psn psn, Position entry) {
  if (pair.service != Service::kReliable) {  // Nobody is waiting for a NAK.
    end_entry(pair, entry, verbs::CompletionStatus::kLocalOperation);
    return fail(pair);
  }
  note_fault(answer, psn);
  answer.closed = true;
  end_entry(pair, entry, verbs::CompletionStatus::kLocalOperation);
}

void Responder::end_entry(QueuePair& pair, Position entry, verbs::CompletionStatus status) {
  for (Position at = pair.receive_completions.head(); at != pair.receive_completions.tail(); ++at) {
    CompletionEntry& record = pair.receive_completions[at];
    if (record.work == entry && !record.visible) record.status = status;
  }
}

void Responder::cancel(QueuePair& pair, std::uint64_t id) {
  CompletionEntry& record = push_receive_completion(pair, Verb::kSend, verbs::CompletionStatus::kCancelled);
  record.id = id;
  record.work = pair.receives.head() - 1;  // No entry that is still to come.
  core_.issue_completions(pair);
}

void Responder::flush_receives(QueuePair& pair) {
  while (!pair.receives.empty()) {
    // The entry that ended the queue pair says why.
    const bool ended =
        pair.receives.head() != pair.receives.taken() && pair.receives.is_bad(pair.receives.head());
    const verbs::CompletionStatus fault = pair.receives.fault_of(pair.receives.head());
    // No later error of memory changes what the program is told here.
    push_receive_completion(pair, Verb::kSend,
                            ended                                 ? CompletionStatus::kLocalOperation
                            : fault != CompletionStatus::kSuccess ? fault
                                                                  : CompletionStatus::kFlushed)
        .work = pair.receives.head() + kFarAway;
    pair.receives.pop();
  }
  pair.receives.clear();
  core_.issue_completions(pair);
}

// --- Memory answers ---

void Responder::placement_failed(QueuePair& pair, Answer& answer, const AccessSlot& slot) {
  if (pair.service == Service::kReliable) {
    note_fault(answer, slot.detail);
    answer.closed = true;
  } else {
    fail(pair);  // Nobody is waiting for a NAK.
  }
  if (!slot.for_receive) return;
  // The completion is ordered behind this write, so it has not been seen yet.
  for (Position at = pair.receive_completions.head(); at != pair.receive_completions.tail(); ++at) {
    CompletionEntry& entry = pair.receive_completions[at];
    if (entry.work == slot.entry) entry.status = verbs::CompletionStatus::kLocalAccess;
  }
  // Or its message has not ended yet.
  if (!pair.receives.empty() && pair.receives.head() == slot.entry)
    pair.receives.note_fault(slot.entry, verbs::CompletionStatus::kLocalAccess);
}

void Responder::drop_held(QueuePair& pair, AccessSlot& held) {
  held.run = 0;
  if (held.purpose == AccessPurpose::kPlacement) {
    // Its message may be complete but for the data, which will never be there.
    if (held.for_receive) end_entry(pair, held.entry, verbs::CompletionStatus::kFlushed);
    core_.close_access(held);
  } else {
    core_.port.issue(held);  // A completion record, which the program still polls.
  }
}

void Responder::discard_held(QueuePair& pair) {
  while (pair.held_first != kNoSlot) {
    AccessSlot& slot = core_.port.slot(pair.held_first);
    pair.held_first = slot.next;
    drop_held(pair, slot);
  }
  pair.held_last = kNoSlot;
}

void Responder::drop_record(const QueuePair& pair, CompletionEntry& record) {
  if (record.status == verbs::CompletionStatus::kSuccess && pair.is_behind_atomic(record))
    record.status = verbs::CompletionStatus::kFlushed;
}

void Responder::drop_behind_atomics(QueuePair& pair) {
  if (!pair.has_open_atomic()) return;
  std::uint32_t last = kNoSlot;
  std::uint32_t index = pair.held_first;
  while (index != kNoSlot && !is_behind_atomic(pair, core_.port.slot(index))) {
    last = index;
    index = core_.port.slot(index).next;
  }
  (last == kNoSlot ? pair.held_first : core_.port.slot(last).next) = kNoSlot;
  pair.held_last = last;
  while (index != kNoSlot) {
    AccessSlot& held = core_.port.slot(index);
    index = held.next;
    // A message without data has not been taken either.
    if (held.purpose != AccessPurpose::kPlacement && pair.receive_completions.contains(held.position))
      drop_record(pair, pair.receive_completions[held.position]);
    drop_held(pair, held);
  }
  for (Position at = pair.receive_completions_issued; at != pair.receive_completions.tail(); ++at)
    drop_record(pair, pair.receive_completions[at]);
  pair.atomics_done = pair.atomics_taken;
}

void Responder::discard(QueuePair& pair) {
  discard_early(pair);
  drop_behind_atomics(pair);
  for (Position at = pair.answers.head(); at != pair.answers.tail(); ++at) drop_atomic(pair.answers[at]);
  pair.answers.clear();
  forget_read_data(pair);
  pair.held_answers = 0;
  for (SavedResource& saved : pair.saved_resources()) saved = SavedResource{};
}

void Responder::forget_read_data(QueuePair& pair) {
  pair.reads_to_fetch = 0;
  while (!pair.read_ahead.empty()) {
    core_.pool->release(pair.read_ahead.front().payload.buffer);
    pair.read_ahead.pop();
  }
}

}  // namespace wharf::roce
