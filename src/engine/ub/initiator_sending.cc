// SPDX-License-Identifier: Apache-2.0
// The initiator, sending side: which request is next, and how it becomes TA segments and packets.
// [UB-Base 2.0.1 7.2, 7.4]
#include "engine/ub/initiator.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

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

}  // namespace

void Initiator::want_advance(std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  if (owner.advance_listed) return;
  owner.advance_listed = true;
  advance_.push_back(jetty_id);
}

void Initiator::settle_listed(TimePs now) {
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
  const bool unreachable = !target.used || parts_.tp.channel(target.channel).state != ChannelState::kReady;
  // Its status says so already when its work-queue entry could not be read.
  if (unreachable || owner.failed || posted.status != CompletionStatus::kSuccess) {
    if (posted.status == CompletionStatus::kSuccess) {
      posted.status =
          target.used && !owner.failed ? CompletionStatus::kRetryExhausted : CompletionStatus::kFlushed;
    }
    posted.failed = true;
    if (posted.segments_open == 0) finish_request(now, jetty_id, number);
    return true;
  }
  const std::uint64_t space = owner.transactions.size();
  if (owner.tassn_next - owner.tassn_oldest >= space) return false;
  const std::uint32_t index = transactions_.acquire();
  WHARF_CHECK(index != kNoSlot);  // create() made room for the TASSN space of every jetty.
  const std::uint32_t generation = transactions_[index].generation;
  Transaction& made = *std::construct_at(&transactions_[index]);
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
  transaction.counted = true;
  ++parts_.tp.channel(transaction.channel).requests_open;
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

}  // namespace wharf::ub
