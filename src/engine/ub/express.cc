// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/express.h"

#include <algorithm>
#include <cstddef>

#include "engine/ub/express_numbering.h"
#include "engine/ub/ub_engine.h"

namespace wharf::ub {

using engine::PostStatus;
using verbs::Verb;
using verbs::WorkRequest;

namespace {

// Two words of a request say all that can be unusual about it: verb, order, signaled, fence, solicited,
// completion_in_order, local_count, width; and from its atomic function on.
constexpr std::size_t kShapeAt = offsetof(WorkRequest, verb);
constexpr Bytes kShapeMask{0, 255, 255, 255, 255, 255, 255, 0};
constexpr Bytes kShapePlain{0, 0, 1, 0, 0, 1, 1, 0};
static_assert(offsetof(WorkRequest, order) == kShapeAt + 1 &&
              offsetof(WorkRequest, signaled) == kShapeAt + 2 &&
              offsetof(WorkRequest, fence) == kShapeAt + 3 &&
              offsetof(WorkRequest, solicited) == kShapeAt + 4 &&
              offsetof(WorkRequest, completion_in_order) == kShapeAt + 5 &&
              offsetof(WorkRequest, local_count) == kShapeAt + 6 &&
              offsetof(WorkRequest, width) == kShapeAt + 7);
static_assert(static_cast<int>(verbs::OrderTag::kNone) == 0);
constexpr std::size_t kKindAt = offsetof(WorkRequest, atomic_function);
constexpr Bytes kKindMask{255, 0, 255, 0, 255, 0, 0, 0};
constexpr Bytes kKindPlain{static_cast<std::uint8_t>(verbs::AtomicFunction::kOfVerb),
                           0,
                           static_cast<std::uint8_t>(verbs::Delivery::kDefault),
                           0,
                           0,
                           0,
                           0,
                           0};
static_assert(offsetof(WorkRequest, delivery) == kKindAt + 2 &&
              offsetof(WorkRequest, tagged) == kKindAt + 4 && kKindAt + 8 <= sizeof(WorkRequest));

inline bool has_plain_shape(const WorkRequest& request) {
  return (word_at(request, kShapeAt) & word_of(kShapeMask)) == word_of(kShapePlain) &&
         (word_at(request, kKindAt) & word_of(kKindMask)) == word_of(kKindPlain) && request.local[0].key == 0;
}

}  // namespace

// --- Initiator
// -----------------------------------------------------------------------------------------------------

/// Makes the only segment of a request and its packet. `bytes`: of data that are asked for or carried.
[[gnu::always_inline]] inline void Express::cut(Jetty& owner, std::uint32_t jetty_id, TpChannel& channel,
                                                std::uint32_t index, PostedRequest& posted,
                                                std::uint64_t request, std::uint32_t bytes, bool carries) {
  Initiator& initiator = parts_.initiator;
  const std::uint32_t segment = initiator.transactions_.acquire();
  WHARF_CHECK(segment != kNoSlot);
  initiator.segment_room_.take(owner.segments_held);
  ++channel.requests_open;
  channel.response_turn = true;
  std::uint32_t place = kNoSlot;
  TxPacket& packet = number(channel, index,
                            {.object = segment,
                             .length = carries ? bytes : 0,
                             .origin = PacketOrigin::kRequest,
                             .state = carries ? PacketState::kFetching : PacketState::kReady,
                             .fetches_open = carries},
                            place);
  const std::uint64_t tassn = owner.tassn_next++;
  Transaction& made = initiator.transactions_[segment];
  made.next = kNoSlot;
  made.jetty = jetty_id;
  made.channel = index;
  made.request = request;
  made.tassn = tassn;
  made.first_number = packet.logical;
  made.first_packet = place;
  made.length = bytes;
  made.packets_numbered = 1;
  made.packets_unconfirmed = 1;
  made.message_offset = 0;
  made.writes_open = 0;
  made.received = 0;
  made.steps_deferred = 0;
  made.waiting_since = kNever;
  made.confirmed_at = kNever;
  made.page_fault_retries = 0;
  made.not_ready_retries = 0;
  made.answer_info = 0;
  made.last_segment = true;
  made.counted = true;
  made.opcode = Initiator::opcode_of(posted.verb);
  made.state = TransactionState::kAwaiting;
  made.status = verbs::CompletionStatus::kSuccess;
  made.answered = false;
  made.answer_status = wire::UbResponseStatus::kSuccess;
  owner.transactions[tassn & (parts_.config.transactions_per_jetty - 1)] = segment;
  ++owner.cursor;
  if (!carries) {
    ++owner.reads_unfinished;
    announce(channel, index);
    return;
  }
  parts_.accesses.request({.owner = AccessOwner::kPacketData,
                           .object = index,
                           .generation = channel.generation,
                           .detail = reference_to(place, packet.logical)},
                          {.kind = engine::AccessKind::kRead,
                           .queue = jetty_id,
                           .length = bytes,
                           .space = posted.space,
                           .stream = jetty_id,
                           .address = posted.local.address[0],
                           .operation = posted.operation});
}

bool Express::issue(Jetty& owner, std::uint32_t jetty_id) {
  const Initiator& initiator = parts_.initiator;
  const std::uint64_t request = owner.cursor;
  if (!parts_.takes_short_ways() || request + 1 != owner.posted() || owner.ordered_head != kNoRequest ||
      owner.advance_listed) {
    return false;
  }
  PostedRequest& posted = owner.requests.back();
  const bool atomic = verbs::is_atomic(posted.verb);
  const bool carries = !atomic && posted.verb != Verb::kRead;
  if (posted.status != verbs::CompletionStatus::kSuccess || posted.order != verbs::OrderTag::kNone ||
      posted.fence || posted.inlined || (posted.length == 0 && !atomic) ||
      (carries && posted.local_count != 1)) {
    return false;
  }
  const std::uint32_t index = initiator.peers_[posted.peer].channel;
  TpChannel& channel = parts_.tp.channel(index);
  const std::uint32_t most = carries ? channel.mtu : parts_.config.segment_bytes;
  if ((posted.length > most && !atomic) || channel.requests_open >= channel.requests_max ||
      !may_number(channel) || owner.tassn_next - owner.tassn_oldest >= owner.transactions.size() ||
      !initiator.segment_room_.has(owner.segments_held)) {
    return false;
  }
  posted.admitted = true;
  posted.issued = atomic ? posted.width : posted.length;
  posted.issued_all = true;
  posted.segments_open = 1;
  cut(owner, jetty_id, channel, index, posted, request, posted.issued, carries);
  return true;
}

/// How many plain requests may follow, see Jetty::credit; false: none.
[[gnu::noinline]] bool Express::find_credit(Jetty& owner) const {
  const std::uint64_t waiting = owner.requests.size();
  const std::uint32_t records = owner.config.send_depth + owner.config.receive_depth;
  const std::uint64_t segments = owner.tassn_next - owner.tassn_oldest;
  const std::uint32_t segments_max = parts_.config.transactions_per_jetty;
  if (owner.failed || owner.advance_listed || owner.ordered_head != kNoRequest ||
      owner.cursor != owner.posted() || owner.config.send_completions != engine::kOwn ||
      waiting >= owner.config.send_depth || owner.completions_reserved >= records ||
      segments >= segments_max) {
    return false;
  }
  owner.credit =
      std::min({owner.config.send_depth - static_cast<std::uint32_t>(waiting),
                records - owner.completions_reserved, segments_max - static_cast<std::uint32_t>(segments),
                parts_.initiator.segment_room_.most_beside(owner.segments_held)});
  return owner.credit > 0;
}

[[gnu::always_inline]] inline bool Express::post(std::uint32_t jetty_id, const WorkRequest& request) {
  Initiator& initiator = parts_.initiator;
  Jetty* const found = initiator.find(jetty_id);
  if (found == nullptr || !has_plain_shape(request)) return false;
  Jetty& owner = *found;
  const Verb verb = request.verb;
  const bool carries = verb == Verb::kWrite || verb == Verb::kSend;
  std::uint32_t bytes = request.length;
  std::uint32_t most = parts_.config.segment_bytes;
  if (carries || verb == Verb::kRead) {
    if (bytes == 0 || request.local[0].length != bytes ||
        request.inline_data.kind != wire::PayloadKind::kNone) {
      return false;
    }
  } else if (verbs::is_atomic(verb) && verb != Verb::kCompareSwap && request.width == 8 &&
             request.local[0].length >= 8) {
    bytes = 8;
  } else {
    return false;
  }
  const Peer* const peer = initiator.peer(request.peer);
  if (peer == nullptr || (verb != Verb::kSend && request.remote.token.id >= kTokenIds)) {
    return false;
  }
  if ((owner.credit == 0 && !find_credit(owner)) || !initiator.segment_room_.has_common_left()) return false;
  const std::uint32_t index = peer->channel;
  TpChannel& channel = parts_.tp.channel(index);
  if (carries) most = channel.mtu;
  if (bytes > most || channel.requests_open >= channel.requests_max || !may_number(channel)) return false;
  const std::uint64_t number = owner.cursor;
  --owner.credit;
  ++owner.completions_reserved;
  PostedRequest& posted =
      owner.requests.emplace_back(request, owner.config.space, bytes, PostedRequest::Plain());
  if (verbs::is_atomic(verb)) {
    posted.operands = {request.operand, request.compare};
    posted.set_atomic_result({});
  }
  cut(owner, jetty_id, channel, index, posted, number, bytes, carries);
  return true;
}

[[gnu::flatten]] PostStatus UbEngine::post(TimePs now, engine::QueueId queue, const WorkRequest& request,
                                           engine::Submission submission) {
  EngineParts& parts = *parts_;
  if (parts.takes_short_ways() && submission == engine::Submission::kInHand &&
      parts.express.post(queue, request)) [[likely]] {
    return PostStatus::kOk;
  }
  const PostStatus status = parts.initiator.post(now, queue, request, submission);
  parts.settle(now);
  return status;
}

// --- Departures
// ----------------------------------------------------------------------------------------------------

/// What Initiator::fill_packet() does for a plain Write or Read that was never sent. False: it is none.
[[gnu::always_inline]] inline bool Express::request_header(const TxPacket& packet, wire::Packet& out) const {
  Initiator& initiator = parts_.initiator;
  const Transaction& transaction = initiator.transactions_[packet.object];
  const PostedRequest& request = initiator.jetty(transaction.jetty).posted_request(transaction.request);
  if (!request.plain || transaction.not_ready_retries > 0 || transaction.page_fault_retries > 0 ||
      packet.fetch_failed || (request.verb != Verb::kWrite && request.verb != Verb::kRead)) {
    return false;
  }
  out.operation = request.operation;
  out.ub.transaction = wire::UbTransaction::kRequest;
  wire::Btah& header = out.ub.request;
  wire::UbPacket::RequestExtension& extension = out.ub.extension;
  header.opcode = transaction.opcode;
  header.tassn = static_cast<std::uint16_t>(transaction.tassn);
  header.requester_id = transaction.jetty;
  header.order = 4;  // ODR: no order tag, completion in order.
  header.environment = wire::profile(parts_.config.encapsulation) == wire::UbProfile::kP2OpenUrma ? 1 : 0;
  extension.maetah.address = request.remote.address;
  extension.maetah.token_id = request.remote.token.id;
  extension.maetah.length = transaction.length;
  extension.token_value = request.remote.token.value;
  header.token_value_present = extension.token_value != 0;
  out.header_bytes = parts_.tp.header_bytes(TpLayer::place_of(header), out);
  return true;
}

/// What Responder::fill_packet() does for an answer that is no refusal. False: it is one.
[[gnu::always_inline]] inline bool Express::response_header(const TxPacket& packet, wire::Packet& out) const {
  const InboundMessage& message = parts_.responder.messages_[packet.object];
  if (message.status != wire::UbResponseStatus::kSuccess) return false;
  wire::Atah& header = wire::use_response(out.ub);
  header.opcode = response_of(message.request.opcode);
  header.tassn = message.request.tassn;
  header.requester_id = message.request.requester_id;
  header.requester_type = message.request.requester_type;
  header.info = message.info;
  out.operation = message.operation;
  out.header_bytes = parts_.tp.header_bytes(TpLayer::place_of(header), out);
  return true;
}

[[gnu::always_inline]] inline bool Express::transmit(TimePs now, wire::TrafficClassMask allowed,
                                                     wire::Packet& out) {
  TpLayer& tp = parts_.tp;
  if (parts_.attention != 0 || (allowed & wire::mask_of(wire::TrafficClass::kData)) == 0 ||
      tp.data_list_.empty()) {
    return parts_.transmit(now, allowed, out);
  }
  const std::uint32_t index = tp.data_list_.front();
  TpChannel& channel = tp.channel(index);
  const std::uint32_t place = channel.send.cursor();
  if (!channel.plain || place == kNoSlot) return parts_.transmit(now, allowed, out);
  TxPacket& packet = tp.packets_[place];
  if (packet.state != PacketState::kReady) return parts_.transmit(now, allowed, out);
  tp.number_header(channel, packet, out);
  if (packet.origin == PacketOrigin::kRequest) {
    if (!request_header(packet, out)) {
      parts_.initiator.fill_packet(packet, false, out);
      tp.set_header_bytes(out);
    }
  } else if (!response_header(packet, out)) {
    parts_.responder.fill_packet(packet, out);
    tp.set_header_bytes(out);
  }
  if (packet.length > 0) packet.data = {};  // The reference goes out with the packet.
  packet.state = PacketState::kSent;
  packet.sent_at = now;
  const std::uint32_t next = packet.next;
  channel.send.sent(next);
  ++channel.send_cursor;
  --channel.unsent;
  ++parts_.counters.data_packets_sent;
  ++parts_.counters.packets_sent;
  if (channel.timer_held || !channel.timer.running()) [[unlikely]]
    tp.start_timer(now, index);
  if (next != kNoSlot && tp.packets_[next].state == PacketState::kReady && tp.data_list_.size() == 1) {
    return true;  // It can follow.
  }
  tp.relist(now, index);
  parts_.settle(now);
  return true;
}

bool UbEngine::transmit(TimePs now, std::uint32_t, wire::TrafficClassMask allowed, wire::Packet& out) {
  return parts_->express.transmit(now, allowed, out);
}

}  // namespace wharf::ub
