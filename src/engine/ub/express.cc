// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/express.h"

#include <algorithm>
#include <cstddef>
#include <memory>

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

// What of a packet only some have: from its transaction header on, and from the operands of a request on.
constexpr std::size_t kTransactionAt = offsetof(wire::Packet, ub) + offsetof(wire::UbPacket, request);
constexpr std::size_t kOperandsAt = offsetof(wire::Packet, ub) + offsetof(wire::UbPacket, extension) +
                                    offsetof(wire::UbPacket::RequestExtension, operands);
// Each packet has its own: header_bytes, operation, payload.
constexpr std::size_t kOwnAt = offsetof(wire::Packet, header_bytes);
constexpr std::size_t kOwnEnd = offsetof(wire::Packet, ub);
static_assert(offsetof(wire::Packet, operation) > kOwnAt && offsetof(wire::Packet, payload) > kOwnAt &&
              offsetof(wire::Packet, destination) < kOwnAt && kOwnEnd - kOwnAt < 24 + sizeof(wire::Payload));

}  // namespace

// --- Initiator
// -----------------------------------------------------------------------------------------------------

/// Makes the only segment of a request and its packet. `bytes`: of data that are asked for or carried. The
/// place of the segment holds a fresh one.
template <bool kUsed>
[[gnu::always_inline]] inline void Express::cut(Jetty& owner, std::uint32_t jetty_id, TpChannel& channel,
                                                std::uint32_t index, PostedRequest& posted,
                                                std::uint64_t request, std::uint32_t bytes, bool carries) {
  Initiator& initiator = parts().initiator;
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
  ++made.generation;
  made.jetty = jetty_id;
  made.channel = index;
  made.request = request;
  made.tassn = tassn;
  made.first_number = packet.logical;
  made.first_packet = place;
  made.length = bytes;
  made.opcode = Initiator::opcode_of(posted.verb);
  if (posted.plain) made.plain_answer = carries ? PlainAnswer::kTaack : PlainAnswer::kData;
  owner.place_of(tassn) = segment;
  ++owner.cursor;
  if (!carries) {
    ++owner.reads_unfinished;
    announce(channel, index);
    return;
  }
  parts().accesses.request<kUsed>({.owner = AccessOwner::kPacketData,
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
  const Initiator& initiator = parts().initiator;
  const std::uint64_t request = owner.cursor;
  if (!parts().takes_short_ways() || request + 1 != owner.posted() || owner.ordered_head != kNoRequest ||
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
  TpChannel& channel = parts().tp.channel(index);
  const std::uint32_t most = carries ? channel.mtu : parts().config.segment_bytes;
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
  const std::uint32_t segments_max = parts().config.transactions_per_jetty;
  if (owner.failed || owner.advance_listed || owner.ordered_head != kNoRequest ||
      owner.cursor != owner.posted() || owner.config.send_completions != engine::kOwn ||
      waiting >= owner.config.send_depth || owner.completions_reserved >= records ||
      segments >= segments_max) {
    return false;
  }
  owner.credit =
      std::min({owner.config.send_depth - static_cast<std::uint32_t>(waiting),
                records - owner.completions_reserved, segments_max - static_cast<std::uint32_t>(segments),
                parts().initiator.segment_room_.most_beside(owner.segments_held)});
  return owner.credit > 0;
}

[[gnu::noinline]] PostStatus Express::post_other(TimePs now, std::uint32_t jetty_id,
                                                 const WorkRequest& request, engine::Submission submission) {
  const PostStatus status = parts().initiator.post(now, jetty_id, request, submission);
  parts().settle(now);
  return status;
}

/// Nobody knows whether the jetty or the channel may take a plain request, or the last one went elsewhere.
template <PlainKind kKind>
[[gnu::noinline]] PostStatus Express::post_anew(TimePs now, Jetty& owner, std::uint32_t jetty_id,
                                                const WorkRequest& request) {
  const Peer* const peer = parts().initiator.peer(request.peer);
  if (peer != nullptr && (owner.credit > 0 || find_credit(owner))) {
    TpChannel& channel = parts().tp.channel(peer->channel);
    owner.route_peer = request.peer;
    owner.route = peer->channel;
    if (channel.credit > 0 || parts().tp.find_credit(channel))
      return post_plain<kKind>(now, jetty_id, request);
  }
  return post_other(now, jetty_id, request, engine::Submission::kInHand);
}

template <PlainKind kKind>
[[gnu::noinline, gnu::flatten]] PostStatus Express::post_plain(TimePs now, std::uint32_t jetty_id,
                                                               const WorkRequest& request) {
  constexpr bool kCarries = kKind == PlainKind::kCarries;
  constexpr bool kAtomic = kKind == PlainKind::kAtomic;
  Initiator& initiator = parts().initiator;
  TpLayer& tp = parts().tp;
  Jetty* const found = initiator.find(jetty_id);
  const std::uint32_t bytes = kAtomic ? 8 : request.length;
  if (found == nullptr || !has_plain_shape(request) ||
      (request.remote.token.id >= kTokenIds && request.verb != Verb::kSend)) {
    return post_other(now, jetty_id, request, engine::Submission::kInHand);
  }
  if (kAtomic ? request.width != 8 || request.local[0].length < 8
              : bytes == 0 || request.local[0].length != bytes ||
                    request.inline_data.kind != wire::PayloadKind::kNone) {
    return post_other(now, jetty_id, request, engine::Submission::kInHand);
  }
  Jetty& owner = *found;
  if (owner.credit == 0 || owner.route_peer != request.peer)
    return post_anew<kKind>(now, owner, jetty_id, request);
  const std::uint32_t index = owner.route;
  TpChannel& channel = tp.channel(index);
  if (bytes > (kCarries ? channel.mtu : parts().config.segment_bytes) ||
      channel.requests_open >= channel.requests_max || !initiator.segment_room_.has_common_left() ||
      !tp.packet_room_.has_common_left() || !initiator.transactions_.has_used() || !tp.packets_.has_used() ||
      !parts().accesses.has_used()) {
    return post_other(now, jetty_id, request, engine::Submission::kInHand);
  }
  if (channel.credit == 0) return post_anew<kKind>(now, owner, jetty_id, request);
  --owner.credit;
  ++owner.completions_reserved;
  const std::uint64_t number = owner.requests.end();
  PostedRequest& posted = *std::construct_at(&owner.requests.append_stale(), request, owner.config.space,
                                             bytes, PostedRequest::Plain());
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
  if (!parts().takes_short_ways() || submission != engine::Submission::kInHand)
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
  return parts_->express().post(now, queue, request, submission);
}

// --- Departures
// ----------------------------------------------------------------------------------------------------

/// What TpLayer::number_header() does when the form is that of its channel, but for header_bytes, operation
/// and payload, and for what follows byte `kBytes` of the packet.
template <std::size_t kBytes>
[[gnu::always_inline]] inline void Express::number_header(const TxPacket& packet, wire::Packet& out) const {
  const wire::Packet& form = parts().tp.form_;
  copy_first<kOwnAt>(out, form);
  copy_first<kBytes - kOwnEnd>(out.ub, form.ub);
  wire::Rtph& rtph = out.ub.rtph;
  rtph.psn = wire::psn_wrap(packet.logical);
  rtph.tpmsn = packet.tpmsn;
  rtph.last = true;
}

/// The data of a packet that leaves, with its reference.
[[gnu::always_inline]] inline void hand_out_data(TxPacket& packet, wire::Packet& out) {
  static constexpr wire::Payload kNoData{};
  if (packet.length > 0) {
    copy_whole(out.payload, packet.data);
    packet.data.buffer = wire::kNoBuffer;
  } else {
    copy_whole(out.payload, kNoData);
  }
}

// A packet has left, and other channels wait for their turn.
[[gnu::noinline]] bool Express::relist(TimePs now, std::uint32_t index) {
  parts().tp.relist(now, index);
  parts().settle(now);
  return true;
}

/// What TpLayer::transmit_new() does when a packet has been built. The only sender stays listed, whether or
/// not it has another one.
[[gnu::always_inline]] inline bool Express::depart(TimePs now, TpChannel& channel, TxPacket& packet) {
  TpLayer& tp = parts().tp;
  packet.state = PacketState::kSent;
  packet.sent_at = now;
  channel.send.sent(packet.next);
  ++channel.send_cursor;
  --channel.unsent;
  ++parts().counters.data_packets_sent;
  ++parts().counters.packets_sent;
  if (tp.only_sender_ == &channel) return true;
  return relist(now, packet.channel);
}

/// Another plain request of one packet that was never sent.
[[gnu::noinline]] bool Express::transmit_other(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out,
                                               TpChannel& channel, TxPacket& packet) {
  const Transaction& transaction = parts().initiator.transactions_[packet.object];
  if (transaction.plain_answer == PlainAnswer::kNone || packet.fetch_failed)
    return parts().transmit(now, allowed, out);
  number_header<sizeof(wire::Packet)>(packet, out);
  hand_out_data(packet, out);
  parts().initiator.fill_packet(packet, false, out);
  parts().tp.set_header_bytes(out);
  return depart(now, channel, packet);
}

/// A plain Write or Read of one packet that was never sent: what Initiator::fill_packet() does.
[[gnu::noinline]] bool Express::transmit_request(TimePs now, wire::TrafficClassMask allowed,
                                                 wire::Packet& out, TpChannel& channel, TxPacket& packet) {
  Initiator& initiator = parts().initiator;
  const Transaction& transaction = initiator.transactions_[packet.object];
  const PostedRequest& request = initiator.jetty(transaction.jetty).posted_request(transaction.request);
  if (transaction.plain_answer == PlainAnswer::kNone || packet.fetch_failed ||
      (request.verb != Verb::kWrite && request.verb != Verb::kRead)) {
    return transmit_other(now, allowed, out, channel, packet);
  }
  number_header<kOperandsAt>(packet, out);
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
  out.header_bytes = parts().tp.header_bytes_[TpLayer::place_of(header)];
  if (out.header_bytes == 0) return parts().transmit(now, allowed, out);
  hand_out_data(packet, out);
  return depart(now, channel, packet);
}

/// An answer of one packet that is no refusal: what Responder::fill_packet() does.
[[gnu::noinline]] bool Express::transmit_response(TimePs now, wire::TrafficClassMask allowed,
                                                  wire::Packet& out, TpChannel& channel, TxPacket& packet) {
  const InboundMessage& message = parts().responder.messages_[packet.object];
  if (message.status != wire::UbResponseStatus::kSuccess || !packet.last)
    return parts().transmit(now, allowed, out);
  number_header<kTransactionAt>(packet, out);
  out.operation = message.operation;
  wire::Atah& header = wire::use_response(out.ub);
  header.opcode = response_of(message.request.opcode);
  header.tassn = message.request.tassn;
  header.requester_id = message.request.requester_id;
  header.requester_type = message.request.requester_type;
  header.info = message.info;
  out.header_bytes = parts().tp.header_bytes_[TpLayer::place_of(header)];
  if (out.header_bytes == 0) return parts().transmit(now, allowed, out);
  hand_out_data(packet, out);
  return depart(now, channel, packet);
}

// The channel is another one than that of the packet before.
[[gnu::noinline]] bool Express::change_form(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out,
                                            TpChannel& channel, TxPacket& packet) {
  parts().tp.make_form(channel, packet.channel);
  return transmit_next(now, allowed, out, channel);
}

/// The next new packet of a channel whose turn it is. A retransmission timer is never held here: that takes a
/// controller.
[[gnu::always_inline]] inline bool Express::transmit_next(TimePs now, wire::TrafficClassMask allowed,
                                                          wire::Packet& out, TpChannel& channel) {
  TpLayer& tp = parts().tp;
  const std::uint32_t place = channel.send.cursor();
  if (!channel.plain || place == kNoSlot || !channel.timer.running())
    return parts().transmit(now, allowed, out);
  TxPacket& packet = tp.packets_[place];
  if (packet.state != PacketState::kReady) return parts().transmit(now, allowed, out);
  if (tp.form_channel_ != packet.channel) return change_form(now, allowed, out, channel, packet);
  if (packet.origin == PacketOrigin::kRequest) return transmit_request(now, allowed, out, channel, packet);
  return transmit_response(now, allowed, out, channel, packet);
}

// Several channels take turns, or none has anything.
[[gnu::noinline]] bool Express::transmit_turn(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  TpLayer& tp = parts().tp;
  if (tp.data_list_.empty()) return parts().transmit(now, allowed, out);
  return transmit_next(now, allowed, out, tp.channel(tp.data_list_.front()));
}

[[gnu::always_inline]] inline bool Express::transmit(TimePs now, wire::TrafficClassMask allowed,
                                                     wire::Packet& out) {
  TpChannel* const channel = parts().tp.only_sender_;
  if (parts().attention != 0 || (allowed & wire::mask_of(wire::TrafficClass::kData)) == 0)
    return parts().transmit(now, allowed, out);
  if (channel == nullptr) return transmit_turn(now, allowed, out);
  return transmit_next(now, allowed, out, *channel);
}

bool UbEngine::transmit(TimePs now, std::uint32_t, wire::TrafficClassMask allowed, wire::Packet& out) {
  return parts_->express().transmit(now, allowed, out);
}

}  // namespace wharf::ub
