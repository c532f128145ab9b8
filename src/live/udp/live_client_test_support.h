// SPDX-License-Identifier: Apache-2.0
// Clients for tests of the live server: proper ones, and one that a test drives message by message.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "live/udp/client.h"
#include "live/udp/live_server_test_support.h"

namespace wharf::live {

/// LiveEngines for typed tests.
template <typename... E>
testing::Types<E...> types_of(EngineList<E...>);
using EngineTypes = decltype(types_of(LiveEngines()));

inline ServerConfig server_config(wire::Protocol protocol) {
  ServerConfig config;
  config.protocol = protocol;
  config.memory_bytes = 64 * 1024;
  config.clients_max = 2;
  config.idle = {.spins = 20, .yields = 20};
  config.unlimited_retries = true;
  return config;
}

inline ClientConfig client_config(const TestServer& server) {
  ClientConfig config;
  config.server = server.place();
  config.unlimited_retries = true;
  config.patience = seconds(60);
  return config;
}

template <typename E>
verbs::Task<void> execute(LiveRemote<E>& remote, verbs::WorkRequest request, verbs::Completion& out) {
  out = co_await remote.execute(request);
}

template <typename E>
verbs::Completion run_one(Client<E>& client, const verbs::WorkRequest& request) {
  verbs::Completion completion;
  completion.status = verbs::CompletionStatus::kFlushed;  // Unless it ends otherwise.
  client.host().core().spawn(execute(client.remote(), request, completion));
  while (!client.host().core().finished() && !client.peer_gone()) client.host().step();
  for (int round = 0; round < 1000 && !client.host().core().finished(); ++round) client.host().step();
  return completion;
}

template <typename E>
verbs::WorkRequest write_request(Client<E>& client, std::uint64_t offset, std::uint32_t length) {
  const std::uint64_t local = client.host().core().allocate(Bytes{length});
  for (std::byte& each : client.host().core().bytes(local, Bytes{length})) each = std::byte{0xab};
  verbs::WorkRequest request;
  request.verb = verbs::Verb::kWrite;
  request.local_count = 1;
  request.local[0] = {local, length};
  request.length = length;
  request.remote = client.remote().segment().at(offset);
  return request;
}

inline bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte each) { return each == std::byte{0}; });
}

/// The client's side of the exchange, step by step.
template <typename E>
struct ManualClient {
  explicit ManualClient(const TestServer& server)
      : channel(ControlChannel::connect(server.endpoint(), seconds(60)).value()),
        socket(UdpSocket::open({0x7f000001, 0}, LiveProtocol<E>::kDescription.socket).value()) {}

  Hello proper_hello() const {
    Hello hello;
    hello.protocol = kProtocolOf<E>;
    hello.udp_port = socket.local().port;
    return hello;
  }
  Result<Welcome> say(const Hello& hello) { return exchange<Welcome>(channel, hello, seconds(60)); }
  /// A queue of an engine that calls itself host `number`.
  engine::ExchangeBlob queue_of(wire::HostAddress number) {
    engine = LiveProtocol<E>::make({.host = number}, memory).value();
    return engine->export_queue(engine->create_queue(kTimeZero, {}).value()).value();
  }
  Result<Connected> connect(engine::ExchangeBlob queue) {
    return exchange<Connected>(channel, Connect{std::move(queue)}, seconds(60));
  }
  /// The whole exchange.
  Result<Connected> open() {
    auto welcome = say(proper_hello());
    if (!welcome) return welcome.error();
    return connect(queue_of(welcome->client));
  }
  /// The whole exchange, with `entries` of 64 bytes that the server keeps posted.
  Result<Connected> open_with_entries(std::uint32_t entries) {
    Hello hello = proper_hello();
    hello.receive_entries = entries;
    hello.receive_bytes = 64;
    auto welcome = say(hello);
    if (!welcome) return welcome.error();
    return connect(queue_of(welcome->client));
  }
  /// What the server says next, which must be a refusal.
  Result<Refusal> refusal() {
    auto bytes = channel.receive(seconds(60));
    if (!bytes) return bytes.error();
    auto message = decode_session_message(*bytes);
    if (!message) return message.error();
    if (const auto* refusal = std::get_if<Refusal>(&*message)) return *refusal;
    return input_error("another message than a refusal");
  }

  ControlChannel channel;
  UdpSocket socket;
  EngineMemory memory;
  std::unique_ptr<E> engine;
};

}  // namespace wharf::live
