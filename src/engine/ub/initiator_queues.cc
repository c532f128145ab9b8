// SPDX-License-Identifier: Apache-2.0
// The application's side of the initiator: making queues, posting, and the order in which completions are
// reported. [UB-Base 2.0.1 7.4; URMA API]
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/vector_room.h"
#include "engine/ub/engine_parts.h"
#include "engine/ub/initiator.h"

namespace wharf::ub {

using engine::PostStatus;
using verbs::CompletionStatus;
using verbs::Verb;

Initiator::Initiator(EngineParts& parts)
    : parts_(parts), segment_room_(parts.config.transactions_per_jetty, kSegmentShare, kSegmentsCommon) {
  public_.fill(kNoSlot);
}

Result<std::uint32_t> Initiator::create(const engine::QueueConfig& config) {
  for (const std::uint32_t depth : {config.send_depth, config.receive_depth}) {
    if (!std::has_single_bit(depth) || depth > 65536) {
      return input_error(fmt::format("jetty depth: found {}, expected a power of two up to 65536", depth));
    }
  }
  WHARF_TRY(check_shared(config));
  const engine::ServiceMode service =
      config.service != engine::ServiceMode::kDefault ? config.service : parts_.config.service;
  if (service == engine::ServiceMode::kUnreliable)
    return input_error("jetty: service mode uc, expected roi, rot, rol or uno");
  const engine::TransportMode transport =
      config.transport != engine::TransportMode::kDefault ? config.transport
      : parts_.config.transport == engine::TransportMode::kCompact && travels_compactly(service)
          ? engine::TransportMode::kCompact
          : engine::TransportMode::kReliable;
  WHARF_TRY(check_transport(parts_.config, transport, service));
  if (is_sequenced(service) && parts_.config.transactions_per_jetty > OrderTracker::kWindow) {
    return input_error(
        fmt::format("jetty: service mode {} with transactions_per_jetty {}, expected at most {}",
                    engine::name(service), parts_.config.transactions_per_jetty, OrderTracker::kWindow));
  }
  auto at = static_cast<std::uint32_t>(jetties_.size());
  std::unique_ptr<Jetty> fresh;
  if (resting_.size() > kRestingJetties || at + kFirstJettyId >= kJettyIds) {
    if (resting_.empty()) {
      return input_error(
          fmt::format("jetties: {} exist, expected at most {}", at, kJettyIds - kFirstJettyId));
    }
    at = resting_.front();
  } else {
    WHARF_TRY(parts_.contexts.reserve({ContextKind::kJetty, at}));
    fresh = std::make_unique<Jetty>();
    make_room_for_one(jetties_);
    completed_.reserve(at + 1);
    parts_.make_event_room();
    advance_.reserve(at + 1);
    resting_.reserve(at + 1);
    grow_gently(transactions_, segment_room_.fit(at + 1));
    backoff_.reserve(transactions_.capacity());
  }
  Jetty& made = fresh != nullptr ? *fresh : *jetties_[at];
  made.config = config;
  made.config.service =
      service == engine::ServiceMode::kDefault ? engine::ServiceMode::kOrderedByInitiator : service;
  made.config.transport =
      transport == engine::TransportMode::kCompact ? transport : engine::TransportMode::kReliable;
  made.patience = {parts_.config.rnr_retry, parts_.config.err_timeout, parts_.config.min_rnr_timer};
  made.requests.reserve(config.send_depth);
  made.receives.reserve(config.receive_depth);
  made.completions.reserve(config.send_depth + config.receive_depth + (config.drain_marks ? 1 : 0));
  made.transactions.assign(parts_.config.transactions_per_jetty, kNoSlot);
  made.tassn_mask = made.transactions.size() - 1;
  reserve_shared(made, std::max<std::size_t>(jetties_.size(), at + 1));
  make_receive_ring(made);  // The last that allocates; until here nothing knows of the jetty.
  made.used = true;
  number_anew(made);
  if (fresh != nullptr) {
    jetties_.push_back(std::move(fresh));
    jetty_places_ = at + 1;
  } else {
    resting_.pop_front();
  }
  step(made, at + kFirstJettyId, JettyEvent::kCreate);
  attach_shared(made, at + kFirstJettyId);
  parts_.contexts.add({ContextKind::kJetty, at});
  return at + kFirstJettyId;
}

Result<void> Initiator::may_import(const Jetty& owner, std::uint32_t jetty_id, wire::HostAddress host,
                                   std::uint32_t remote) {
  if (!is_sequenced(owner.config.service)) return {};
  for (const Peer& peer : peers_) {
    if (!peer.used || peer.queue != jetty_id || (peer.host == host && peer.jetty == remote)) continue;
    return input_error(fmt::format(
        "jetty {}: service mode {} has one peer at a time, found jetty {} of host {} beside jetty {} of "
        "host {}, expected disconnect() first",
        jetty_id, engine::name(owner.config.service), remote, host.number, peer.jetty, peer.host.number));
  }
  return {};
}

verbs::PeerId Initiator::import(const Peer& peer) {
  Jetty& owner = jetty(peer.queue);
  if (is_sequenced(owner.config.service)) {
    // Both ends begin to count anew when they connect for the first time in a life of their channels, and go
    // on when they connect once more.
    const std::uint32_t incarnation = parts_.tp.channel(peer.home).incarnation;
    if (!owner.numbers_toward(peer.host, incarnation)) owner.tassn_next = owner.tassn_oldest = 0;
    owner.numbered_host = peer.host;
    owner.numbered_incarnation = incarnation;
    owner.hold_up();
    for (verbs::PeerId id = 0; id < peers_.size(); ++id) {
      if (!peers_[id].used || peers_[id].queue != peer.queue) continue;
      peers_[id] = peer;
      return id;
    }
  }
  for (verbs::PeerId id = 0; id < peers_.size(); ++id) {
    if (peers_[id].used || jetty_waiting_for(id) != kNoSlot) continue;
    peers_[id] = peer;
    return id;
  }
  make_room_for_one(peers_);
  parts_.make_event_room();
  peers_.push_back(peer);
  return static_cast<verbs::PeerId>(peers_.size() - 1);
}

std::uint32_t Initiator::jetty_waiting_for(verbs::PeerId id) const {
  for (std::size_t at = 0; at < jetties_.size(); ++at) {
    const auto& requests = jetties_[at]->requests;
    for (std::uint64_t i = requests.first(); i < requests.end(); ++i) {
      if (!requests[i].done && requests[i].peer == id) {
        return static_cast<std::uint32_t>(at) + kFirstJettyId;
      }
    }
  }
  return kNoSlot;
}

Result<void> Initiator::forget(std::uint32_t jetty_id, verbs::PeerId id) {
  if (peer(id) == nullptr || peers_[id].queue != jetty_id) {
    return input_error(fmt::format("peer {}: jetty {} has no such import", id, jetty_id));
  }
  if (const std::uint32_t waiting = jetty_waiting_for(id); waiting != kNoSlot) {
    return input_error(
        fmt::format("peer {}: jetty {} has requests outstanding to it, expected none", id, waiting));
  }
  peers_[id].used = false;
  number_anew(jetty(jetty_id));
  for (const auto& each : jetties_) each->hold_up();
  return {};
}

/// Its next peer, or the same one, is told so when it connects: its numbering has another name.
void Initiator::number_anew(Jetty& owner) {
  owner.numbering = ++numberings_;
  owner.numbered_host.reset();
}

void Initiator::forget_channel(std::uint32_t channel) {
  for (Peer& peer : peers_) {
    if (!peer.used || (peer.channel != channel && peer.home != channel)) continue;
    peer.used = false;
    number_anew(jetty(peer.queue));
  }
  for (const auto& each : jetties_) each->hold_up();
}

// [URMA API] Of one packet, without what would have to be kept track of.
PostStatus Initiator::check_datagram(const verbs::WorkRequest& request) const {
  if (!verbs::carries_payload(request.verb) || request.verb == Verb::kSendInvalidate)
    return PostStatus::kUnsupported;
  if (request.fence || request.order != verbs::OrderTag::kNone) return PostStatus::kBadRequest;
  const std::uint32_t mtu = parts_.tp.channel(peers_[request.peer].channel).mtu;
  return request.length <= mtu ? PostStatus::kOk : PostStatus::kBadRequest;
}

PostStatus Initiator::check(const Jetty& owner, const verbs::WorkRequest& request) const {
  if (verbs::is_load_store(request.verb)) return PostStatus::kUnsupported;
  if (request.tagged || request.delivery != verbs::Delivery::kDefault ||
      request.atomic_function != verbs::AtomicFunction::kOfVerb) {
    return PostStatus::kUnsupported;
  }
  if (peer(request.peer) == nullptr || request.local_count > verbs::kMaxScatterEntries)
    return PostStatus::kBadRequest;
  if (owner.config.service == engine::ServiceMode::kUnordered) {
    if (const PostStatus status = check_datagram(request); status != PostStatus::kOk) return status;
  }
  const bool two_sided = verbs::is_send(request.verb);
  if (!two_sided && request.remote.token.id >= kTokenIds) return PostStatus::kBadRequest;
  std::uint64_t local = 0;
  for (std::uint8_t i = 0; i < request.local_count; ++i) local += request.local[i].length;
  if (verbs::is_atomic(request.verb)) {
    // Profile P2 has room for one operand of eight bytes.
    if (wire::profile(parts_.config.encapsulation) == wire::UbProfile::kP2OpenUrma) {
      if (request.verb == Verb::kCompareSwap) return PostStatus::kUnsupported;
      if (request.width != 8) return PostStatus::kBadRequest;
    }
    const bool wide = request.width == 16 && request.verb == Verb::kCompareSwap;
    if (request.width != 4 && request.width != 8 && !wide) return PostStatus::kBadRequest;
    const bool fits = request.local_count == 0 || request.local[0].length >= request.width;
    return fits ? PostStatus::kOk : PostStatus::kBadRequest;
  }
  if (request.length > verbs::kMaxMessageBytes) return PostStatus::kBadRequest;
  if (request.inline_data.kind != wire::PayloadKind::kNone) {
    if (!verbs::carries_payload(request.verb) || request.inline_data.length != request.length) {
      return PostStatus::kBadRequest;
    }
  } else if (local != request.length) {
    return PostStatus::kBadRequest;
  }
  // Choice: a Send is one TA segment (URMA's limits are 64 KiB for RTP and 4 KiB for CTP, too), because a
  // target could not tell a further segment from a new message.
  if (two_sided && request.length > segment_bytes_on(peers_[request.peer].channel))
    return PostStatus::kBadRequest;
  if (request.verb == Verb::kWriteNotify && request.notify.token.id >= kTokenIds)
    return PostStatus::kBadRequest;
  if (request.verb == Verb::kSendInvalidate && request.invalidate.id >= kTokenIds)
    return PostStatus::kBadRequest;
  return PostStatus::kOk;
}

[[gnu::noinline]] PostStatus Initiator::post(TimePs, std::uint32_t jetty_id,
                                             const verbs::WorkRequest& request,
                                             engine::Submission submission) {
  Jetty* owner = find(jetty_id);
  if (owner == nullptr || owner->failed) return PostStatus::kBadQueue;
  if (owner->has_byte_rings()) return PostStatus::kUnsupported;
  const PostStatus status = check(*owner, request);
  if (status != PostStatus::kOk) return status;
  const std::uint32_t records = owner->config.send_depth + owner->config.receive_depth;
  if (owner->requests.size() >= owner->config.send_depth || owner->completions_reserved >= records) {
    return PostStatus::kQueueFull;
  }
  ++owner->completions_reserved;
  ++owner->others;
  owner->hold_up();
  const std::uint64_t number = owner->posted();
  const bool entry_present = submission == engine::Submission::kInHand;
  PostedRequest& posted = owner->requests.emplace_back(request, entry_present);
  posted.space = owner->config.space;
  if (!parts_.segments.resolve(request.local, request.local_count, posted.space)) {
    posted.status = CompletionStatus::kLocalAccess;
  }
  if (posted.inlined) parts_.payloads.retain(request.inline_data.buffer);
  if (entry_present) {
    if (!parts_.express().issue(*owner, jetty_id)) want_advance(*owner, jetty_id);
    return PostStatus::kOk;
  }
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kFetchWorkRequest, {.owner = AccessOwner::kWorkRequest,
                                                                      .object = jetty_id,
                                                                      .generation = owner->generation,
                                                                      .offset = 1,
                                                                      .detail = number});
  access.queue = jetty_id;
  access.stream = jetty_id;
  access.length = kWorkRequestBytes;
  access.space = owner->config.space;
  access.address = owner->config.send_ring + (number & (owner->config.send_depth - 1)) * kWorkRequestBytes;
  access.operation = request.operation;
  return PostStatus::kOk;
}

