// SPDX-License-Identifier: Apache-2.0
// From work request to message: checks, addressing, opcode and header form. Its packets are built in
// initiator_packets.cc. [UE 1.0 3.4]
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/uet/completion_writing.h"
#include "engine/uet/engine_parts.h"
#include "engine/uet/initiator_build.h"
#include "engine/uet/packet_size.h"
#include "engine/uet/renew.h"

namespace wharf::uet {

using engine::PostStatus;
using verbs::AtomicFunction;
using verbs::Delivery;
using verbs::Verb;
using wire::UetNextHeader;
using wire::UetOpcode;

namespace {

/// The UET atomic of a verb on unsigned words.
wire::UetAtomicOpcode atomic_of(Verb verb) {
  switch (verb) {
    case Verb::kCompareSwap:
      return wire::UetAtomicOpcode::kCompareSwap;
    case Verb::kSwap:
    case Verb::kAtomicStore:
      return wire::UetAtomicOpcode::kWrite;
    case Verb::kAtomicLoad:
      return wire::UetAtomicOpcode::kRead;
    case Verb::kFetchAdd:
      return wire::UetAtomicOpcode::kSum;
    case Verb::kFetchSub:
      return wire::UetAtomicOpcode::kDifference;
    case Verb::kFetchAnd:
      return wire::UetAtomicOpcode::kBitwiseAnd;
    case Verb::kFetchOr:
      return wire::UetAtomicOpcode::kBitwiseOr;
    case Verb::kFetchXor:
      return wire::UetAtomicOpcode::kBitwiseXor;
    case Verb::kLoad:
    case Verb::kStore:
    case Verb::kRead:
    case Verb::kWrite:
    case Verb::kWriteImm:
    case Verb::kWriteNotify:
    case Verb::kSend:
    case Verb::kSendImm:
    case Verb::kSendInvalidate:
      break;
  }
  WHARF_UNREACHABLE();
}

/// Places for posted requests that a queue begins with once it needs any.
constexpr std::size_t kFirstPosted = 8;

bool is_read_like(Verb verb) { return verb == Verb::kRead || verbs::is_atomic(verb); }

}  // namespace

engine::PeerId Initiator::import(const Peer& peer) {
  while (first_free_peer_ < peer_count_ && peers_[first_free_peer_].used) ++first_free_peer_;
  if (first_free_peer_ < peer_count_) {
    peers_[first_free_peer_] = peer;
    return first_free_peer_;
  }
  peers_.push_back(peer);
  return peer_count_++;
}

Result<void> Initiator::forget(engine::PeerId id) {
  if (peer(id) == nullptr) return input_error(fmt::format("peer {}: no such import", id));
  // Those without a message yet name it too: the next import() gets its number.
  std::uint32_t outstanding = peers_[id].outstanding;
  for (engine::QueueId queue = 0; queue < parts_.endpoints.count(); ++queue) {
    const Ring<PostedRequest>& posted = parts_.endpoints[queue].posted;
    for (std::size_t i = 0; i < posted.size(); ++i) outstanding += posted[i].request.peer == id ? 1U : 0U;
  }
  if (outstanding > 0) {
    return input_error(fmt::format("peer {}: found {} requests outstanding, expected none", id, outstanding));
  }
  peers_[id].used = false;
  first_free_peer_ = std::min(first_free_peer_, id);
  forget_plain();
  return {};
}

void Initiator::forget_plain() {
  for (std::uint32_t slot = 0; slot < parts_.outbound.extent(); ++slot)
    parts_.outbound[slot].made_plain = false;
}

void Initiator::report_unreachable(wire::HostAddress host) {
  for (engine::PeerId id = 0; id < peers_.size(); ++id) {
    const Peer& peer = peers_[id];
    if (peer.used && peer.to.host == host)
      parts_.raise({engine::AsyncEventKind::kPeerUnreachable, peer.queue, id});
  }
}

PostStatus Initiator::check(const verbs::WorkRequest& request) const {
  const Verb verb = request.verb;
  if (verbs::is_load_store(verb) || verb == Verb::kWriteNotify || verb == Verb::kSendInvalidate) {
    return PostStatus::kUnsupported;
  }
  if (peer(request.peer) == nullptr || request.local_count > verbs::kMaxScatterEntries)
    return PostStatus::kBadRequest;
  if (request.tagged && !verbs::is_send(verb)) return PostStatus::kBadRequest;
  std::uint64_t local = 0;
  for (std::uint8_t i = 0; i < request.local_count; ++i) local += request.local[i].length;
  const bool typed = request.atomic_function != AtomicFunction::kOfVerb;
  if (verbs::is_atomic(verb) && !typed) {
    const bool wide = request.width == 16 && verb == Verb::kCompareSwap;
    if (request.width != 4 && request.width != 8 && !wide) return PostStatus::kBadRequest;
    if (request.delivery == Delivery::kIdempotent || request.delivery == Delivery::kDatagram) {
      return PostStatus::kUnsupported;
    }
    return request.local_count == 0 || request.local[0].length >= request.width ? PostStatus::kOk
                                                                                : PostStatus::kBadRequest;
  }
  if (typed && !verbs::is_atomic(verb)) return PostStatus::kBadRequest;
  if (request.length > parts_.config.max_message_bytes) return PostStatus::kBadRequest;
  if (typed) {
    // Choice: an atomic message is one packet.
    const std::uint32_t element = wire::uet_datatype_bytes(
        static_cast<wire::UetDatatype>(static_cast<std::uint8_t>(request.atomic_type)));
    if (element == 0 || request.length == 0 || request.length % element != 0 ||
        request.length > parts_.config.payload_mtu || local != request.length || request.local_count != 1) {
      return PostStatus::kBadRequest;
    }
    if (request.delivery == Delivery::kIdempotent || request.delivery == Delivery::kDatagram) {
      return PostStatus::kUnsupported;
    }
    return PostStatus::kOk;
  }
  if (request.inline_data.kind != wire::PayloadKind::kNone) {
    if (!verbs::carries_payload(verb) || request.inline_data.length != request.length)
      return PostStatus::kBadRequest;
  } else if (local != request.length) {
    return PostStatus::kBadRequest;
  }
  if (request.delivery == Delivery::kDatagram &&
      (!verbs::is_send(verb) || request.tagged || request.length > parts_.config.payload_mtu)) {
    return PostStatus::kUnsupported;
  }
  if (request.delivery == Delivery::kIdempotent && verb != Verb::kRead && verb != Verb::kWrite) {
    return PostStatus::kUnsupported;
  }
  return PostStatus::kOk;
}

/// Whether the local keys of a request name what holds its memory.
[[gnu::always_inline]] inline bool Initiator::keys_hold(const verbs::WorkRequest& request) const {
  if (request.local_count == 1 && request.local[0].key == 0) [[likely]]
    return true;
  for (std::uint8_t i = 0; i < request.local_count; ++i) {
    verbs::ScatterEntry piece = request.local[i];
    if (piece.key != 0 && !parts_.regions.resolve(piece, 0)) return false;
  }
  return true;
}

[[gnu::always_inline]] inline bool Initiator::is_plain_write(const verbs::WorkRequest& request) const {
  return request.verb == Verb::kWrite && request.local_count == 1 &&
         request.local[0].length == request.length && !request.tagged &&
         request.inline_data.kind == wire::PayloadKind::kNone &&
         request.atomic_function == AtomicFunction::kOfVerb && request.delivery == Delivery::kDefault &&
         request.length <= parts_.config.max_message_bytes && peer(request.peer) != nullptr;
}

void Initiator::fetch_work_request(engine::QueueId queue, const Endpoint& endpoint, std::uint64_t number,
                                   wire::OperationTag operation) {
  PendingAccess owner;
  owner.owner = AccessOwner::kWorkRequest;
  owner.object = queue;
  owner.detail = number;
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kFetchWorkRequest, kWorkRequestBytes, owner);
  access.queue = queue;
  access.stream = local_stream(queue);
  access.space = endpoint.config.space;
  access.address =
      endpoint.config.send_ring + (number & (endpoint.config.send_depth - 1)) * kWorkRequestBytes;
  access.operation = operation;
}

