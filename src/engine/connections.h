// SPDX-License-Identifier: Apache-2.0
// Listen, connect, accept, reject, close, as events: the control plane that every protocol needs, written
// once over export_queue() and connect(). It knows no channel: messages come in and go out as bytes, over
// whatever reaches the other host's control plane. Control path: it takes memory.
//
//   asking:    connect() -> kAsking -kAccept-> kEstablished            kReject, silence -> kRejected
//   answering: kRequest -> kAsked -accept()-> kAccepting -kConfirm-> kEstablished     reject() -> kRefusing
//   both:      close() -> kClosing -kClosed-> gone     kClose, engine or channel lost -> kLost
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/connection_message.h"
#include "engine/contract.h"
#include "wire/host_address.h"

namespace wharf::engine {

/// A connection in its Connections; never reused, never 0.
using ConnectionId = std::uint32_t;

enum class ConnectionEventKind : std::uint8_t {
  kRequested,    ///< Somebody asks a service that is listened to: accept() or reject().
  kEstablished,  ///< Requests may be posted to `peer`.
  kRejected,     ///< connect() came to nothing, for `reason`. The queue has no peer.
  kLost,         ///< It is over, for `reason`. The queue may still have the peer: disconnect or destroy it.
};

struct ConnectionEvent {
  ConnectionEventKind kind = ConnectionEventKind::kRequested;
  ConnectionId connection = 0;
  wire::HostAddress host;
  std::uint64_t service = 0;
  QueueId queue = 0;             ///< All but kRequested.
  PeerId peer = verbs::kNoPeer;  ///< kEstablished, kLost.
  ConnectionReason reason = ConnectionReason::kNone;
  std::vector<std::byte> data;  ///< What the peer sent along: with the request, the accept, or the reject.
};

struct ConnectionsConfig {
  TimePs repeat_after = milliseconds(100);  ///< A message without an answer is sent again.
  std::uint32_t attempts = 8;               ///< And given up after so many.
  std::uint32_t requests_most = 128;  ///< Requests that the program has not answered; more are told kBusy.
};

/// Of one host. `engine` outlives it. The caller hands over every AsyncEvent of the engine (engine_event()),
/// and says when the control channel to a host is gone (host_lost()).
template <typename E>
class Connections {
 public:
  Connections(E& engine, const ConnectionsConfig& config) : engine_(engine), config_(config) {}

  // --- The program.
  Result<void> listen(std::uint64_t service) {
    if (!services_.insert(service).second) {
      return input_error("service " + std::to_string(service) + " is listened to already");
    }
    return {};
  }
  /// Requests that wait for an answer still wait.
  Result<void> stop_listening(std::uint64_t service) {
    if (services_.erase(service) == 0) {
      return input_error("service " + std::to_string(service) + " is not listened to");
    }
    return {};
  }
  /// Asks host `host`; kEstablished or kRejected follows.
  Result<ConnectionId> connect(TimePs now, QueueId queue, wire::HostAddress host, std::uint64_t service,
                               std::span<const std::byte> data) {
    WHARF_TRY(check(data));
    Result<ExchangeBlob> blob = engine_.export_queue(queue);
    if (!blob.ok()) return blob.error();
    const ConnectionId id = open(State::kAsking, host, service);
    Connection& made = connections_[id];
    made.queue = queue;
    send(now, made, ConnectionMessageType::kRequest, ConnectionReason::kNone, *std::move(blob), data);
    return id;
  }
  /// Connects `queue`; kEstablished follows. After an error the request still waits for an answer.
  Result<void> accept(TimePs now, ConnectionId id, QueueId queue, std::span<const std::byte> data) {
    Connection* asked = find(id, State::kAsked);
    if (asked == nullptr) return no_request(id);
    WHARF_TRY(check(data));
    Result<ExchangeBlob> blob = engine_.export_queue(queue);
    if (!blob.ok()) return blob.error();
    Result<PeerId> peer = engine_.connect(now, queue, asked->blob);
    if (!peer.ok()) return peer.error();
    --requests_;
    asked->state = State::kAccepting;
    asked->queue = queue;
    asked->peer = *peer;
    asked->blob.clear();
    send(now, *asked, ConnectionMessageType::kAccept, ConnectionReason::kNone, *std::move(blob), data);
    return {};
  }
  Result<void> reject(TimePs now, ConnectionId id, std::span<const std::byte> data) {
    Connection* asked = find(id, State::kAsked);
    if (asked == nullptr) return no_request(id);
    WHARF_TRY(check(data));
    --requests_;
    asked->state = State::kRefusing;
    asked->blob.clear();
    send(now, *asked, ConnectionMessageType::kReject, ConnectionReason::kRefused, {}, data);
    return {};
  }
  /// Disconnects the queue, where the engine allows it, and tells the other host. No event follows here.
  Result<void> close(TimePs now, ConnectionId id) {
    Connection* open = find(id);
    if (open == nullptr || (open->state != State::kEstablished && open->state != State::kAccepting)) {
      return input_error("there is no established connection " + std::to_string(id));
    }
    WHARF_TRY(engine_.disconnect(now, open->queue, open->peer));
    open->state = State::kClosing;
    send(now, *open, ConnectionMessageType::kClose, ConnectionReason::kClosed, {}, {});
    return {};
  }
  bool poll_event(ConnectionEvent& out) {
    if (events_.empty()) return false;
    out = std::move(events_.front());
    events_.pop_front();
    return true;
  }

