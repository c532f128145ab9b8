// SPDX-License-Identifier: Apache-2.0
// The worker's process and hosts that lie to it. UCX and the channels are real.
#include "live/rdmo/worker_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "live/rdmo/child_process.h"
#include "live/rdmo/client.h"
#include "live/rdmo/memory_offers.h"

namespace wharf::live {
namespace {

using wire::DocaError;
using wire::RdmoCommandType;

constexpr const char* kTransports = "tcp,self";

/// A worker that runs in a thread, on memory that it shares with its targets.
class WorkerProcessTest : public ::testing::Test {
 protected:
  ~WorkerProcessTest() override {
    target_.reset();
    stop_and_join();
  }
  void stop_and_join() {
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

/// A control channel whose target is given as `address`, and what it tells the worker.
class Liar {
 public:
  Liar(StreamChannel channel, std::vector<std::byte> worker)
      : channel_(std::move(channel)), worker_(std::move(worker)) {}
  StreamChannel& channel() { return channel_; }
  static wire::RdmoCommand init(std::uint64_t id, std::span<const std::byte> address) {
    wire::RdmoCommand init;
    init.type = RdmoCommandType::kClientInit;
    init.id = id;
    init.peer = address;
    return init;
  }
  wire::RdmoCommand memory(std::uint64_t first, std::uint64_t bytes, std::span<const std::byte> key) const {
    wire::RdmoCommand memory;
    memory.type = RdmoCommandType::kMrRegister;
    memory.address = first;
    memory.length = bytes;
    memory.rkey = key;
    memory.handle = offer_;
    return memory;
  }
  void offer(const SealedMemory& memory) {
    auto offered = OfferedMemory::offer(worker_, memory);
    ASSERT_TRUE(offered) << offered.error().message;
    offered_ = *std::move(offered);
    offer_.assign(offered_.token().begin(), offered_.token().end());
  }
  bool mapped() const { return offered_.mapped(); }

 private:
  StreamChannel channel_;
  std::vector<std::byte> worker_;
  OfferedMemory offered_;
  std::vector<std::byte> offer_;
};

// The memory is a true one; what it is said to be is not.
TEST_F(WorkerProcessTest, MemoryIsWhatWasOfferedAndNothingElse) {
  start();
  add_target();
  Liar liar(channel(), target_->grant().worker_address);
  const auto made = ask(liar.channel(), Liar::init(2, target_->ucx_address()));
  ASSERT_TRUE(made);
  ASSERT_EQ(made->status, DocaError::kSuccess);
  const auto memory = SealedMemory::create(1U << 20U);
  ASSERT_TRUE(memory) << memory.error().message;
  const auto address = reinterpret_cast<std::uint64_t>(memory->bytes().data());
  const std::uint64_t length = memory->bytes().size();
  const auto register_as = [&](std::uint64_t first, std::uint64_t bytes) {
    liar.offer(*memory);
    const auto answer = ask(liar.channel(), liar.memory(first, bytes, target_->packed_key()));
    return answer ? answer->status : DocaError::kInputOutputFailed;
  };
  constexpr std::uint64_t kFar = std::uint64_t{1} << 32U;
  EXPECT_EQ(register_as(address, length), DocaError::kSuccess);
  EXPECT_TRUE(liar.mapped());
  EXPECT_EQ(register_as(address, length + 1), DocaError::kInvalidValue) << "longer than it is";
  EXPECT_FALSE(liar.mapped());
  EXPECT_EQ(register_as(address, length + kFar), DocaError::kInvalidValue);
  EXPECT_EQ(register_as(address - kFar, 64), DocaError::kInvalidValue) << "elsewhere";
  EXPECT_EQ(register_as(address + kFar, 64), DocaError::kInvalidValue);
  EXPECT_EQ(register_as(address - 8, 16), DocaError::kInvalidValue) << "from before it";
  EXPECT_EQ(register_as(64, address + length - 64), DocaError::kTooBig);
  EXPECT_EQ(register_as(address, length), DocaError::kSuccess) << "the same memory twice";
  EXPECT_EQ(register_as(address + 4096, 4096), DocaError::kSuccess) << "a part of it";
}

// Each is offered what its own targets have, and another worker with the port changes nothing.
TEST_F(WorkerProcessTest, TwoWorkersMayHaveOnePortAtTwoAddresses) {
  start();
  add_target();
  EXPECT_TRUE(target_->shared());
  WorkerProcessConfig config;
  config.listen = {"127.0.0.2", process_->port()};
  config.transports = kTransports;
  auto other = WorkerProcess::create(config);
  ASSERT_TRUE(other) << other.error().message;
  std::thread runs([&] { (*other)->run(stop_); });
  RdmoTargetConfig of_other;
  of_other.worker = config.listen;
  of_other.transports = kTransports;
  const auto target = RdmoTarget::create(of_other);
  EXPECT_TRUE(target) << target.error().message;
  EXPECT_TRUE(target && (*target)->shared());
  stop_and_join();
  runs.join();
}

// A page that goes while it is written would end the worker.
TEST_F(WorkerProcessTest, MemoryThatCouldShrinkIsRefused) {
  start();
  add_target();
  EXPECT_TRUE(target_->shared());
  const auto sealed = SealedMemory::create(8192);
  ASSERT_TRUE(sealed);
  EXPECT_NE(::ftruncate(sealed->file().number(), 4096), 0) << "what a target has made stays as long as it is";
  const Descriptor loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.number(), 8192), 0);
  EXPECT_FALSE(SealedMemory::map(loose));
  ASSERT_EQ(::fcntl(loose.number(), F_ADD_SEALS, F_SEAL_GROW), 0);
  EXPECT_FALSE(SealedMemory::map(loose));
  ASSERT_EQ(::fcntl(loose.number(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_TRUE(SealedMemory::map(loose));
  const Descriptor file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_FALSE(SealedMemory::map(file)) << "files on disks have no seals";
  const Descriptor read_only(::memfd_create("read-only", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(read_only.number(), 8192), 0);
  ASSERT_EQ(::fcntl(read_only.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
  EXPECT_FALSE(SealedMemory::map(read_only));
}

TEST_F(WorkerProcessTest, AddressesAndKeysThatAreNoneAreRefusedAndItLives) {
  start();
  add_target();
  const std::vector<std::byte>& address = target_->ucx_address();
  Liar liar(channel(), target_->grant().worker_address);
  std::uint64_t refused = 0;
  const auto expect_refused = [&](const wire::RdmoCommand& command) {
    const auto answer = ask(liar.channel(), command);
    ASSERT_TRUE(answer) << "the worker is gone";
    EXPECT_EQ(answer->status, DocaError::kInvalidValue);
    ++refused;
  };
  for (std::size_t length = 1; length < address.size(); length += 7)
    expect_refused(Liar::init(2, std::span(address).first(length)));
  expect_refused(Liar::init(2, std::vector<std::byte>(1024, std::byte{0xff})));
  expect_refused(Liar::init(2, std::vector<std::byte>(1024, std::byte{0x20})));
  expect_refused(Liar::init(2, std::vector<std::byte>(200)));
  const auto made = ask(liar.channel(), Liar::init(2, address));
  ASSERT_TRUE(made);
  ASSERT_EQ(made->status, DocaError::kSuccess);
  wire::RdmoCommand queue;
  queue.type = RdmoCommandType::kRqCreate;
  const std::vector<std::byte> garbage(79, std::byte{0x82});
  queue.peer = garbage;
  expect_refused(queue);
  std::vector<std::byte> key = target_->packed_key();
  expect_refused(liar.memory(4096, 4096, std::span(key).first(key.size() - 1)));
  key[0] = std::byte{0xff};
  expect_refused(liar.memory(4096, 4096, key));
  expect_refused(liar.memory(4096, 4096, garbage));
  key = target_->packed_key();
  key[8] = std::byte{200};  // A kind of memory that there is none of.
  expect_refused(liar.memory(4096, 4096, key));
  EXPECT_TRUE(target_->withdraw()) << "the others are served";
  stop_and_join();
  EXPECT_EQ(process_->refusals().addresses + process_->refusals().keys, refused);
}

// Targets, queues and memory come and go for ever.
TEST_F(WorkerProcessTest, PlacesAreGivenAgain) {
  start();
  add_target();
  const auto initiator = RdmoInitiator::create({});
  ASSERT_TRUE(initiator);
  for (int i = 0; i < 20; ++i) {
    Liar other(channel(), target_->grant().worker_address);
    const auto made = ask(other.channel(), Liar::init(2, target_->ucx_address()));
    ASSERT_TRUE(made);
    if (made->status == DocaError::kInUse) {  // The one before it is still leaving.
      --i;
      continue;
    }
    ASSERT_EQ(made->status, DocaError::kSuccess);
    const auto answer = ask(other.channel(), other.memory(4096, 4096, target_->packed_key()));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, DocaError::kSuccess);
    wire::RdmoCommand queue;
    queue.type = RdmoCommandType::kRqCreate;
    queue.peer = (*initiator)->address();
    const auto opened = ask(other.channel(), queue);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->status, DocaError::kSuccess);
  }
  stop_and_join();
  EXPECT_LE(process_->places(), 12U) << "two targets at a time, with a memory and an initiator";
}

/// The worker's thread waits in it, so that what is sent to it stays on the way.
std::atomic<bool> held{false};
void wait_while_held(int) {
  while (held) ::usleep(1000);
}

/// An initiator that sends requests and reads no answer.
class Deaf : private MessageTaker {
 public:
  Deaf() {
    ::setenv("UCX_TCP_RCVBUF", "8k", 1);
    port_ = *UcxPort::create(kTransports, *this);
    ::unsetenv("UCX_TCP_RCVBUF");
  }
  UcxPort& port() { return *port_; }
  int heard() const { return heard_; }

 private:
  rdmo::Taken take(ucp_ep_h, std::uint32_t, std::span<const std::byte>, const rdmo::Payload&) override {
    ++heard_;
    return rdmo::Taken::kDone;
  }
  std::unique_ptr<UcxPort> port_;
  int heard_ = 0;
};

TEST_F(WorkerProcessTest, WhoReadsNoAnswersIsCutOff) {
  ::setenv("UCX_TCP_SNDBUF", "8k", 1);
  WorkerProcessConfig config;
  config.waiting_max = 100;
  start(config);
  ::unsetenv("UCX_TCP_SNDBUF");
  add_target();
  Deaf deaf;
  const auto queue = target_->admit(deaf.port().address());
  ASSERT_TRUE(queue) << queue.error().message;
  const auto worker = deaf.port().connect(target_->grant().worker_address);
  ASSERT_TRUE(worker);
  ASSERT_TRUE(deaf.port().flush(*worker, seconds(20)));
  const auto send = [&](std::uint32_t sequence) {
    wire::RdmoExtendedRequest hello;
    hello.operation = wire::RdmoExtendedOperation::kHello;
    hello.sequence = sequence;
    std::array<std::byte, wire::kRdmoHeaderBytesMax> header{};
    const auto length = wire::encode(hello, header.data());
    deaf.port().send(*worker, wire::kRdmoExtendedMessageId, std::span(header).first(length), {},
                     UCP_AM_SEND_FLAG_REPLY, UcxPort::kNoTag);
    deaf.port().progress();
  };
  send(0);
  while (deaf.heard() == 0) deaf.port().progress();  // UCX is wired up both ways now.
  ::signal(SIGUSR1, wait_while_held);
  held = true;
  ::pthread_kill(thread_.native_handle(), SIGUSR1);
  for (std::uint32_t i = 1; i < 4000; ++i) send(i);
  held = false;
  while (process_->refusals().unread == 0) ::usleep(1000);
  EXPECT_EQ(process_->refusals().unread, 1U);
  // It reads now, until it sees that it is cut off: UCX 1.13 does not live through a peer that resets a
  // connection while something waits to be sent there.
  ucp_ep_h failed = nullptr;
  while (!deaf.port().take_failed(failed)) {
    deaf.port().progress();
    ::sched_yield();
  }
  EXPECT_TRUE(target_->withdraw()) << "the others are served";
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
