// SPDX-License-Identifier: Apache-2.0
// The initiator: from posted requests to TA segments, and from responses to finished requests. [UB-Base 2.0.1
// 7]
#include "engine/ub/transaction.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ub/engine_parts.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

wire::TaOpcode opcode_of(Verb verb) {
  switch (verb) {
    case Verb::kRead:
    case Verb::kLoad:
      return wire::TaOpcode::kRead;
    case Verb::kWrite:
    case Verb::kStore:
      return wire::TaOpcode::kWrite;
    case Verb::kWriteImm:
      return wire::TaOpcode::kWriteImmediate;
    case Verb::kWriteNotify:
      return wire::TaOpcode::kWriteNotify;
    case Verb::kSend:
      return wire::TaOpcode::kSend;
    case Verb::kSendImm:
      return wire::TaOpcode::kSendImmediate;
    case Verb::kSendInvalidate:
      return wire::TaOpcode::kSendInvalidate;
    case Verb::kCompareSwap:
      return wire::TaOpcode::kAtomicCompareSwap;
    case Verb::kSwap:
      return wire::TaOpcode::kAtomicSwap;
    case Verb::kAtomicStore:
      return wire::TaOpcode::kAtomicStore;
    case Verb::kAtomicLoad:
      return wire::TaOpcode::kAtomicLoad;
    case Verb::kFetchAdd:
      return wire::TaOpcode::kAtomicFetchAdd;
    case Verb::kFetchSub:
      return wire::TaOpcode::kAtomicFetchSub;
    case Verb::kFetchAnd:
      return wire::TaOpcode::kAtomicFetchAnd;
    case Verb::kFetchOr:
      return wire::TaOpcode::kAtomicFetchOr;
    case Verb::kFetchXor:
      return wire::TaOpcode::kAtomicFetchXor;
  }
  WHARF_UNREACHABLE();
}

/// An immediate or notify belongs to the last segment alone; the earlier ones are plain Writes.
wire::TaOpcode segment_opcode(Verb verb, bool last) {
  return !last && verbs::is_write(verb) ? wire::TaOpcode::kWrite : opcode_of(verb);
}

bool reads_or_atomic(Verb verb) { return verb == Verb::kRead || verbs::is_atomic(verb); }

wire::TaOpcode response_of(wire::TaOpcode opcode) {
  if (opcode == wire::TaOpcode::kRead) return wire::TaOpcode::kReadResponse;
  return wire::is_atomic(opcode) ? wire::TaOpcode::kAtomicResponse : wire::TaOpcode::kTaack;
}

/// The status of RSPST 3 by its RSPINFO; see wire::UbResponseInfo.
CompletionStatus refused_status(std::uint8_t info) {
  switch (static_cast<wire::UbResponseInfo>(info)) {
    case wire::UbResponseInfo::kUnsupportedOpcode:
      return CompletionStatus::kRemoteUnsupportedRequest;
    case wire::UbResponseInfo::kAccess:
      return CompletionStatus::kRemoteAccess;
    case wire::UbResponseInfo::kPoison:
      return CompletionStatus::kRemotePoison;
    case wire::UbResponseInfo::kNone:
    case wire::UbResponseInfo::kLength:
    case wire::UbResponseInfo::kJettyState:
      break;
  }
  return CompletionStatus::kRemoteOperation;
}

}  // namespace

// --- Issuing
// -------------------------------------------------------------------------------------------------------

void Initiator::want_advance(std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  if (owner.advance_listed) return;
  owner.advance_listed = true;
  advance_.push_back(jetty_id);
}

void Initiator::settle(TimePs now) {
  while (!advance_.empty()) {
    const std::uint32_t id = advance_.front();
    advance_.pop_front();
    jetty(id).advance_listed = false;
    if (jetty(id).used) advance(now, id);
  }
}

void Initiator::resume_advance(TimePs now, std::uint32_t jetty_id) {
  jetty(jetty_id).advance_deferred = false;
  if (jetty(jetty_id).used) advance(now, jetty_id);
}

