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

/// Whether the target is told when the data is there.
constexpr bool announces(Verb verb) { return verb == Verb::kWriteImm || verb == Verb::kWriteNotify; }

/// An immediate or notify belongs to the last segment alone; the earlier ones are plain Writes.
wire::TaOpcode segment_opcode(Verb verb, bool last) {
  return !last && verbs::is_write(verb) ? wire::TaOpcode::kWrite : Initiator::opcode_of(verb);
}

}  // namespace

wire::TaOpcode Initiator::opcode_of(Verb verb) {
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

void Initiator::settle_listed(TimePs now) {
  while (!advance_.empty()) {
    const std::uint32_t id = advance_.front();
    advance_.pop_front();
    jetty(id).advance_listed = false;
    if (jetty(id).fault_pending) [[unlikely]]
      apply_fault(now, jetty(id), id);
    if (jetty(id).used || jetty(id).dying) advance(now, id);
    if (jetty(id).dying) retire(now, id);
  }
}

void Initiator::resume_advance(TimePs now, std::uint32_t jetty_id) {
  jetty(jetty_id).advance_deferred = false;
  if (jetty(jetty_id).used || jetty(jetty_id).dying) advance(now, jetty_id);
  if (jetty(jetty_id).dying) retire(now, jetty_id);
}

void Initiator::advance(TimePs now, std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  if (owner.advance_deferred || owner.requests.empty()) return;
  const ContextKey key{ContextKind::kJetty, jetty_id - kFirstJettyId};
  if (!parts_.contexts.acquire(key)) {
    owner.advance_deferred = true;
    const std::uint64_t at = std::min(owner.cursor, owner.posted() - 1);
    parts_.contexts.defer(key, {.step = DeferredStep::kJettyAdvance, .object = jetty_id},
                          owner.posted_request(std::max(at, owner.head())).operation, false);
    return;
  }
  // A strong request that was let go after the cursor had passed it comes first.
  if (owner.ordered_head != kNoRequest && owner.ordered_head < owner.cursor) {
    const PostedRequest& strong = owner.posted_request(owner.ordered_head);
    if (!strong.parked && !strong.issued_all && !strong.failed && !strong.in_numbering &&
        (!owner.suspended() || strong.begun())) {
      issue_segment(now, jetty_id, owner.ordered_head);
    }
  }
  while (owner.cursor < owner.posted()) {
    const std::uint64_t number = owner.cursor;
    PostedRequest& posted = owner.posted_request(number);
    if (!posted.entry_present || (owner.suspended() && !posted.begun() && !posted.parked)) return;
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
  if (posted.fence && owner.reads_unfinished > 0) {
    if (posted.waiting_since == kNever) posted.waiting_since = now;
    return false;
  }
  posted.admitted = true;
  if (posted.waiting_since != kNever) {
    parts_.span(posted.operation, trace::Stage::kOrderWait, posted.waiting_since, now);
    posted.waiting_since = kNever;
  }
  if (reads_or_atomic(posted.verb)) ++owner.reads_unfinished;
  if (posted.order == verbs::OrderTag::kNone || !owner.holds_strong_back()) return true;
  posted.ordered_before = 0;
  posted.ordered_behind = 0;
  if (owner.ordered_tail == kNoRequest) {
    owner.ordered_head = number;
  } else {
    posted.ordered_before = static_cast<std::uint16_t>(number - owner.ordered_tail);
    owner.posted_request(owner.ordered_tail).ordered_behind = posted.ordered_before;
  }
  owner.ordered_tail = number;
  // [UB-Base 2.0.1 7.4] ROI: a strong request goes when every earlier relaxed or strong one has answered.
  // Later requests of other tags may pass it meanwhile, and it never waits for them.
  if (posted.order == verbs::OrderTag::kStrong && owner.ordered_head != number) {
    posted.parked = true;
    posted.waiting_since = now;
  }
  return true;
}

/// All segments of a request take the same channel, so that its immediate or notify comes behind its data.
std::uint32_t Initiator::channel_of(const Peer& target, std::uint32_t jetty_id, std::uint64_t number) const {
  if (target.channels == 1) return target.channel;
  return parts_.tp.find(target.host, reliable_lane(jetty_id, number, target.channels));
}

// [ns-3-UB] A segment of CTP is one packet, with one TASSN.
std::uint32_t Initiator::segment_bytes_on(std::uint32_t channel) const {
  const TpChannel& over = parts_.tp.channel(channel);
  return over.kind == ChannelKind::kCompact ? over.mtu : parts_.config.segment_bytes;
}

bool Initiator::issue_segment(TimePs now, std::uint32_t jetty_id, std::uint64_t number) {
  Jetty& owner = jetty(jetty_id);
  PostedRequest& posted = owner.posted_request(number);
  // An entry that could not be read names no peer.
  const Peer* const target = peer(posted.peer);
  const std::uint32_t channel = target == nullptr ? kNoSlot : channel_of(*target, jetty_id, number);
  const bool unreachable = channel == kNoSlot || parts_.tp.channel(channel).state != ChannelState::kReady;
  // Its status says so already when its work-queue entry could not be read.
  const bool failed = owner.failed && !owner.suspended();
  if (unreachable || failed || posted.status != CompletionStatus::kSuccess) {
    if (posted.status == CompletionStatus::kSuccess) {
      posted.status =
          target != nullptr && !failed ? CompletionStatus::kRetryExhausted : CompletionStatus::kFlushed;
    }
    posted.failed = true;
    if (posted.segments_open == 0) finish_request(now, owner, jetty_id, number);
    return true;
  }
  // [URMA API] The immediate or the notify says that the data is there, all of it: the segment that carries
  // it goes when the others have been answered well.
  const std::uint32_t most = segment_bytes_on(channel);
  if (posted.segments_open > 0 && announces(posted.verb) && posted.length - posted.issued <= most) {
    return false;
  }
  const std::uint64_t space = owner.transactions.size();
  if (owner.tassn_next - owner.tassn_oldest >= space) return false;
  // One who is refused holds places, and goes on when one of its own comes back.
  if (!segment_room_.has(owner.segments_held)) return false;
  const std::uint32_t index = transactions_.acquire();
  WHARF_CHECK(index != kNoSlot);  // create() made room for what segment_room_ grants.
  segment_room_.take(owner.segments_held);
  Transaction& made = transactions_[index];
  ++made.generation;
  made.state = TransactionState::kQueued;
  made.packets_numbered = 0;
  made.packets_unconfirmed = 0;
  made.counted = false;
  made.jetty = jetty_id;
  made.channel = channel;
  made.request = number;
  made.tassn = owner.tassn_next++;
  made.message_offset = posted.issued;
  made.waiting_since = now;
  if (verbs::is_atomic(posted.verb)) {
    made.length = posted.width;
    made.last_segment = true;
  } else {
    made.length = std::min(most, posted.length - posted.issued);
    made.last_segment = posted.issued + made.length == posted.length;
  }
  made.opcode = segment_opcode(posted.verb, made.last_segment);
  owner.transactions[made.tassn & (space - 1)] = index;
  posted.issued += made.length;
  posted.issued_all = made.last_segment;
  posted.in_numbering = true;
  ++posted.segments_open;
  parts_.tp.enqueue_request(channel, index);
  return true;
}

wire::OperationTag Initiator::operation_of(std::uint32_t index) const {
  const Transaction& transaction = transactions_[index];
  return const_cast<Initiator*>(this)->jetty(transaction.jetty).posted_request(transaction.request).operation;
}

void Initiator::numbering_begins(TimePs now, std::uint32_t index) {
  Transaction& transaction = transactions_[index];
  transaction.state = TransactionState::kSending;
  transaction.counted = true;
  ++parts_.tp.channel(transaction.channel).requests_open;
  if (parts_.traces())
    parts_.span(operation_of(index), trace::Stage::kWindowWait, transaction.waiting_since, now);
  transaction.waiting_since = kNever;
}

void Initiator::numbered_all(TimePs now, std::uint32_t index) {
  Transaction& transaction = transactions_[index];
  transaction.state = TransactionState::kAwaiting;
  Jetty& owner = jetty(transaction.jetty);
  PostedRequest& posted = owner.posted_request(transaction.request);
  posted.in_numbering = false;
  // The usual end of a turn: what advance() would do for the newest request that has all its segments.
  if (owner.cursor == transaction.request && posted.issued_all && owner.cursor + 1 == owner.posted() &&
      !parts_.contexts.limited() && owner.ordered_head == kNoRequest && !owner.advance_listed) {
    ++owner.cursor;
  } else {
    want_advance(owner, transaction.jetty);
  }
  try_finish(now, index);
}

void Initiator::fetch_data(std::uint32_t channel, TxPacket& packet, std::uint64_t reference) {
  const Transaction& transaction = transactions_[packet.object];
  const PostedRequest& request = jetty(transaction.jetty).posted_request(transaction.request);
  const std::uint64_t from = std::uint64_t{transaction.message_offset} + packet.offset;
  if (request.inlined) {
    packet.data = wire::slice(request.inline_data, static_cast<std::uint32_t>(from), packet.length);
    parts_.payloads.retain(packet.data.buffer);
    return;
  }
  if (request.local_count == 0) {
    packet.fetch_failed = true;  // It leaves as poison: the memory is its owner's again.
    fetch_failed(packet.object, engine::AccessStatus::kFault);
    return;
  }
  packet.state = PacketState::kFetching;
  packet.fetches_open = 0;
  const PendingAccess owner{.owner = AccessOwner::kPacketData,
                            .object = channel,
                            .generation = parts_.tp.channel(channel).generation,
                            .detail = reference};
  const std::uint32_t found = for_each_part(
      request.local, request.local_count, from, packet.length,
      [&](std::uint64_t address, std::uint32_t length, std::uint32_t done) {
        if (length < packet.length && packet.data.buffer == wire::kNoBuffer) {
          const wire::BufferId buffer = parts_.payloads.acquire(packet.length);
          packet.data = wire::bytes_payload(parts_.payloads.data(buffer), packet.length, buffer);
        }
        PendingAccess part = owner;
        part.offset = done;
        ++packet.fetches_open;
        engine::Access& access = parts_.accesses.request(engine::AccessKind::kRead, part);
        access.queue = transaction.jetty;
        access.stream = transaction.jetty;
        access.operation = request.operation;
        access.space = request.space;
        access.address = address;
        access.length = length;
      });
  WHARF_CHECK(found == packet.length);
}

void Initiator::fetch_failed(std::uint32_t index, engine::AccessStatus status) {
  Transaction& transaction = transactions_[index];
  if (transaction.status != CompletionStatus::kSuccess) return;
  transaction.status = status == engine::AccessStatus::kPoison ? CompletionStatus::kLocalPoison
                                                               : CompletionStatus::kLocalAccess;
}

[[gnu::noinline]] void Initiator::fill_packet(const TxPacket& packet, bool again, wire::Packet& out) const {
  const Transaction& transaction = transactions_[packet.object];
  const PostedRequest& request =
      const_cast<Initiator*>(this)->jetty(transaction.jetty).posted_request(transaction.request);
  out.operation = request.operation;
  out.ub.transaction = wire::UbTransaction::kRequest;  // What is not said here is zero.
  wire::Btah& header = out.ub.request;
  wire::UbPacket::RequestExtension& extension = out.ub.extension;
  header.opcode = transaction.opcode;
  header.tassn = static_cast<std::uint16_t>(transaction.tassn);
  header.requester_id = transaction.jetty;
  const engine::ServiceMode service = const_cast<Initiator*>(this)->jetty(transaction.jetty).config.service;
  if (service == engine::ServiceMode::kOrderedByTarget)
    header.requester_type = wire::RequesterContextType::kSequence;
  header.service_mode = wire_mode_of(service);
  header.order = static_cast<std::uint8_t>(static_cast<unsigned>(request.order) |
                                           (request.completion_in_order ? 4U : 0U));
  header.solicited = request.solicited && transaction.last_segment;
  header.retry = again || transaction.not_ready_retries > 0 || transaction.page_fault_retries > 0;
  header.environment = environment_of(out.ub.encapsulation);
  header.poison = packet.fetch_failed;
  const std::uint16_t layout = wire::ta_layout(transaction.opcode);
  if ((layout & wire::kTaAddress) != 0) {
    extension.maetah.address = request.remote.address + transaction.message_offset + packet.offset;
    extension.maetah.token_id = request.remote.token.id;
    extension.maetah.length = (layout & wire::kTaPayload) != 0 ? out.payload.length : transaction.length;
    extension.token_value = request.remote.token.value;
  } else {
    extension.token_value = peers_[request.peer].token;
  }
  // Choice: TVETAH is sent when there is a value; a missing value is the value 0.
  header.token_value_present = extension.token_value != 0;
  constexpr std::uint16_t kRare =
      wire::kTaTarget | wire::kTaImmediate | wire::kTaNotify | wire::kTaInvalidate | wire::kTaOperand;
  if ((layout & kRare) != 0) fill_extension(request, layout, extension);
}

void Initiator::fill_extension(const PostedRequest& request, std::uint16_t layout,
                               wire::UbPacket::RequestExtension& extension) const {
  if ((layout & wire::kTaTarget) != 0) {
    extension.mtetah.target_id = peers_[request.peer].jetty;
    extension.mtetah.target_type = peers_[request.peer].target;
    extension.mtetah.hint = request.hint;
  }
  if ((layout & wire::kTaImmediate) != 0) {
    extension.immediate = request.immediate;
  } else if ((layout & wire::kTaNotify) != 0) {
    extension.notify = {request.notify.at.address, request.notify.data, request.notify.at.token.id,
                        request.notify.at.token.value};
  } else if ((layout & wire::kTaInvalidate) != 0) {
    extension.invalidate = {request.invalidate.id, request.invalidate.value};
  } else if ((layout & wire::kTaOperand) != 0) {
    extension.operands = {request.operands.operand[0], request.operands.operand[1],
                          request.operands.compare[0], request.operands.compare[1]};
  }
}

}  // namespace wharf::ub
