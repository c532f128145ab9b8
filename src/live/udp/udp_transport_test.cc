// SPDX-License-Identifier: Apache-2.0
// UDP sockets and the control channel over the loopback interface.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "live/udp/control_channel.h"
#include "live/udp/udp_socket.h"

namespace wharf::live {
namespace {

constexpr std::uint32_t kLoopback = 0x7f000001;

TEST(UdpSocket, MovesABatchOfDatagrams) {
  auto a = UdpSocket::open({kLoopback, 0});
  auto b = UdpSocket::open({kLoopback, 0});
  ASSERT_TRUE(a.ok() && b.ok());
  for (std::size_t i = 1; i <= 40; ++i) {
    auto room = a->queue(b->local());
    room[0] = std::byte{static_cast<unsigned char>(i)};
    a->set_queued_length(i);
  }
  a->flush();
  std::size_t received = 0;
  for (int round = 0; round < 1000 && received < 40; ++round) {
    const std::size_t count = b->receive();
    for (std::size_t i = 0; i < count; ++i) {
      ++received;
      EXPECT_EQ(b->datagram(i).bytes.size(), received);
      EXPECT_EQ(b->datagram(i).bytes[0], std::byte{static_cast<unsigned char>(received)});
      EXPECT_EQ(b->datagram(i).source, a->local());
    }
  }
  EXPECT_EQ(received, 40U);
}

TEST(UdpSocket, CarriesTheServiceFieldWhereItIsWanted) {
  const SocketConfig config{.udp_checksum = false, .service_field = true};
  auto a = UdpSocket::open({kLoopback, 0}, config);
  auto b = UdpSocket::open({kLoopback, 0}, config);
  ASSERT_TRUE(a.ok() && b.ok());
  // More than one, so that both ways to receive are taken.
  const std::vector<std::uint8_t> services{0, 2, 0xb8 | 2U, 0x48 | 3U, 0};
  for (const std::uint8_t service : services) {
    a->queue(b->local(), service)[0] = std::byte{service};
    a->set_queued_length(1);
  }
  a->flush();
  std::vector<std::uint8_t> seen;
  for (int round = 0; round < 1000 && seen.size() < services.size(); ++round) {
    const std::size_t count = b->receive();
    for (std::size_t i = 0; i < count; ++i) {
      seen.push_back(b->datagram(i).service);
      EXPECT_EQ(b->datagram(i).bytes[0], std::byte{seen.back()});
    }
  }
  EXPECT_EQ(seen, services);
}

// A datagram that is longer than the room for it arrives cut off: nothing of it is shown, alone or in a
// batch.
TEST(UdpSocket, NothingIsShownOfADatagramThatIsTooLong) {
  auto to = UdpSocket::open({kLoopback, 0});
  ASSERT_TRUE(to.ok());
  const int from = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_addr.s_addr = htonl(kLoopback);
  target.sin_port = htons(to->local().port);
  // The first is received alone, the others in a batch.
  const std::vector<std::size_t> lengths{UdpSocket::kFrameBytes + 1, UdpSocket::kFrameBytes,
                                         UdpSocket::kFrameBytes + 1, 20'000, 1};
  for (const std::size_t length : lengths) {
    const std::vector<std::byte> bytes(length, std::byte{1});
    ASSERT_EQ(
        ::sendto(from, bytes.data(), length, 0, reinterpret_cast<const sockaddr*>(&target), sizeof target),
        static_cast<ssize_t>(length));
  }
  std::vector<std::size_t> seen;
  for (int round = 0; round < 1000 && seen.size() < lengths.size(); ++round) {
    const std::size_t count = to->receive();
    for (std::size_t i = 0; i < count; ++i) seen.push_back(to->datagram(i).bytes.size());
  }
  ::close(from);
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, UdpSocket::kFrameBytes, 0, 0, 1}));
}

/// Frame `number` of a test: its length and what it is filled with.
struct Sent {
  std::size_t length = 0;
  std::uint8_t fill = 0;
  bool operator==(const Sent&) const = default;
};

std::vector<Sent> frames(std::size_t count, std::size_t length, std::uint8_t first) {
  std::vector<Sent> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back({length, static_cast<std::uint8_t>(first + i)});
  return made;
}

void send(UdpSocket& from, const UdpEndpoint& to, const std::vector<Sent>& what, std::uint8_t service = 0) {
  for (const Sent& each : what) {
    const std::span<std::byte> room = from.queue(to, service);
    std::fill_n(room.begin(), each.length, std::byte{each.fill});
    from.set_queued_length(each.length);
  }
}