void Initiator::advance(TimePs now, std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  if (owner.advance_deferred || owner.requests.empty()) return;
  const ContextKey key{ContextKind::kJetty, jetty_id - kFirstJettyId};
  if (!parts_.contexts.acquire(key)) {
    owner.advance_deferred = true;
    const std::uint64_t at = std::min(owner.cursor, owner.posted() - 1);
    parts_.contexts.defer(key, {.step = DeferredStep::kJettyAdvance, .object = jetty_id},
                          owner.posted_request(std::max(at, owner.head)).request.operation, false);
    return;
  }
  // A strong request that was let go after the cursor had passed it comes first.
  if (owner.ordered_head != kNoRequest && owner.ordered_head < owner.cursor) {
    const PostedRequest& strong = owner.posted_request(owner.ordered_head);
    if (!strong.parked && !strong.issued_all && !strong.failed && !strong.in_numbering) {
      issue_segment(now, jetty_id, owner.ordered_head);
    }
  }
  while (owner.cursor < owner.posted()) {
    const std::uint64_t number = owner.cursor;
    PostedRequest& posted = owner.posted_request(number);
    if (!posted.entry_present) return;
    if (!posted.admitted && !admit(now, owner, number)) return;
    if (posted.parked || posted.failed || posted.issued_all) {
      if (posted.in_numbering) return;
      ++owner.cursor;
      continue;
    }
    if (posted.in_numbering || !issue_segment(now, jetty_id, number)) return;
  }
}

bool Initiator::admit(TimePs now, Jetty& owner, std::uint64_t number) {
  PostedRequest& posted = owner.posted_request(number);
  // [UB-Base 2.0.1 7.4; URMA fence] Earlier reads and atomics must have answered; writes and sends are not
  // waited for.
  if (posted.request.fence && owner.reads_unfinished > 0) {
    if (posted.waiting_since == kNever) posted.waiting_since = now;
    return false;
  }
  posted.admitted = true;
  parts_.span(posted.request.operation, trace::Stage::kOrderWait, posted.waiting_since, now);
  posted.waiting_since = kNever;
  if (reads_or_atomic(posted.request.verb)) ++owner.reads_unfinished;
  if (posted.request.order == verbs::OrderTag::kNone) return true;
  posted.ordered_previous = owner.ordered_tail;
  posted.ordered_next = kNoRequest;
  if (owner.ordered_tail == kNoRequest) {
    owner.ordered_head = number;
  } else {
    owner.posted_request(owner.ordered_tail).ordered_next = number;
  }
  owner.ordered_tail = number;
  // [UB-Base 2.0.1 7.4] ROI: a strong request goes when every earlier relaxed or strong one has answered.
  // Later requests of other tags may pass it meanwhile, and it never waits for them.
  if (posted.request.order == verbs::OrderTag::kStrong && owner.ordered_head != number) {
    posted.parked = true;
    posted.waiting_since = now;
  }
  return true;
}

bool Initiator::issue_segment(TimePs now, std::uint32_t jetty_id, std::uint64_t number) {
  Jetty& owner = jetty(jetty_id);
  PostedRequest& posted = owner.posted_request(number);
  const verbs::WorkRequest& request = posted.request;
  const Peer& target = peers_[request.peer];
  if (!target.used || parts_.tp.channel(target.channel).state != ChannelState::kReady) {
    if (posted.status == CompletionStatus::kSuccess) {
      posted.status = target.used ? CompletionStatus::kRetryExhausted : CompletionStatus::kFlushed;
    }
    posted.failed = true;
    if (posted.segments_open == 0) finish_request(now, jetty_id, number);
    return true;
  }
  const std::uint64_t space = owner.transactions.size();
  if (owner.tassn_next - owner.tassn_oldest >= space) return false;
  std::uint32_t index = transactions_.acquire();
  if (index == kNoSlot) {
    transactions_.reserve(transactions_.capacity() == 0 ? 64 : transactions_.capacity() * 2);
    backoff_.reserve(transactions_.capacity());
    index = transactions_.acquire();
  }
  Transaction& made = transactions_[index];
  const std::uint32_t generation = made.generation;
  made = Transaction{};
  made.generation = generation;
  made.jetty = jetty_id;
  made.channel = target.channel;
  made.request = number;
  made.tassn = owner.tassn_next++;
  made.message_offset = posted.issued;
  made.waiting_since = now;
  if (verbs::is_atomic(request.verb)) {
    made.length = request.width;
    made.last_segment = true;
  } else {
    made.length = std::min(parts_.config.segment_bytes, request.length - posted.issued);
    made.last_segment = posted.issued + made.length == request.length;
  }
  made.opcode = segment_opcode(request.verb, made.last_segment);
  owner.transactions[made.tassn & (space - 1)] = index;
  posted.issued += made.length;
  posted.issued_all = made.last_segment;
  posted.in_numbering = true;
  ++posted.segments_open;
  parts_.tp.enqueue_request(target.channel, index);
  return true;
}

