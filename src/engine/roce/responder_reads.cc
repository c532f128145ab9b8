// SPDX-License-Identifier: Apache-2.0
// The part of a responder that gives data back: READs and atomics, when they may touch memory, what is saved
// of them, and how duplicates are answered.
#include <algorithm>

#include "base/check.h"
#include "engine/roce/responder.h"

namespace wharf::roce {
namespace {

using engine::AccessKind;
using engine::AccessResult;
using engine::AccessStatus;
using verbs::Verb;
using wire::NakCode;
using wire::RoceOpcode;

/// Longest READ in packets; its PSNs must stay within half of the half range. [IBTA vol 1 9.7.1]
constexpr std::uint64_t kMaxReadPackets = 1U << 22U;

/// Whether an AETH with this syndrome ends the connection. [IBTA vol 1 table 46]
bool is_fatal(std::uint8_t syndrome) {
  const wire::Aeth aeth{syndrome, 0};
  return aeth.syndrome_class() == wire::AethClass::kNak &&
         aeth.value() != static_cast<std::uint8_t>(NakCode::kSequenceError);
}

}  // namespace

bool Responder::take_read(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  ResponderContext& responder = pair.context.responder;
  const wire::Reth& reth = packet.roce.reth;
  const Psn psn = packet.roce.bth.psn;
  const std::uint64_t packets = std::max<std::uint64_t>(
      1, (std::uint64_t{reth.length} + pair.context.path_mtu - 1) >> pair.context.mtu_shift);
  if (!pair.attributes.rights.remote_read || responder.resource_limit == 0 || packet.payload.length != 0 ||
      reth.length > verbs::kMaxMessageBytes || packets > kMaxReadPackets) {
    return refuse(pair, NakCode::kInvalidRequest, psn);
  }
  verbs::AccessOrder order = verbs::AccessOrder::kRelaxed;
  if (reth.length > 0) {
    const MemoryKeyRecord* record =
        core_.keys.find(pair.context.domain, reth.remote_key, reth.address, reth.length, RemoteAccess::kRead);
    if (record == nullptr) return refuse(pair, NakCode::kRemoteAccess, psn);
    order = record->read_order;
  }
  SavedResource& saved = pair.save_resource();
  saved.first_psn = psn;
  saved.packets = static_cast<std::uint32_t>(packets);
  saved.address = reth.address;
  saved.length = reth.length;
  saved.remote_key = reth.remote_key;
  // A READ takes the PSNs of its answer, and counts as completed when it is valid. [IBTA vol
  // 1 9.7.3, 9.7.7.1]
  pair.expect(wire::psn_add(psn, saved.packets));
  responder.message_sequence = wire::psn_add(responder.message_sequence, 1);
  answer_read(now, pair, packet, saved, saved.packets, order);
  return true;
}

bool Responder::take_plain_read(QueuePair& pair, const wire::Packet& packet) {
  ResponderContext& responder = pair.context.responder;
  const wire::Reth& reth = packet.roce.reth;
  const Psn psn = packet.roce.bth.psn;
  if (psn != responder.expected || responder.message != MessageInProgress::kNone || pair.answers.full() ||
      pair.selective != nullptr || pair.held_answers + pair.reads_to_fetch > 0 || pair.read_ahead.full() ||
      !core_.port.has_used(kAccessesPerPacket) || !core_.may_fetch_payload() ||
      !pair.attributes.rights.remote_read || core_.config.advertise_credits ||
      responder.resource_limit == 0 || packet.payload.length != 0 || reth.length == 0 ||
      reth.length > pair.context.path_mtu || core_.tracer != nullptr) {
    return false;
  }
  if (!pair.answers.empty()) {
    const Answer& before = pair.answers.back();
    if (before.kind != AnswerKind::kRead || !before.started) return false;
  }
  const MemoryKeyRecord* record =
      core_.keys.find(pair.context.domain, reth.remote_key, reth.address, reth.length, RemoteAccess::kRead);
  if (record == nullptr) return false;
  SavedResource& saved = pair.save_resource();
  saved.first_psn = psn;
  saved.packets = 1;
  saved.address = reth.address;
  saved.length = reth.length;
  saved.remote_key = reth.remote_key;
  pair.expect(wire::psn_add(psn, 1));
  responder.nak_sent = false;
  responder.message_sequence = wire::psn_add(responder.message_sequence, 1);
  Answer& answer = pair.answers.push_stale();
  answer.operation = packet.operation;
  answer.original = 0;
  answer.psn = psn;
  answer.message_sequence = responder.message_sequence;
  answer.fault_psn = 0;
  answer.outstanding = 0;
  answer.syndrome = wire::kAckUnlimited;
  answer.kind = AnswerKind::kRead;
  answer.closed = false;
  answer.silent = false;
  answer.failed = false;
  answer.started = true;
  answer.revoked = false;
  answer.order = record->read_order;
  answer.space = core_.keys.space_of(*record);
  answer.packets = 1;
  answer.fetched = 1;
  answer.sent = 0;
  answer.length = reth.length;
  answer.remote_key = reth.remote_key;
  answer.address = reth.address;
  answer.resource = saved.number;
  pair.read_expanding = pair.answers.tail();
  const Position at = pair.read_ahead.tail();
  ReadAhead& data = pair.read_ahead.push_stale();
  data.payload = wire::Payload{};
  data.ready = false;
  data.failed = false;
  AccessSlot& slot =
      core_.open_access(AccessPurpose::kReadPayload, AccessKind::kRead, pair, at, true, answer.space);
  slot.access.address = reth.address;
  slot.access.length = reth.length;
  slot.access.order = record->read_order;
  slot.access.operation = packet.operation;
  core_.port.issue(slot);
  return true;
}

void Responder::answer_read(TimePs now, QueuePair& pair, const wire::Packet& packet,
                            const SavedResource& saved, std::uint32_t packets, verbs::AccessOrder order) {
  const wire::Reth& reth = packet.roce.reth;
  close_acknowledge(pair);
  Answer& answer = push_answer(pair, AnswerKind::kRead, packet.roce.bth.psn);
  answer.packets = packets;
  answer.length = reth.length;
  answer.address = reth.address;
  answer.remote_key = reth.remote_key;
  answer.resource = saved.number;
  answer.order = order;
  if (reth.length > 0)
    answer.space = core_.keys.space_of(core_.keys.record(core_.keys.index_of(reth.remote_key)));
  answer.operation = packet.operation;
  answer.held_since = now;
  ++pair.held_answers;
  ++pair.reads_to_fetch;
  start_newest(now, pair, answer);
}

bool Responder::take_atomic(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  ResponderContext& responder = pair.context.responder;
  const wire::AtomicEth& atomic = packet.roce.atomic;
  const Psn psn = packet.roce.bth.psn;
  if (!pair.attributes.rights.remote_atomic || responder.resource_limit == 0 || packet.payload.length != 0) {
    return refuse(pair, NakCode::kInvalidRequest, psn);
  }
  if (core_.keys.find(pair.context.domain, atomic.remote_key, atomic.address, 8, RemoteAccess::kAtomic) ==
      nullptr) {
    return refuse(pair, NakCode::kRemoteAccess, psn);
  }
  if (atomic.address % 8 != 0) return refuse(pair, NakCode::kInvalidRequest, psn);
  SavedResource& saved = pair.save_resource();
  saved.first_psn = psn;
  saved.packets = 1;
  saved.atomic = true;
  pair.expect(wire::psn_add(psn, 1));
  responder.message_sequence = wire::psn_add(responder.message_sequence, 1);
  close_acknowledge(pair);
  Answer& answer = push_answer(pair, AnswerKind::kAtomic, psn);
  answer.outstanding = 1;
  answer.address = atomic.address;
  answer.remote_key = atomic.remote_key;
  answer.space = core_.keys.space_of(core_.keys.record(core_.keys.index_of(atomic.remote_key)));
  answer.operand = atomic.swap_or_add;
  answer.compare = atomic.compare;
  answer.verb = packet.roce.bth.opcode == RoceOpcode::kRcCompareSwap ? Verb::kCompareSwap : Verb::kFetchAdd;
  answer.resource = saved.number;
  answer.operation = packet.operation;
  answer.held_since = now;
  // It has its slot from now on: what comes behind it may take all others, and waits for it.
  AccessSlot& slot = core_.open_access(AccessPurpose::kAtomic, AccessKind::kAtomic, pair,
                                       pair.answers.tail() - 1, true, answer.space);
  slot.access.atomic = answer.verb;
  slot.access.address = answer.address;
  slot.access.length = 8;
  slot.access.operand[0] = answer.operand;
  slot.access.compare[0] = answer.compare;
  slot.access.operation = answer.operation;
  answer.packets = slot.access.id;
  ++pair.held_answers;
  ++pair.atomics_taken;
  start_newest(now, pair, answer);
  return true;
}

// Everything before a READ that has started is in memory.
void Responder::start_newest(TimePs now, QueuePair& pair, Answer& answer) {
  const Position at = pair.answers.tail() - 1;
  if (pair.held_answers > 1) {
    // Whoever waits for slots or a controller tries again now; whoever waits for memory goes on waiting.
    if (pair.starved || core_.is_paced) start_held(now, pair);
    return;
  }
  if (at != pair.answers.head()) {
    const Answer& before = pair.answers[at - 1];
    if (before.kind != AnswerKind::kRead || !before.started) return start_held(now, pair);
  }
  start(now, pair, answer);
  expand_reads(pair);
}

[[gnu::always_inline]] inline void Responder::start(TimePs now, QueuePair& pair, Answer& answer) {
  if (answer.kind == AnswerKind::kAtomic) {
    core_.port.issue(core_.port.slot(answer.packets));
  }
  answer.started = true;
  --pair.held_answers;
  if (core_.tracer != nullptr) {
    core_.tracer->span(answer.operation, trace::Stage::kOrderWait, answer.held_since, now,
                       core_.config.host.number);
  }
}

void Responder::drop_atomic(Answer& answer) {
  if (answer.kind == AnswerKind::kAtomic && !answer.started)
    core_.close_access(core_.port.slot(answer.packets));
}

// Starts READs and atomics whose earlier writes and atomics are in memory. [IBTA vol 1 table 79: SENDs and
// WRITEs come before what follows them; a READ need not come before a later WRITE] Choice: atomics of a queue
// pair run one by one.
void Responder::start_held_answers(TimePs now, QueuePair& pair, Position from) {
  bool settled = true;
  for (Position at = from; settled && at != pair.answers.tail(); ++at) {
    Answer& answer = pair.answers[at];
    if (answer.kind == AnswerKind::kRead || answer.kind == AnswerKind::kAtomic) {
      if (!answer.started) start(now, pair, answer);
    }
    if (answer.kind != AnswerKind::kRead) settled = answer.outstanding == 0 && !answer.failed;
  }
}

// Asks memory for READ data ahead of transmission.
void Responder::ask_ahead(QueuePair& pair) {
  if (!pair.answers.contains(pair.read_expanding)) pair.read_expanding = pair.answers.head();
  while (pair.read_expanding != pair.answers.tail()) {
    Answer& answer = pair.answers[pair.read_expanding];
    if (answer.kind != AnswerKind::kRead || answer.fetched == answer.packets) {
      ++pair.read_expanding;
      continue;
    }
    if (!answer.started || pair.read_ahead.full()) break;
    if (!core_.may_fetch_payload()) {
      core_.starve(pair);
      break;
    }
    const std::uint32_t offset = answer.fetched << pair.context.mtu_shift;
    const std::uint32_t length = std::min(pair.context.path_mtu, answer.length - offset);
    const Position at = pair.read_ahead.tail();
    ReadAhead& data = pair.read_ahead.push();
    if (++answer.fetched == answer.packets) --pair.reads_to_fetch;
    if (length == 0 || answer.revoked) {
      data.ready = true;
      data.failed = answer.revoked;
      continue;
    }
    AccessSlot& slot =
        core_.open_access(AccessPurpose::kReadPayload, AccessKind::kRead, pair, at, true, answer.space);
    slot.access.address = answer.address + offset;
    slot.access.length = length;
    slot.access.order = answer.order;
    slot.access.operation = answer.operation;
    core_.port.issue(slot);
  }
}

// --- Duplicates ---

// [IBTA vol 1 9.7.5.1.3: duplicates are answered, never executed again, except that READs read again]
bool Responder::duplicate(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  const RoceOpcode opcode = packet.roce.bth.opcode;
  if (opcode == RoceOpcode::kRcReadRequest) return duplicate_read(now, pair, packet);
  if (is_atomic_request(opcode)) {
    duplicate_atomic(pair, packet);
    return true;
  }
  // The acknowledgement carries the newest PSN, not that of the duplicate.
  const Psn newest = wire::psn_subtract(pair.context.responder.expected, 1);
  if (!pair.answers.empty()) {
    Answer& last = pair.answers.back();
    if (last.kind == AnswerKind::kAcknowledge) {
      last.closed = true;
      last.silent = false;
      return true;
    }
  }
  Answer& answer = push_answer(pair, AnswerKind::kAcknowledge, newest);
  answer.closed = true;
  answer.operation = packet.operation;
  return true;
}

bool Responder::duplicate_read(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  const wire::Reth& reth = packet.roce.reth;
  const Psn psn = packet.roce.bth.psn;
  const std::uint32_t packets = static_cast<std::uint32_t>(std::max<std::uint64_t>(
      1, (std::uint64_t{reth.length} + pair.context.path_mtu - 1) >> pair.context.mtu_shift));
  for (const SavedResource& saved : pair.saved_resources()) {
    if (saved.number == 0 || saved.atomic) continue;
    const std::int32_t index = wire::psn_difference(psn, saved.first_psn);
    if (index < 0 || static_cast<std::uint32_t>(index) >= saved.packets) continue;
    // The repeat may ask for the tail alone, never for anything outside the original.
    const std::uint64_t offset = reth.address - saved.address;
    if (reth.remote_key != saved.remote_key || reth.address < saved.address || offset > saved.length ||
        reth.length > saved.length - offset || static_cast<std::uint32_t>(index) + packets > saved.packets) {
      break;
    }
    for (Position at = pair.answers.head(); at != pair.answers.tail(); ++at) {
      const Answer& answer = pair.answers[at];
      if (answer.kind != AnswerKind::kRead || answer.resource != saved.number) continue;
      const std::int32_t from_next = wire::psn_difference(psn, wire::psn_add(answer.psn, answer.sent));
      if (from_next >= 0 && wire::psn_before(psn, wire::psn_add(answer.psn, answer.packets))) {
        ++core_.counters.dropped_duplicate;  // The data asked for is still to be sent.
        return true;
      }
    }
    verbs::AccessOrder order = verbs::AccessOrder::kRelaxed;
    if (reth.length > 0) {
      const MemoryKeyRecord* record = core_.keys.find(pair.context.domain, reth.remote_key, reth.address,
                                                      reth.length, RemoteAccess::kRead);
      if (record == nullptr) return refuse(pair, NakCode::kRemoteAccess, psn);
      order = record->read_order;
    }
    answer_read(now, pair, packet, saved, packets, order);
    return true;
  }
  ++core_.counters.dropped_duplicate;
  return true;
}

void Responder::duplicate_atomic(QueuePair& pair, const wire::Packet& packet) {
  for (const SavedResource& saved : pair.saved_resources()) {
    if (saved.number == 0 || !saved.atomic || saved.first_psn != packet.roce.bth.psn) continue;
    if (!saved.done) break;  // Its first answer is still to come.
    close_acknowledge(pair);
    Answer& answer = push_answer(pair, AnswerKind::kAtomic, saved.first_psn);
    answer.started = true;
    answer.original = saved.original;
    answer.operation = packet.operation;
    return;
  }
  ++core_.counters.dropped_duplicate;
}

// --- Memory answers ---

void Responder::read_fetched(QueuePair& pair, const AccessSlot& slot, const AccessResult& result) {
  if (!pair.read_ahead.contains(slot.position)) return;
  ReadAhead& data = pair.read_ahead[slot.position];
  data.ready = true;
  data.failed = result.status != AccessStatus::kDone || result.data.length != slot.access.length;
  if (!data.failed) {
    data.payload = result.data;
    core_.pool->retain(result.data.buffer);
  }
  if (slot.position == pair.read_ahead.head()) list_if_ready(pair);
}

void Responder::atomic_done(TimePs now, QueuePair& pair, const AccessSlot& slot, const AccessResult& result) {
  if (!pair.answers.contains(slot.position)) return;
  Answer& answer = pair.answers[slot.position];
  answer.outstanding = 0;
  answer.original = result.old_value[0];
  if (result.status != AccessStatus::kDone) {
    answer.failed = true;
    answer.fault_psn = answer.psn;
  }
  // What stands behind one that failed will not happen, see drop_behind_atomics().
  if (!answer.failed && pair.has_open_atomic()) {
    ++pair.atomics_done;
    release_held(pair, false);
    // As in placed().
    if (pair.receive_completions_issued != pair.receive_completions.tail() &&
        pair.config.receive_completions != engine::kOwn) [[unlikely]]
      core_.kick(pair);
  }
  SavedResource& saved = pair.resources[(answer.resource - 1) % pair.context.responder.resource_limit];
  if (saved.number == answer.resource && !answer.failed) {
    saved.done = true;
    saved.original = answer.original;
  }
  // It was started when everything before it was in memory.
  if (pair.held_answers > 0) start_held_answers(now, pair, slot.position);
  expand_reads(pair);
}

// [IBTA vol 1 10.3.1: in the error state nothing is processed any more]
void Responder::drop_reads(QueuePair& pair) {
  bool any = false;
  for (Position at = pair.answers.head(); at != pair.answers.tail(); ++at) {
    const Answer& answer = pair.answers[at];
    if (answer.failed || (answer.kind == AnswerKind::kNak && is_fatal(answer.syndrome))) return;
    any |= answer.kind == AnswerKind::kRead || answer.kind == AnswerKind::kAtomic;
  }
  if (!any) return;
  drop_behind_atomics(pair);
  bool dropped = false;
  // Their places stay: answers of memory know those behind them by their positions.
  for (Position at = pair.answers.head(); at != pair.answers.tail(); ++at) {
    Answer& answer = pair.answers[at];
    const bool waits = answer.kind == AnswerKind::kAtomic && !answer.started;
    const bool stays = answer.kind == AnswerKind::kAtomic ? !waits : answer.kind != AnswerKind::kRead;
    // Nothing behind an atomic that is not carried out has touched memory. A NAK acknowledges what comes
    // before it, too.
    if (stays && !(dropped && answer.kind != AnswerKind::kAtomic)) {
      dropped |= answer.kind == AnswerKind::kAtomic && answer.outstanding > 0;
      continue;
    }
    dropped |= waits;
    drop_atomic(answer);
    answer.kind = AnswerKind::kAcknowledge;
    answer.outstanding = 0;
    answer.closed = true;
    answer.silent = true;
  }
  pair.held_answers = 0;
  forget_read_data(pair);
}

void Responder::revoke(QueuePair& pair, std::uint32_t remote_key, bool by_peer) {
  pair.usual = {};
  bool any = false;
  for (Position at = pair.answers.head(); at != pair.answers.tail(); ++at) {
    Answer& answer = pair.answers[at];
    if (answer.remote_key != remote_key) continue;
    if (answer.kind == AnswerKind::kRead) answer.revoked = true;
    if (answer.kind == AnswerKind::kAtomic && !answer.started) {
      drop_atomic(answer);
      answer.started = true;
      answer.outstanding = 0;
      answer.failed = true;
      answer.fault_psn = answer.psn;
      --pair.held_answers;
      any = true;
    }
  }
  if (any) core_.kick(pair);
  // The responder carries out WRITEs and SENDs in order. [IBTA vol 1 9.5]
  if (by_peer) return;
  // WRITEs that stand behind a placement which waits for its receive entry.
  std::uint32_t last = kNoSlot;
  for (std::uint32_t index = pair.held_first; index != kNoSlot;) {
    AccessSlot& slot = core_.port.slot(index);
    const std::uint32_t next = slot.next;
    if (slot.purpose == AccessPurpose::kPlacement && slot.remote_key == remote_key) {
      (last == kNoSlot ? pair.held_first : core_.port.slot(last).next) = next;
      if (pair.answers.contains(slot.position)) {
        Answer& answer = pair.answers[slot.position];
        --answer.outstanding;
        if (pair.service == Service::kReliable) note_fault(answer, slot.detail);
        answer.closed = true;
        any = true;
      }
      slot.run = 0;
      core_.close_access(slot);
    } else {
      last = index;
    }
    index = next;
  }
  pair.held_last = last;
  if (any) core_.kick(pair);
}

}  // namespace wharf::roce
