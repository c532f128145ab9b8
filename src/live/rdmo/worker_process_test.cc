// SPDX-License-Identifier: Apache-2.0
// The worker's process and hosts that lie to it. UCX and the channels are real.
#include "live/rdmo/worker_process.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "live/rdmo/child_process.h"
#include "live/rdmo/client.h"

namespace wharf::live {
namespace {

using wire::DocaError;
using wire::RdmoCommandType;

constexpr const char* kTransports = "tcp,posix,sysv,self";

/// A worker that runs in a thread, on memory that it shares with its targets.
class WorkerProcessTest : public ::testing::Test {
 protected:
  ~WorkerProcessTest() override {
    target_.reset();
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void start(WorkerProcessConfig config = {}) {
    config.listen.port = 0;
    config.transports = kTransports;
    auto process = WorkerProcess::create(config);
    ASSERT_TRUE(process) << process.error().message;
    process_ = *std::move(process);
    thread_ = std::thread([this] { process_->run(stop_); });
  }
  /// One that tells the truth.
  void add_target(std::uint64_t id = 0) {
    RdmoTargetConfig config;
    config.worker.port = process_->port();
    config.transports = kTransports;
    config.client = id;
    auto target = RdmoTarget::create(config);
    ASSERT_TRUE(target) << target.error().message;
    target_ = *std::move(target);
  }
  StreamChannel channel() const {
    auto channel = StreamChannel::connect({"127.0.0.1", process_->port()});
    EXPECT_TRUE(channel) << channel.error().message;
    return *std::move(channel);
  }
  /// Nothing: the worker has closed the channel instead.
  std::optional<wire::RdmoNotification> ask(StreamChannel& channel, const wire::RdmoCommand& command) {
    std::vector<std::byte> bytes;
    wire::encode(command, bytes);
    channel.write(bytes);
    while (!channel.take(answer_)) {
      if (target_) target_->progress();
      channel.progress();
      if (!channel.open()) return std::nullopt;
      ::sched_yield();
    }
    wire::RdmoNotification notification;
    EXPECT_EQ(wire::decode(answer_, notification), wire::RdmoControlError::kNone);
    return notification;
  }

  std::unique_ptr<WorkerProcess> process_;
  std::unique_ptr<RdmoTarget> target_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
  std::vector<std::byte> answer_;
};

// The key is a true one, of the target's memory; what it is said to be for is not.
TEST_F(WorkerProcessTest, MemoryIsWhatItsKeyHasMappedAndNothingElse) {
  start();
  add_target();
  StreamChannel liar = channel();
  wire::RdmoCommand init;
  init.type = RdmoCommandType::kClientInit;
  init.id = 2;
  init.peer = target_->ucx_address();
  const auto made = ask(liar, init);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->status, DocaError::kSuccess);
  const auto address = reinterpret_cast<std::uint64_t>(target_->memory().data());
  const std::uint64_t length = target_->memory().size();
  const auto register_as = [&](std::uint64_t first, std::uint64_t bytes) {
    wire::RdmoCommand memory;
    memory.type = RdmoCommandType::kMrRegister;
    memory.address = first;
    memory.length = bytes;
    memory.rkey = target_->packed_key();
    const auto answer = ask(liar, memory);
    return answer ? answer->status : DocaError::kInputOutputFailed;
  };
  constexpr std::uint64_t kFar = std::uint64_t{1} << 32U;
  EXPECT_EQ(register_as(address, length), DocaError::kSuccess);
  EXPECT_EQ(register_as(address, length + kFar), DocaError::kInvalidValue) << "longer than it is";
  EXPECT_EQ(register_as(address - kFar, 64), DocaError::kInvalidValue) << "elsewhere";
  EXPECT_EQ(register_as(address + kFar, 64), DocaError::kInvalidValue);
  EXPECT_EQ(register_as(address - kFar, length + kFar), DocaError::kInvalidValue) << "from before it";
  EXPECT_EQ(register_as(64, address + length - 64), DocaError::kTooBig);
  EXPECT_EQ(register_as(address, length), DocaError::kSuccess) << "the same memory twice";
  EXPECT_EQ(register_as(address + 4096, 4096), DocaError::kSuccess) << "a part of it";
}

std::size_t count_open(std::vector<StreamChannel>& channels) {
  std::size_t open = 0;
  for (StreamChannel& each : channels) {
    each.progress();
    open += each.open() ? 1 : 0;
  }
  return open;
}

TEST_F(WorkerProcessTest, ChannelsThatSayNothingAreBounded) {
  WorkerProcessConfig config;
  config.targetless_max = seconds(3600);
  start(config);
  add_target();
  std::vector<StreamChannel> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(channel());
  while (count_open(silent) > 64) ::sched_yield();
  EXPECT_TRUE(target_->connected()) << "it came first, and is no such channel";
  EXPECT_TRUE(target_->withdraw());
  EXPECT_EQ(count_open(silent), 64U);
}

TEST_F(WorkerProcessTest, ChannelsThatBecomeNoTargetAreClosed) {
  WorkerProcessConfig config;
  config.targetless_max = seconds(1);
  start(config);
  add_target();
  std::vector<StreamChannel> silent;
  silent.push_back(channel());
  silent.push_back(channel());
  wire::RdmoCommand refused;
  refused.type = RdmoCommandType::kRqDestroy;
  const auto answer = ask(silent.back(), refused);
  EXPECT_TRUE(!answer || answer->status == DocaError::kNotFound) << "talk alone makes no target";
  while (count_open(silent) > 0) ::sched_yield();
  EXPECT_TRUE(target_->connected());
  EXPECT_TRUE(target_->withdraw());
}

/// A process that has a UCX address and is stopped: whoever connects to it waits.
class Frozen : private MessageTaker {
 public:
  Frozen()
      : child_(*Child::start([this](int report) {
          const auto port = UcxPort::create("tcp,self", *this);
          const std::uint64_t length = (*port)->address().size();
          Child::report(report, &length, sizeof length);
          Child::report(report, (*port)->address().data(), length);
          ::pause();
        })) {
    std::uint64_t length = 0;
    EXPECT_TRUE(child_.read(&length, sizeof length));
    address_.resize(length);
    EXPECT_TRUE(child_.read(address_.data(), length));
    child_.signal(SIGSTOP);
  }
  wire::RdmoCommand init(std::uint64_t id) const {
    wire::RdmoCommand init;
    init.type = RdmoCommandType::kClientInit;
    init.id = id;
    init.peer = address_;
    return init;
  }

