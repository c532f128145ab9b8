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
constexpr Bytes kKindMask{255, 0, 255, 0, 255, 255, 0, 0};
constexpr Bytes kKindPlain{static_cast<std::uint8_t>(verbs::AtomicFunction::kOfVerb),
                           0,
                           static_cast<std::uint8_t>(verbs::Delivery::kDefault),
                           0,
                           0,
                           0,
                           0,
                           0};
static_assert(offsetof(WorkRequest, delivery) == kKindAt + 2 &&
              offsetof(WorkRequest, tagged) == kKindAt + 4 && offsetof(WorkRequest, hint) == kKindAt + 5 &&
              kKindAt + 8 <= sizeof(WorkRequest));

inline bool has_plain_shape(const WorkRequest& request) {
  return (word_at(request, kShapeAt) & word_of(kShapeMask)) == word_of(kShapePlain) &&
         (word_at(request, kKindAt) & word_of(kKindMask)) == word_of(kKindPlain) && request.local[0].key == 0;
}

}  // namespace

// --- Initiator
// -----------------------------------------------------------------------------------------------------

/// Makes the only segment of a request and its packet. `bytes`: of data that are asked for or carried.
template <bool kUsed>
[[gnu::always_inline]] inline void Express::cut(Jetty& owner, std::uint32_t jetty_id, TpChannel& channel,
                                                std::uint32_t index, PostedRequest& posted,
                                                std::uint64_t request, std::uint32_t bytes, bool carries) {
  Initiator& initiator = parts_.initiator;
  const std::uint32_t segment =
      kUsed ? initiator.transactions_.acquire_used() : initiator.transactions_.acquire();
  if (!kUsed) WHARF_CHECK(segment != kNoSlot);
  initiator.segment_room_.take(owner.segments_held);
  ++channel.requests_open;
  channel.response_turn = true;
  std::uint32_t place = kNoSlot;
  TxPacket& packet = number<kUsed>(channel, index,
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
  parts_.accesses.request<kUsed>({.owner = AccessOwner::kPacketData,
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
  cut<false>(owner, jetty_id, channel, index, posted, request, posted.issued, carries);
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
  owner.quiet = true;
  return owner.credit > 0;
}

[[gnu::noinline]] PostStatus Express::post_other(TimePs now, std::uint32_t jetty_id,
                                                 const WorkRequest& request, engine::Submission submission) {
  const PostStatus status = parts_.initiator.post(now, jetty_id, request, submission);
  parts_.settle(now);
  return status;
}

/// Nobody knows whether the jetty or the channel may take a plain request.
template <PlainKind kKind>
[[gnu::noinline]] PostStatus Express::post_anew(TimePs now, Jetty& owner, TpChannel& channel,
                                                std::uint32_t jetty_id, const WorkRequest& request) {
  if ((owner.credit > 0 || find_credit(owner)) && (channel.credit > 0 || parts_.tp.find_credit(channel)))
    return post_plain<kKind>(now, jetty_id, request);
  return post_other(now, jetty_id, request, engine::Submission::kInHand);
}

template <PlainKind kKind>
[[gnu::noinline, gnu::flatten]] PostStatus Express::post_plain(TimePs now, std::uint32_t jetty_id,
                                                               const WorkRequest& request) {
  constexpr bool kCarries = kKind == PlainKind::kCarries;
  constexpr bool kAtomic = kKind == PlainKind::kAtomic;
  Initiator& initiator = parts_.initiator;
  TpLayer& tp = parts_.tp;
  Jetty* const found = initiator.find(jetty_id);
  const Peer* const peer = initiator.peer(request.peer);
  const std::uint32_t bytes = kAtomic ? 8 : request.length;
  if (found == nullptr || peer == nullptr || !has_plain_shape(request) ||
      (request.remote.token.id >= kTokenIds && request.verb != Verb::kSend)) {
    return post_other(now, jetty_id, request, engine::Submission::kInHand);
  }
  if (kAtomic ? request.width != 8 || request.local[0].length < 8
              : bytes == 0 || request.local[0].length != bytes ||
                    request.inline_data.kind != wire::PayloadKind::kNone) {
    return post_other(now, jetty_id, request, engine::Submission::kInHand);
  }
  Jetty& owner = *found;
  const std::uint32_t index = peer->channel;
  TpChannel& channel = tp.channel(index);
  if (bytes > (kCarries ? channel.mtu : parts_.config.segment_bytes) ||
      channel.requests_open >= channel.requests_max || !initiator.segment_room_.has_common_left() ||
      !tp.packet_room_.has_common_left() || !initiator.transactions_.has_used() || !tp.packets_.has_used() ||
      !parts_.accesses.has_used()) {
    return post_other(now, jetty_id, request, engine::Submission::kInHand);
  }
  if (owner.credit == 0 || channel.credit == 0)
    return post_anew<kKind>(now, owner, channel, jetty_id, request);
  const std::uint64_t number = owner.cursor;
  --owner.credit;
  ++owner.completions_reserved;
  PostedRequest& posted =
      owner.requests.emplace_back(request, owner.config.space, bytes, PostedRequest::Plain());
  if (kAtomic) {
    posted.operands = {request.operand, request.compare};
    posted.set_atomic_result({});
  }
  cut<true>(owner, jetty_id, channel, index, posted, number, bytes, kCarries);
  return PostStatus::kOk;
}

[[gnu::always_inline]] inline PostStatus Express::post(TimePs now, std::uint32_t jetty_id,
                                                       const WorkRequest& request,
                                                       engine::Submission submission) {
  if (!parts_.takes_short_ways() || submission != engine::Submission::kInHand)
    return post_other(now, jetty_id, request, submission);
  const Verb verb = request.verb;
  if (verb == Verb::kWrite || verb == Verb::kSend)
    return post_plain<PlainKind::kCarries>(now, jetty_id, request);
  if (verb == Verb::kRead) return post_plain<PlainKind::kReads>(now, jetty_id, request);
  if (verbs::is_atomic(verb) && verb != Verb::kCompareSwap)
    return post_plain<PlainKind::kAtomic>(now, jetty_id, request);
  return post_other(now, jetty_id, request, submission);
}

PostStatus UbEngine::post(TimePs now, engine::QueueId queue, const WorkRequest& request,
                          engine::Submission submission) {
  return parts_->express.post(now, queue, request, submission);
}

// --- Departures
// ----------------------------------------------------------------------------------------------------

/// What TpLayer::number_header() does when the form is that of its channel.
[[gnu::always_inline]] inline void Express::number_header(const TxPacket& packet, wire::Packet& out) const {
  copy_whole(out, parts_.tp.form_);
  wire::Rtph& rtph = out.ub.rtph;
  rtph.psn = wire::psn_wrap(packet.logical);
  rtph.tpmsn = packet.tpmsn;
  rtph.last = true;
}

// A packet has left, perhaps the last one of its channel that could.
[[gnu::noinline]] bool Express::relist(TimePs now, std::uint32_t index) {
  parts_.tp.relist(now, index);
  parts_.settle(now);
  return true;
}

/// What TpLayer::transmit_new() does when a packet has been built.
[[gnu::always_inline]] inline bool Express::depart(TimePs now, TpChannel& channel, TxPacket& packet) {
  TpLayer& tp = parts_.tp;
  packet.state = PacketState::kSent;
  packet.sent_at = now;
  const std::uint32_t next = packet.next;
  channel.send.sent(next);
  ++channel.send_cursor;
  --channel.unsent;
  ++parts_.counters.data_packets_sent;
  ++parts_.counters.packets_sent;
  if (next != kNoSlot && tp.packets_[next].state == PacketState::kReady && tp.data_list_.size() == 1)
    return true;  // It can follow.
  return relist(now, packet.channel);
}

/// A plain Write or Read of one packet that was never sent: what Initiator::fill_packet() does.
[[gnu::noinline]] bool Express::transmit_request(TimePs now, wire::TrafficClassMask allowed,
                                                 wire::Packet& out, TpChannel& channel, TxPacket& packet) {
  Initiator& initiator = parts_.initiator;
  const Transaction& transaction = initiator.transactions_[packet.object];
  const PostedRequest& request = initiator.jetty(transaction.jetty).posted_request(transaction.request);
  if (!request.plain || transaction.not_ready_retries > 0 || transaction.page_fault_retries > 0 ||
      packet.fetch_failed || (request.verb != Verb::kWrite && request.verb != Verb::kRead)) {
    return parts_.transmit(now, allowed, out);
  }
  number_header(packet, out);
  out.operation = request.operation;
  wire::Btah& header = out.ub.request;
  wire::UbPacket::RequestExtension& extension = out.ub.extension;
  header.opcode = transaction.opcode;
  header.tassn = static_cast<std::uint16_t>(transaction.tassn);
  header.requester_id = transaction.jetty;
  header.token_value_present = request.remote.token.value != 0;
  extension.maetah.address = request.remote.address;
  extension.maetah.token_id = request.remote.token.id;
  extension.maetah.length = transaction.length;
  extension.token_value = request.remote.token.value;
  out.header_bytes = parts_.tp.header_bytes_[TpLayer::place_of(header)];
  if (out.header_bytes == 0) return parts_.transmit(now, allowed, out);
  if (packet.length > 0) {
    copy_whole(out.payload, packet.data);
    packet.data = {};  // The reference goes out with the packet.
  }
  return depart(now, channel, packet);
}

/// An answer of one packet that is no refusal: what Responder::fill_packet() does.
[[gnu::noinline]] bool Express::transmit_response(TimePs now, wire::TrafficClassMask allowed,
                                                  wire::Packet& out, TpChannel& channel, TxPacket& packet) {
  const InboundMessage& message = parts_.responder.messages_[packet.object];
  if (message.status != wire::UbResponseStatus::kSuccess || !packet.last)
    return parts_.transmit(now, allowed, out);
  number_header(packet, out);
  out.operation = message.operation;
  wire::Atah& header = wire::use_response(out.ub);
  header.opcode = response_of(message.request.opcode);
  header.tassn = message.request.tassn;
  header.requester_id = message.request.requester_id;
  header.requester_type = message.request.requester_type;
  header.info = message.info;
  out.header_bytes = parts_.tp.header_bytes_[TpLayer::place_of(header)];
  if (out.header_bytes == 0) return parts_.transmit(now, allowed, out);
  if (packet.length > 0) {
    copy_whole(out.payload, packet.data);
    packet.data = {};
  }
  return depart(now, channel, packet);
}

// The channel is another one than that of the packet before.
[[gnu::noinline]] bool Express::change_form(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  TpLayer& tp = parts_.tp;
  const std::uint32_t index = tp.data_list_.front();
  tp.make_form(tp.channel(index), index);
  return transmit(now, allowed, out);
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
  if (!channel.plain || place == kNoSlot || channel.timer_held || !channel.timer.running())
    return parts_.transmit(now, allowed, out);
  TxPacket& packet = tp.packets_[place];
  if (packet.state != PacketState::kReady) return parts_.transmit(now, allowed, out);
  if (tp.form_channel_ != index) return change_form(now, allowed, out);
  if (packet.origin == PacketOrigin::kRequest) return transmit_request(now, allowed, out, channel, packet);
  return transmit_response(now, allowed, out, channel, packet);
}

bool UbEngine::transmit(TimePs now, std::uint32_t, wire::TrafficClassMask allowed, wire::Packet& out) {
  return parts_->express.transmit(now, allowed, out);
}

}  // namespace wharf::ub
