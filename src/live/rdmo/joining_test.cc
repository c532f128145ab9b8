// SPDX-License-Identifier: Apache-2.0
// Initiators that connect to a worker by its network address, and join a target because they know its key.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "live/rdmo/client.h"
#include "live/rdmo/worker_process.h"

namespace wharf::live {
namespace {

/// A worker that runs in a thread, and a target at it.
class JoiningTest : public testing::Test {
 protected:
  void start(TimePs targetless_max = seconds(60), TimePs sender_time_max = seconds(5)) {
    WorkerProcessConfig config;
    config.worker.sender_time_max = sender_time_max;
    config.connect = StreamAddress{};
    config.targetless_max = targetless_max;
    auto process = WorkerProcess::create(config);
    ASSERT_TRUE(process) << process.error().message;
    process_ = *std::move(process);
    thread_ = std::thread([this] { process_->run(stop_); });
    RdmoTargetConfig of_target;
    of_target.worker.port = process_->port();
    of_target.client = 5;
    auto target = RdmoTarget::create(of_target);
    ASSERT_TRUE(target) << target.error().message;
    target_ = *std::move(target);
  }
  ~JoiningTest() override {
    target_.reset();
    stop_and_join();
  }
  void stop_and_join() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  StreamAddress at() const { return {"127.0.0.1", process_->connect_port()}; }
  /// What an initiator that was never told of by anybody knows.
  RdmoGrant grant() const {
    RdmoGrant grant = target_->grant();
    grant.worker_address.clear();
    return grant;
  }
  static std::unique_ptr<RdmoInitiator> make(rdmo::Form form = rdmo::Form::kExtended) {
    RdmoInitiatorConfig config;
    config.initiator.form = form;
    config.initiator.time_max = seconds(60);
    auto initiator = RdmoInitiator::create(config);
    EXPECT_TRUE(initiator) << initiator.error().message;
    return *std::move(initiator);
  }
  /// Appends, then flushes: both are done.
  static void append(RdmoInitiator& initiator, const std::string& text) {
    rdmo::AppendRequest request;
    request.cell = initiator.grant().cell;
    request.cell_key = request.data_key = initiator.grant().key;
    request.data = std::as_bytes(std::span(text));
    ASSERT_EQ(initiator.engine().append(initiator.now(), request), rdmo::Posted::kOk);
    ASSERT_EQ(initiator.engine().flush(initiator.now(), 1), rdmo::Posted::kOk);
    for (int i = 0; i < 2; ++i) {
      rdmo::Outcome outcome;
      ASSERT_TRUE(initiator.wait(outcome));
      EXPECT_EQ(outcome.status, wire::RdmoStatus::kDone);
    }
  }
  std::string log() const {
    return {reinterpret_cast<const char*>(target_->memory().data()) + 8, target_->tail() - 8};
  }

  std::unique_ptr<WorkerProcess> process_;
  std::unique_ptr<RdmoTarget> target_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(JoiningTest, InitiatorsOfBothFormsConnectByAddress) {
  start();
  const auto one = make();
  const auto joined = one->connect(at(), grant());
  ASSERT_TRUE(joined) << joined.error().message;
  append(*one, "extended,");
  const auto other = make(rdmo::Form::kPublished);
  ASSERT_TRUE(other->connect(at(), grant()));
  append(*other, "published,");
  const std::string large(1U << 19U, 'l');
  append(*one, large);
  EXPECT_EQ(log(), "extended,published," + large);
}

TEST_F(JoiningTest, WithoutAKeyNobodyJoins) {
  start();
  RdmoGrant wrong = grant();
  ++wrong.key;
  auto refused = make()->connect(at(), wrong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the worker refuses: bad key");
  wrong = grant();
  ++wrong.client;
  refused = make()->connect(at(), wrong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the worker refuses: unknown target");
  ASSERT_TRUE(target_->withdraw());
  EXPECT_FALSE(make()->connect(at(), grant())) << "its memory is nobody's any more";
}

TEST_F(JoiningTest, StrangersAreClosedAfterTheirTime) {
  start(seconds(1));
  const auto silent = make();
  RdmoGrant wrong = grant();
  ++wrong.key;
  EXPECT_FALSE(silent->connect(at(), wrong));
  while (process_->refusals().strangers == 0) ::sched_yield();
  std::unique_ptr<RdmoInitiator> honest;
  for (int tries = 0; tries < 30; ++tries) {  // A busy machine may need longer for one than it has.
    honest = make();
    if (honest->connect(at(), grant())) break;
    ASSERT_LT(tries, 29);
  }
  ::usleep(1'200'000);  // Longer than a stranger has.
  append(*honest, "still here");
}

TEST_F(JoiningTest, PlacesAreGivenAgain) {
  start();
  for (int i = 0; i < 30; ++i) {
    const auto joined = make()->connect(at(), grant());
    ASSERT_TRUE(joined) << joined.error().message;
  }
  stop_and_join();
  EXPECT_LE(process_->places(), 15U) << "who has gone is noticed a little later";
}

// A flush that waits for the bytes that a neighbour owes keeps the connection of one that has died.
TEST_F(JoiningTest, TheNumberOfOneThatDiedIsNobodysWhileItsConnectionStands) {
  start(seconds(60), seconds(30));
  const auto frozen = make();
  ASSERT_TRUE(frozen->connect(at(), grant()));
  const std::vector<std::byte> large(1U << 20U);
  rdmo::AppendRequest request;
  request.cell = frozen->grant().cell;
  request.cell_key = request.data_key = frozen->grant().key;
  request.data = large;
  ASSERT_EQ(frozen->engine().append(frozen->now(), request), rdmo::Posted::kOk);
  frozen->progress();  // It is announced; its bytes never come.
  ::usleep(200'000);
  {
    const auto dying = make();
    ASSERT_TRUE(dying->connect(at(), grant()));
    ASSERT_EQ(dying->engine().flush(dying->now(), 1), rdmo::Posted::kOk);
    dying->progress();
    ::usleep(200'000);
  }
  ::usleep(500'000);  // Its death is noticed.
  const auto next = make();
  const auto joined = next->connect(at(), grant());
  EXPECT_TRUE(joined) << joined.error().message;
}

TEST(Joining, KeysThatAnybodyGuessesLetNobodyIn) {
  WorkerProcessConfig config;
  config.connect = StreamAddress{};
  config.worker.layout = wire::RdmoLayout::kGuide;
  const auto process = WorkerProcess::create(config);
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().kind, ErrorKind::kInput);
}

}  // namespace
}  // namespace wharf::live
