// SPDX-License-Identifier: Apache-2.0
// Channels whose other end is slow, silent or hostile, and signals that come meanwhile.
#include "live/rdmo/stream_channel.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace wharf::live {
namespace {

/// Two ends of one connection.
class StreamChannelTest : public ::testing::Test {
 protected:
  StreamChannelTest() {
    auto listener = StreamListener::listen({"127.0.0.1", 0});
    EXPECT_TRUE(listener.ok());
    auto near = StreamChannel::connect({"127.0.0.1", listener->port()});
    EXPECT_TRUE(near.ok());
    near_ = *std::move(near);
    while (!far_.open()) far_ = listener->accept();
  }
  StreamChannel near_;
  StreamChannel far_;
};

std::vector<std::byte> message_of(std::size_t bytes) { return std::vector<std::byte>(bytes, std::byte{7}); }

std::atomic<int> signals{0};

// A program with a timer of its own does not lose its peer to it.
TEST_F(StreamChannelTest, ASignalEndsNoWait) {
  signals = 0;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++signals; };
  ::sigaction(SIGALRM, &action, &before);
  const itimerval often{{0, 2000}, {0, 2000}};
  const itimerval never{};
  std::thread sender([this] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // They go to the one that waits.
    while (signals < 5) std::this_thread::yield();
    far_.write(message_of(3));
  });
  ::setitimer(ITIMER_REAL, &often, nullptr);
  std::vector<std::byte> got;
  EXPECT_TRUE(near_.wait_for(got, seconds(60)));
  ::setitimer(ITIMER_REAL, &never, nullptr);
  sender.join();
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(got, message_of(3));
  EXPECT_GE(signals, 5);
}

// 2^32 - 1 ms, the longest that the C interface takes, is a long time, not a negative one.
TEST_F(StreamChannelTest, PatienceMayBeAsLongAsANumberGoes) {
  std::atomic<bool> waits{false};
  std::thread sender([&] {
    while (!waits) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    far_.write(message_of(4));
  });
  std::vector<std::byte> got;
  waits = true;
  EXPECT_TRUE(near_.wait_for(got, milliseconds(0xffff'ffffLL)));
  sender.join();
  EXPECT_EQ(got, message_of(4));
}

// Who sends a byte now and then has not sent a message in time.
TEST_F(StreamChannelTest, PatienceIsThatForAllOfAMessage) {
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    const std::byte one{};
    while (!stop) {
      static_cast<void>(::send(far_.descriptor(), &one, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  // Zeros: a message of no bytes after 8 of them, which would end the wait; so the first says that it is
  // longer.
  const std::byte length{200};
  ASSERT_EQ(::send(far_.descriptor(), &length, 1, MSG_NOSIGNAL), 1);
  std::vector<std::byte> got;
  EXPECT_FALSE(near_.wait_for(got, milliseconds(300)));
  EXPECT_TRUE(near_.open());
  stop = true;
  sender.join();
}

TEST_F(StreamChannelTest, WhatNobodyTakesStaysWithItsSender) {
  const std::vector<std::byte> chunk(1U << 16U);
  std::size_t sent = 0;
  for (int tries = 0; tries < 200; ++tries) {
    const ssize_t done = ::send(far_.descriptor(), chunk.data(), chunk.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done > 0) sent += static_cast<std::size_t>(done);
    near_.progress();
  }
  // What does not fit into sockets and a channel was refused.
  EXPECT_LT(sent, chunk.size() * 200);
  EXPECT_TRUE(near_.open());
}

// A listener whose connection nobody can take is ready for ever: who sleeps on it has to know.
TEST_F(StreamChannelTest, AListenerSaysThatThereIsNoDescriptorLeft) {
  auto listener = StreamListener::listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener.ok());
  EXPECT_FALSE(listener->accept().open());
  EXPECT_FALSE(listener->exhausted()) << "nobody has come";
  auto waits = StreamChannel::connect({"127.0.0.1", listener->port()});
  ASSERT_TRUE(waits.ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool taken = listener->accept().open();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(taken);
  EXPECT_TRUE(listener->exhausted());
  EXPECT_TRUE(listener->accept().open());
  EXPECT_FALSE(listener->exhausted());
}

TEST_F(StreamChannelTest, ALengthThatNoMessageHasEndsIt) {
  const std::vector<std::byte> length(8, std::byte{0xff});
  ASSERT_EQ(::send(far_.descriptor(), length.data(), length.size(), MSG_NOSIGNAL), 8);
  std::vector<std::byte> got;
  EXPECT_FALSE(near_.wait_for(got, seconds(60)));
  EXPECT_FALSE(near_.open());
}

}  // namespace
}  // namespace wharf::live
