// SPDX-License-Identifier: Apache-2.0
// One client of a live server: an engine of its own, connected to the server's memory.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/result.h"
#include "live/reactor/live_clock.h"
#include "live/secure/key.h"
#include "live/secure/seal.h"
#include "live/udp/control_channel.h"
#include "live/udp/entrance.h"
#include "live/udp/live_host.h"
#include "live/udp/live_protocol.h"
#include "live/udp/live_remote.h"
#include "live/udp/place.h"
#include "live/udp/secure_channel.h"
#include "live/udp/session.h"

namespace wharf::live {

struct ClientConfig {
  Place server;
  std::uint32_t queue_depth = 128;  ///< Outstanding requests; rounded up to a power of two.
  ArrivalRule arrivals = ArrivalRule::kKeep;
  std::uint32_t receive_entries = 0;  ///< That the server keeps posted.
  std::uint32_t receive_bytes = 0;
  std::optional<std::uint64_t> tag;                 ///< Those entries take messages of this tag alone.
  verbs::AccessRights rights = verbs::kFullAccess;  ///< To the memory.
  std::uint64_t slice_key = 0;  ///< slice_key() of another client, to share its slice; 0: a slice of its own.
  FaultConfig faults;
  std::uint64_t seed = 1;
  RepetitionTimes repetition{};
  bool unlimited_retries = false;
  std::uint32_t congestion = 0;  ///< EngineSettings::congestion.
  DeliveryChoice delivery{};
  LiveCapture* capture = nullptr;  ///< May be null; outlives the client.
  TimePs patience = seconds(2);    ///< For each step of the exchange.
  std::optional<Key> psk;          ///< Shown to the server, which must have it too. Not in shared memory.
  bool seal_packets = false;       ///< Also where the server does not ask for it. With `psk`.
};

/// Sends `request` and waits for the answer of type `Answer`; a Refusal becomes its error.
template <typename Answer>
Result<Answer> exchange(ControlChannel& channel, const SessionMessage& request, TimePs patience) {
  WHARF_TRY(channel.send(encode(request), patience));
  auto bytes = channel.receive(patience);
  if (!bytes) return bytes.error();
  auto message = decode_session_message(*bytes);
  if (!message) return message.error();
  if (const auto* refusal = std::get_if<Refusal>(&*message)) {
    return Error{refusal->kind, fmt::format("the server refuses: {}", refusal->reason)};
  }
  auto* answer = std::get_if<Answer>(&*message);
  if (answer == nullptr) return input_error("the server sent another session message than the one expected");
  return std::move(*answer);
}

/// Runs on the thread that opened it. `E` is one of LiveEngines.
template <engine::Engine E>
class Client {
 public:
  /// Exchanges everything with the server. `clock` outlives the client.
  static Result<std::unique_ptr<Client>> open(const ClientConfig& config, const LiveClock& clock);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  LiveHost<E>& host() { return host_; }
  LiveRemote<E>& remote() { return remote_; }
  /// The part of the segment that is this session's, and of those that it tells its key.
  std::uint64_t slice_offset() const { return connected_.slice_offset; }
  std::uint64_t slice_bytes() const { return connected_.slice_bytes; }
  std::uint64_t slice_key() const { return connected_.slice_key; }
  /// What the server found in its receive entries. Waits, without stepping the host.
  Result<Report> report() { return exchange<Report>(channel_, ReportRequest{}, patience_); }
  bool peer_gone() const { return channel_.peer_gone(); }
  /// Whether packets are sealed.
  bool sealed() const { return sealed_; }
  /// Why the server sent this client away, if it is gone and said so.
  std::optional<Error> farewell() {
    const auto bytes = channel_.try_receive();
    if (!bytes.ok() || !*bytes) return std::nullopt;
    const auto message = decode_session_message(**bytes);
    if (!message.ok()) return std::nullopt;
    const auto* refusal = std::get_if<Refusal>(&*message);
    if (refusal == nullptr) return std::nullopt;
    return Error{refusal->kind, fmt::format("the server sent this client away: {}", refusal->reason)};
  }

