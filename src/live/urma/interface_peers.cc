// SPDX-License-Identifier: Apache-2.0
// Who the other processes are: greeting them, keeping the order of their jettys, losing them.
// docs/decisions/0067
#include <algorithm>
#include <new>
#include <utility>

#include "base/vector_room.h"
#include "engine/ub/channel_lane.h"
#include "engine/ub/exchange.h"
#include "live/urma/guarded.h"
#include "live/urma/identity.h"
#include "live/urma/interface.h"

namespace wharf::live::urma {
namespace {

std::uint64_t key_of(const UdpEndpoint& endpoint) {
  return (std::uint64_t{endpoint.address} << 16U) | endpoint.port;
}

/// What `import` was. The next request asks for it anew.
SendQueue::Import taken_out(SendQueue::Import& import) {
  SendQueue::Import fresh;
  fresh.remote = import.remote;
  return std::exchange(import, fresh);
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
    case PeerMessageKind::kNotBound:
      take_binding_answer(*peer, message);
      break;
    case PeerMessageKind::kUnbind:
      take_unbind(*peer, message);
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
  ++changes_;
  tell_partners(peer);
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
  ++changes_;
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
  // A numbering is given once, and later ones are greater: an older one comes late and means nothing now.
  if (known != peer.bound.end() && is_later(known->second.nonce, message.nonce)) return;
  const bool again = known != peer.bound.end() && known->second.nonce == message.nonce;
  const bool kept = again || keep_binding(peer, message);
  send_message(peer.endpoint, {.kind = kept ? PeerMessageKind::kBound : PeerMessageKind::kNotBound,
                               .own_number = peer.number,
                               .peer_number = peer.own_number,
                               .nonce = message.nonce});
}

bool Interface::keep_binding(Peer& peer, const PeerMessage& message) {
  const bool fresh = !peer.bound.contains(message.jetty);
  if (fresh) {
    if (peer.bound.size() >= kBindingsOfPeer) return false;
    while (bindings_ >= kBindingsMost) {
      Peer* const other = greeted_.first();
      if (other == nullptr || other == &peer) return false;
      evict(*other);
    }
  }
  BoundJetty& kept = peer.bound[message.jetty];
  if (fresh) ++bindings_;
  const auto service = static_cast<engine::ServiceMode>(message.service);
  bool made = true;
  if (keeps_order(service)) {
    // The control queue says what the peer's jetty is; nothing is sent through the import.
    const auto import =
        connect(control_, peer, message.jetty, wire::TargetContextType::kJetty, 0, service, message.nonce);
    made = import.ok();
    if (made) (void)engine_->disconnect(now_, control_, *import);
  }
  if (!made) {
    if (fresh) {
      peer.bound.erase(message.jetty);
      --bindings_;
    }
    return false;
  }
  kept = {message.nonce, message.name};
  if (message.name != 0) tell_partners(peer);
  return true;
}

void Interface::take_unbind(Peer& peer, const PeerMessage& message) {
  const auto known = peer.bound.find(message.jetty);
  if (known == peer.bound.end() || is_later(known->second.nonce, message.nonce)) return;
  // Requests of its may wait here for earlier ones: then it stays.
  if (!engine_->forget_jetty(wire::HostAddress{peer.number}, message.jetty).ok()) return;
  peer.bound.erase(known);
  --bindings_;
}

void Interface::take_binding_answer(const Peer& peer, const PeerMessage& message) {
  ++changes_;
  for (SendQueue* queue : parking_) {
    for (SendQueue::Import& each : queue->imports) {
      if (each.remote->peer != &peer || each.nonce != message.nonce || each.bound || each.life != peer.life)
        continue;
      each.ask_at = kNever;
      if (message.kind == PeerMessageKind::kBound) {
        each.bound = true;
        continue;
      }
      leave_import(*queue, taken_out(each));
      if (!queue->held && !queue->parked.empty()) give_up(*queue, *each.remote);
    }
  }
}

void Interface::expire_peers() {
  for (std::size_t at = 0; at < asking_.size();) {
    Peer& peer = *asking_[at];
    if (peer.give_up_at <= now_) {
      asking_.erase(asking_.begin() + static_cast<std::ptrdiff_t>(at));
      peer_of_number_.erase(peer.number);
      peer.state = Peer::State::kIdle;
      ++changes_;
      for (SendQueue* queue : parking_) {
        while (!queue->held) {
          const auto waiting =
              std::find_if(queue->parked.begin(), queue->parked.end(), [&](const SendQueue::Parked& each) {
                return each.remote != nullptr && each.remote->peer == &peer;
              });
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
        leave_import(*queue, taken_out(each));
        ++changes_;
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