void Initiator::work_request_done(const PendingAccess& owner, const engine::AccessResult& result) {
  Jetty& of = jetty(owner.object);
  if (of.generation != owner.generation) return;
  const std::uint32_t stride = of.has_byte_rings() ? of.config.send_entry_bytes : 0;
  const bool done = result.status == engine::AccessStatus::kDone &&
                    (stride == 0 || result.data.length == owner.offset * stride);
  for (std::uint32_t at = 0; at < owner.offset; ++at) {
    if (owner.detail + at < of.head()) continue;
    PostedRequest& posted = of.posted_request(owner.detail + at);
    if (posted.entry_present) continue;  // It has been flushed.
    posted.entry_present = true;
    if (!done) {
      posted.status = CompletionStatus::kLocalOperation;
    } else if (stride > 0) {
      read_entry(of, wire::slice(result.data, at * stride, stride), posted);
    }
  }
  if (stride > 0) {
    --of.fetches_open;
    fetch_work(of, owner.object);
  }
  want_advance(of, owner.object);
}

void Initiator::lose(std::uint32_t jetty_id) {
  Jetty& owner = jetty(jetty_id);
  if (!owner.used) return;
  const bool was_in_error = owner.state == JettyState::kError;
  if (!was_in_error) step(owner, jetty_id, JettyEvent::kFail);
  describe(owner, jetty_id, JettyState::kError);
  if (was_in_error) return;
  owner.failed = true;
  owner.draining = false;
  owner.hold_up();
  parts_.raise({engine::AsyncEventKind::kQueueError, jetty_id});
  flush_receives(jetty_id);
  want_advance(owner, jetty_id);
}