void Initiator::work_request_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status) {
  Endpoint* endpoint = parts_.endpoints.find(owner.object);
  if (endpoint == nullptr || owner.detail < endpoint->posted_head) return;
  PostedRequest& posted = endpoint->posted[static_cast<std::size_t>(owner.detail - endpoint->posted_head)];
  posted.entry_present = true;
  if (status != engine::AccessStatus::kDone && posted.end == verbs::CompletionStatus::kSuccess)
    posted.end = verbs::CompletionStatus::kLocalOperation;
  admit(now, owner.object);
}

void Initiator::admit(TimePs now, engine::QueueId queue) {
  Endpoint& endpoint = parts_.endpoints[queue];
  while (!endpoint.posted.empty()) {
    const PostedRequest& posted = endpoint.posted.front();
    if (!posted.entry_present) return;
    if (posted.request.fence && endpoint.reads > 0) return;
    if (posted.end != verbs::CompletionStatus::kSuccess) {
      end_unsent(queue, posted);
    } else if (!make_message(now, queue, posted.request)) {
      look_at(queue);
      return;
    }
    endpoint.posted.pop_front();
    ++endpoint.posted_head;
  }
}

void Initiator::admit_starved(TimePs now) {
  if (parts_.endpoints.has_overrun()) parts_.endpoints.fail_overrun(now);
  for (std::uint32_t left = starved_count_; left > 0; --left) {
    if (parts_.outbound.in_use() >= parts_.config.outbound_messages) return;
    const engine::QueueId queue = starved_.pop(parts_.endpoints, &Endpoint::next_starved);
    --starved_count_;
    parts_.endpoints[queue].starved = false;
    admit(now, queue);
    parts_.target.ask_again(now);
  }
}