 private:
  Client(const ClientConfig& config, const LiveClock& clock, ControlChannel channel, const Welcome& welcome,
         Connected connected, std::unique_ptr<EngineMemory> memory, std::unique_ptr<E> engine,
         std::unique_ptr<DatagramPort> port, verbs::QueueId queue, verbs::PeerId peer)
      : patience_(config.patience),
        channel_(std::move(channel)),
        connected_(std::move(connected)),
        memory_(std::move(memory)),
        host_(std::move(engine), welcome.client, memory_->payloads, std::move(port), clock, config.seed,
              config.faults, config.capture),
        remote_(host_, queue, peer, connected_.segment) {}

  TimePs patience_;
  bool sealed_ = false;
  ControlChannel channel_;
  Connected connected_;
  std::unique_ptr<EngineMemory> memory_;
  LiveHost<E> host_;
  LiveRemote<E> remote_;
};

template <engine::Engine E>
Result<std::unique_ptr<Client<E>>> Client<E>::open(const ClientConfig& config, const LiveClock& clock) {
  using Protocol = LiveProtocol<E>;
  WHARF_TRY(check_key(config.psk, config.seal_packets, config.server));
  auto door = enter(config.server, Protocol::kDescription, config.patience);
  if (!door) return door.error();
  ControlChannel& channel = door->channel;
  std::unique_ptr<PacketSeal> seal;
  if (config.psk) {
    const auto keys =
        secure_as_client(channel, *config.psk, kProtocolOf<E>, config.seal_packets, config.patience);
    if (!keys) return keys.error();
    if (keys->seal_packets)
      seal = std::make_unique<PacketSeal>(keys->packets_to_server, keys->packets_to_client);
  }
  Hello hello;
  hello.protocol = kProtocolOf<E>;
  hello.arrivals = config.arrivals;
  hello.udp_port = door->port->local().port;
  hello.mtu = mtu_for_path(channel.path_mtu(), seal == nullptr ? 0 : kSealBytes);
  hello.queue_depth = std::bit_ceil(config.queue_depth);
  hello.receive_entries = config.receive_entries;
  hello.receive_bytes = config.receive_bytes;
  hello.tagged = config.tag.has_value();
  hello.tag = config.tag.value_or(0);
  hello.rights = config.rights;
  hello.slice_key = config.slice_key;
  auto welcome = exchange<Welcome>(channel, hello, config.patience);
  if (!welcome) return welcome.error();

  auto memory = std::make_unique<EngineMemory>();
  auto engine = Protocol::make({.host = welcome->client,
                                .mtu = std::min(hello.mtu, welcome->mtu),
                                .seed = config.seed,
                                .repetition = config.repetition,
                                .unlimited_retries = config.unlimited_retries,
                                .congestion = config.congestion,
                                .delivery = config.delivery},
                               *memory);
  if (!engine) return engine.error();
  E& made = **engine;
  const TimePs now = clock.now();
  engine::QueueConfig depths;
  depths.send_depth = hello.queue_depth;
  depths.receive_depth = std::bit_ceil(std::max(config.receive_entries, 1U));
  SecretSource kernel(std::nullopt, "live.client_secrets");
  const auto secrets = SessionSecrets::draw(welcome->client, kernel);
  if (!secrets) return secrets.error();
  auto queue = Protocol::create_queue(made, now, depths, *secrets);
  if (!queue) return queue.error();
  auto blob = made.export_queue(*queue);
  if (!blob) return blob.error();
  auto connected = exchange<Connected>(channel, Connect{*std::move(blob)}, config.patience);
  if (!connected) return connected.error();
  auto peer = made.connect(now, *queue, connected->queue);
  if (!peer) return peer.error();

  const UdpEndpoint server{channel.peer_address(), connected->udp_port};
  std::unique_ptr<Client> client(new Client(config, clock, std::move(channel), *welcome,
                                            *std::move(connected), std::move(memory), *std::move(engine),
                                            std::move(door->port), *queue, *peer));
  client->sealed_ = seal != nullptr;
  client->host_.add_peer(welcome->server, server, std::nullopt, std::move(seal));
  return client;
}

}  // namespace wharf::live