std::uint32_t Initiator::payload_length(std::uint32_t index) const {
  const Transaction& transaction = transactions_[index];
  return (wire::ta_layout(transaction.opcode) & wire::kTaPayload) != 0 ? transaction.length : 0;
}

wire::OperationTag Initiator::operation_of(std::uint32_t index) const {
  const Transaction& transaction = transactions_[index];
  return const_cast<Initiator*>(this)
      ->jetty(transaction.jetty)
      .posted_request(transaction.request)
      .request.operation;
}

void Initiator::numbering_begins(TimePs now, std::uint32_t index) {
  Transaction& transaction = transactions_[index];
  transaction.state = TransactionState::kSending;
  parts_.span(operation_of(index), trace::Stage::kWindowWait, transaction.waiting_since, now);
  transaction.waiting_since = kNever;
}

void Initiator::numbered(std::uint32_t index, std::uint64_t number) {
  Transaction& transaction = transactions_[index];
  if (transaction.packets_numbered++ == 0) transaction.first_number = number;
  ++transaction.packets_unconfirmed;
}

void Initiator::numbered_all(TimePs now, std::uint32_t index) {
  Transaction& transaction = transactions_[index];
  transaction.state = TransactionState::kAwaiting;
  jetty(transaction.jetty).posted_request(transaction.request).in_numbering = false;
  const std::uint32_t jetty_id = transaction.jetty;
  want_advance(jetty_id);
  try_finish(now, index);
}

void Initiator::fetch_data(std::uint32_t channel, TxPacket& packet) {
  const Transaction& transaction = transactions_[packet.object];
  const verbs::WorkRequest& request = jetty(transaction.jetty).posted_request(transaction.request).request;
  std::uint64_t from = std::uint64_t{transaction.message_offset} + packet.offset;
  if (request.inline_data.kind != wire::PayloadKind::kNone) {
    packet.data = wire::slice(request.inline_data, static_cast<std::uint32_t>(from), packet.length);
    parts_.payloads.retain(packet.data.buffer);
    return;
  }
  packet.state = PacketState::kFetching;
  packet.fetches_open = 0;
  PendingAccess owner;
  owner.owner = AccessOwner::kPacketData;
  owner.object = channel;
  owner.generation = parts_.tp.channel(channel).generation;
  owner.detail = packet.logical;
  engine::Access access;
  access.kind = engine::AccessKind::kRead;
  access.queue = transaction.jetty;
  access.stream = transaction.jetty;
  access.operation = request.operation;
  std::uint32_t left = packet.length;
  for (std::uint8_t i = 0; i < request.local_count && left > 0; ++i) {
    const verbs::ScatterEntry& entry = request.local[i];
    if (from >= entry.length) {
      from -= entry.length;
      continue;
    }
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(entry.length - from, left));
    if (piece < packet.length && packet.data.buffer == wire::kNoBuffer) {
      const wire::BufferId buffer = parts_.payloads.acquire(packet.length);
      packet.data = wire::bytes_payload(parts_.payloads.data(buffer), packet.length, buffer);
    }
    access.address = entry.address + from;
    access.length = piece;
    owner.offset = packet.length - left;
    ++packet.fetches_open;
    parts_.accesses.request(access, owner);
    from = 0;
    left -= piece;
  }
  WHARF_CHECK(left == 0);
}

void Initiator::fetch_failed(std::uint32_t index, engine::AccessStatus status) {
  Transaction& transaction = transactions_[index];
  if (transaction.status != CompletionStatus::kSuccess) return;
  transaction.status = status == engine::AccessStatus::kPoison ? CompletionStatus::kLocalPoison
                                                               : CompletionStatus::kLocalAccess;
}