  // --- The engine and the channel.
  /// A control message of host `from`, as the channel knows it. Bytes that are none are counted.
  void receive(TimePs now, wire::HostAddress from, std::span<const std::byte> bytes) {
    Result<ConnectionMessage> message = decode_connection_message(bytes);
    if (!message.ok()) {
      ++malformed_;
      return;
    }
    take(now, from, *message);
  }
  /// The next message to carry to host `to`.
  bool next_message(wire::HostAddress& to, std::vector<std::byte>& out) {
    if (outgoing_.empty()) return false;
    to = outgoing_.front().first;
    out = std::move(outgoing_.front().second);
    outgoing_.pop_front();
    return true;
  }
  void engine_event(const AsyncEvent& event) {
    const bool of_queue = event.kind == AsyncEventKind::kQueueError;
    if (!of_queue && event.kind != AsyncEventKind::kPeerUnreachable) return;
    end_where(of_queue ? ConnectionReason::kQueueError : ConnectionReason::kUnreachable,
              [&](const Connection& open) {
                return of_queue ? open.queue == event.queue && has_queue(open.state)
                                : open.peer == event.peer && open.peer != verbs::kNoPeer;
              });
  }
  void host_lost(wire::HostAddress host) {
    end_where(ConnectionReason::kUnreachable, [&](const Connection& open) { return open.host == host; });
  }
  void expire(TimePs now) {
    for (auto at = connections_.begin(); at != connections_.end();) {
      Connection& open = at->second;
      const auto here = at++;
      if (open.repeat_at > now) continue;
      if (++open.sent < config_.attempts) {
        open.repeat_at = now + config_.repeat_after;
        if (open.state != State::kRefusing) outgoing_.emplace_back(open.host, open.last_message);
        continue;
      }
      finish(here, ConnectionReason::kUnreachable);
    }
  }
  TimePs deadline() const {
    TimePs earliest = kNever;
    for (const auto& [id, open] : connections_) earliest = min(earliest, open.repeat_at);
    return earliest;
  }
  /// Messages that were none.
  std::uint64_t malformed() const { return malformed_; }
  /// Connections in any state.
  std::size_t size() const { return connections_.size(); }

 private:
  enum class State : std::uint8_t { kAsking, kAsked, kAccepting, kEstablished, kRefusing, kClosing };
  struct Connection {
    ConnectionId id = 0;
    State state = State::kAsking;
    wire::HostAddress host;
    std::uint32_t remote = 0;  ///< The other host's name of it.
    std::uint64_t service = 0;
    QueueId queue = 0;
    PeerId peer = verbs::kNoPeer;
    ExchangeBlob blob;  ///< kAsked: the asking queue's.
    std::vector<std::byte> last_message;
    std::uint32_t sent = 0;
    TimePs repeat_at = kNever;
  };
  using Map = std::map<ConnectionId, Connection>;

  static bool has_queue(State state) {
    return state == State::kAsking || state == State::kAccepting || state == State::kEstablished;
  }
  static Result<void> check(std::span<const std::byte> data) {
    if (data.size() <= kConnectionDataMost) return {};
    return input_error("private data: found " + std::to_string(data.size()) + " bytes, expected at most " +
                       std::to_string(kConnectionDataMost));
  }
  static Error no_request(ConnectionId id) {
    return input_error("there is no connection request " + std::to_string(id));
  }
  Connection* find(ConnectionId id) {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : &found->second;
  }
  Connection* find(ConnectionId id, State state) {
    Connection* found = find(id);
    return found != nullptr && found->state == state ? found : nullptr;
  }
  ConnectionId open(State state, wire::HostAddress host, std::uint64_t service) {
    const ConnectionId id = ++last_id_;
    Connection& made = connections_[id];
    made.id = id;
    made.state = state;
    made.host = host;
    made.service = service;
    return id;
  }

  /// Sends, and repeats until the next step.
  void send(TimePs now, Connection& open, ConnectionMessageType type, ConnectionReason reason,
            ExchangeBlob blob, std::span<const std::byte> data) {
    ConnectionMessage message;
    message.type = type;
    message.reason = reason;
    message.from = open.id;
    message.to = open.remote;
    message.service = open.service;
    message.blob = std::move(blob);
    message.data.assign(data.begin(), data.end());
    open.last_message = encode(message);
    open.sent = 1;
    open.repeat_at = now + config_.repeat_after;
    outgoing_.emplace_back(open.host, open.last_message);
  }
  /// Answers without a connection.
  void answer(wire::HostAddress host, const ConnectionMessage& message, ConnectionMessageType type,
              ConnectionReason reason) {
    ConnectionMessage reply;
    reply.type = type;
    reply.reason = reason;
    reply.to = message.from;
    reply.service = message.service;
    outgoing_.emplace_back(host, encode(reply));
  }
  void raise(ConnectionEventKind kind, const Connection& open, ConnectionReason reason,
             std::vector<std::byte> data) {
    events_.push_back(
        {kind, open.id, open.host, open.service, open.queue, open.peer, reason, std::move(data)});
  }