void Initiator::forget_queue(engine::QueueId queue) {
  forget_plain();
  if (!parts_.endpoints[queue].starved) return;
  starved_.remove(parts_.endpoints, queue, &Endpoint::next_starved);
  --starved_count_;
}

void Initiator::end_unsent(engine::QueueId queue, const PostedRequest& posted) {
  const verbs::WorkRequest& request = posted.request;
  parts_.payloads.release(request.inline_data.buffer);
  parts_.endpoints.complete(queue, local_stream(queue), [&](verbs::Completion& completion) {
    completion.id = request.id;
    completion.status = posted.end;
    completion.kind = verbs::CompletionKind::kSend;
    completion.verb = request.verb;
    completion.operation = request.operation;
  });
}

std::uint32_t Initiator::acquire() { return take_slot(); }

[[gnu::always_inline]] inline std::uint32_t Initiator::take_slot() {
  const std::uint32_t slot = EngineParts::acquire(parts_.outbound, parts_.config.outbound_messages);
  if (slot == kNoSlot) return kNoSlot;
  OutboundMessage& message = parts_.outbound[slot];
  const std::uint32_t generation = message.generation + 1;
  renew(message);
  message.generation = generation;
  message.order = order_++;
  message.ses.message_id = message_id_of(slot);
  if (retry_places_ != parts_.outbound.capacity()) [[unlikely]] {
    retry_places_ = parts_.outbound.capacity();
    retries_.reserve(retry_places_);
  }
  return slot;
}

bool Initiator::make_message(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request) {
  return make_message(now, queue, parts_.endpoints[queue], request);
}