void Initiator::fill_packet(const TxPacket& packet, bool again, wire::Packet& out) const {
  const Transaction& transaction = transactions_[packet.object];
  const verbs::WorkRequest& request =
      const_cast<Initiator*>(this)->jetty(transaction.jetty).posted_request(transaction.request).request;
  const Peer& target = peers_[request.peer];
  out.operation = request.operation;
  wire::Btah& header = wire::use_request(out.ub);
  wire::UbPacket::RequestExtension& extension = out.ub.extension;
  header.opcode = transaction.opcode;
  header.tassn = static_cast<std::uint16_t>(transaction.tassn);
  header.requester_id = transaction.jetty;
  header.order = static_cast<std::uint8_t>(static_cast<unsigned>(request.order) |
                                           (request.completion_in_order ? 4U : 0U));
  header.solicited = request.solicited && transaction.last_segment;
  header.retry = again || transaction.not_ready_retries > 0 || transaction.page_fault_retries > 0;
  header.environment = wire::profile(out.ub.encapsulation) == wire::UbProfile::kP2OpenUrma ? 1 : 0;
  header.poison = packet.fetch_failed;
  const std::uint16_t layout = wire::ta_layout(transaction.opcode);
  if ((layout & wire::kTaAddress) != 0) {
    extension.maetah.address = request.remote.address + transaction.message_offset + packet.offset;
    extension.maetah.token_id = request.remote.token.id;
    extension.maetah.length = (layout & wire::kTaPayload) != 0 ? out.payload.length : transaction.length;
    extension.token_value = request.remote.token.value;
  } else {
    extension.token_value = target.token;
  }
  // Choice: TVETAH is sent when there is a value; a missing value is the value 0.
  header.token_value_present = extension.token_value != 0;
  if ((layout & wire::kTaTarget) != 0) {
    extension.mtetah.target_id = target.jetty;
    extension.mtetah.target_type = wire::TargetContextType::kJetty;
  }
  if ((layout & wire::kTaImmediate) != 0) {
    extension.immediate = request.immediate;
  } else if ((layout & wire::kTaNotify) != 0) {
    extension.notify = {request.notify.address, request.immediate, request.notify.token.id,
                        request.notify.token.value};
  } else if ((layout & wire::kTaInvalidate) != 0) {
    extension.invalidate = {request.invalidate.id, request.invalidate.value};
  } else if ((layout & wire::kTaOperand) != 0) {
    extension.operands = {request.operand[0], request.operand[1], request.compare[0], request.compare[1]};
  }
}

// --- Responses
// -----------------------------------------------------------------------------------------------------

void Initiator::receive(TimePs now, std::uint32_t channel, const wire::Packet& packet) {
  const wire::Atah& response = packet.ub.response;
  Jetty* owner = find(response.requester_id);
  const std::uint32_t index =
      owner == nullptr ? kNoSlot : owner->transactions[response.tassn & (owner->transactions.size() - 1)];
  if (index == kNoSlot) {
    ++parts_.counters.dropped_response;
    return;
  }
  Transaction& transaction = transactions_[index];
  const bool refusal =
      response.opcode == wire::TaOpcode::kTaack && response.status != wire::UbResponseStatus::kSuccess;
  if (transaction.channel != channel || transaction.answered ||
      static_cast<std::uint16_t>(transaction.tassn) != response.tassn ||
      (transaction.state != TransactionState::kSending && transaction.state != TransactionState::kAwaiting) ||
      (response.opcode != response_of(transaction.opcode) && !refusal)) {
    ++parts_.counters.dropped_response;
    return;
  }
  // What must happen in PSN order happens here; placing the data may wait for a context record.
  const std::uint32_t offset = transaction.received;
  const bool good = response.status == wire::UbResponseStatus::kSuccess;
  if (good && response.opcode == wire::TaOpcode::kReadResponse) {
    if (packet.payload.length > transaction.length - offset) {
      if (transaction.status == CompletionStatus::kSuccess)
        transaction.status = CompletionStatus::kResponseLength;
    } else {
      transaction.received += packet.payload.length;
    }
  }
  if (!good && transaction.answer_status == wire::UbResponseStatus::kSuccess) {
    transaction.answer_status = response.status;
    transaction.answer_info = response.info;
  }
  if (packet.ub.rtph.last) {
    answer(index, response);
    // The target answers when it has the last packet, so a good answer confirms every packet of the request.
    if (good && transaction.state == TransactionState::kAwaiting &&
        transaction.first_number + transaction.packets_numbered <= parts_.tp.channel(channel).send_cursor) {
      ++transaction.steps_deferred;  // Not to be finished before this packet has been worked off.
      parts_.tp.confirm_delivered(now, channel, transaction.first_number,
                                  transaction.first_number + transaction.packets_numbered);
      --transactions_[index].steps_deferred;
    }
  }
  const ContextKey key{ContextKind::kJetty, response.requester_id - kFirstJettyId};
  if (!parts_.contexts.acquire(key)) {
    const std::uint32_t parked = parts_.responder.park(now, packet);
    WHARF_CHECK(parked != kNoSlot);  // The TP layer took the packet because there was room.
    ++transactions_[index].steps_deferred;
    parts_.contexts.defer(key,
                          {.step = DeferredStep::kResponsePacket,
                           .object = index,
                           .generation = transactions_[index].generation,
                           .packet = parked,
                           .detail = offset},
                          packet.operation, false);
    return;
  }
  step_response(now, index, packet, offset);
}

