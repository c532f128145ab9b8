// SPDX-License-Identifier: Apache-2.0
// How processes meet in shared memory: names, users, what is handed over, and what is refused.
#include "live/shm/shm_rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "live/shm/ring_test_support.h"

namespace wharf::live {
namespace {

/// A name that no other test run has.
std::string own_name(std::string_view of) { return fmt::format("test-{}-{}", of, ::getpid()); }

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(ShmName, IsReadOrRefused) {
  EXPECT_EQ(parse_shm_name("shm:bench").value(), "bench");
  EXPECT_EQ(parse_shm_name("shm:A-1._z").value(), "A-1._z");
  EXPECT_EQ(parse_shm_name("shm:" + std::string(64, 'a')).value().size(), 64U);
  for (const std::string& bad : {std::string("shm:"), std::string("shm:a/b"), std::string("shm:a b"),
                                 std::string("bench"), "shm:" + std::string(65, 'a'), std::string("")}) {
    const auto name = parse_shm_name(bad);
    ASSERT_FALSE(name.ok()) << bad;
    EXPECT_EQ(name.error().kind, ErrorKind::kInput);
    EXPECT_THAT(name.error().message, testing::HasSubstr("such as shm:bench"));
  }
}

/// A server and a client of this process.
struct Pair {
  explicit Pair(const std::string& name) {
    auto listener = ShmListener::open(name);
    client_connection = connect_shm(name, seconds(10)).value();
    server_connection = listener->accept().value();
    SharedLink::OtherEnd end;
    server.emplace(SharedLink::create(end).value());
    WHARF_CHECK(hand_over(server_connection, {50'000, 4792}, end).ok());
    client.emplace(take_over(client_connection, ports, seconds(10)).value());
  }
  ShmConnection server_connection;
  ShmConnection client_connection;
  ShmPorts ports;
  std::optional<SharedLink> server;
  std::optional<SharedLink> client;
};

TEST(ShmRendezvous, HandsALinkOver) {
  const std::size_t before = open_descriptors();
  {
    Pair pair(own_name("link"));
    EXPECT_EQ(pair.ports, (ShmPorts{50'000, 4792}));
    EXPECT_EQ(pair.client_connection.process, ::getpid());
    EXPECT_EQ(pair.server_connection.process, ::getpid());
    for (std::uint64_t number = 0; number < 1000; ++number) {
      ASSERT_TRUE(pair.client->writer().put(numbered_frame(number), static_cast<std::uint8_t>(number)));
      ASSERT_TRUE(
          pair.server->writer().put(numbered_frame(number + 1), static_cast<std::uint8_t>(number + 1)));
      EXPECT_TRUE(is_numbered(pair.server->reader().take().value(), number));
      EXPECT_TRUE(is_numbered(pair.client->reader().take().value(), number + 1));
      pair.server->reader().release();
      pair.client->reader().release();
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(ShmRendezvous, ADoorbellWakesWhoeverSleepsAndTellsThatTheOtherIsGone) {
  Pair pair(own_name("doorbell"));
  pollfd wait{pair.server->doorbell(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
  for (int stroke = 0; stroke < 100'000; ++stroke) pair.client->ring();  // Never waits, however often.
  EXPECT_EQ(::poll(&wait, 1, 0), 1);
  while (::poll(&wait, 1, 0) == 1) ASSERT_TRUE(pair.server->quiet());
  EXPECT_TRUE(pair.server->quiet());
  pair.client.reset();
  EXPECT_EQ(::poll(&wait, 1, 0), 1);
  EXPECT_FALSE(pair.server->quiet());
  pair.server->ring();  // Nobody hears it, and nobody is killed by it.
}

// Whoever sleeps without a limit hangs here for ever when a wake-up is lost.
TEST(ShmRendezvous, NoWakeUpIsLost) {
  constexpr std::uint64_t kFrames = 5'000;
  Pair pair(own_name("wake"));
  std::thread other([&pair] {
    for (std::uint64_t number = 0; number < kFrames; ++number) {
      while (!pair.client->writer().put(numbered_frame(number), static_cast<std::uint8_t>(number)))
        std::this_thread::yield();
      if (pair.client->writer().wakes_reader()) pair.client->ring();
      if (number % 7 == 0) std::this_thread::yield();
    }
  });
  FrameRingReader& reader = pair.server->reader();
  for (std::uint64_t number = 0; number < kFrames;) {
    if (const auto frame = reader.take()) {
      EXPECT_TRUE(is_numbered(*frame, number++));
      continue;
    }
    reader.release();
    pollfd wait{pair.server->doorbell(), POLLIN, 0};
    if (reader.prepare_sleep()) {
      ::poll(&wait, 1, -1);
      static_cast<void>(pair.server->quiet());
    }
    reader.awake();
  }
  other.join();
}

TEST(ShmRendezvous, TheSizeOfTheMemoryIsSealed) {
  SharedLink::OtherEnd end;
  const auto link = SharedLink::create(end);
  ASSERT_TRUE(link.ok());
  struct stat is {};
  ASSERT_EQ(::fstat(end.memory.number(), &is), 0);
  EXPECT_EQ(::ftruncate(end.memory.number(), 0), -1);
  EXPECT_EQ(::ftruncate(end.memory.number(), is.st_size * 2), -1);
  EXPECT_EQ(::fcntl(end.memory.number(), F_ADD_SEALS, F_SEAL_WRITE), -1);
}

/// Memory of `bytes` with these seals, and half a pair of sockets.
SharedLink::OtherEnd some_end(off_t bytes, int seals) {
  Descriptor memory(::memfd_create("wharf_test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  WHARF_CHECK(::ftruncate(memory.number(), bytes) == 0);
  if (seals != 0) WHARF_CHECK(::fcntl(memory.number(), F_ADD_SEALS, seals) == 0);
  return {std::move(memory), Descriptor(::socket(AF_UNIX, SOCK_STREAM, 0))};
}

TEST(ShmRendezvous, OtherMemoryIsNoLink) {
  SharedLink::OtherEnd proper;
  ASSERT_TRUE(SharedLink::create(proper).ok());
  struct stat is {};
  ASSERT_EQ(::fstat(proper.memory.number(), &is), 0);
  constexpr int kBoth = F_SEAL_SHRINK | F_SEAL_GROW;
  EXPECT_TRUE(SharedLink::adopt(some_end(is.st_size, kBoth)).ok());
  EXPECT_FALSE(SharedLink::adopt(some_end(is.st_size, 0)).ok());
  EXPECT_FALSE(SharedLink::adopt(some_end(is.st_size, F_SEAL_GROW)).ok());
  EXPECT_FALSE(SharedLink::adopt(some_end(is.st_size - 4096, kBoth)).ok());
  EXPECT_FALSE(SharedLink::adopt(some_end(is.st_size + 4096, kBoth)).ok());
  SharedLink::OtherEnd file = some_end(is.st_size, kBoth);
  file.memory = Descriptor(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(SharedLink::adopt(std::move(file)).ok());
  EXPECT_FALSE(SharedLink::adopt({}).ok());
}

TEST(ShmRendezvous, ATakenNameAndNobodyAreEnvironmentErrors) {
  const std::string name = own_name("taken");
  {
    auto first = ShmListener::open(name);
    ASSERT_TRUE(first.ok());
    const auto second = ShmListener::open(name);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().kind, ErrorKind::kEnvironment);
    EXPECT_THAT(second.error().message, testing::HasSubstr("another name"));
  }
  const auto nobody = connect_shm(name, kTimeZero);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().kind, ErrorKind::kEnvironment);
  EXPECT_TRUE(ShmListener::open(name).ok());  // Nothing was left.
}

// --- Hostile servers

/// Sends `bytes` and so many descriptors as a hand-over.
void send_like_a_link(int socket, const std::vector<std::byte>& bytes, std::size_t descriptors) {
  std::vector<std::byte> copy = bytes;
  iovec part{copy.data(), copy.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(8 * sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors != 0) {
    message.msg_control = room.data();
    message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
    const std::array<int, 8> numbers{};  // Standard input, often enough.
    std::memcpy(CMSG_DATA(rights), numbers.data(), descriptors * sizeof(int));
  }
  ASSERT_EQ(::sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(copy.size()));
}

std::vector<std::byte> proper_message() {
  std::vector<std::byte> bytes(12);
  store_be32(bytes.data(), 0x5753484d);
  store_be32(bytes.data() + 4, 1);
  store_be16(bytes.data() + 8, 50'000);
  store_be16(bytes.data() + 10, 4'792);
  return bytes;
}

TEST(ShmRendezvous, WhateverElseIsHandedOverIsRefusedAndClosed) {
  const std::string name = own_name("hostile");
  const auto listener = ShmListener::open(name);
  ASSERT_TRUE(listener.ok());
  const std::vector<std::byte> proper = proper_message();
  std::vector<std::byte> other_magic = proper;
  other_magic[0] = std::byte{0};
  std::vector<std::byte> other_version = proper;
  other_version[7] = std::byte{9};
  std::vector<std::byte> no_port = proper;
  no_port[8] = no_port[9] = std::byte{0};
  const std::vector<std::byte> half(proper.begin(), proper.begin() + 6);
  struct Case {
    std::vector<std::byte> bytes;
    std::size_t descriptors;
  };
  const std::size_t before = open_descriptors();
  for (const Case& each : std::vector<Case>{{proper, 0},
                                            {proper, 1},
                                            {proper, 2},
                                            {proper, 3},
                                            {proper, 8},
                                            {other_magic, 2},
                                            {other_version, 2},
                                            {no_port, 2},
                                            {half, 2}}) {
    auto client = connect_shm(name, seconds(10));
    ASSERT_TRUE(client.ok());
    const auto server = listener->accept();
    ASSERT_TRUE(server);
    send_like_a_link(server->control.number(), each.bytes, each.descriptors);
    ShmPorts ports;
    const auto link = take_over(*client, ports, seconds(10));
    ASSERT_FALSE(link.ok());
    EXPECT_EQ(link.error().kind, ErrorKind::kInput) << link.error().message;
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(ShmRendezvous, ASilentServerAndOneThatLeavesAreStalls) {
  const std::string name = own_name("silent");
  const auto listener = ShmListener::open(name);
  auto client = connect_shm(name, seconds(10));
  ASSERT_TRUE(client.ok());
  ShmPorts ports;
  const auto link = take_over(*client, ports, kTimeZero);
  ASSERT_FALSE(link.ok());
  EXPECT_EQ(link.error().kind, ErrorKind::kStalled);
  { const auto left = listener->accept(); }
  const auto closed = take_over(*client, ports, seconds(10));
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().kind, ErrorKind::kStalled);
}

// --- Other users. Only root can become one.

constexpr uid_t kSomebody = 65'533;

sockaddr_un abstract_address(const std::string& text, socklen_t& length) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  std::memcpy(out.sun_path + 1, text.data(), text.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return out;
}

/// Runs `action` as another user in a process of its own; its exit code.
template <typename Action>
int as_somebody(Action action) {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(::setuid(kSomebody) == 0 ? action() : 99);
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ShmUsers, AStrangerIsClosedAtTheServer) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user for a while";
  const std::string name = own_name("stranger");
  const auto listener = ShmListener::open(name);
  ASSERT_TRUE(listener.ok());
  socklen_t length = 0;
  const sockaddr_un address = abstract_address("wharf/0/" + name, length);
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::setuid(kSomebody) != 0 ||
        ::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0)
      ::_exit(99);
    std::array<char, 64> bytes;
    if (::write(told[1], "c", 1) != 1) ::_exit(98);
    ::_exit(::recv(socket, bytes.data(), bytes.size(), 0) <= 0 ? 0 : 1);
  }
  char letter = 0;
  ASSERT_EQ(::read(told[0], &letter, 1), 1);
  EXPECT_FALSE(listener->accept());
  int status = 0;
  ::waitpid(stranger, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(told[0]);
  ::close(told[1]);
}

TEST(ShmUsers, AServerOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user for a while";
  const std::string name = own_name("squatter");
  socklen_t length = 0;
  const sockaddr_un address = abstract_address("wharf/0/" + name, length);
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t squatter = ::fork();
  if (squatter == 0) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::setuid(kSomebody) != 0 ||
        ::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0 || ::listen(socket, 1) != 0)
      ::_exit(99);
    if (::write(told[1], "l", 1) != 1) ::_exit(98);
    ::pause();
  }
  char letter = 0;
  ASSERT_EQ(::read(told[0], &letter, 1), 1);
  const auto connection = connect_shm(name, seconds(10));
  ::kill(squatter, SIGKILL);
  ::waitpid(squatter, nullptr, 0);
  ::close(told[0]);
  ::close(told[1]);
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.error().kind, ErrorKind::kInput);
  EXPECT_THAT(connection.error().message, testing::HasSubstr("is served by user 65533, expected user 0"));
}

TEST(ShmUsers, EachUserHasNamesOfItsOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user for a while";
  const std::string name = own_name("own");
  const auto listener = ShmListener::open(name);
  ASSERT_TRUE(listener.ok());
  EXPECT_EQ(as_somebody([&name] {
              if (connect_shm(name, kTimeZero).ok()) return 1;
              return ShmListener::open(name).ok() ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace wharf::live
