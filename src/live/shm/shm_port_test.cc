// SPDX-License-Identifier: Apache-2.0
// A port over links in shared memory: who gets what, in turns, and what one client does to the others.
#include "live/shm/shm_port.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"

namespace wharf::live {
namespace {

constexpr std::uint16_t kServerPort = 4792;

/// A server with some clients, all in this process.
struct Ports {
  explicit Ports(std::size_t count) : server(ShmPort::create(kServerPort, kShmFirstClientPort).value()) {
    for (std::size_t each = 0; each < count; ++each) add_client();
  }
  ShmPort& add_client() {
    const std::uint16_t port = server->free_port().value();
    SharedLink::OtherEnd end;
    WHARF_CHECK(server->add(port, SharedLink::create(end).value()).ok());
    auto client = ShmPort::create(port, kServerPort).value();
    WHARF_CHECK(client->add(kServerPort, SharedLink::adopt(std::move(end)).value()).ok());
    clients.push_back(std::move(client));
    return *clients.back();
  }
  std::unique_ptr<ShmPort> server;
  std::vector<std::unique_ptr<ShmPort>> clients;
};

void send(ShmPort& from, const UdpEndpoint& to, std::size_t bytes, std::byte value,
          std::uint8_t service = 0) {
  const std::span<std::byte> room = from.queue(to, service);
  std::fill_n(room.begin(), bytes, value);
  from.set_queued_length(bytes);
}

bool readable(const ShmPort& port) {
  pollfd wait{port.descriptor(), POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

TEST(ShmPort, EachFrameReachesItsReceiverWithItsSender) {
  Ports ports(3);
  for (std::size_t each = 0; each < 3; ++each) {
    send(*ports.clients[each], ports.server->local(), each + 1, std::byte(each), 7);
    ports.clients[each]->flush();
    send(*ports.server, ports.clients[each]->local(), each + 10, std::byte(each));
  }
  ports.server->flush();
  ASSERT_EQ(ports.server->receive(), 3U);
  for (std::size_t each = 0; each < 3; ++each) {
    const auto& frame = ports.server->datagram(each);
    const auto sender = static_cast<std::size_t>(frame.source.port - kShmFirstClientPort);
    EXPECT_EQ(frame.source, ports.clients[sender]->local());
    EXPECT_EQ(frame.bytes.size(), sender + 1);
    EXPECT_EQ(frame.bytes[0], std::byte(sender));
    EXPECT_EQ(frame.service, 7);
    ASSERT_EQ(ports.clients[each]->receive(), 1U);
    EXPECT_EQ(ports.clients[each]->datagram(0).source, ports.server->local());
    EXPECT_EQ(ports.clients[each]->datagram(0).bytes.size(), each + 10);
  }
  EXPECT_EQ(ports.server->receive(), 0U);
}

TEST(ShmPort, DataIsReadWhereItLiesWhenItIsSent) {
  Ports ports(1);
  std::vector<std::byte> data(3000);
  send(*ports.clients[0], ports.server->local(), 20, std::byte{4});
  ports.clients[0]->queue_data(data);
  send(*ports.clients[0], ports.server->local(), 5, std::byte{6});
  std::fill(data.begin(), data.end(), std::byte{4});
  ports.clients[0]->flush();
  ASSERT_EQ(ports.server->receive(), 2U);
  const std::span<const std::byte> whole = ports.server->datagram(0).bytes;
  EXPECT_EQ(whole.size(), 3020U);
  EXPECT_EQ(std::count(whole.begin(), whole.end(), std::byte{4}), 3020);
  EXPECT_EQ(ports.server->datagram(1).bytes.size(), 5U);
}

TEST(ShmPort, OneThatFloodsLeavesRoomForTheOthers) {
  Ports ports(2);
  for (int each = 0; each < 1000; ++each) send(*ports.clients[0], ports.server->local(), 64, std::byte{1});
  send(*ports.clients[1], ports.server->local(), 64, std::byte{2});
  ports.clients[0]->flush();
  ports.clients[1]->flush();
  ASSERT_EQ(ports.server->receive(), DatagramPort::kBatch);
  std::map<std::uint16_t, std::size_t> of;
  for (std::size_t each = 0; each < DatagramPort::kBatch; ++each)
    ++of[ports.server->datagram(each).source.port];
  EXPECT_EQ(of[ports.clients[1]->local().port], 1U);
  EXPECT_EQ(of[ports.clients[0]->local().port], DatagramPort::kBatch - 1);  // And no room stays empty.
}

TEST(ShmPort, OneThatReadsNothingLosesItsOwnFramesOnly) {
  Ports ports(2);
  for (int each = 0; each < 500; ++each) {
    send(*ports.server, ports.clients[0]->local(), 4096, std::byte{1});
    send(*ports.server, ports.clients[1]->local(), 4096, std::byte{2});
    ports.server->flush();
    ASSERT_EQ(ports.clients[1]->receive(), 1U);
  }
  EXPECT_GT(ports.server->dropped(), 200U);
  EXPECT_LT(ports.server->dropped(), 300U);
}

/// Fills the ring from `from` to `to` as far as the port is open, in turns.
std::size_t send_while_open(ShmPort& from, const UdpEndpoint& to) {
  std::size_t sent = 0;
  do {
    for (from.begin_turn(); from.open(); ++sent) send(from, to, 4096, std::byte{1});
    from.flush();
  } while (from.turn_is_over());
  return sent;
}

// As a NIC that has no room in its queue.
TEST(ShmPort, AFullRingHoldsTheSenderBackUntilItIsRead) {
  Ports ports(1);
  ShmPort& server = *ports.server;
  ShmPort& client = *ports.clients[0];
  std::size_t sent = send_while_open(server, client.local());
  EXPECT_GT(sent, 100U);
  EXPECT_EQ(send_while_open(server, client.local()), 0U);
  // It may sleep; the reader's progress wakes it.
  EXPECT_TRUE(server.prepare_wait());
  std::size_t received = 0;
  while (!readable(server)) {
    const std::size_t count = client.receive();
    ASSERT_NE(count, 0U);
    received += count;
  }
  server.waited();
  while (received < 10'000) {
    sent += send_while_open(server, client.local());
    while (const std::size_t count = client.receive()) received += count;
    ASSERT_EQ(received, sent);
  }
  EXPECT_EQ(server.dropped(), 0U);
  // Nobody waits for room that is there.
  sent = send_while_open(server, client.local());
  client.receive();
  while (client.receive() != 0) {
  }
  EXPECT_FALSE(server.prepare_wait());
  server.waited();
}

TEST(ShmPort, OneThatReadsNothingHoldsNobodyUpForLong) {
  Ports ports(2);
  ShmPort& server = *ports.server;
  while (server.dropped() < 1000) {
    server.begin_turn();
    if (!server.open()) continue;  // Not for ever.
    send(server, ports.clients[0]->local(), 4096, std::byte{1});
    send(server, ports.clients[1]->local(), 4096, std::byte{2});
    server.flush();
    ASSERT_EQ(ports.clients[1]->receive(), 1U);
  }
  // It reads a little: what fits is sent again, but nobody waits for it a second time.
  std::size_t held_back = 0;
  for (std::size_t turn = 0; turn < 100; ++turn) {
    if (turn % 10 == 0) ports.clients[0]->receive();
    server.begin_turn();
    held_back += server.open() ? 0U : 1U;
    send(server, ports.clients[0]->local(), 4096, std::byte{1});
    server.flush();
  }
  EXPECT_EQ(held_back, 0U);
}

TEST(ShmPort, AFrameToNobodyIsDropped) {
  Ports ports(1);
  for (const UdpEndpoint& to : {UdpEndpoint{kShmAddress, kShmFirstClientPort + 1},
                                UdpEndpoint{kShmAddress, 1}, UdpEndpoint{1, kShmFirstClientPort}}) {
    send(*ports.server, to, 8, std::byte{1});
  }
  ports.server->flush();
  EXPECT_EQ(ports.server->dropped(), 3U);
}

TEST(ShmPort, AFrameWakesWhoeverHasPreparedToWait) {
  Ports ports(2);
  EXPECT_TRUE(ports.server->prepare_wait());
  EXPECT_FALSE(readable(*ports.server));
  send(*ports.clients[1], ports.server->local(), 8, std::byte{1});
  ports.clients[1]->flush();
  EXPECT_TRUE(readable(*ports.server));
  ports.server->waited();
  EXPECT_FALSE(readable(*ports.server));
  EXPECT_FALSE(ports.server->prepare_wait());  // It lies there already.
  ports.server->waited();
  ASSERT_EQ(ports.server->receive(), 1U);
  // Nobody sleeps now: no doorbell.
  send(*ports.clients[0], ports.server->local(), 8, std::byte{1});
  ports.clients[0]->flush();
  EXPECT_FALSE(readable(*ports.server));
}

TEST(ShmPort, OneThatIsGoneKeepsNobodyAwake) {
  Ports ports(2);
  ports.clients[0].reset();
  EXPECT_TRUE(ports.server->prepare_wait());
  EXPECT_TRUE(readable(*ports.server));
  ports.server->waited();
  EXPECT_FALSE(readable(*ports.server));
}

TEST(ShmPort, PortsAreUsedAgainWithFreshLinks) {
  Ports ports(2);
  const UdpEndpoint first = ports.clients[0]->local();
  send(*ports.server, first, 8, std::byte{1});
  send(*ports.clients[0], ports.server->local(), 8, std::byte{1});
  ports.server->flush();
  ports.clients[0]->flush();
  ports.server->remove(first.port);
  EXPECT_EQ(ports.server->receive(), 0U);
  ShmPort& next = ports.add_client();
  EXPECT_EQ(next.local(), first);
  EXPECT_EQ(next.receive(), 0U);
  EXPECT_EQ(ports.server->receive(), 0U);
}

}  // namespace
}  // namespace wharf::live
