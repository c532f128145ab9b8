// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/requester.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/check.h"
#include "engine/byte_rings.h"
#include "engine/roce/retransmission.h"

namespace wharf::roce {
namespace {

using engine::AccessKind;
using engine::AccessResult;
using engine::AccessStatus;
using engine::PostStatus;
using verbs::CompletionStatus;
using verbs::Verb;
using wire::RoceOpcode;

/// Most PSNs between the oldest unanswered one and the end of what is asked for: half of the range in which
/// "before" and "after" can be told apart. [IBTA vol 1 9.7.1]
constexpr std::uint32_t kPsnSpanLimit = 1 << 22;

/// A long message asks for an acknowledgement this often at least. [Linux rdma_rxe behaviour: about every 65
/// packets]
constexpr std::uint32_t kAckIntervalMax = 64;

// Half of the window, so that it opens again before it is used up. Choice: the specification leaves the bit
// to the requester. [IBTA vol 1 9.7.3]
std::uint32_t ack_mask(std::uint32_t window_packets) {
  return std::min(std::bit_floor(std::max(window_packets / 2, 1U)), kAckIntervalMax) - 1;
}

std::uint32_t packets_for(std::uint32_t length, const QueuePairContext& context) {
  const std::uint64_t count = (std::uint64_t{length} + context.path_mtu - 1) >> context.mtu_shift;
  return count == 0 ? 1 : static_cast<std::uint32_t>(count);
}

std::uint64_t local_bytes(const verbs::WorkRequest& request) {
  if (request.local_count == 1) return request.local[0].length;
  std::uint64_t sum = 0;
  for (std::uint8_t at = 0; at < request.local_count; ++at) sum += request.local[at].length;
  return sum;
}

/// The opcode of packet `packet` of `packets`. [IBTA vol 1 9.2.1]
RoceOpcode opcode_of(Verb verb, std::uint32_t packet, std::uint32_t packets) {
  const bool first = packet == 0;
  const bool last = packet + 1 == packets;
  switch (verb) {
    case Verb::kRead:
      return RoceOpcode::kRcReadRequest;
    case Verb::kCompareSwap:
      return RoceOpcode::kRcCompareSwap;
    case Verb::kFetchAdd:
      return RoceOpcode::kRcFetchAdd;
    case Verb::kWrite:
    case Verb::kWriteImm:
      if (!last) return first ? RoceOpcode::kRcWriteFirst : RoceOpcode::kRcWriteMiddle;
      if (verb == Verb::kWrite) return first ? RoceOpcode::kRcWriteOnly : RoceOpcode::kRcWriteLast;
      return first ? RoceOpcode::kRcWriteOnlyImmediate : RoceOpcode::kRcWriteLastImmediate;
    case Verb::kSend:
    case Verb::kSendImm:
    case Verb::kSendInvalidate:
      if (!last) return first ? RoceOpcode::kRcSendFirst : RoceOpcode::kRcSendMiddle;
      if (verb == Verb::kSend) return first ? RoceOpcode::kRcSendOnly : RoceOpcode::kRcSendLast;
      if (verb == Verb::kSendImm) {
        return first ? RoceOpcode::kRcSendOnlyImmediate : RoceOpcode::kRcSendLastImmediate;
      }
      return first ? RoceOpcode::kRcSendOnlyInvalidate : RoceOpcode::kRcSendLastInvalidate;
    case Verb::kLoad:
    case Verb::kStore:
    case Verb::kWriteNotify:
    case Verb::kSwap:
    case Verb::kAtomicStore:
    case Verb::kAtomicLoad:
    case Verb::kFetchSub:
    case Verb::kFetchAnd:
    case Verb::kFetchOr:
    case Verb::kFetchXor:
      break;
  }
  WHARF_UNREACHABLE();
}

}  // namespace

Requester::Requester(EngineCore& core, Retransmission& retransmission)
    : core_(core), retransmission_(retransmission), ack_mask_(ack_mask(core.config.window_packets)) {}

// --- What is usual ---

bool Requester::find_storing(QueuePair& pair) {
  pair.usual.storing = pair.plain && !pair.starved && pair.context.state == QueueState::kReadyToSend &&
                       pair.fetch_issued == pair.send.tail() && pair.context.requester.rnr_until == kNever;
  return pair.usual.storing;
}

bool Requester::find_preparing(QueuePair& pair) {
  pair.usual.preparing = is_preparing(pair);
  return pair.usual.preparing;
}

// Packets leave in the order of their PSNs; the requests leave the list when the next one is not complete.
bool Requester::find_sending(QueuePair& pair) {
  const RequesterContext& requester = pair.context.requester;
  pair.usual.sending = !pair.transmit.empty() && pair.transmit.front().pending == 0 &&
                       pair.transmit.front().psn == requester.highest_sent && requester.timeout_at != kNever;
  pair.usual.sending = pair.usual.sending && pair.selective == nullptr;
  return pair.usual.sending;
}

bool Requester::post_behind_others(QueuePair& pair, const verbs::WorkRequest& request) {
  if (!is_offered(request.verb) || !is_plain(pair, request)) return false;
  if (!pair.transmit.full() && !waits_for_answers(pair)) return false;
  const bool is_atomic = verbs::is_atomic(request.verb);
  if (is_atomic && (request.length != 8 || request.width != 8)) return false;
  SendEntry& entry = store_plain(pair, request);
  entry.form = verbs::carries_payload(request.verb) ? SendForm::kPlain : SendForm::kPieces;
  entry.original = 0;
  if (is_atomic) {
    entry.operand = request.operand[0];
    entry.compare = request.compare[0];
    entry.immediate = pair.config.space;
  } else {
    entry.immediate = request.verb == Verb::kSendInvalidate ? request.invalidate.id
                                                            : static_cast<std::uint32_t>(request.immediate);
  }
  return true;
}

// --- Posting ---

// What a request says of itself, whoever brings it.
[[gnu::always_inline]] inline PostStatus Requester::check_verb(const QueuePair& pair,
                                                               const verbs::WorkRequest& request) {
  if (!is_offered(request.verb)) return PostStatus::kUnsupported;
  if (pair.service != Service::kReliable && !roce::supports(pair.service, request.verb)) [[unlikely]]
    return PostStatus::kUnsupported;
  if (request.tagged || request.delivery != verbs::Delivery::kDefault ||
      request.atomic_function != verbs::AtomicFunction::kOfVerb) {
    return PostStatus::kUnsupported;
  }
  return verbs::is_atomic(request.verb) && request.width != 8 ? PostStatus::kUnsupported : PostStatus::kOk;
}

[[gnu::always_inline]] inline PostStatus Requester::check_form(const QueuePair& pair,
                                                               const verbs::WorkRequest& request) const {
  // [IBTA vol 1 9.8.3: a datagram is one packet]
  if (pair.service == Service::kDatagram &&
      (request.length > core_.config.path_mtu || find_handle(pair, request.peer) == nullptr)) [[unlikely]]
    return PostStatus::kBadRequest;
  if (request.local_count > verbs::kMaxScatterEntries) return PostStatus::kBadRequest;
  const bool is_inline = request.inline_data.kind != wire::PayloadKind::kNone;
  if (verbs::is_atomic(request.verb)) {
    // The result may go to the completion alone.
    if (is_inline || (request.local_count > 0 && local_bytes(request) < 8)) return PostStatus::kBadRequest;
  } else {
    if (is_inline && !verbs::carries_payload(request.verb)) return PostStatus::kBadRequest;
    const std::uint64_t have = is_inline ? request.inline_data.length : local_bytes(request);
    if (have != request.length || request.length > verbs::kMaxMessageBytes) return PostStatus::kBadRequest;
    // A quarter of the PSN range bounds a READ: 1 GiB at a path MTU of 256. The peer may take less than we.
    const std::uint64_t mtu =
        request.verb == Verb::kRead ? std::uint64_t{1} << pair.mtu_shift : core_.config.path_mtu;
    if (request.length > kPsnSpanLimit * mtu) return PostStatus::kBadRequest;
  }
  return PostStatus::kOk;
}

PostStatus Requester::check(const QueuePair& pair, const verbs::WorkRequest& request) const {
  const PostStatus verb = check_verb(pair, request);
  if (verb != PostStatus::kOk) return verb;
  if (!rules_of(pair.driver_state).takes_requests) return PostStatus::kBadQueue;
  const PostStatus form = check_form(pair, request);
  if (form != PostStatus::kOk) return form;
  if (pair.config.entries != engine::EntryFormat::kObjects) return PostStatus::kUnsupported;
  // A slot is free again when the program has taken the completion.
  if (pair.send.size() + pair.send_completions.size() >= pair.config.send_depth)
    return PostStatus::kQueueFull;
  return PostStatus::kOk;
}

// All of an entry but `fetched`.
[[gnu::always_inline]] inline void Requester::store(const QueuePair& pair, const verbs::WorkRequest& request,
                                                    SendEntry& entry) {
  const bool is_atomic = verbs::is_atomic(request.verb);
  entry.id = request.id;
  entry.operation = request.operation;
  entry.remote_address = request.remote.address;
  verbs::AddressSpaceId space = pair.config.space;
  const bool resolved =
      Pieces::resolve(request.local, request.local_count, core_.keys, pair.config.domain, space);
  entry.operand = is_atomic ? request.operand[0] : space;
  entry.compare = request.compare[0];
  entry.original = 0;
  entry.remote_key = request.remote.token.id;
  entry.immediate = is_atomic                               ? space
                    : request.verb == Verb::kSendInvalidate ? request.invalidate.id
                                                            : static_cast<std::uint32_t>(request.immediate);
  entry.length = is_atomic ? 8 : request.length;
  entry.verb = request.verb;
  entry.local_count = request.local_count;
  entry.status = resolved ? CompletionStatus::kSuccess : CompletionStatus::kLocalAccess;
  entry.signaled = request.signaled;
  entry.fence = request.fence;
  entry.solicited = request.solicited && verbs::consumes_receive_entry(request.verb);
  if (pair.service == Service::kDatagram) [[unlikely]]
    aim(pair, request, entry);
  if (request.inline_data.kind != wire::PayloadKind::kNone) {
    entry.form = SendForm::kInline;
    std::construct_at(&entry.inline_data, request.inline_data);
    core_.pool->retain(request.inline_data.buffer);
  } else {
    const bool is_plain = verbs::carries_payload(request.verb) && !request.fence && request.length > 0 &&
                          request.local[0].length == request.length && pair.service == Service::kReliable;
    entry.form = is_plain ? SendForm::kPlain : SendForm::kPieces;
    entry.local.set(request.local, request.local_count);
  }
}

PostStatus Requester::post(QueuePair& pair, const verbs::WorkRequest& request,
                           engine::Submission submission) {
  const PostStatus status = check(pair, request);
  if (status != PostStatus::kOk) return status;
  SendEntry& entry = pair.send.push_stale();
  store(pair, request, entry);
  entry.fetched = submission == engine::Submission::kInHand;
  if (entry.fetched && pair.fetch_issued + 1 == pair.send.tail()) ++pair.fetch_issued;
  return PostStatus::kOk;
}

PostStatus Requester::announce(QueuePair& pair, std::uint32_t count) {
  if (pair.config.entries != engine::EntryFormat::kBytes) return PostStatus::kUnsupported;
  if (!rules_of(pair.driver_state).takes_requests) return PostStatus::kBadQueue;
  if (count > pair.config.send_depth - pair.send.size() - pair.send_completions.size()) {
    return PostStatus::kQueueFull;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    SendEntry& entry = pair.send.push_stale();
    store(pair, verbs::WorkRequest{}, entry);
    entry.fetched = false;
  }
  return PostStatus::kOk;
}

// The bytes of one work-queue entry have come.
void Requester::read_entry(QueuePair& pair, const wire::Payload& bytes, SendEntry& entry) {
  engine::WorkBytes work;
  entry.status = CompletionStatus::kLocalOperation;
  if (!work.read(bytes)) return;
  entry.id = work.request().id;
  if (check_verb(pair, work.request()) != PostStatus::kOk ||
      check_form(pair, work.request()) != PostStatus::kOk) {
    return;
  }
  const wire::BufferId buffer = work.keep_inline(*core_.pool);
  store(pair, work.request(), entry);
  core_.pool->release(buffer);  // The entry has a reference of its own.
}

void Requester::fetch_work(QueuePair& pair) {
  const std::uint32_t ring_mask = pair.config.send_depth - 1;
  const std::uint32_t entry_bytes = pair.config.entries == engine::EntryFormat::kBytes
                                        ? pair.config.send_entry_bytes
                                        : core_.config.work_entry_bytes;
  while (pair.fetch_issued != pair.send.tail()) {
    if (pair.send[pair.fetch_issued].fetched) {
      ++pair.fetch_issued;
      continue;
    }
    if (pair.fetches_in_flight >= core_.config.fetches_in_flight) return;
    if (core_.port.available(pair.share) == 0) return core_.starve(pair);
    const Position first = pair.fetch_issued;
    std::uint32_t count = 1;
    while (count < core_.config.fetch_batch && first + count != pair.send.tail() &&
           !pair.send[first + count].fetched && ((first + count) & ring_mask) != 0) {
      ++count;
    }
    AccessSlot& slot = core_.open_access(AccessPurpose::kFetchWork, AccessKind::kFetchWorkRequest, pair,
                                         first, false, pair.config.space);
    slot.detail = count;
    slot.access.count = static_cast<std::uint8_t>(count);
    slot.access.length = count * entry_bytes;
    slot.access.address = pair.config.send_ring + std::uint64_t{first & ring_mask} * entry_bytes;
    slot.access.operation = pair.send[first].operation;
    core_.port.issue(slot);
    pair.fetch_issued += count;
    ++pair.fetches_in_flight;
  }
}

void Requester::work_fetched(QueuePair& pair, const AccessSlot& slot, const AccessResult& result) {
  if (pair.fetches_in_flight > 0) --pair.fetches_in_flight;
  for (std::uint32_t at = 0; at < slot.detail; ++at) {
    if (!pair.send.contains(slot.position + at)) continue;
    SendEntry& entry = pair.send[slot.position + at];
    entry.fetched = true;
    if (result.status != AccessStatus::kDone) {
      entry.status = CompletionStatus::kLocalOperation;
    } else if (pair.config.entries == engine::EntryFormat::kBytes) {
      const std::uint32_t stride = pair.config.send_entry_bytes;
      if (result.data.length == slot.detail * stride) {
        read_entry(pair, wire::slice(result.data, at * stride, stride), entry);
      } else {
        entry.status = CompletionStatus::kLocalOperation;
      }
    }
  }
}

// --- Cutting requests into packets ---

void Requester::wait(TimePs now, QueuePair& pair, const SendEntry& entry, trace::Stage stage) {
  if (pair.waiting && pair.waiting_stage == stage) return;
  stop_waiting(now, pair);
  pair.waiting = true;
  pair.waiting_stage = stage;
  pair.waiting_since = now;
  pair.waiting_operation = entry.operation;
}

void Requester::end_wait(TimePs now, QueuePair& pair) {
  pair.waiting = false;
  if (core_.tracer == nullptr) return;
  core_.tracer->span(pair.waiting_operation, pair.waiting_stage, pair.waiting_since, now,
                     core_.config.host.number);
}

bool Requester::may_start(TimePs now, QueuePair& pair, SendEntry& entry) {
  const RequesterContext& requester = pair.context.requester;
  // [IBTA vol 1 10.8.3.3: a fenced request waits for all earlier READs and atomics] Their results must be in
  // memory.
  if (entry.fence && (requester.reads_outstanding > 0 || pair.responses_outstanding > 0)) {
    wait(now, pair, entry, trace::Stage::kOrderWait);
    return false;
  }
  if (expects_answer(entry.verb)) {
    const auto span =
        static_cast<std::uint32_t>(wire::psn_difference(requester.next, requester.unacknowledged));
    const std::uint32_t packets = entry.verb == Verb::kRead ? packets_for(entry.length, pair.context) : 1;
    // [IBTA vol 1 9.4.4, 9.4.5: at most the negotiated number of READs and atomics outstanding]
    if (requester.reads_outstanding >= requester.read_limit || (span > 0 && span + packets > kPsnSpanLimit)) {
      wait(now, pair, entry, trace::Stage::kWindowWait);
      return false;
    }
  }
  return true;
}

void Requester::assign_psns(QueuePair& pair, SendEntry& entry) {
  RequesterContext& requester = pair.context.requester;
  entry.first_psn = requester.next_unassigned;
  entry.packets = verbs::is_atomic(entry.verb) ? 1 : packets_for(entry.length, pair.context);
  requester.sequence = wire::psn_add(requester.sequence, 1);
  entry.sequence = requester.sequence;
  requester.next_unassigned = wire::psn_add(entry.first_psn, entry.packets);
  ++requester.assigned;
  if (expects_answer(entry.verb)) ++requester.reads_outstanding;
}

void Requester::prepare(TimePs now, QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  if (requester.rnr_until != kNever) return;
  const bool begins = pair.context.state == QueueState::kReadyToSend;  // Else SQD: nothing more is begun.
  while (requester.sending != pair.send.tail()) {
    if (requester.sending == requester.assigned && !begins) [[unlikely]]
      break;
    SendEntry& entry = pair.send[requester.sending];
    if (!entry.fetched || pair.transmit.full()) break;
    if (is_single(pair, entry) && is_preparing(pair) && has_room(pair)) {
      prepare_posted(pair);
      continue;
    }
    if (entry.status != CompletionStatus::kSuccess) {
      // A local error is reported when everything before it is complete.
      if (requester.sending == pair.send.head()) fail(now, pair, entry.status);
      return;
    }
    if (wire::psn_difference(requester.next, requester.unacknowledged) >=
        static_cast<std::int32_t>(requester.window)) {
      wait(now, pair, entry, trace::Stage::kWindowWait);
      break;
    }
    const bool is_new = requester.sending == requester.assigned;
    if (is_new && !may_start(now, pair, entry)) break;
    // [IBTA vol 1 9.7.7.2: without credit one packet may go, and must be acknowledged]
    const std::uint32_t sequence = is_new ? wire::psn_add(requester.sequence, 1) : entry.sequence;
    const bool limited = requester.credits_in_use && verbs::consumes_receive_entry(entry.verb) &&
                         wire::psn_after(sequence, requester.credit_limit);
    if (limited && requester.limited_outstanding) {
      wait(now, pair, entry, trace::Stage::kWindowWait);
      break;
    }
    if (!core_.may_fetch_payload()) {
      core_.starve(pair);
      break;
    }
    stop_waiting(now, pair);
    if (is_new) assign_psns(pair, entry);
    if (limited) requester.limited_outstanding = true;
    prepare_packet(pair, entry);
  }
}

// READs and atomics have one packet, whichever part of its answer is asked for.
RoceOpcode Requester::opcode_at(const QueuePair& pair, const SendEntry& entry, std::uint32_t packet) {
  return static_cast<RoceOpcode>(
      static_cast<unsigned>(opcode_of(entry.verb, expects_answer(entry.verb) ? 0 : packet, entry.packets)) |
      static_cast<unsigned>(pair.context.service) << wire::kRoceTransportShift);
}

void Requester::prepare_packet(QueuePair& pair, SendEntry& entry) {
  RequesterContext& requester = pair.context.requester;
  const Position at = pair.transmit.tail();
  TransmitEntry& packet = pair.transmit.push_stale();
  packet.payload = wire::Payload{};
  packet.psn = requester.next;
  packet.psn_count = 1;
  packet.work = requester.sending;
  packet.packet = requester.packet;
  packet.pending = 0;
  packet.gathered = false;
  packet.failed = false;
  packet.whole = false;
  const bool answered = expects_answer(entry.verb);
  packet.opcode = opcode_at(pair, entry, requester.packet);
  if (answered) {
    // A READ that is asked for again asks for the part that is missing.
    packet.psn_count = entry.packets - requester.packet;
    packet.acknowledge = true;
    requester.packet = entry.packets;
  } else {
    ++requester.packet;
    const std::int32_t outstanding = wire::psn_difference(requester.next, requester.unacknowledged) + 1;
    packet.acknowledge = requester.packet == entry.packets || (requester.packet & ack_mask_) == 0 ||
                         outstanding >= static_cast<std::int32_t>(requester.window) ||
                         requester.limited_outstanding;
    packet.acknowledge &= pair.context.service == Service::kReliable;  // [IBTA vol 1 9.8.2, 9.8.3: zero]
    const std::uint32_t offset = packet.packet << pair.context.mtu_shift;
    const std::uint32_t length = std::min(pair.context.path_mtu, entry.length - offset);
    if (length > 0) fetch_payload(pair, entry, packet, at, offset, length, AccessPurpose::kRequestPayload);
  }
  requester.next = wire::psn_add(requester.next, packet.psn_count);
  if (requester.packet == entry.packets) {
    ++requester.sending;
    requester.packet = 0;
  }
  if (packet.pending == 0 && at == pair.transmit.head()) {
    core_.list_flow(pair, Flow::kRequests, ready_class(pair));
  }
}

// All that prepare() and prepare_packet() do for requests of one packet, in hand, in one piece of memory.
bool Requester::prepare_posted(QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  // As many as may_fetch_payload() and has_room() allow, if not more than there are and the ring takes.
  const std::int32_t slots = std::min(
      core_.port.common() - verbs::kMaxScatterEntries,
      static_cast<std::int32_t>(core_.port.available()) - static_cast<std::int32_t>(core_.access_reserve()));
  const std::int32_t window = static_cast<std::int32_t>(requester.window) -
                              wire::psn_difference(requester.next, requester.unacknowledged);
  const std::uint32_t wanted =
      std::min(pair.send.tail() - requester.sending, pair.transmit.capacity() - pair.transmit.size());
  const std::uint32_t most =
      std::min(wanted, static_cast<std::uint32_t>(std::max(0, std::min(slots, window))));
  const Position first = pair.transmit.tail();
  Psn psn = requester.next;
  Psn sequence = requester.sequence;
  Position work = requester.sending;
  for (const Position end = work + most; work != end; ++work) {
    SendEntry& entry = pair.send[work];
    if (!is_single(pair, entry)) break;
    TransmitEntry& packet = pair.transmit.push_known();
    packet.payload.buffer = wire::kNoBuffer;  // The rest comes with the data.
    packet.psn = psn;
    packet.psn_count = 1;
    packet.work = work;
    packet.packet = 0;
    packet.pending = 1;
    packet.acknowledge = true;
    packet.gathered = false;
    packet.failed = false;
    packet.whole = true;
    packet.opcode = single_packet_opcode(entry.verb);
    sequence = wire::psn_add(sequence, 1);
    entry.first_psn = psn;
    entry.packets = 1;
    entry.sequence = sequence;
    psn = wire::psn_add(psn, 1);
  }
  const std::uint32_t count = work - requester.sending;
  if (count == 0) return wanted == 0;
  requester.sequence = sequence;
  requester.next = requester.next_unassigned = psn;
  requester.sending = requester.assigned = work;
  core_.ask_payloads(pair, first, count);
  return count == wanted;
}

// Asks memory for bytes [offset, offset + length) of the message; they may lie in several pieces.
void Requester::fetch_payload(QueuePair& pair, const SendEntry& entry, TransmitEntry& packet, Position at,
                              std::uint32_t offset, std::uint32_t length, AccessPurpose purpose) {
  if (entry.form == SendForm::kInline) {
    packet.payload = wire::slice(entry.inline_data, offset, length);
    core_.pool->retain(packet.payload.buffer);
    return;
  }
  entry.local.for_parts(
      entry.local_count, offset, length, [&](std::uint64_t address, std::uint32_t done, std::uint32_t part) {
        if (part < length && !packet.gathered) {
          const wire::BufferId buffer = core_.pool->acquire(length);
          packet.payload = wire::bytes_payload(core_.pool->data(buffer), length, buffer);
          packet.gathered = true;
        }
        AccessSlot& slot = core_.open_access(purpose, AccessKind::kRead, pair, at, false, entry.space());
        slot.detail = done;
        slot.access.address = address;
        slot.access.length = part;
        slot.access.operation = entry.operation;
        core_.port.issue(slot);
        ++packet.pending;
      });
}

void Requester::discard_prepared(QueuePair& pair) {
  while (!pair.transmit.empty()) {
    core_.pool->release(pair.transmit.front().payload.buffer);
    pair.transmit.pop();
  }
}

// --- Transmission ---

bool Requester::give_up_front(QueuePair& pair) {
  if (pair.transmit.empty() || !pair.transmit.front().failed || pair.transmit.front().pending > 0)
    return false;
  pair.send[pair.transmit.front().work].status = CompletionStatus::kLocalAccess;
  put_back_prepared(pair);
  core_.kick(pair);
  return true;
}

void Requester::put_back_prepared(QueuePair& pair) {
  if (pair.transmit.empty()) return;
  RequesterContext& requester = pair.context.requester;
  const TransmitEntry& packet = pair.transmit.front();
  requester.sending = packet.work;
  requester.packet = packet.packet;
  requester.next = packet.psn;
  discard_prepared(pair);
}

bool Requester::transmit(TimePs now, QueuePair& pair, wire::Packet& out) {
  if (pair.selective != nullptr && is_repair_next(pair)) return transmit_again(now, pair, out);
  RequesterContext& requester = pair.context.requester;
  TransmitEntry& packet = pair.transmit.front();
  if (packet.failed && give_up_front(pair)) return false;
  const SendEntry& entry = pair.send[packet.work];
  fill_packet(pair, entry, packet, out);
  requester.sent = wire::psn_add(packet.psn, packet.psn_count);
  if (pair.context.service != Service::kReliable) [[unlikely]] {
    if (pair.context.service == Service::kDatagram) address_datagram(pair, entry, out);
    note_left(pair, packet);
    return true;
  }
  const Psn psn = packet.psn;
  const bool again = wire::psn_before(psn, requester.highest_sent);
  if (again) {
    ++core_.counters.requests_resent;
    out.traffic_class = wire::TrafficClass::kRetransmission;
  }
  if (wire::psn_after(requester.sent, requester.highest_sent)) requester.highest_sent = requester.sent;
  pair.transmit.pop();  // The payload reference goes with the packet.
  retransmission_.note_sent(now, pair, psn, again);
  give_up_front(pair);  // While there is a packet to tell of, after which the caller looks for accesses.
  if (requester.sending != pair.send.tail()) core_.kick(pair);
  return true;
}

}  // namespace wharf::roce