[[gnu::always_inline]] inline bool Initiator::make_message(TimePs now, engine::QueueId queue,
                                                           Endpoint& endpoint,
                                                           const verbs::WorkRequest& request) {
  const std::uint32_t slot = take_slot();
  if (slot == kNoSlot) return false;
  OutboundMessage& message = parts_.outbound[slot];
  Peer& target = peers_[request.peer];
  address(message, queue, endpoint, target, request);
  if (verbs::is_write(request.verb)) {
    message.ses.opcode = UetOpcode::kWrite;
  } else if (request.verb == Verb::kRead) {
    make_read(message, request);
  } else if (verbs::is_send(request.verb)) {
    make_send(slot, request);
  } else {
    make_atomic(message, request);
  }
  choose_form(message);
  if (!set_off(now, slot)) {
    const std::uint32_t region = parts_.outbound[slot].region;
    if (region != kNoSlot) parts_.regions.remove(region);
    parts_.outbound.release(slot);
    return false;
  }
  ++endpoint.outstanding;
  ++target.outstanding;
  if (is_read_like(request.verb)) ++endpoint.reads;
  return true;
}

[[gnu::always_inline]] inline void Initiator::address(OutboundMessage& message, engine::QueueId queue,
                                                      const Endpoint& endpoint, const Peer& target,
                                                      const verbs::WorkRequest& request) const {
  const UetConfig& config = parts_.config;
  message.queue = queue;
  message.peer = request.peer;
  message.id = request.id;
  message.operation = request.operation;
  message.verb = request.verb;
  message.signaled = request.signaled;
  address_to(message, target.to, endpoint.initiator_id);
  message.local_count = request.local_count;
  if (request.local_count == 1) [[likely]] {
    message.local[0] = request.local[0];
    parts_.regions.resolve(message.local[0], endpoint.config.space);
  } else {
    for (std::uint8_t i = 0; i < request.local_count; ++i) {
      message.local[i] = request.local[i];
      parts_.regions.resolve(message.local[i], endpoint.config.space);
    }
  }
  message.inline_data = request.inline_data;
  message.ses.request_length = request.length;
  message.send_length = request.length;
  if (request.remote_complete) message.ses.flags |= wire::kUetDeliverComplete;
  message.ses.buffer_offset = request.remote.address;
  message.ses.memory_key = key_of(request.remote.token);
  message.delivery = request.delivery != Delivery::kDefault ? request.delivery
                     : verbs::is_send(request.verb)         ? config.two_sided_delivery
                                                            : config.one_sided_delivery;
  if (request.verb == Verb::kWriteImm || request.verb == Verb::kSendImm) {
    message.ses.flags |= wire::kUetHeaderData;
    message.ses.header_data = request.immediate;
  }
}

void Initiator::make_read(OutboundMessage& message, const verbs::WorkRequest& request) const {
  message.ses.opcode = UetOpcode::kRead;
  message.send_length = 0;
  message.expects_data = request.length > 0;
  message.needs_answer = request.length > 0 && request.length <= parts_.config.max_ack_data_bytes;
}

void Initiator::make_send(std::uint32_t slot, const verbs::WorkRequest& request) {
  OutboundMessage& message = parts_.outbound[slot];
  message.ses.memory_key = request.tagged ? request.tag : 0;
  message.ses.buffer_offset = 0;
  message.ses.opcode = message.delivery == Delivery::kDatagram ? UetOpcode::kDatagramSend
                       : request.tagged                        ? UetOpcode::kTaggedSend
                                                               : UetOpcode::kSend;
  if (message.delivery != Delivery::kDatagram) prepare_send(slot, request);
}

void Initiator::make_atomic(OutboundMessage& message, const verbs::WorkRequest& request) {
  const bool fetching = request.verb != Verb::kAtomicStore;
  message.ses.opcode = fetching ? UetOpcode::kFetchingAtomic : UetOpcode::kAtomic;
  message.operand = request.operand;
  message.compare = request.compare;
  message.atomic_result = {};
  if (request.atomic_function != AtomicFunction::kOfVerb) {
    message.atomic = static_cast<wire::UetAtomicOpcode>(static_cast<std::uint8_t>(request.atomic_function));
    message.datatype = static_cast<wire::UetDatatype>(static_cast<std::uint8_t>(request.atomic_type));
    message.width = 0;
  } else {
    message.atomic = atomic_of(request.verb);
    message.width = request.width;
    message.datatype = request.width == 4   ? wire::UetDatatype::kUint32
                       : request.width == 8 ? wire::UetDatatype::kUint64
                                            : wire::UetDatatype::kUint128;
    message.ses.request_length = request.width;
    message.atomic_from_operand = true;
  }
  const bool no_operand = wire::uet_has_compare_swap(message.atomic) ||
                          message.atomic == wire::UetAtomicOpcode::kRead ||
                          message.atomic == wire::UetAtomicOpcode::kInvalidate;
  message.send_length = no_operand ? 0 : message.ses.request_length;
  message.expects_data = fetching;
  message.needs_answer = fetching;
}