void Initiator::resume_response(TimePs now, std::uint32_t index, std::uint32_t generation,
                                std::uint32_t parked, std::uint32_t offset) {
  const wire::Packet packet = parts_.responder.parked(parked).packet;
  if (transactions_.is_used(index) && transactions_[index].generation == generation) {
    --transactions_[index].steps_deferred;
    step_response(now, index, packet, offset);
  }
  parts_.responder.unpark(parked);
}

void Initiator::step_response(TimePs now, std::uint32_t index, const wire::Packet& packet,
                              std::uint32_t offset) {
  Transaction& transaction = transactions_[index];
  const wire::Atah& response = packet.ub.response;
  if (response.status == wire::UbResponseStatus::kSuccess &&
      transaction.status == CompletionStatus::kSuccess) {
    if (response.opcode == wire::TaOpcode::kReadResponse) place_data(index, offset, packet.payload);
    if (response.opcode == wire::TaOpcode::kAtomicResponse) place_atomic(index, packet.payload);
  }
  try_finish(now, index);
}

void Initiator::place_data(std::uint32_t index, std::uint32_t offset, const wire::Payload& data) {
  const Transaction& transaction = transactions_[index];
  const verbs::WorkRequest& request = jetty(transaction.jetty).posted_request(transaction.request).request;
  std::uint64_t to = std::uint64_t{transaction.message_offset} + offset;
  std::uint32_t done = 0;
  for (std::uint8_t i = 0; i < request.local_count && done < data.length; ++i) {
    const verbs::ScatterEntry& entry = request.local[i];
    if (to >= entry.length) {
      to -= entry.length;
      continue;
    }
    const auto piece =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(entry.length - to, data.length - done));
    write_local(index, entry.address + to, wire::slice(data, done, piece));
    to = 0;
    done += piece;
  }
}

void Initiator::place_atomic(std::uint32_t index, const wire::Payload& data) {
  Transaction& transaction = transactions_[index];
  PostedRequest& posted = jetty(transaction.jetty).posted_request(transaction.request);
  const std::uint32_t width = posted.request.width;
  if (data.length != width) {
    transaction.status = CompletionStatus::kResponseLength;
    return;
  }
  std::array<std::byte, 16> big{};
  wire::fill(data, std::span(big).first(width));
  wire::decode_operand(big.data(), width, posted.atomic_result[0], posted.atomic_result[1]);
  if (posted.request.local_count == 0) return;
  const wire::BufferId buffer = parts_.payloads.acquire(width);
  std::byte* bytes = parts_.payloads.data(buffer);
  std::memcpy(bytes, posted.atomic_result.data(), width);
  write_local(index, posted.request.local[0].address, wire::bytes_payload(bytes, width, buffer));
  parts_.payloads.release(buffer);
}

