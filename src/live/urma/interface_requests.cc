// SPDX-License-Identifier: Apache-2.0
// Requests and the processes that they go to: imports, bindings that are asked for, and what waits meanwhile.
// docs/decisions/0067
#include <algorithm>
#include <new>

#include "base/vector_room.h"
#include "engine/ub/exchange.h"
#include "live/urma/guarded.h"
#include "live/urma/interface.h"

namespace wharf::live::urma {
namespace {

/// The port is the target's, the process is not. [0067]
bool is_another(const Remote& remote) {
  return remote.peer->state == Peer::State::kUp && remote.peer->uasid != remote.uasid;
}

/// A target has to know the queue before it sends.
bool needs_binding(const SendQueue& queue) { return keeps_order(queue.service) || queue.name != 0; }

}  // namespace

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
  at->bound = !needs_binding(queue);
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
                               .name = static_cast<std::uint8_t>(queue.name),
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
  make_room_for_one(remote.peer->partners);  // For set_partner().
  if (remote.peer->state == Peer::State::kIdle) ask(*remote.peer);
  bool refused = false;
  import(queue, remote, refused);
  return !refused;
}

engine::PostStatus Interface::post(SendQueue& queue, const Remote& remote,
                                   const verbs::WorkRequest& request) {
  SendQueue::Parked parked{&remote, request};
  const bool behind = !queue.parked.empty() &&
                      (parked.waits_for_all() ||
                       std::any_of(queue.parked.begin(), queue.parked.end(),
                                   [&](const SendQueue::Parked& each) { return each.remote == &remote; }));
  if (!behind) {
    bool refused = false;
    const SendQueue::Import* const known = import(queue, remote, refused);
    if (refused) return engine::PostStatus::kBadRequest;
    if (known != nullptr && known->bound) {
      parked.request.peer = known->peer;
      return engine_->post(now_, queue.queue, parked.request, engine::Submission::kInHand);
    }
  }
  if (queue.parked.size() >= queue.depth) return engine::PostStatus::kQueueFull;
  if (remote.peer->state == Peer::State::kIdle) ask(*remote.peer);
  park(queue);
  queue.parked.push_back(parked);
  if (!behind) queue.looked_at = 0;  // What it waits for may be known already.
  memory_.payloads.retain(request.inline_data.buffer);
  return engine::PostStatus::kOk;
}

engine::PostStatus Interface::refuse(SendQueue& queue, const verbs::WorkRequest& request) {
  const SendQueue::Parked refused{nullptr, request};
  memory_.payloads.retain(request.inline_data.buffer);  // end() releases it.
  const bool first = queue.parked.empty() && !engine_->has_requests(queue.queue);
  if (!refused.waits_for_all() || first) {
    end(queue, refused, verbs::CompletionStatus::kUnsupportedOpcode);
    return engine::PostStatus::kOk;
  }
  const bool room = queue.parked.size() < queue.depth;
  if (!room || !attempted([&] {
        park(queue);
        queue.parked.push_back(refused);
      })) {
    memory_.payloads.release(request.inline_data.buffer);
    return engine::PostStatus::kQueueFull;
  }
  return engine::PostStatus::kOk;
}

// --- Whose messages a queue takes

void Interface::set_partner(SendQueue& queue, const Remote* partner) {
  if (partner != nullptr) {
    make_room_for_one(partner->peer->partners);
    partner->peer->partners.push_back(&queue);
  }
  if (queue.partner != nullptr) std::erase(queue.partner->peer->partners, &queue);
  queue.partner = partner;
  tell_senders(queue);
}

void Interface::tell_senders(SendQueue& queue) {
  ub::Senders senders{.modes = queue.modes, .checks_token = queue.checks_token};
  if (queue.partner != nullptr) {
    const Peer& peer = *queue.partner->peer;
    // Nobody, while its process is not there, or has not said which of its jettys has that number.
    senders.alone = ub::Senders::One{};
    if (peer.state == Peer::State::kUp && !is_another(*queue.partner)) {
      senders.alone = {wire::HostAddress{peer.number}, queue.partner->id};
      if (queue.partner->id < ub::kFirstJettyId) {
        // The newest: an earlier one of that number may be gone without a word that came through.
        senders.alone->jetty = 0;
        std::uint32_t nonce = 0;
        for (const auto& [jetty, each] : peer.bound) {
          if (each.name != queue.partner->id) continue;
          if (senders.alone->jetty != 0 && !is_later(each.nonce, nonce)) continue;
          senders.alone->jetty = jetty;
          nonce = each.nonce;
        }
      }
    }
  }
  WHARF_CHECK(engine_->take_from(queue.queue, senders).ok());
}

void Interface::tell_partners(const Peer& peer) {
  for (SendQueue* const each : peer.partners) tell_senders(*each);
}

// --- Imports that go, and requests that wait