void Initiator::prepare_send(std::uint32_t slot, const verbs::WorkRequest& request) {
  const UetConfig& config = parts_.config;
  if (request.length <= config.large_send_bytes) return;
  if (config.large_send == LargeSend::kDeferrable) {
    OutboundMessage& message = parts_.outbound[slot];
    message.ses.opcode = request.tagged ? UetOpcode::kDeferrableTaggedSend : UetOpcode::kDeferrableSend;
    return;
  }
  // The remainder is read from one region: scattered and inline data go eagerly.
  if (config.large_send != LargeSend::kRendezvous || request.local_count != 1 ||
      request.inline_data.kind != wire::PayloadKind::kNone ||
      request.length <= config.max_ack_data_bytes) {  // Nothing would be left to read.
    return;
  }
  OutboundMessage& message = parts_.outbound[slot];
  const std::uint32_t eager = std::min(config.eager_bytes, request.length - config.max_ack_data_bytes - 1);
  verbs::SegmentConfig segment;
  segment.base = request.local[0].address + eager;
  segment.length = request.length - eager;
  segment.space = message.local[0].key;
  segment.rights = verbs::kReadOnly;
  const Result<std::uint32_t> region = parts_.regions.add(segment, message.ses.job_id, false, false);
  if (!region) return;
  parts_.regions[*region].message = slot;
  message.region = *region;
  message.eager_length = eager;
  message.send_length = eager;
  message.ses.opcode = request.tagged ? UetOpcode::kRendezvousTaggedSend : UetOpcode::kRendezvousSend;
}

[[gnu::always_inline]] inline void Initiator::choose_form(OutboundMessage& message) const {
  const UetConfig& config = parts_.config;
  message.form = UetNextHeader::kRequestStandard;
  const bool single = message.ses.request_length <= config.payload_mtu &&
                      message.ses.request_length <= wire::kUetPayloadBytesMax;
  const bool one_sided = message.ses.opcode == UetOpcode::kWrite || message.ses.opcode == UetOpcode::kRead ||
                         message.ses.opcode == UetOpcode::kAtomic ||
                         message.ses.opcode == UetOpcode::kFetchingAtomic;
  const bool header_data = (message.ses.flags & wire::kUetHeaderData) != 0;
  const bool plain_send =
      message.ses.opcode == UetOpcode::kSend || message.ses.opcode == UetOpcode::kTaggedSend;
  // [UE 1.0 3.4] SMALL: single-packet RMA with an OPTIMIZED key. MEDIUM: a single packet otherwise; it has no
  // room for both an offset and header data.
  if (config.small_headers && single && one_sided && !header_data &&
      (message.ses.memory_key & kKeyOptimized) != 0 && message.ses.ri_generation == 0) {
    message.form = UetNextHeader::kRequestSmall;
  } else if (config.medium_headers && single && ((one_sided && !header_data) || plain_send)) {
    message.form = UetNextHeader::kRequestMedium;
  }
  std::uint32_t ses = wire::uet_ses_bytes(message.form);
  const wire::UetExtension extension = wire::uet_extension(message.ses.opcode);
  if (extension == wire::UetExtension::kRendezvous) ses += wire::kUetRendezvousBytes;
  if (extension == wire::UetExtension::kAtomic) ses += wire::uet_atomic_bytes(message.atomic);
  const std::uint32_t pds = parts_.cms.uses_credit() ? wire::kUetCcRequestBytes : wire::kUetRequestBytes;
  message.ses_bytes = static_cast<std::uint8_t>(ses);
  message.overhead = static_cast<std::uint16_t>(window_overhead(config, pds + ses));
  message.simple = on_pdc(message.delivery) && message.form == UetNextHeader::kRequestStandard &&
                   extension == wire::UetExtension::kNone && message.send_length <= config.payload_mtu &&
                   (one_sided || plain_send);
}

