// SPDX-License-Identifier: Apache-2.0
// Who the other processes are: greeting them, binding jettys whose order they keep, losing them, and the
// requests that wait meanwhile. docs/decisions/0067
#include <algorithm>
#include <new>

#include "base/vector_room.h"
#include "engine/ub/channel_lane.h"
#include "engine/ub/exchange.h"
#include "live/urma/guarded.h"
#include "live/urma/identity.h"
#include "live/urma/interface.h"

namespace wharf::live::urma {
namespace {

constexpr TimePs kFirstGap = milliseconds(1);
constexpr TimePs kLongestGap = milliseconds(64);
/// Requests wait so long for a process that does not answer, which is about as long as the retries of a
/// channel.
constexpr TimePs kPatience = milliseconds(1500);

std::uint64_t key_of(const UdpEndpoint& endpoint) {
  return (std::uint64_t{endpoint.address} << 16U) | endpoint.port;
}

/// The port is the target's, the process is not. [0067]
bool is_another(const Remote& remote) {
  return remote.peer->state == Peer::State::kUp && remote.peer->uasid != remote.uasid;
}

bool needs_binding(engine::ServiceMode service) {
  return service != engine::ServiceMode::kOrderedByInitiator && service != engine::ServiceMode::kDefault;
}

}  // namespace

Peer* Interface::find(const UdpEndpoint& endpoint) {
  const auto found = peers_.find(key_of(endpoint));
  return found == peers_.end() ? nullptr : found->second.get();
}

Peer& Interface::add_peer(const UdpEndpoint& endpoint) {
  // Later, where they are listed, there is memory for it.
  if (asking_.capacity() <= peers_.size()) asking_.reserve(2 * peers_.size() + 8);
  if (lost_.capacity() <= peers_.size()) lost_.reserve(2 * peers_.size() + 8);
  auto made = std::make_unique<Peer>();
  made->endpoint = endpoint;
  return *(peers_[key_of(endpoint)] = std::move(made));
}

const Peer* Interface::peer(std::uint32_t number) const {
  const auto found = peer_of_number_.find(number);
  return found == peer_of_number_.end() ? nullptr : found->second;
}

Peer* Interface::reach(const UdpEndpoint& endpoint) {
  Peer* peer = find(endpoint);
  if (peer == nullptr) {
    if (peers_.size() - greeted_.size() >= kPeersMost) return nullptr;
    peer = &add_peer(endpoint);
  }
  if (peer->state == Peer::State::kIdle && !attempted([&] { ask(*peer); })) {
    review(*peer);
    throw std::bad_alloc();
  }
  ++peer->remotes;
  greeted_.remove(*peer);
  return peer;
}

void Interface::leave(Peer& peer) {
  --peer.remotes;
  attempted([&] { review(peer); });  // The reference is given back once, whatever memory there is.
}

/// A peer that no import names has changed: it is forgotten when it is idle, and may have to go when it is
/// up. `peer` may be gone afterwards.
void Interface::review(Peer& peer) {
  if (peer.remotes != 0 || peer.state == Peer::State::kAsking) return;
  if (peer.state == Peer::State::kIdle) {
    std::erase(lost_, &peer);
    if (this->peer(peer.number) == &peer) {
      // It was numbered when memory ran out. The engine may know it.
      WHARF_CHECK(engine_->forget_host(now_, wire::HostAddress{peer.number}).ok());
      peer_of_number_.erase(peer.number);
    }
    peers_.erase(key_of(peer.endpoint));
    return;
  }
  if (peer.greeting.listed) return;
  while (Peer* const other = greeted_.in_the_way(peer.endpoint.address)) evict(*other);
  // Without memory to keep it in mind it goes.
  if (!attempted([&] { greeted_.add(peer); })) evict(peer);
}

/// It makes room for another. It is told, and so begins anew when it has something to say.
void Interface::evict(Peer& peer) {
  send_message(peer.endpoint,
               {.kind = PeerMessageKind::kBye, .own_number = peer.number, .peer_number = peer.own_number});
  lose(peer);
  review(peer);
}

/// A number that no peer has, and had none for long.
void Interface::number(Peer& peer) {
  while (peer_of_number_.contains(next_number_)) next_number_ = next_number_ % (wire::kPsnMask - 2) + 1;
  peer_of_number_[next_number_] = &peer;
  peer.traffic = {};  // Counters of a number do not begin in the middle.
  peer.number = next_number_;
  next_number_ = next_number_ % (wire::kPsnMask - 2) + 1;
}

void Interface::ask(Peer& peer) {
  if (peer.state == Peer::State::kIdle) {
    if (this->peer(peer.number) != &peer) number(peer);
    peer.state = Peer::State::kAsking;
    asking_.push_back(&peer);
    peer.ask_gap = kFirstGap;
  }
  peer.give_up_at = now_ + kPatience;
  send_message(peer.endpoint,
               {.kind = PeerMessageKind::kHello, .cookie = peer.cookie, .own_number = peer.number});
  peer.ask_at = now_ + peer.ask_gap;
}

void Interface::send_message(const UdpEndpoint& to, PeerMessage message) {
  message.instance = instance_;
  message.uasid = uasid_;
  message.mtu = mtu_;
  const std::span<std::byte> room = port_->queue(to);
  encode(message, room.first<kPeerMessageBytes>());
  port_->set_queued_length(kPeerMessageBytes);
  ++counters_.datagrams_sent;
}

void Interface::take_message(const UdpEndpoint& from, const PeerMessage& message) {
  if (message.kind == PeerMessageKind::kHello) {
    take_hello(from, message);
    return;
  }
  Peer* const peer = find(from);
  if (peer == nullptr) {
    ++counters_.unknown_sender;
    return;
  }
  if (message.kind == PeerMessageKind::kProve) {
    // Only the process that was asked knows the number.
    if (peer->state != Peer::State::kAsking || message.peer_number != peer->number) return;
    if (peer->cookie == message.cookie) return;
    peer->cookie = message.cookie;
    send_message(from, {.kind = PeerMessageKind::kHello, .cookie = peer->cookie, .own_number = peer->number});
    return;
  }
  if (message.kind == PeerMessageKind::kWelcome) {
    if (peer->state == Peer::State::kAsking && message.peer_number == peer->number &&
        message.own_number != 0) {
      bring_up(*peer, message);
      review(*peer);
    }
    return;
  }
  if (peer->state != Peer::State::kUp || message.instance != peer->instance ||
      message.own_number != peer->own_number || message.peer_number != peer->number) {
    ++counters_.unknown_sender;
    return;
  }
  switch (message.kind) {
    case PeerMessageKind::kBind:
      take_bind(*peer, message);
      break;
    case PeerMessageKind::kBound:
      for (SendQueue* queue : parking_) {
        for (SendQueue::Import& each : queue->imports) {
          if (each.remote->peer != peer || each.nonce != message.nonce || each.bound ||
              each.life != peer->life)
            continue;
          each.bound = true;
          each.ask_at = kNever;
        }
      }
      break;
    case PeerMessageKind::kBye:
      lose(*peer);
      review(*peer);
      break;
    case PeerMessageKind::kHello:
    case PeerMessageKind::kProve:
    case PeerMessageKind::kWelcome:
      break;
  }
}

void Interface::take_hello(const UdpEndpoint& from, const PeerMessage& message) {
  const std::uint64_t cookie = cookie_of(from.address, from.port, secret_);
  if (message.own_number == 0) return;
  if (message.cookie != cookie) {
    send_message(from,
                 {.kind = PeerMessageKind::kProve, .cookie = cookie, .peer_number = message.own_number});
    return;
  }
  Peer* peer = find(from);
  if (peer == nullptr) peer = &add_peer(from);
  if (peer->state == Peer::State::kUp) {
    const bool again = peer->instance == message.instance && peer->own_number == message.own_number;
    if (!again) lose(*peer);  // It has begun anew.
  }
  if (peer->state != Peer::State::kUp) {
    const bool tried = attempted([&] { bring_up(*peer, message); });
    review(*peer);  // Where memory is short it may have to go at once.
    if (!tried) return;
    peer = find(from);
    if (peer == nullptr || peer->state != Peer::State::kUp) return;
  }
  send_message(
      from,
      {.kind = PeerMessageKind::kWelcome, .own_number = peer->number, .peer_number = message.own_number});
}

Result<engine::PeerId> Interface::connect(engine::QueueId queue, const Peer& peer, std::uint32_t jetty,
                                          wire::TargetContextType type, std::uint32_t token,
                                          engine::ServiceMode service, std::uint32_t numbering) {
  const ub::UbConfig& config = engine_->config();
  ub::QueueBlob blob;
  blob.host = wire::HostAddress{peer.number};
  blob.jetty = jetty;
  blob.target = type;
  blob.token = token;
  blob.encapsulation = config.encapsulation;
  blob.recovery = config.recovery;
  blob.service = service;
  blob.numbering = numbering;
  blob.mtu = peer.mtu;
  // Both ends run this library: what is not said here is the same at both.
  blob.receive_window = config.receive_window;
  blob.first_psn = config.first_psn;
  blob.inbound_messages = config.inbound_messages;
  return engine_->connect(now_, queue, ub::encode(blob));
}

void Interface::bring_up(Peer& peer, const PeerMessage& message) {
  // Where memory ran out the last time, it has one.
  if (peer.state == Peer::State::kIdle && this->peer(peer.number) != &peer) number(peer);
  peer.own_number = message.own_number;
  peer.instance = message.instance;
  peer.uasid = message.uasid;
  peer.mtu = std::min(mtu_, message.mtu);
  const auto channel = connect(control_, peer, ub::kFirstJettyId, wire::TargetContextType::kJetty, 0,
                               engine::ServiceMode::kOrderedByInitiator);
  if (!channel) {
    std::erase(asking_, &peer);
    peer_of_number_.erase(peer.number);
    peer.state = Peer::State::kIdle;
    return;
  }
  if (*channel >= imported_.size()) imported_.resize(*channel + 1, nullptr);
  imported_[*channel] = &peer;
  std::erase(asking_, &peer);  // Without memory until here it goes on asking.
  peer.state = Peer::State::kUp;
  ++peer.life;
}

/// The channel is gone: what is outstanding ends with an error, what waits asks for a new one.
void Interface::lose(Peer& peer) {
  if (peer.state != Peer::State::kUp) return;
  WHARF_CHECK(
      engine_->forget_host(now_, wire::HostAddress{peer.number}).ok());  // It has no loads and stores.
  for (Peer*& each : imported_) {
    if (each == &peer) each = nullptr;
  }
  for (SendQueue* queue : parking_) {
    std::erase_if(queue->leaving, [&](const SendQueue::Leaving& each) { return each.host == peer.number; });
  }
  peer_of_number_.erase(peer.number);
  peer.state = Peer::State::kIdle;
  bindings_ -= peer.bound.size();
  peer.bound.clear();
  greeted_.remove(peer);
}

/// What the port knows to be gone will not answer, however long one asks.
void Interface::lose_gone() {
  // One for which there is no memory is told again: no request of its would end otherwise.
  for (; const std::optional<UdpEndpoint> gone = port_->next_gone(); port_->gone_is_known()) {
    Peer* const peer = find(*gone);
    if (peer == nullptr) continue;
    if (peer->state == Peer::State::kAsking) peer->give_up_at = now_;  // It was there when it was asked.
    lose(*peer);
    review(*peer);
  }
}

void Interface::take_bind(Peer& peer, const PeerMessage& message) {
  const auto known = peer.bound.find(message.jetty);
  const bool fresh = known == peer.bound.end();
  if (fresh) {
    if (peer.bound.size() >= kBindingsOfPeer) return;
    while (bindings_ >= kBindingsMost) {
      Peer* const other = greeted_.first();
      if (other == nullptr || other == &peer) return;
      evict(*other);
    }
  }
  // A numbering is given once, and later ones are greater: an older one comes late and means nothing now.
  if (!fresh && static_cast<std::int32_t>(message.nonce - known->second) < 0) return;
  if (fresh || known->second != message.nonce) {
    // The control queue says what the peer's jetty is; nothing is sent through the import.
    const auto made = connect(control_, peer, message.jetty, wire::TargetContextType::kJetty, 0,
                              static_cast<engine::ServiceMode>(message.service), message.nonce);
    if (!made) return;
    (void)engine_->disconnect(now_, control_, *made);
    peer.bound[message.jetty] = message.nonce;
    if (fresh) ++bindings_;
  }
  send_message(peer.endpoint, {.kind = PeerMessageKind::kBound,
                               .own_number = peer.number,
                               .peer_number = peer.own_number,
                               .nonce = message.nonce});
}

// --- Imports and requests that wait

/// What the engine knows of `remote` for `queue`; null while its process cannot be reached, and when the
/// engine does not take it, which `refused` says.
SendQueue::Import* Interface::import(SendQueue& queue, const Remote& remote, bool& refused) {
  refused = false;
  Peer& peer = *remote.peer;
  if (peer.state != Peer::State::kUp || is_another(remote)) return nullptr;
  auto at = std::find_if(queue.imports.begin(), queue.imports.end(),
                         [&](const SendQueue::Import& each) { return each.remote == &remote; });
  if (at != queue.imports.end() && at->life == peer.life) return &*at;
  if (at == queue.imports.end()) {
    make_room_for_one(queue.imports);
    at = queue.imports.end();
  }
  // One at a time, and one that is still used comes first.
  if (ub::is_sequenced(queue.service) && !queue.leaving.empty()) return nullptr;
  // Later, when it has to go, there is memory for it.
  if (const std::size_t most = queue.imports.size() + queue.leaving.size() + 1;
      queue.leaving.capacity() < most)
    queue.leaving.reserve(2 * most);
  if (parking_.capacity() < owners_.size()) parking_.reserve(2 * owners_.size());
  // It changes whenever the engine begins to number the queue's requests from 0 anew, as the peer has to
  // then.
  const std::uint32_t nonce =
      ub::decode_queue_blob(engine_->export_queue(queue.queue).value()).value().numbering;
  // The peer's jetty is said to keep no order here: that is for take_bind() to know, which may have bound it.
  const auto made = connect(queue.queue, peer, remote.id, remote.type, remote.token,
                            engine::ServiceMode::kOrderedByInitiator);
  if (!made) {
    refused = true;
    return nullptr;
  }
  if (*made >= imported_.size() && !attempted([&] { imported_.resize(*made + 1, nullptr); })) {
    (void)engine_->disconnect(now_, queue.queue, *made);
    throw std::bad_alloc();
  }
  if (at == queue.imports.end()) at = queue.imports.insert(queue.imports.end(), SendQueue::Import{});
  *at = SendQueue::Import{};
  at->remote = &remote;
  at->peer = *made;
  at->life = peer.life;
  at->bound = !needs_binding(queue.service);
  imported_[*made] = &peer;
  if (!at->bound) {
    at->nonce = nonce;
    at->ask_gap = kFirstGap;
    at->give_up_at = now_ + kPatience;
    ask_binding(queue, *at);
  }
  return &*at;
}

void Interface::ask_binding(SendQueue& queue, SendQueue::Import& import) {
  const Peer& peer = *import.remote->peer;
  send_message(peer.endpoint, {.kind = PeerMessageKind::kBind,
                               .service = static_cast<std::uint8_t>(queue.service),
                               .own_number = peer.number,
                               .peer_number = peer.own_number,
                               .jetty = queue.queue,
                               .target = import.remote->id,
                               .nonce = import.nonce});
  import.ask_at = now_ + import.ask_gap;
  park(queue);
}

/// It is looked at in every settle() from now on, as long as there is something.
void Interface::park(SendQueue& queue) {
  if (std::find(parking_.begin(), parking_.end(), &queue) == parking_.end()) parking_.push_back(&queue);
}

bool Interface::is_asking_binding(const SendQueue& queue) const {
  return std::any_of(queue.imports.begin(), queue.imports.end(),
                     [](const SendQueue::Import& each) { return each.ask_at != kNever; });
}

bool Interface::bind(SendQueue& queue, const Remote& remote) {
  if (remote.peer->state == Peer::State::kIdle) ask(*remote.peer);
  bool refused = false;
  import(queue, remote, refused);
  return !refused;
}

engine::PostStatus Interface::post(SendQueue& queue, const Remote& remote,
                                   const verbs::WorkRequest& request) {
  const bool behind = !queue.parked.empty() &&
                      std::any_of(queue.parked.begin(), queue.parked.end(),
                                  [&](const SendQueue::Parked& each) { return each.remote == &remote; });
  if (!behind) {
    bool refused = false;
    const SendQueue::Import* const known = import(queue, remote, refused);
    if (refused) return engine::PostStatus::kBadRequest;
    if (known != nullptr && known->bound) {
      verbs::WorkRequest posted = request;
      posted.peer = known->peer;
      return engine_->post(now_, queue.queue, posted, engine::Submission::kInHand);
    }
  }
  if (queue.parked.size() >= queue.depth) return engine::PostStatus::kQueueFull;
  if (remote.peer->state == Peer::State::kIdle) ask(*remote.peer);
  park(queue);
  queue.parked.push_back({&remote, request});
  memory_.payloads.retain(request.inline_data.buffer);
  return engine::PostStatus::kOk;
}

/// Not yet while requests to it are outstanding; there is room to keep it in mind.
void Interface::leave_import(SendQueue& queue, const SendQueue::Import& import) {
  const Peer& peer = *import.remote->peer;
  if (import.life != peer.life || peer.state != Peer::State::kUp) return;
  bool gone = false;
  attempted([&] { gone = engine_->disconnect(now_, queue.queue, import.peer).ok(); });
  if (gone) return;
  queue.leaving.push_back({import.peer, peer.number});
  park(queue);
}

void Interface::leave_imports(SendQueue& queue) {
  std::erase_if(queue.leaving, [&](const SendQueue::Leaving& each) {
    return engine_->disconnect(now_, queue.queue, each.peer).ok();
  });
}

/// Posts what waits and can go. Requests to one remote queue keep their order; others do not wait for them.
void Interface::unpark(SendQueue& queue) {
  if (queue.held) return;
  std::deque<SendQueue::Parked>& parked = queue.parked;
  bool full = false;
  for (std::size_t at = 0; at < parked.size();) {
    SendQueue::Parked each = parked[at];
    if (is_another(*each.remote)) {
      give_up(queue, *each.remote);
      at = 0;
      continue;
    }
    const auto place = parked.begin() + static_cast<std::ptrdiff_t>(at);
    const bool behind = std::any_of(
        parked.begin(), place, [&](const SendQueue::Parked& other) { return other.remote == each.remote; });
    bool refused = false;
    const SendQueue::Import* const known = full || behind ? nullptr : import(queue, *each.remote, refused);
    if (!refused && (known == nullptr || !known->bound)) {
      if (each.remote->peer->state == Peer::State::kIdle) ask(*each.remote->peer);
      ++at;
      continue;
    }
    engine::PostStatus status = engine::PostStatus::kBadRequest;
    if (!refused) {
      each.request.peer = known->peer;
      status = engine_->post(now_, queue.queue, each.request, engine::Submission::kInHand);
    }
    if (status == engine::PostStatus::kQueueFull) {
      full = true;
      ++at;
      continue;
    }
    parked.erase(place);
    if (status == engine::PostStatus::kOk) {
      memory_.payloads.release(each.request.inline_data.buffer);
      continue;
    }
    end(queue, each,
        status == engine::PostStatus::kUnsupported ? verbs::CompletionStatus::kUnsupportedOpcode
        : status == engine::PostStatus::kBadQueue  ? verbs::CompletionStatus::kFlushed
                                                   : verbs::CompletionStatus::kLocalOperation);
  }
}

void Interface::unpark_all() {
  for (std::size_t at = 0; at < parking_.size();) {
    SendQueue* const queue = parking_[at];
    if (!queue->leaving.empty()) leave_imports(*queue);
    unpark(*queue);
    if (queue->parked.empty() && queue->leaving.empty() && !is_asking_binding(*queue)) {
      parking_[at] = parking_.back();
      parking_.pop_back();
    } else {
      ++at;
    }
  }
}

/// `parked`, which is no longer in the list, ends with `status`.
void Interface::end(SendQueue& queue, const SendQueue::Parked& parked, verbs::CompletionStatus status,
                    verbs::DrainMark mark) {
  memory_.payloads.release(parked.request.inline_data.buffer);
  verbs::Completion ended;
  ended.id = parked.request.id;
  ended.queue = queue.queue;
  ended.verb = parked.request.verb;
  ended.length = parked.request.length;
  ended.status = status;
  ended.drain = mark;
  queue.owner->completed(ended);
}

void Interface::flush_parked(SendQueue& queue, verbs::DrainMark mark) {
  while (!queue.parked.empty()) {
    const SendQueue::Parked each = queue.parked.front();
    queue.parked.pop_front();
    end(queue, each, verbs::CompletionStatus::kFlushed,
        queue.parked.empty() ? mark : verbs::DrainMark::kNone);
  }
}

void Interface::end_waiting(SendQueue& queue, const Remote& remote) {
  for (std::size_t at = 0; at < queue.parked.size();) {
    const SendQueue::Parked each = queue.parked[at];
    if (each.remote != &remote) {
      ++at;
      continue;
    }
    queue.parked.erase(queue.parked.begin() + static_cast<std::ptrdiff_t>(at));
    end(queue, each, verbs::CompletionStatus::kRetryExhausted);
  }
}

/// Whoever `remote` means does not answer: what waits for it ends, as after the last try of a channel.
void Interface::give_up(SendQueue& queue, const Remote& remote) {
  end_waiting(queue, remote);
  queue.owner->happened(engine::AsyncEventKind::kPeerUnreachable);
}

void Interface::forget(SendQueue& queue, const Remote& remote) {
  end_waiting(queue, remote);
  std::erase_if(queue.imports, [&](const SendQueue::Import& each) {
    if (each.remote != &remote) return false;
    leave_import(queue, each);
    return true;
  });
}

void Interface::expire_peers() {
  for (std::size_t at = 0; at < asking_.size();) {
    Peer& peer = *asking_[at];
    if (peer.give_up_at <= now_) {
      asking_.erase(asking_.begin() + static_cast<std::ptrdiff_t>(at));
      peer_of_number_.erase(peer.number);
      peer.state = Peer::State::kIdle;
      for (SendQueue* queue : parking_) {
        while (!queue->held) {
          const auto waiting =
              std::find_if(queue->parked.begin(), queue->parked.end(),
                           [&](const SendQueue::Parked& each) { return each.remote->peer == &peer; });
          if (waiting == queue->parked.end()) break;
          give_up(*queue, *waiting->remote);
        }
      }
      review(peer);
      continue;
    }
    if (peer.ask_at <= now_) {
      const TimePs give_up_at = peer.give_up_at;
      peer.ask_gap = min(peer.ask_gap * 2, kLongestGap);
      ask(peer);
      peer.give_up_at = give_up_at;
    }
    ++at;
  }
  for (SendQueue* queue : parking_) {
    for (SendQueue::Import& each : queue->imports) {
      if (each.ask_at > now_) continue;
      if (each.give_up_at <= now_ || each.life != each.remote->peer->life) {
        each.ask_at = kNever;
        leave_import(*queue, each);
        each.life = 0;  // Asked for anew by the next request.
        if (each.remote->peer->state == Peer::State::kUp && !queue->held && !queue->parked.empty()) {
          give_up(*queue, *each.remote);
        }
        continue;
      }
      each.ask_gap = min(each.ask_gap * 2, kLongestGap);
      ask_binding(*queue, each);
    }
  }
}

}  // namespace wharf::live::urma
