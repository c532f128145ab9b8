// SPDX-License-Identifier: Apache-2.0
// The C interface where things go wrong: silent and hostile clients, workers that go, no memory.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "live/rdmo_library/include/rdmo.h"

namespace {
thread_local bool out_of_memory = false;  // NOLINT: of this thread.
}  // namespace

// The library's memory comes from here, too.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (!out_of_memory) {
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

std::string at_port(unsigned port) { return "127.0.0.1:" + std::to_string(port); }

/// A worker in a thread.
class Worker {
 public:
  Worker() {
    wharf_rdmo_worker_config config = WHARF_RDMO_WORKER_CONFIG;
    config.listen = "127.0.0.1:0";
    EXPECT_EQ(wharf_rdmo_worker_open(&config, &worker_), WHARF_RDMO_OK) << wharf_rdmo_error();
    thread_ = std::thread([this] { result_ = wharf_rdmo_worker_run(worker_); });
  }
  ~Worker() { end(); }
  std::string address() const { return at_port(wharf_rdmo_worker_port(worker_)); }
  int end() {
    if (thread_.joinable()) {
      wharf_rdmo_worker_stop(worker_);
      thread_.join();
      wharf_rdmo_worker_close(worker_);
    }
    return result_;
  }

 private:
  wharf_rdmo_worker* worker_ = nullptr;
  int result_ = -1;
  std::thread thread_;
};

/// A target, and a thread that makes its progress.
class Target {
 public:
  Target(const Worker& worker, std::uint32_t patience_ms) {
    const std::string at = worker.address();
    wharf_rdmo_target_config config = WHARF_RDMO_TARGET_CONFIG;
    config.worker = at.c_str();
    config.listen = "127.0.0.1:0";
    config.patience_ms = patience_ms;
    EXPECT_EQ(wharf_rdmo_target_open(&config, &target_), WHARF_RDMO_OK) << wharf_rdmo_error();
  }
  ~Target() {
    pause();
    wharf_rdmo_target_close(target_);
  }
  void run() {
    thread_ = std::thread([this] {
      while (!stop_) {
        wharf_rdmo_target_progress(target_);
        std::this_thread::yield();
      }
    });
  }
  void pause() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint16_t port() const { return wharf_rdmo_target_port(target_); }
  wharf_rdmo_target* get() const { return target_; }