/// `import` is not the queue's any more. The engine knows it while requests to it are outstanding; there is
/// room to keep that in mind.
void Interface::leave_import(SendQueue& queue, const SendQueue::Import& import) {
  const Peer& peer = *import.remote->peer;
  if (import.life != peer.life || peer.state != Peer::State::kUp) return;
  bool gone = false;
  attempted([&] { gone = engine_->disconnect(now_, queue.queue, import.peer).ok(); });
  if (gone) {
    unbind(queue, peer, import.nonce);
    return;
  }
  queue.leaving.push_back({import.peer, peer.number, import.nonce});
  park(queue);
}

/// Tells the process of a target that it need not keep the order of `queue` any more. Nobody asks whether it
/// has heard that.
void Interface::unbind(SendQueue& queue, const Peer& peer, std::uint32_t nonce) {
  if (!needs_binding(queue)) return;
  // It keeps one binding for all targets there, the newest: the last of them ends it.
  bool last = true;
  const auto hand_on = [&](std::uint32_t& kept) {
    last = false;
    if (is_later(nonce, kept)) kept = nonce;
  };
  for (SendQueue::Import& each : queue.imports) {
    if (each.remote->peer == &peer && each.life == peer.life) hand_on(each.nonce);
  }
  for (SendQueue::Leaving& each : queue.leaving) {
    if (each.host == peer.number) hand_on(each.nonce);
  }
  if (!last) return;
  attempted([&] {
    send_message(peer.endpoint, {.kind = PeerMessageKind::kUnbind,
                                 .own_number = peer.number,
                                 .peer_number = peer.own_number,
                                 .jetty = queue.queue,
                                 .nonce = nonce});
  });
}

void Interface::leave_imports(SendQueue& queue) {
  for (std::size_t at = 0; at < queue.leaving.size();) {
    const SendQueue::Leaving each = queue.leaving[at];
    if (!engine_->disconnect(now_, queue.queue, each.peer).ok()) {
      ++at;
      continue;
    }
    queue.leaving.erase(queue.leaving.begin() + static_cast<std::ptrdiff_t>(at));
    queue.looked_at = 0;
    if (const Peer* const left = peer(each.host)) unbind(queue, *left, each.nonce);
  }
}

/// Posts what waits and can go: each in its turn, or in that of its remote queue where the order of records
/// allows it.
void Interface::unpark(SendQueue& queue) {
  std::deque<SendQueue::Parked>& parked = queue.parked;
  if (queue.held || parked.empty() || queue.looked_at == changes_) return;
  queue.looked_at = changes_;
  ++looks_;
  for (std::size_t at = 0; at < parked.size();) {
    SendQueue::Parked& each = parked[at];
    const Remote* const remote = each.remote;
    const bool behind = at > 0 && (each.waits_for_all() || remote == nullptr || remote->waited_in == looks_);
    if (remote == nullptr) {
      if (behind || engine_->has_requests(queue.queue)) {
        if (at == 0) queue.looked_at = 0;  // Until those have ended.
        ++at;
        continue;
      }
      const SendQueue::Parked ended = each;
      parked.pop_front();
      end(queue, ended, verbs::CompletionStatus::kUnsupportedOpcode);
      continue;
    }
    if (is_another(*remote)) {
      give_up(queue, *remote);
      if (queue.held) return;
      ++looks_;
      at = 0;
      continue;
    }
    bool refused = false;
    const SendQueue::Import* const known = behind ? nullptr : import(queue, *remote, refused);
    if (!refused && (known == nullptr || !known->bound)) {
      if (remote->peer->state == Peer::State::kIdle) ask(*remote->peer);
      remote->waited_in = looks_;
      ++at;
      continue;
    }
    engine::PostStatus status = engine::PostStatus::kBadRequest;
    if (!refused) {
      each.request.peer = known->peer;
      status = engine_->post(now_, queue.queue, each.request, engine::Submission::kInHand);
    }
    if (status == engine::PostStatus::kQueueFull) {
      queue.looked_at = 0;  // Until there is room.
      return;
    }
    if (status == engine::PostStatus::kUnsupported) {
      each.remote = nullptr;
      continue;
    }
    const SendQueue::Parked gone = each;
    parked.erase(parked.begin() + static_cast<std::ptrdiff_t>(at));
    if (status == engine::PostStatus::kOk) {
      memory_.payloads.release(gone.request.inline_data.buffer);
      continue;
    }
    end(queue, gone,
        status == engine::PostStatus::kBadQueue ? verbs::CompletionStatus::kFlushed
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
  const auto at = std::find_if(queue.imports.begin(), queue.imports.end(),
                               [&](const SendQueue::Import& each) { return each.remote == &remote; });
  if (at == queue.imports.end()) return;
  const SendQueue::Import gone = *at;
  queue.imports.erase(at);
  leave_import(queue, gone);
}

}  // namespace wharf::live::urma