void Initiator::write_local(std::uint32_t index, std::uint64_t address, const wire::Payload& data) {
  Transaction& transaction = transactions_[index];
  engine::Access access;
  access.kind = engine::AccessKind::kWrite;
  access.queue = transaction.jetty;
  access.stream = transaction.jetty;
  access.address = address;
  access.length = data.length;
  access.data = data;
  access.operation = operation_of(index);
  PendingAccess owner;
  owner.owner = AccessOwner::kResponseWrite;
  owner.object = index;
  owner.generation = transaction.generation;
  owner.buffer = data.buffer;
  parts_.payloads.retain(data.buffer);
  ++transaction.writes_open;
  parts_.accesses.request(access, owner);
}

void Initiator::response_write_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status) {
  Transaction& transaction = transactions_[owner.object];
  WHARF_CHECK(transactions_.is_used(owner.object) && transaction.generation == owner.generation);
  --transaction.writes_open;
  if (status != engine::AccessStatus::kDone && transaction.status == CompletionStatus::kSuccess) {
    transaction.status = status == engine::AccessStatus::kPoison ? CompletionStatus::kLocalPoison
                                                                 : CompletionStatus::kLocalAccess;
  }
  try_finish(now, owner.object);
}

void Initiator::answer(std::uint32_t index, const wire::Atah& response) {
  Transaction& transaction = transactions_[index];
  transaction.answered = true;
  if (transaction.status != CompletionStatus::kSuccess) return;
  switch (transaction.answer_status) {
    case wire::UbResponseStatus::kSuccess:
      if (response.opcode == wire::TaOpcode::kReadResponse && transaction.received != transaction.length) {
        transaction.status = CompletionStatus::kResponseLength;
      }
      return;
    case wire::UbResponseStatus::kReceiverNotReady:
      if (parts_.config.rnr_retry != kRnrRetryForever &&
          transaction.not_ready_retries >= parts_.config.rnr_retry) {
        transaction.status = CompletionStatus::kReceiverNotReady;
      }
      return;
    case wire::UbResponseStatus::kPageFault:
      if (transaction.page_fault_retries >= parts_.config.page_fault_retry) {
        transaction.status = CompletionStatus::kRemoteAccess;
      }
      return;
    case wire::UbResponseStatus::kError:
      transaction.status = refused_status(transaction.answer_info);
      return;
    case wire::UbResponseStatus::kFusedTaack:
      break;
  }
  transaction.status = CompletionStatus::kRemoteOperation;
}

void Initiator::confirmed(TimePs now, std::uint32_t index) {
  --transactions_[index].packets_unconfirmed;
  try_finish(now, index);
}

// --- Ending
// --------------------------------------------------------------------------------------------------------

void Initiator::try_finish(TimePs now, std::uint32_t index) {
  const Transaction& transaction = transactions_[index];
  if (!transaction.answered || transaction.packets_unconfirmed > 0 || transaction.writes_open > 0 ||
      transaction.steps_deferred > 0 || transaction.state != TransactionState::kAwaiting) {
    return;
  }
  const bool again = transaction.status == CompletionStatus::kSuccess &&
                     transaction.answer_status != wire::UbResponseStatus::kSuccess;
  if (again) {
    back_off(now, index);
  } else {
    finish(now, index);
  }
}

void Initiator::back_off(TimePs now, std::uint32_t index) {
  Transaction& transaction = transactions_[index];
  std::uint8_t code = transaction.answer_info;
  if (transaction.answer_status == wire::UbResponseStatus::kPageFault) {
    code = parts_.config.page_fault_timer;
    ++transaction.page_fault_retries;
    ++parts_.counters.page_fault_retries;
  } else {
    if (transaction.not_ready_retries < 255) ++transaction.not_ready_retries;
    ++parts_.counters.receiver_not_ready_retries;
  }
  transaction.state = TransactionState::kBackoff;
  transaction.answered = false;
  transaction.answer_status = wire::UbResponseStatus::kSuccess;
  transaction.received = 0;
  transaction.packets_numbered = 0;
  transaction.waiting_since = now;
  backoff_.set(index, now + rnr_delay(code));
}