 private:
  wharf_rdmo_target* target_ = nullptr;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

struct CloseInitiator {
  void operator()(wharf_rdmo_initiator* initiator) const { wharf_rdmo_initiator_close(initiator); }
};
using Initiator = std::unique_ptr<wharf_rdmo_initiator, CloseInitiator>;

Initiator initiator_of(const Target& target, std::uint32_t patience_ms) {
  const std::string at = at_port(target.port());
  wharf_rdmo_initiator_config config = WHARF_RDMO_INITIATOR_CONFIG;
  config.target = at.c_str();
  config.patience_ms = patience_ms;
  wharf_rdmo_initiator* made = nullptr;
  EXPECT_EQ(wharf_rdmo_initiator_open(&config, &made), WHARF_RDMO_OK) << wharf_rdmo_error();
  return Initiator(made);
}

/// Somebody who connects and says nothing.
class Silent {
 public:
  explicit Silent(std::uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;
  ~Silent() { ::close(descriptor_); }

 private:
  int descriptor_;
};

constexpr std::uint32_t kLongest = 0xffff'ffffU;

TEST(RdmoInterface, SilentClientsBlockNobody) {
  Worker worker;
  Target target(worker, kLongest);
  target.run();
  const Silent first(target.port());
  const Silent second(target.port());
  const Initiator initiator = initiator_of(target, kLongest);
  ASSERT_NE(initiator, nullptr);
  ASSERT_EQ(wharf_rdmo_append(initiator.get(), "abc", 3, 0, 0, 5), WHARF_RDMO_OK);
  wharf_rdmo_outcome outcome{};
  ASSERT_EQ(wharf_rdmo_wait(initiator.get(), &outcome), 1);
  EXPECT_EQ(outcome.status, WHARF_RDMO_DONE);
  EXPECT_EQ(outcome.cookie, 5U);
}

TEST(RdmoInterface, AWorkerThatWentHasTheMemoryNoMore) {
  Worker worker;
  const Target target(worker, 10'000);
  EXPECT_EQ(worker.end(), WHARF_RDMO_OK);
  EXPECT_EQ(wharf_rdmo_target_withdraw(target.get()), WHARF_RDMO_LOST);
  EXPECT_STREQ(wharf_rdmo_error(), "the worker is gone");
}

TEST(RdmoInterface, MemoryThatIsWithdrawnTwiceIsAFailureThatSaysSo) {
  Worker worker;
  const Target target(worker, 10'000);
  EXPECT_EQ(wharf_rdmo_target_withdraw(target.get()), WHARF_RDMO_OK) << wharf_rdmo_error();
  EXPECT_EQ(wharf_rdmo_target_withdraw(target.get()), WHARF_RDMO_ENVIRONMENT);
  EXPECT_NE(std::string(wharf_rdmo_error()).find("the worker refuses"), std::string::npos);
}

// Whatever is thrown inside becomes a result.
TEST(RdmoInterface, NothingIsThrownIntoC) {
  Worker worker;
  Target target(worker, 10'000);
  target.run();
  const Initiator initiator = initiator_of(target, 10'000);
  ASSERT_NE(initiator, nullptr);
  const wharf_rdmo_piece piece{8, "abc", 3};
  const std::string at = at_port(target.port());
  wharf_rdmo_initiator_config config = WHARF_RDMO_INITIATOR_CONFIG;
  config.target = at.c_str();
  wharf_rdmo_initiator* other = nullptr;
  wharf_rdmo_outcome outcome{};
  out_of_memory = true;
  const std::array<int, 4> results{wharf_rdmo_append(initiator.get(), "abc", 3, 0, 0, 1),
                                   wharf_rdmo_scatter(initiator.get(), &piece, 1, 0, 2),
                                   wharf_rdmo_flush(initiator.get(), 3),
                                   wharf_rdmo_initiator_open(&config, &other)};
  const int waited = wharf_rdmo_wait(initiator.get(), &outcome);
  out_of_memory = false;
  for (const int result : results) EXPECT_EQ(result, WHARF_RDMO_ENVIRONMENT);
  EXPECT_STREQ(wharf_rdmo_error(), "out of memory");
  EXPECT_EQ(waited, 0) << "nothing is under way";

  // And what was taken has an outcome, even if its message finds no memory to leave with.
  ASSERT_EQ(wharf_rdmo_append(initiator.get(), "abc", 3, 0, 0, 4), WHARF_RDMO_OK);
  out_of_memory = true;
  const int ended = wharf_rdmo_wait(initiator.get(), &outcome);
  out_of_memory = false;
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(outcome.cookie, 4U);
  EXPECT_EQ(outcome.status, WHARF_RDMO_CONNECTION_LOST);
  EXPECT_EQ(wharf_rdmo_append(initiator.get(), "abc", 3, 0, 0, 5), WHARF_RDMO_LOST);
}

TEST(RdmoInterface, AnInitiatorMayBeClosedWithWorkUnderWay) {
  Worker worker;
  Target target(worker, 10'000);
  target.run();
  for (int round = 0; round < 3; ++round) {
    const std::vector<char> large(1U << 19U, 'l');
    Initiator initiator = initiator_of(target, 10'000);
    ASSERT_NE(initiator, nullptr);
    const wharf_rdmo_piece piece{600'000, large.data(), 60'000};
    EXPECT_EQ(wharf_rdmo_append(initiator.get(), large.data(), large.size(), 0, 0, 1), WHARF_RDMO_OK);
    EXPECT_EQ(wharf_rdmo_scatter(initiator.get(), &piece, 1, 0, 2), WHARF_RDMO_OK);
    wharf_rdmo_outcome outcome{};
    for (int i = 0; i < round; ++i) wharf_rdmo_poll(initiator.get(), &outcome);
    initiator.reset();
  }
  const Initiator last = initiator_of(target, 10'000);
  ASSERT_EQ(wharf_rdmo_flush(last.get(), 3), WHARF_RDMO_OK);
  wharf_rdmo_outcome outcome{};
  EXPECT_EQ(wharf_rdmo_wait(last.get(), &outcome), 1);
  EXPECT_EQ(outcome.status, WHARF_RDMO_DONE);
}

}  // namespace