  void take(TimePs now, wire::HostAddress from, ConnectionMessage& message) {
    if (message.type == ConnectionMessageType::kRequest) return take_request(from, message);
    Connection* open = find(message.to);
    if (open != nullptr &&
        (open->host != from || (open->remote != 0 && message.from != 0 && open->remote != message.from))) {
      open = nullptr;  // Somebody else's.
    }
    switch (message.type) {
      case ConnectionMessageType::kRequest:
        return;
      case ConnectionMessageType::kAccept:
        return take_accept(now, from, open, message);
      case ConnectionMessageType::kConfirm:
        if (open == nullptr)
          return answer(from, message, ConnectionMessageType::kClose, ConnectionReason::kClosed);
        if (open->state != State::kAccepting) return;
        establish(*open, {});
        return;
      case ConnectionMessageType::kReject:
        if (open == nullptr || open->state != State::kAsking) return;
        raise(ConnectionEventKind::kRejected, *open, message.reason, std::move(message.data));
        connections_.erase(open->id);
        return;
      case ConnectionMessageType::kClose:
        answer(from, message, ConnectionMessageType::kClosed, ConnectionReason::kNone);
        if (open != nullptr) finish(connections_.find(open->id), ConnectionReason::kClosed);
        return;
      case ConnectionMessageType::kClosed:
        if (open != nullptr && open->state == State::kClosing) connections_.erase(open->id);
        return;
    }
  }
  void take_request(wire::HostAddress from, ConnectionMessage& message) {
    if (message.from == 0) {
      ++malformed_;
      return;
    }
    for (const auto& [id, open] : connections_) {
      if (open.host != from || open.remote != message.from || open.state == State::kAsking) continue;
      if (open.state != State::kAsked) outgoing_.emplace_back(open.host, open.last_message);  // Repeated.
      return;
    }
    const auto refuse = [&](ConnectionReason reason) {
      answer(from, message, ConnectionMessageType::kReject, reason);
    };
    if (!services_.contains(message.service)) return refuse(ConnectionReason::kNoListener);
    if (requests_ >= config_.requests_most) return refuse(ConnectionReason::kBusy);
    ++requests_;
    Connection& asked = connections_[open(State::kAsked, from, message.service)];
    asked.remote = message.from;
    asked.blob = std::move(message.blob);
    raise(ConnectionEventKind::kRequested, asked, ConnectionReason::kNone, std::move(message.data));
  }
  void take_accept(TimePs now, wire::HostAddress from, Connection* open, ConnectionMessage& message) {
    if (open != nullptr && open->state == State::kEstablished) {
      outgoing_.emplace_back(from, open->last_message);  // The confirmation was lost.
      return;
    }
    if (open == nullptr || open->state != State::kAsking) {
      return answer(from, message, ConnectionMessageType::kClose, ConnectionReason::kClosed);
    }
    Result<PeerId> peer = engine_.connect(now, open->queue, message.blob);
    if (!peer.ok()) {
      answer(from, message, ConnectionMessageType::kClose, ConnectionReason::kBadBlob);
      raise(ConnectionEventKind::kRejected, *open, ConnectionReason::kBadBlob, std::move(message.data));
      connections_.erase(open->id);
      return;
    }
    open->remote = message.from;
    open->peer = *peer;
    send(now, *open, ConnectionMessageType::kConfirm, ConnectionReason::kNone, {}, {});
    establish(*open, std::move(message.data));
  }
  void establish(Connection& open, std::vector<std::byte> data) {
    open.state = State::kEstablished;
    open.repeat_at = kNever;
    raise(ConnectionEventKind::kEstablished, open, ConnectionReason::kNone, std::move(data));
  }

  /// It is over. The program is told what it does not know.
  void finish(typename Map::iterator at, ConnectionReason reason) {
    Connection& open = at->second;
    if (open.state == State::kAsking) {
      raise(ConnectionEventKind::kRejected, open, reason, {});
    } else if (open.state != State::kRefusing && open.state != State::kClosing) {
      if (open.state == State::kAsked) --requests_;
      raise(ConnectionEventKind::kLost, open, reason, {});
    }
    connections_.erase(at);
  }
  template <typename Which>
  void end_where(ConnectionReason reason, const Which& which) {
    for (auto at = connections_.begin(); at != connections_.end();) {
      const auto here = at++;
      if (which(here->second)) finish(here, reason);
    }
  }

  E& engine_;
  ConnectionsConfig config_;
  std::set<std::uint64_t> services_;
  Map connections_;
  ConnectionId last_id_ = 0;
  std::uint32_t requests_ = 0;  ///< In kAsked.
  std::deque<std::pair<wire::HostAddress, std::vector<std::byte>>> outgoing_;
  std::deque<ConnectionEvent> events_;
  std::uint64_t malformed_ = 0;
};

}  // namespace wharf::engine