void Initiator::expire(TimePs now) {
  while (backoff_.earliest() <= now) {
    const std::uint32_t index = backoff_.earliest_owner();
    backoff_.set(index, kNever);
    Transaction& transaction = transactions_[index];
    parts_.span(operation_of(index), trace::Stage::kReceiverBackoff, transaction.waiting_since, now);
    transaction.waiting_since = now;
    transaction.state = TransactionState::kQueued;
    jetty(transaction.jetty).posted_request(transaction.request).in_numbering = true;
    parts_.tp.enqueue_request(transaction.channel, index);
  }
}

void Initiator::finish(TimePs now, std::uint32_t index) {
  const Transaction ended = transactions_[index];
  ++transactions_[index].generation;
  transactions_.release(index);
  Jetty& owner = jetty(ended.jetty);
  const std::uint64_t mask = owner.transactions.size() - 1;
  owner.transactions[ended.tassn & mask] = kNoSlot;
  while (owner.tassn_oldest < owner.tassn_next && owner.transactions[owner.tassn_oldest & mask] == kNoSlot) {
    ++owner.tassn_oldest;
  }
  PostedRequest& posted = owner.posted_request(ended.request);
  --posted.segments_open;
  if (ended.status != CompletionStatus::kSuccess) {
    if (posted.status == CompletionStatus::kSuccess) posted.status = ended.status;
    posted.failed = true;
  }
  if (posted.segments_open == 0 && (posted.issued_all || posted.failed))
    finish_request(now, ended.jetty, ended.request);
  want_advance(ended.jetty);
}

void Initiator::finish_request(TimePs now, std::uint32_t jetty_id, std::uint64_t number) {
  Jetty& owner = jetty(jetty_id);
  PostedRequest& posted = owner.posted_request(number);
  posted.done = true;
  parts_.payloads.release(posted.request.inline_data.buffer);
  posted.request.inline_data = {};
  if (reads_or_atomic(posted.request.verb)) --owner.reads_unfinished;
  if (posted.request.order != verbs::OrderTag::kNone) {
    unlink_ordered(owner, number);
    release_strong(now, jetty_id);
  }
  if (!posted.request.completion_in_order) push_completion(jetty_id, posted);
  report(jetty_id);
  want_advance(jetty_id);
}

void Initiator::unlink_ordered(Jetty& owner, std::uint64_t number) {
  const PostedRequest& posted = owner.posted_request(number);
  const std::uint64_t previous = posted.ordered_previous;
  const std::uint64_t next = posted.ordered_next;
  (previous == kNoRequest ? owner.ordered_head : owner.posted_request(previous).ordered_next) = next;
  (next == kNoRequest ? owner.ordered_tail : owner.posted_request(next).ordered_previous) = previous;
}

void Initiator::release_strong(TimePs now, std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  if (owner.ordered_head == kNoRequest) return;
  PostedRequest& strong = owner.posted_request(owner.ordered_head);
  if (!strong.parked) return;
  strong.parked = false;
  parts_.span(strong.request.operation, trace::Stage::kOrderWait, strong.waiting_since, now);
  strong.waiting_since = kNever;
  want_advance(jetty_id);
}

void Initiator::channel_failed(TimePs now, std::uint32_t channel) {
  for (verbs::PeerId id = 0; id < peers_.size(); ++id) {
    if (peers_[id].used && peers_[id].channel == channel) {
      parts_.raise({engine::AsyncEventKind::kPeerUnreachable, peers_[id].queue, id});
    }
  }
  for (std::uint32_t index = 0; index < transactions_.capacity(); ++index) {
    if (!transactions_.is_used(index) || transactions_[index].channel != channel) continue;
    Transaction& transaction = transactions_[index];
    if (transaction.status == CompletionStatus::kSuccess &&
        !(transaction.answered && transaction.answer_status == wire::UbResponseStatus::kSuccess)) {
      transaction.status = CompletionStatus::kRetryExhausted;
    }
    backoff_.set(index, kNever);
    transaction.answered = true;
    transaction.state = TransactionState::kAwaiting;
    jetty(transaction.jetty).posted_request(transaction.request).in_numbering = false;
    try_finish(now, index);
  }
}

}  // namespace wharf::ub