/// What arrives, at most `most` frames. All of one receive() must be there together.
std::vector<Sent> arrived(UdpSocket& at, std::size_t most) {
  std::vector<Sent> seen;
  for (int empty = 0; empty < 1000 && seen.size() < most;) {
    const std::size_t count = at.receive();
    EXPECT_LE(count, UdpSocket::kBatch);
    if (count == 0) ++empty;
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const std::byte> bytes = at.datagram(i).bytes;
      seen.push_back({bytes.size(), bytes.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(bytes[0])});
      for (const std::byte each : bytes) EXPECT_EQ(each, bytes[0]);
    }
  }
  return seen;
}

/// Whether the system joins and cuts, at the side that sends and at the one that receives; with UDP checksums
/// off it takes no train, and each frame goes alone.
struct Trains {
  SocketConfig from;
  SocketConfig to;
};
class UdpTrains : public ::testing::TestWithParam<Trains> {};
INSTANTIATE_TEST_SUITE_P(Ends, UdpTrains,
                         ::testing::Values(Trains{{.trains = true}, {.trains = true}},
                                           Trains{{.trains = true}, {}}, Trains{{}, {.trains = true}},
                                           Trains{{.udp_checksum = false, .trains = true}, {.trains = true}},
                                           Trains{{.service_field = true, .trains = true},
                                                  {.service_field = true, .trains = true}}));

TEST_P(UdpTrains, FramesArriveAsTheyWereQueued) {
  auto a = UdpSocket::open({kLoopback, 0}, GetParam().from);
  auto b = UdpSocket::open({kLoopback, 0}, GetParam().to);
  auto c = UdpSocket::open({kLoopback, 0}, GetParam().to);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  std::vector<Sent> to_b;
  std::vector<Sent> to_c;
  const auto both = [&](const std::vector<Sent>& what, bool b_is_to) {
    (b_is_to ? to_b : to_c).insert((b_is_to ? to_b : to_c).end(), what.begin(), what.end());
    send(*a, b_is_to ? b->local() : c->local(), what);
  };
  both(frames(7, 100, 1), true);   // A train,
  both({{40, 8}}, true);           // its shorter end,
  both(frames(3, 100, 9), true);   // and another,
  both(frames(2, 200, 12), true);  // which longer ones end.
  both({{1, 14}}, true);
  both(frames(4, 100, 50), false);  // Somebody else's are not among them.
  both(frames(3, 9000, 15), true);
  a->flush();
  both(frames(20, 9000, 20), true);  // More than a train holds.
  a->flush();
  EXPECT_EQ(arrived(*b, to_b.size()), to_b);
  EXPECT_EQ(arrived(*c, to_c.size()), to_c);
  EXPECT_EQ(a->dropped(), 0U);
}

// What a frame goes on with is read where it lies, at the flush, in a train or alone.
TEST_P(UdpTrains, DataIsSentFromWhereItLies) {
  auto a = UdpSocket::open({kLoopback, 0}, GetParam().from);
  auto b = UdpSocket::open({kLoopback, 0}, GetParam().to);
  ASSERT_TRUE(a.ok() && b.ok());
  std::vector<std::byte> data(4096);
  const auto queue = [&](std::size_t head, std::size_t apart, std::uint8_t fill) {
    std::fill_n(a->queue(b->local()).begin(), head, std::byte{fill});
    a->set_queued_length(head);
    if (apart != 0) a->queue_data(std::span(data).first(apart));
  };
  EXPECT_FALSE(a->holds_data());
  // A train of the first length would have few enough frames to leave.
  queue(200, 1840, 9);
  queue(200, 1840, 9);
  queue(2040, 0, 9);
  queue(1, 1000, 9);
  EXPECT_TRUE(a->holds_data());
  std::fill(data.begin(), data.end(), std::byte{9});
  a->flush();
  EXPECT_FALSE(a->holds_data());
  queue(7, 0, 5);
  EXPECT_FALSE(a->holds_data());
  a->flush();
  EXPECT_EQ(arrived(*b, 5), (std::vector<Sent>{{2040, 9}, {2040, 9}, {2040, 9}, {1001, 9}, {7, 5}}));
}