// Writes the context record anew.
void Initiator::describe(Jetty& owner, std::uint32_t jetty_id, JettyState state) {
  owner.record.jetty_id = jetty_id;
  owner.record.token = owner.config.token;
  owner.record.jfc_id = jetty_id;
  owner.record.type = static_cast<std::uint8_t>(wire::TargetContextType::kJetty);
  owner.record.state = static_cast<std::uint8_t>(state);
  owner.record.valid = 1;
}

PostStatus Initiator::post_receive(std::uint32_t jetty_id, const verbs::ReceiveRequest& receive) {
  Jetty* owner = find(jetty_id);
  if (owner == nullptr) return post_shared_receive(jetty_id, receive);
  if (owner->own_receive_queue) return PostStatus::kUnsupported;
  if (owner->failed || owner->config.receive_queue != engine::kOwn) return PostStatus::kBadQueue;
  if (receive.tagged) return PostStatus::kUnsupported;
  if (receive.local_count > verbs::kMaxScatterEntries) return PostStatus::kBadRequest;
  verbs::AddressSpaceId space = owner->config.space;
  if (!parts_.segments.resolve(receive.local, receive.local_count, space)) return PostStatus::kBadRequest;
  const std::uint32_t records = owner->config.send_depth + owner->config.receive_depth;
  if (owner->receives.size() >= owner->config.receive_depth || owner->completions_reserved >= records) {
    return PostStatus::kQueueFull;
  }
  ++owner->completions_reserved;
  if (owner->credit > 0) --owner->credit;
  owner->receives.emplace_back(receive, space);
  return PostStatus::kOk;
}