 private:
  rdmo::Taken take(ucp_ep_h, std::uint32_t, std::span<const std::byte>, const rdmo::Payload&) override {
    return rdmo::Taken::kDone;
  }
  Child child_;
  std::vector<std::byte> address_;
};

TEST_F(WorkerProcessTest, TargetsThatAreNeverWiredUpLeaveTheirPlaces) {
  const Frozen frozen;
  WorkerProcessConfig config;
  config.worker.clients_max = 2;
  config.worker.memory_time_max = seconds(1);
  start(config);
  StreamChannel stays = channel();
  const auto answer = ask(stays, frozen.init(1));  // By time.
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, DocaError::kInputOutputFailed);
  for (std::uint64_t id = 1; id <= 8; ++id) {
    StreamChannel leaves = channel();
    std::vector<std::byte> bytes;
    wire::encode(frozen.init(id), bytes);
    leaves.write(bytes);
  }
  RdmoTargetConfig honest;
  honest.worker.port = process_->port();
  honest.transports = kTransports;
  auto target = RdmoTarget::create(honest);
  while (!target && target.error().message.find("gone") == std::string::npos)
    target = RdmoTarget::create(honest);  // Its places are free as soon as it has seen who left.
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_TRUE((*target)->withdraw());
}

}  // namespace
}  // namespace wharf::live
