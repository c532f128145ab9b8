// SPDX-License-Identifier: Apache-2.0
// Clients in good standing whose packets lie. Each is one that the protocol's own engine made, with its
// secrets, of which some bytes were changed and the checksum made right again: sequence numbers that jump,
// lengths that lie, other opcodes, fragments that overlap, repetitions, answers that nobody asked for. The
// server goes on, its memory stays bounded, and nobody reaches another's. WHARF_HOSTILE_DATAGRAMS says how
// many of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "engine/driver/engine_driver.h"
#include "live/udp/live_client_test_support.h"
#include "live/udp/network_headers.h"
#include "live/udp/recorder_test_support.h"
#include "wire/icrc.h"
#include "wire/uet_codec.h"
#include "wire/uet_frame.h"

namespace wharf::live {
namespace {

using verbs::Verb;

constexpr std::uint32_t kDatagramsOfASession = 400;

std::uint32_t datagrams_wanted() {
  const char* const text = std::getenv("WHARF_HOSTILE_DATAGRAMS");
  return text == nullptr ? 8'000 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

/// Makes the checksum of a changed datagram right again.
void sign(std::type_identity<ub::UbEngine>, std::span<std::byte>, const UdpEndpoint&, const UdpEndpoint&) {}
void sign(std::type_identity<roce::RoceEngine>, std::span<std::byte> bytes, const UdpEndpoint& from,
          const UdpEndpoint& to) {
  if (bytes.size() < 16) return;
  const auto transport = bytes.first(bytes.size() - 4);
  const NetworkHeaders headers = network_headers(from, to, 0, bytes.size());
  store_le32(bytes.data() + transport.size(), wire::icrc(wire::IpVersion::kV4, headers.data(), transport));
}
void sign(std::type_identity<uet::UetEngine>, std::span<std::byte> bytes, const UdpEndpoint& from,
          const UdpEndpoint& to) {
  if (bytes.size() < wire::kUetCrcBytes) return;
  const auto transport = bytes.first(bytes.size() - wire::kUetCrcBytes);
  const NetworkHeaders headers = network_headers(from, to, 0, bytes.size());
  const std::uint32_t crc = wire::uet_crc(
      transport, wire::uet_crc(std::span(headers).subspan(wire::uet_crc_start(wire::IpVersion::kV4))));
  wire::store_uet_crc(crc, wire::UetOptions{}.crc_order, bytes.data() + transport.size());
}

/// A session of a client with a secret of its own, and the packets of some requests of every kind.
template <typename E>
struct Liar {
  explicit Liar(const TestServer& server) : client(server) {
    Hello hello = client.proper_hello();
    hello.receive_entries = 4;
    hello.receive_bytes = 2048;
    const auto welcome = client.say(hello);
    WHARF_CHECK(welcome.ok());
    client.engine = LiveProtocol<E>::make({.host = welcome->client}, client.memory).value();
    SecretSource source(7, "liar");
    const auto secrets = SessionSecrets::draw(welcome->client, source).value();
    E& engine = *client.engine;
    const auto queue =
        LiveProtocol<E>::create_queue(engine, kTimeZero, {.send_depth = 64, .receive_depth = 4}, secrets)
            .value();
    const auto connected = client.connect(engine.export_queue(queue).value());
    WHARF_CHECK(connected.ok());
    const auto peer = engine.connect(kTimeZero, queue, connected->queue).value();
    Recorder<E> parts{client.socket.local(), server.packets(), client.memory.payloads};
    engine::EngineDriver driver(engine, parts, parts, parts);
    const auto post = [&](Verb verb, std::uint32_t length) {
      if (!E::supports(verb)) return;
      verbs::WorkRequest request;
      request.verb = verb;
      request.peer = peer;
      request.remote = connected->segment.at(connected->slice_offset + 64);
      request.invalidate = connected->segment.token;
      if (verbs::is_atomic(verb)) {
        request.length = request.width = 8;
        request.operand[0] = 1;
      } else {
        request.local_count = 1;
        request.local[0] = {reinterpret_cast<std::uint64_t>(local.data()), length};
        request.length = length;
      }
      if (engine.post(kTimeZero, queue, request, engine::Submission::kInHand) == engine::PostStatus::kOk)
        driver.settle(kTimeZero);
    };
    for (const std::uint32_t length : {8U, 64U, 1500U, 9000U}) post(Verb::kWrite, length);
    for (const std::uint32_t length : {64U, 9000U}) post(Verb::kRead, length);
    for (const std::uint32_t length : {8U, 1800U, 6000U}) post(Verb::kSend, length);
    post(Verb::kWriteImm, 256);
    post(Verb::kFetchAdd, 8);
    post(Verb::kCompareSwap, 8);
    post(Verb::kSendInvalidate, 8);
    packets = std::move(parts.packets);
    services = std::move(parts.services);
    WHARF_CHECK(!packets.empty());
  }

  /// Sends one of its packets, changed.
  void lie(const TestServer& server, RandomStream& random) {
    const std::size_t which = random.below(packets.size());
    std::vector<std::byte> bytes = packets[which];
    const std::uint64_t kind = random.below(16);
    if (kind == 0) bytes.resize(random.below(bytes.size() + 1));                                  // Cut off.
    if (kind == 1) bytes.resize(std::min<std::size_t>(bytes.size() + random.below(4096), 9000));  // Too long.
    if (kind > 2 && !bytes.empty()) {  // Kind 2: as it was, which makes it a repetition.
      for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
        std::byte& at = bytes[random.below(std::min<std::size_t>(bytes.size(), 64))];
        // One bit, which names a near neighbour, or all.
        at = random.below(2) == 0 ? at ^ std::byte(1U << random.below(8)) : std::byte(random.below(256));
      }
    }
    const UdpEndpoint to = server.packets();
    sign(std::type_identity<E>(), bytes, client.socket.local(), to);
    const std::span<std::byte> room = client.socket.queue(to, services[which]);
    std::copy(bytes.begin(), bytes.end(), room.begin());
    client.socket.set_queued_length(bytes.size());
    client.socket.flush();
  }

  std::vector<std::byte> local = std::vector<std::byte>(16'384, std::byte{0x77});
  ManualClient<E> client;
  std::vector<std::vector<std::byte>> packets;
  std::vector<std::uint8_t> services;
};

template <typename E>
class HostilePeer : public testing::Test {};
TYPED_TEST_SUITE(HostilePeer, EngineTypes);

TYPED_TEST(HostilePeer, PacketsThatLieHarmNobodyElse) {
  const std::uint32_t wanted = datagrams_wanted();
  ServerConfig config = server_config(kProtocolOf<TypeParam>);
  config.memory_bytes = 128 * 1024;
  config.limits.refused_accesses = ~std::uint64_t{0};  // Here they may go on.
  TestServer server(config);
  const LiveClock clock;
  const auto honest = Client<TypeParam>::open(client_config(server), clock).value();
  ASSERT_TRUE(run_one(*honest, write_request(*honest, 4096, 512)).ok());
  RandomStream random(1, "liars");
  for (std::uint32_t sent = 0; sent < wanted; sent += kDatagramsOfASession) {
    Liar<TypeParam> liar(server);
    for (std::uint32_t datagram = 0; datagram < kDatagramsOfASession; ++datagram) {
      liar.lie(server, random);
      // An operation of the other one now and then, which also lets the server keep up.
      if (datagram % 50 == 49) {
        ASSERT_TRUE(run_one(*honest, write_request(*honest, 8192, 64)).ok());
      }
    }
  }
  std::vector<std::byte> expected(config.memory_bytes / config.clients_max);
  std::fill_n(expected.begin() + 4096, 512, std::byte{0xab});
  std::fill_n(expected.begin() + 8192, 64, std::byte{0xab});
  const std::vector<std::byte> memory = server.memory();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin())) << "the slice of the other one";
  const ServerSummary summary = server.stop();
  EXPECT_GT(summary.counters.datagrams_received, std::uint64_t{wanted} / 2);
  EXPECT_LT(summary.payload_bytes, std::uint64_t{16} << 20U);
  EXPECT_LT(summary.engine_bytes, std::uint64_t{16} << 20U);
}

}  // namespace
}  // namespace wharf::live