[[gnu::noinline]] void Initiator::report(Jetty& owner, std::uint32_t jetty_id) {
  // [UB-Base 2.0.1 7.4, ODR bit 2] In-order requests are reported in posting order among themselves. The
  // others were reported when they ended, and they hold nobody up.
  const std::uint64_t end = owner.posted();
  for (; owner.report_next < end; ++owner.report_next) {
    PostedRequest& posted = owner.posted_request(owner.report_next);
    if (!posted.completion_in_order || posted.reported) continue;
    if (!posted.done) {
      // A suspended queue reports what it has begun, and passes over what it keeps.
      if (owner.suspended() && !posted.begun()) continue;
      break;
    }
    push_completion(owner, jetty_id, posted);
  }
  while (owner.head() < owner.report_next && owner.requests.front().reported) {
    // A request that failed before its turn leaves when the cursor has passed it.
    if (owner.cursor <= owner.head()) owner.cursor = owner.head() + 1;
    owner.pop_request();
  }
}

void Initiator::push_completion(Jetty& owner, std::uint32_t jetty_id, PostedRequest& posted) {
  posted.reported = true;
  if (!posted.signaled && (posted.status == CompletionStatus::kSuccess || posted.muted)) {
    if (!posted.muted) --owner.completions_reserved;
    if (owner.draining) [[unlikely]]
      stand_still(owner, jetty_id);
    return;
  }
  PendingCompletion& completion = add_completion(owner, jetty_id, false, posted.operation, jetty_id);
  const bool atomic = verbs::is_atomic(posted.verb);
  completion.id = posted.id;
  completion.status = posted.status;
  completion.verb = posted.verb;
  completion.length = atomic ? posted.width : posted.length;
  if (atomic) completion.value = posted.atomic_result();
  completion.operation = posted.operation;
  if (owner.draining && stands_still(owner)) [[unlikely]]
    mark_drained(owner, jetty_id, &completion);
}