// 90 frames of three trains: a receive() ends within a train, whose rest comes with the next.
TEST_P(UdpTrains, ABatchEndsWithinATrain) {
  auto a = UdpSocket::open({kLoopback, 0}, GetParam().from);
  auto b = UdpSocket::open({kLoopback, 0}, GetParam().to);
  ASSERT_TRUE(a.ok() && b.ok());
  std::vector<Sent> all;
  for (int train = 0; train < 3; ++train) {
    const std::vector<Sent> some = frames(30, 64, static_cast<std::uint8_t>(1 + 30 * train));
    all.insert(all.end(), some.begin(), some.end());
    send(*a, b->local(), some);
    a->flush();
  }
  EXPECT_EQ(arrived(*b, all.size()), all);
  EXPECT_EQ(b->receive(), 0U);
}

TEST(UdpSocket, FramesOfOneTrainHaveOneServiceField) {
  const SocketConfig config{.service_field = true, .trains = true};
  auto a = UdpSocket::open({kLoopback, 0}, config);
  auto b = UdpSocket::open({kLoopback, 0}, config);
  ASSERT_TRUE(a.ok() && b.ok());
  send(*a, b->local(), frames(3, 64, 1), 0xb8);
  send(*a, b->local(), frames(3, 64, 4), 0x48);
  a->flush();
  std::vector<std::uint8_t> seen;
  for (int round = 0; round < 1000 && seen.size() < 6; ++round) {
    const std::size_t count = b->receive();
    for (std::size_t i = 0; i < count; ++i) seen.push_back(b->datagram(i).service);
  }
  EXPECT_EQ(seen, (std::vector<std::uint8_t>{0xb8, 0xb8, 0xb8, 0x48, 0x48, 0x48}));
}

TEST(UdpSocket, KnowsWhatAnInterfaceCarries) {
  EXPECT_GE(interface_mtu(kLoopback), 1500U);
  EXPECT_EQ(interface_mtu(0xc0000201), 1500U);  // 192.0.2.1 is nobody's. [RFC 5737]
}

TEST(UdpSocket, ABusyPortIsAnEnvironmentError) {
  auto a = UdpSocket::open({kLoopback, 0});
  ASSERT_TRUE(a.ok());
  auto b = UdpSocket::open(a->local());
  ASSERT_FALSE(b.ok());
  EXPECT_EQ(b.error().kind, ErrorKind::kEnvironment);
}

TEST(Endpoint, ReadsAddressesAndRefusesOthers) {
  EXPECT_EQ(*parse_endpoint("127.0.0.1", 4792), (UdpEndpoint{kLoopback, 4792}));
  EXPECT_EQ(*parse_endpoint("127.0.0.1:99", 4792), (UdpEndpoint{kLoopback, 99}));
  EXPECT_EQ(*parse_endpoint("localhost:99", 4792), (UdpEndpoint{kLoopback, 99}));
  EXPECT_FALSE(parse_endpoint("not a name", 1).ok());
  EXPECT_NE(parse_endpoint("::1", 1).error().message.find("IPv6"), std::string::npos);
  EXPECT_NE(parse_endpoint("[::1]:99", 1).error().message.find("IPv6"), std::string::npos);
  EXPECT_FALSE(parse_endpoint("[127.0.0.1", 1).ok());
  EXPECT_FALSE(parse_endpoint("127.0.0.1:99999", 1).ok());
  EXPECT_EQ(format_endpoint({kLoopback, 4792}), "127.0.0.1:4792");
}

TEST(ControlChannel, CarriesMessagesAndNoticesThatThePeerIsGone) {
  auto listener = ControlListener::open({kLoopback, 0});
  ASSERT_TRUE(listener.ok());
  auto client = ControlChannel::connect(listener->local(), seconds(1));
  ASSERT_TRUE(client.ok());
  std::optional<ControlChannel> server = listener->accept();
  ASSERT_TRUE(server.has_value());
  const std::vector<std::byte> message(1000, std::byte{7});
  ASSERT_TRUE(client->send(message, seconds(1)).ok());
  const auto received = server->receive(seconds(1));
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(*received, message);
  EXPECT_FALSE(client->peer_gone());
  const auto nothing = client->receive(milliseconds(1));
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().kind, ErrorKind::kStalled);
  server.reset();
  bool gone = false;
  for (int round = 0; round < 100'000 && !gone; ++round) gone = client->peer_gone();
  EXPECT_TRUE(gone);
}

TEST(ControlChannel, ConnectingToNobodyIsAnEnvironmentError) {
  auto listener = ControlListener::open({kLoopback, 0});
  ASSERT_TRUE(listener.ok());
  const UdpEndpoint endpoint = listener->local();
  { const ControlListener closed = std::move(*listener); }
  const auto client = ControlChannel::connect(endpoint, kTimeZero);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().kind, ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace wharf::live
