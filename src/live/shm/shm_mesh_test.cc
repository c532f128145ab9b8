// SPDX-License-Identifier: Apache-2.0
// Ends that find each other by name: who gets what, who sleeps, who claims another's name, and who is gone.
#include "live/shm/shm_mesh.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace wharf::live {
namespace {

/// An end that no other process of a test run has.
UdpEndpoint own_end(std::uint32_t place) {
  return {60'000 + place, static_cast<std::uint16_t>(20'000 + ::getpid() % 40'000)};
}
std::unique_ptr<ShmMesh> mesh(std::uint32_t place) { return ShmMesh::open(own_end(place)).value(); }

void send(ShmMesh& from, const UdpEndpoint& to, std::size_t bytes, std::byte value) {
  const std::span<std::byte> room = from.queue(to, 5);
  std::fill_n(room.begin(), bytes, value);
  from.set_queued_length(bytes);
  from.flush();
}

bool readable(const ShmMesh& port, int milliseconds = 0) {
  pollfd wait{port.descriptor(), POLLIN, 0};
  return ::poll(&wait, 1, milliseconds) == 1;
}

/// What one that sleeps takes after it was woken.
std::size_t woken(ShmMesh& port) {
  while (port.prepare_wait()) {
    if (!readable(port, 10'000)) return 0;
    port.waited();
    if (const std::size_t count = port.receive(); count != 0) return count;
  }
  port.waited();
  return port.receive();
}

TEST(ShmMesh, EitherSideBeginsAndBothAnswer) {
  const auto left = mesh(1);
  const auto right = mesh(2);
  send(*left, right->local(), 64, std::byte{1});
  send(*right, left->local(), 9'000, std::byte{2});
  ASSERT_EQ(woken(*right), 1U);
  EXPECT_EQ(right->datagram(0).source, left->local());
  EXPECT_EQ(right->datagram(0).bytes.size(), 64U);
  EXPECT_EQ(right->datagram(0).service, 5);
  ASSERT_EQ(woken(*left), 1U);
  EXPECT_EQ(left->datagram(0).source, right->local());
  EXPECT_EQ(left->datagram(0).bytes.size(), 9'000U);
  EXPECT_EQ(left->datagram(0).bytes[8'999], std::byte{2});
  for (int turn = 0; turn < 100; ++turn) {
    send(*left, right->local(), 64, std::byte{1});
    ASSERT_EQ(woken(*right), 1U);
    send(*right, left->local(), 64, std::byte{1});
    ASSERT_EQ(woken(*left), 1U);
  }
  EXPECT_EQ(left->links(), 2U);
  EXPECT_EQ(left->dropped() + right->dropped(), 0U);
}

TEST(ShmMesh, AnEndReachesItself) {
  const auto only = mesh(1);
  send(*only, only->local(), 8, std::byte{7});
  ASSERT_EQ(woken(*only), 1U);
  EXPECT_EQ(only->datagram(0).source, only->local());
}

TEST(ShmMesh, ANameIsTakenOnceAndFreeAfterwards) {
  {
    const auto first = mesh(1);
    const auto second = ShmMesh::open(own_end(1));
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().kind, ErrorKind::kEnvironment);
  }
  EXPECT_TRUE(ShmMesh::open(own_end(1)).ok());
}

TEST(ShmMesh, WhatIsForNobodyIsDropped) {
  const auto left = mesh(1);
  send(*left, own_end(2), 64, std::byte{1});
  EXPECT_EQ(left->dropped(), 1U);
  const auto right = mesh(2);
  send(*left, right->local(), 64, std::byte{1});
  EXPECT_EQ(woken(*right), 1U);
}

TEST(ShmMesh, OneThatPollsAndNeverWaitsSeesNewcomersToo) {
  const auto left = mesh(1);
  const auto right = mesh(2);
  send(*left, right->local(), 64, std::byte{1});
  std::size_t count = 0;
  for (int turn = 0; turn < 1'000 && count == 0; ++turn) count = right->receive();
  EXPECT_EQ(count, 1U);
}

// One thread waits while another polls: what the second lets in must be able to wake the first.
TEST(ShmMesh, WhoWaitsIsWokenByOneWhomAnotherThreadLetIn) {
  const auto left = mesh(1);
  const auto right = mesh(2);
  ASSERT_TRUE(right->prepare_wait());
  send(*left, right->local(), 64, std::byte{1});
  std::size_t count = 0;
  for (int turn = 0; turn < 1'000 && count == 0; ++turn) count = right->receive();
  ASSERT_EQ(count, 1U);
  EXPECT_TRUE(readable(*right));
  right->waited();
  EXPECT_EQ(right->receive(), 0U);
  EXPECT_EQ(woken(*(send(*left, right->local(), 64, std::byte{1}), right.get())), 1U);
}

TEST(ShmMesh, TheLastFramesComeBeforeTheEnd) {
  auto left = mesh(1);
  const auto right = mesh(2);
  const UdpEndpoint gone = left->local();
  for (int frame = 0; frame < 40; ++frame) send(*left, right->local(), 64, std::byte{1});
  ASSERT_EQ(woken(*right), DatagramPort::kBatch);
  send(*right, gone, 64, std::byte{1});
  left.reset();
  right->waited();
  EXPECT_FALSE(right->next_gone().has_value());
  EXPECT_EQ(right->receive(), 8U);
  EXPECT_EQ(right->receive(), 0U);
  EXPECT_EQ(right->next_gone(), gone);
  EXPECT_EQ(right->next_gone(), gone) << "nobody has said that it is known";
  right->gone_is_known();
  EXPECT_FALSE(right->next_gone().has_value());
  EXPECT_EQ(right->links(), 0U);
}

TEST(ShmMesh, OneThatDiesBeforeItAnsweredIsGone) {
  auto left = mesh(1);
  const auto right = mesh(2);
  const UdpEndpoint gone = left->local();
  send(*right, gone, 64, std::byte{1});
  left.reset();
  EXPECT_EQ(woken(*right), 0U);
  EXPECT_EQ(right->next_gone(), gone);
}

/// Runs `act` in another process, until this object ends.
class Forked {
 public:
  template <typename Act>
  explicit Forked(Act&& act) {
    int pipe[2] = {-1, -1};
    WHARF_CHECK(::pipe(pipe) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      act();
      ::close(pipe[0]);
      ::close(pipe[1]);  // It is ready.
      for (;;) ::pause();
    }
    ::close(pipe[1]);
    char nothing = 0;
    static_cast<void>(::read(pipe[0], &nothing, 1));
    ::close(pipe[0]);
  }
  Forked(const Forked&) = delete;
  ~Forked() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

 private:
  pid_t process_ = -1;
};

/// Sends frames to `to` and says that they are from `as`.
void claim(const UdpEndpoint& as, const UdpEndpoint& to, std::size_t frames) {
  const auto connection = connect_shm(ShmMesh::name_of(to), kTimeZero);
  SharedLink::OtherEnd other;
  static auto link = SharedLink::create(other);
  WHARF_CHECK(connection.ok() && link.ok());
  WHARF_CHECK(hand_over(*connection, {static_cast<std::uint16_t>(as.address), as.port}, other).ok());
  const std::byte frame{9};
  for (std::size_t each = 0; each < frames; ++each) WHARF_CHECK(link->writer().put({&frame, 1}, 0));
}

TEST(ShmMesh, WhoClaimsAnothersNameIsNoPeer) {
  const auto left = mesh(1);
  const auto right = mesh(2);
  send(*left, right->local(), 64, std::byte{1});
  ASSERT_EQ(woken(*right), 1U);
  send(*right, left->local(), 64, std::byte{1});
  {
    const Forked liar([&] { claim(left->local(), right->local(), 1); });
    right->waited();
    EXPECT_EQ(right->receive(), 0U);
    send(*left, right->local(), 64, std::byte{1});
    EXPECT_EQ(woken(*right), 1U) << "the owner of the name is heard as before";
  }
  right->waited();
  EXPECT_FALSE(right->next_gone().has_value());
}

TEST(ShmMesh, WhoHasClaimedANameBeforeItsOwnerWasAskedIsHeardNoMore) {
  const auto left = mesh(1);
  const auto right = mesh(2);
  const Forked liar([&] { claim(left->local(), right->local(), DatagramPort::kBatch + 8); });
  ASSERT_EQ(woken(*right), DatagramPort::kBatch) << "anybody may speak";
  send(*right, left->local(), 64, std::byte{1});  // The answer goes to whoever has the name.
  EXPECT_EQ(woken(*left), 1U);
  EXPECT_EQ(right->receive(), 0U) << "the rest of what it has said";
  EXPECT_EQ(right->links(), 1U);
  EXPECT_FALSE(right->next_gone().has_value()) << "the one that has the name lives";
}

TEST(ShmMesh, WhoHasClaimedANameAndLeavesIsNotItsOwner) {
  const auto right = mesh(2);
  {
    const Forked liar([&] { claim(own_end(1), right->local(), 1); });
    ASSERT_EQ(woken(*right), 1U);
    ASSERT_TRUE(right->prepare_wait());
  }
  EXPECT_TRUE(readable(*right, 10'000));
  right->waited();
  EXPECT_EQ(right->receive(), 0U);
  EXPECT_EQ(right->links(), 0U);
  EXPECT_FALSE(right->next_gone().has_value()) << "its owner may be about to start";
}

// Each batch is full for longer than the newcomer is asked to wait.
TEST(ShmMesh, WhoSendsWithoutAnEndKeepsNewcomersNotOut) {
  const auto left = mesh(1);
  const auto right = mesh(2);
  const auto third = mesh(3);
  send(*left, right->local(), 64, std::byte{1});
  ASSERT_EQ(woken(*right), 1U);
  for (std::size_t frame = 0; frame < 100 * DatagramPort::kBatch; ++frame)
    send(*left, right->local(), 64, std::byte{1});
  ASSERT_EQ(left->dropped(), 0U);
  send(*third, right->local(), 64, std::byte{3});
  bool heard = false;
  for (int turn = 0; turn < 90 && !heard; ++turn) {
    const std::size_t count = right->receive();
    ASSERT_EQ(count, DatagramPort::kBatch) << turn;
    for (std::size_t at = 0; at < count; ++at) heard |= right->datagram(at).source == third->local();
  }
  EXPECT_TRUE(heard);
}

// What the link carries is bounded, but whose doorbell it is would be up to the other side.
TEST(ShmMesh, ADoorbellIsALocalSocket) {
  SharedLink::OtherEnd other;
  const auto made = SharedLink::create(other);
  ASSERT_TRUE(made);
  other.doorbell = Descriptor(::eventfd(0, EFD_CLOEXEC));
  EXPECT_FALSE(SharedLink::adopt(std::move(other)).ok());
}

TEST(ShmMesh, AChildThatHasAbandonedItKeepsNothingOpen) {
  auto left = mesh(1);
  const auto right = mesh(2);
  send(*left, right->local(), 64, std::byte{1});
  ASSERT_EQ(woken(*right), 1U);
  send(*right, left->local(), 64, std::byte{1});
  ASSERT_EQ(woken(*left), 1U);
  const Forked child([&] {
    left->abandon();
    right->abandon();
  });
  left.reset();
  EXPECT_EQ(woken(*right), 0U);
  EXPECT_EQ(right->next_gone(), own_end(1));
  EXPECT_TRUE(ShmMesh::open(own_end(1)).ok()) << "the name is free";
}

TEST(ShmMesh, OneProcessLeavesLinksForOthers) {
  const auto left = mesh(1);
  const auto right = mesh(2);
  const std::uint16_t port = right->local().port;
  const Forked greedy([&] {
    static std::vector<Result<SharedLink>> links;
    for (std::uint32_t each = 0; each < ShmMesh::kLinksOfProcessMost + 6; ++each) {
      const auto connection = connect_shm(ShmMesh::name_of(right->local()), kTimeZero);
      SharedLink::OtherEnd other;
      links.push_back(SharedLink::create(other));
      WHARF_CHECK(connection.ok() && links.back().ok());
      WHARF_CHECK(hand_over(*connection, {static_cast<std::uint16_t>(1'000 + each), port}, other).ok());
      const std::byte frame{9};
      WHARF_CHECK(links.back()->writer().put({&frame, 1}, 0));
    }
  });
  std::size_t heard = 0;
  for (int turn = 0; turn < 1'000; ++turn) {
    right->waited();
    heard += right->receive();
  }
  EXPECT_EQ(heard, ShmMesh::kLinksOfProcessMost);
  EXPECT_EQ(right->links(), ShmMesh::kLinksOfProcessMost);
  send(*left, right->local(), 64, std::byte{1});
  EXPECT_EQ(woken(*right), 1U);
}

// Each frame would make a connection and a link that is let go at once.
TEST(ShmMesh, AnEndThatTakesNoLinkIsNotAskedForEachFrame) {
  const auto one = mesh(1);
  std::vector<std::unique_ptr<ShmMesh>> others;
  for (std::uint32_t each = 0; each < ShmMesh::kLinksOfProcessMost; ++each) {
    others.push_back(mesh(10 + each));
    send(*one, others.back()->local(), 8, std::byte{1});
  }
  const auto last = mesh(9);
  const LiveClock clock;
  send(*one, last->local(), 8, std::byte{1});
  last->waited();
  send(*one, last->local(), 8, std::byte{1});
  if (clock.now() < ShmMesh::kTurnedAway) {
    EXPECT_FALSE(readable(*last));
  }
  EXPECT_EQ(one->dropped(), 2U);
  others.pop_back();
  one->waited();
  std::this_thread::sleep_for(std::chrono::nanoseconds((ShmMesh::kTurnedAway.ps + 999) / 1000));
  send(*one, last->local(), 8, std::byte{2});
  EXPECT_EQ(woken(*last), 1U);
}

std::size_t lines_with(const char* file, const std::string& word) {
  std::ifstream in(file);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);) count += line.find(word) != std::string::npos ? 1 : 0;
  return count;
}

std::size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// A thread makes links without an end, to a peer that comes and goes.
TEST(ShmMesh, AChildHasNothingOfALinkThatIsBeingMade) {
  ASSERT_EQ(
      ::pthread_atfork(ShmMesh::before_fork, ShmMesh::after_fork_in_parent, ShmMesh::after_fork_in_child), 0);
  const UdpEndpoint there = own_end(1);
  const Forked peer([there] {
    std::thread([there] {
      for (;;) {
        if (const auto own = ShmMesh::open(there)) (*own)->waited();
      }
    }).detach();
  });
  const std::size_t before = descriptors();
  const auto left = mesh(2);
  std::atomic<bool> over{false};
  std::uint64_t made = 0;
  std::thread maker([&] {
    while (!over) {
      send(*left, there, 64, std::byte{1});
      made += left->links();
      left->waited();
      left->receive();
      while (left->next_gone()) left->gone_is_known();
    }
  });
  int held = 0;
  for (int fork = 0; fork < 200; ++fork) {
    const pid_t child = ::fork();
    if (child == 0) {
      left->abandon();
      ::_exit(descriptors() == before && lines_with("/proc/self/maps", "wharf_link") == 0 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    held += status != 0 ? 1 : 0;
  }
  over = true;
  maker.join();
  EXPECT_EQ(held, 0) << "of 200 children";
  EXPECT_GT(made, 0U);
}

}  // namespace
}  // namespace wharf::live