void Initiator::complete(std::uint32_t jetty_id, const PendingCompletion& completion, std::uint64_t stream) {
  add_completion(jetty(jetty_id), jetty_id, completion.kind == verbs::CompletionKind::kReceive,
                 completion.operation, stream) = completion;
}

// A fresh record at the end of the queue, whose write is under way.
PendingCompletion& Initiator::add_completion(Jetty& owner, std::uint32_t jetty_id, bool at_target,
                                             wire::OperationTag operation, std::uint64_t stream) {
  if (owner.shares(at_target)) [[unlikely]]
    return add_shared_completion(owner, jetty_id, at_target, stream);
  ++parts_.counters.completions;
  const std::uint64_t number = owner.completions.end();
  const std::uint32_t records = owner.config.send_depth + owner.config.receive_depth;
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kWriteCompletion, {.owner = AccessOwner::kCompletion,
                                                                     .object = jetty_id,
                                                                     .generation = owner.generation,
                                                                     .detail = number});
  access.queue = jetty_id;
  access.stream = stream;
  access.order = verbs::AccessOrder::kRelease;  // After the data that it announces.
  access.at_target = at_target;
  access.space = owner.config.space;
  access.length = kCompletionBytes;
  access.address = owner.config.completion_ring + owner.completion_place * kCompletionBytes;
  if (++owner.completion_place == records) owner.completion_place = 0;
  access.operation = operation;
  return owner.completions.emplace_back();
}

void Initiator::completion_done(const PendingAccess& owner, engine::AccessStatus status) {
  Jetty& of = jetty(owner.object);
  if (of.generation != owner.generation) return;
  PendingCompletion& record = of.completions[owner.detail];
  record.visible = true;
  if (status != engine::AccessStatus::kDone) {
    if (record.status == CompletionStatus::kSuccess) record.status = CompletionStatus::kLocalOperation;
    parts_.raise({engine::AsyncEventKind::kCompletionError, owner.object});
  }
  if (of.listed || !of.completions.front().visible) return;
  of.listed = true;
  completed_.push_back(owner.object);
}

bool Initiator::poll(std::uint32_t jetty_id, verbs::Completion& out) {
  Jetty* owner = find(jetty_id);
  if (owner == nullptr) return parts_.completion_queues.poll(jetty_id, out);
  if (owner->completions.empty() || !owner->completions.front().visible) return false;
  const PendingCompletion& oldest = owner->completions.front();
  owner->completions.pop_front();  // It stays there until another one takes its place.
  oldest.show(jetty_id, out);
  --owner->completions_reserved;
  return true;
}

bool Initiator::next_completed(std::uint32_t& jetty_id) {
  while (!completed_.empty()) {
    const std::uint32_t id = completed_.front();
    const Jetty& owner = jetty(id);
    if (owner.used && !owner.completions.empty() && owner.completions.front().visible) {
      jetty_id = id;
      return true;
    }
    jetty(id).listed = false;
    completed_.pop_front();
  }
  return parts_.completion_queues.next_ready(jetty_id);
}

void Initiator::describe_waiting(std::vector<std::string>& out) const {
  for (std::size_t at = 0; at < jetties_.size(); ++at) {
    const auto& owner = jetties_[at];
    if (owner->requests.empty()) continue;
    const PostedRequest& first = owner->requests.front();
    const char* what = "its response";
    if (!first.entry_present) {
      what = "its work-queue entry";
    } else if (!first.admitted) {
      what = "its turn (fence)";
    } else if (first.parked) {
      what = "earlier ordered requests";
    } else if (first.done) {
      what = "earlier completions";
    } else if (first.in_numbering) {
      what = "packet numbers";
    }
    out.push_back(fmt::format("jetty {}: {} requests outstanding; the oldest ({}, id {}) waits for {}",
                              at + kFirstJettyId, owner->requests.size(), verbs::name(first.verb), first.id,
                              what));
  }
}

void Initiator::release_buffers() {
  for (const auto& owner : jetties_) {
    for (std::uint64_t i = owner->requests.first(); i < owner->requests.end(); ++i) {
      const PostedRequest& posted = owner->requests[i];
      if (posted.inlined) parts_.payloads.release(posted.inline_data.buffer);
    }
  }
}

}  // namespace wharf::ub