bool Initiator::launch(TimePs now, std::uint32_t slot) { return set_off(now, slot); }

[[gnu::always_inline]] inline bool Initiator::set_off(TimePs now, std::uint32_t slot) {
  const OutboundMessage& message = parts_.outbound[slot];
  if (message.delivery == Delivery::kDatagram || message.delivery == Delivery::kIdempotent) {
    parts_.rudi.start(now, slot);
    return true;
  }
  const bool ordered = message.delivery == Delivery::kOrdered;
  if (ordered && message.kind == MessageKind::kRequest && peers_[message.peer].waiting > 0) {
    // [UE 1.0 3.4] Order survives a disabled RI: later messages wait behind those that start again.
    schedule_retry(now, slot, now + parts_.config.message_retry_time);
    return true;
  }
  // What the target sends of its own accord belongs to no connection.
  const std::uint32_t route = message.kind == MessageKind::kRequest
                                  ? parts_.pds.route_of(message.ses.job_id, message.peer)
                                  : message.ses.job_id;
  const std::uint32_t pdc = parts_.pds.pdc_for(now, message.host, route, ordered);
  if (pdc == kNoSlot) return false;
  parts_.pds.enqueue(now, pdc, slot);
  return true;
}

void Initiator::launch_on(TimePs now, std::uint32_t pdc, std::uint32_t slot) {
  parts_.pds.enqueue(now, pdc, slot);
}

std::uint64_t Initiator::unsent_window_bytes(const OutboundMessage& message) const {
  const std::uint32_t left = message.send_length - message.sent;
  const std::uint32_t mtu = parts_.config.payload_mtu;
  const std::uint64_t packets = left <= mtu ? 1 : (std::uint64_t{left} + mtu - 1) / mtu;
  return left + packets * message.overhead;
}

void Initiator::add_to_backlog(CongestionContext& context, const OutboundMessage& message) const {
  context.backlog += unsent_window_bytes(message);
}

void Initiator::take_from_backlog(CongestionContext& context, std::uint32_t slot) const {
  context.backlog -= unsent_window_bytes(parts_.outbound[slot]);
}

PostStatus Initiator::post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                           engine::Submission submission) {
  Endpoint* endpoint = parts_.endpoints.find(queue);
  if (endpoint == nullptr || endpoint->failed) return PostStatus::kBadQueue;
  if (!is_plain_write(request)) {
    const PostStatus status = check(request);
    if (status != PostStatus::kOk) return status;
  }
  if (endpoint->outstanding + endpoint->posted.size() >= endpoint->config.send_depth ||
      endpoint->reserved >= endpoint->records()) {
    return PostStatus::kQueueFull;
  }
  ++endpoint->reserved;
  parts_.payloads.retain(request.inline_data.buffer);
  const bool in_hand = submission == engine::Submission::kInHand;
  const bool resolved = keys_hold(request);
  if (in_hand && resolved && endpoint->posted.empty() && !(request.fence && endpoint->reads > 0) &&
      make_message(now, queue, *endpoint, request)) {
    return PostStatus::kOk;
  }
  const std::uint64_t number = endpoint->posted_head + endpoint->posted.size();
  if (endpoint->posted.full()) endpoint->posted.reserve(endpoint->posted.size() * 2 + kFirstPosted);
  PostedRequest& posted = endpoint->posted.emplace_back();
  posted.request = request;
  posted.entry_present = in_hand;
  if (!resolved) posted.end = verbs::CompletionStatus::kLocalAccess;
  if (in_hand) {
    admit(now, queue);
  } else {
    fetch_work_request(queue, *endpoint, number, request.operation);
  }
  return PostStatus::kOk;
}

}  // namespace wharf::uet
