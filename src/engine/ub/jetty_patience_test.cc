// SPDX-License-Identifier: Apache-2.0
// Each jetty waits as long as it was told to, whatever others of the engine do. [URMA API, rnr_retry,
// err_timeout, min_rnr_timer]
#include "engine/ub/jetty_patience.h"

#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

class JettyPatienceOf : public ::testing::Test {
 protected:
  /// Two jetties at each end.
  void make(UbConfig config = {}) { world_ = std::make_unique<World>(config, test::EnginePairOptions{}, 2); }
  /// Host 1 confirms what comes, and answers nothing while `silent_`.
  void make_for_silence() {
    UbConfig config;
    config.retransmission.attempts_max = reliability::kUnlimitedAttempts;
    make(config);
    world_->pair().wire().options().drop_if = [this](const wire::Packet& packet) {
      return silent_ && packet.source.number == 1 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable;
    };
  }
  verbs::WorkRequest fetch_add() {
    auto add = world_->request(Verb::kFetchAdd, 8);
    add.operand[0] = 1;
    return add;
  }
  void set(std::uint32_t host, std::size_t queue, const JettyPatience& patience) {
    ASSERT_TRUE(world_->engine(host).set_patience(world_->queue(host, queue), patience).ok());
  }
  /// Posts on queue `index` of host 0 toward the same of host 1.
  void post(std::size_t index, verbs::WorkRequest request) {
    request.peer = world_->peer(0, index);
    ASSERT_EQ(world_->pair().post(0, world_->queue(0, index), request), engine::PostStatus::kOk);
  }
  const std::vector<verbs::Completion>& completions() { return world_->pair().host(0).completions; }

  std::unique_ptr<World> world_;
  bool silent_ = true;
};

TEST_F(JettyPatienceOf, RetriesAreCountedForEach) {
  make({.min_rnr_timer = 1});  // 10 us.
  set(0, 0, {.rnr_retry = 2});
  int sends[2] = {};
  world_->pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number == 0 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable &&
        packet.ub.transaction == wire::UbTransaction::kRequest) {
      ++sends[packet.ub.extension.mtetah.target_id == world_->queue(1, 0) ? 0 : 1];
    }
    return false;
  };
  for (const std::size_t queue : {0U, 1U}) post(queue, world_->request(Verb::kSend, 64));
  world_->pair().run_to(world_->now() + milliseconds(1));
  ASSERT_EQ(completions().size(), 1u);
  EXPECT_EQ(completions()[0].status, CompletionStatus::kReceiverNotReady);
  EXPECT_EQ(completions()[0].queue, world_->queue(0, 0));
  EXPECT_EQ(sends[0], 3);
  EXPECT_GT(sends[1], 20) << "for ever, by the engine's configuration";
}

TEST_F(JettyPatienceOf, TheTimerIsThatOfTheReceiver) {
  make();
  set(1, 0, {.min_rnr_timer = 1});   // 10 us.
  set(1, 1, {.min_rnr_timer = 20});  // 10.24 ms.
  for (const std::size_t queue : {0U, 1U}) post(queue, world_->request(Verb::kSend, 64));
  world_->pair().run_to(world_->now() + milliseconds(1));
  const std::uint64_t asked = world_->counters(0).receiver_not_ready_retries;
  EXPECT_GT(asked, 20u) << "the first";
  world_->pair().run_to(world_->now() + milliseconds(8));
  verbs::ReceiveRequest entry{.id = 1, .local_count = 1};
  entry.local[0] = {World::kRemote, 64};
  for (const std::size_t queue : {0U, 1U})
    ASSERT_EQ(world_->pair().post_receive(1, world_->queue(1, queue), entry), engine::PostStatus::kOk);
  world_->pair().run_to(world_->now() + microseconds(100));
  ASSERT_EQ(completions().size(), 1u) << "the second has not asked again";
  EXPECT_EQ(completions()[0].queue, world_->queue(0, 0));
  world_->run();
  EXPECT_EQ(completions().size(), 2u);
}

TEST_F(JettyPatienceOf, AnswersAreAwaitedForEach) {
  make_for_silence();
  set(0, 0, {.err_timeout = 4});  // 65.5 us.
  set(0, 1, {.err_timeout = 6});  // 262 us.
  const TimePs start = world_->now();
  const auto add = fetch_add();
  for (const std::size_t queue : {1U, 0U}) post(queue, add);
  world_->pair().run_to(start + microseconds(65));
  EXPECT_TRUE(completions().empty());
  world_->pair().run_to(start + microseconds(66));
  ASSERT_EQ(completions().size(), 1u);
  EXPECT_EQ(completions()[0].queue, world_->queue(0, 0));
  EXPECT_EQ(completions()[0].status, CompletionStatus::kRetryExhausted);
  world_->pair().run_to(start + microseconds(262));
  EXPECT_EQ(completions().size(), 1u);
  world_->pair().run_to(start + microseconds(263));
  EXPECT_EQ(completions().size(), 2u);
  silent_ = false;
  world_->run();
  EXPECT_EQ(world_->engine(0).deadline(), kNever);
}

// One timer serves all: what waits for less than those before it moves it nearer.
TEST_F(JettyPatienceOf, AShortWaitIsNotHeldUpByALongOne) {
  make_for_silence();
  set(0, 0, {.err_timeout = 4});   // 65.5 us.
  set(0, 1, {.err_timeout = 10});  // 4.19 ms.
  const TimePs start = world_->now();
  const auto add = fetch_add();
  post(1, add);
  world_->pair().run_to(start + microseconds(100));
  EXPECT_TRUE(completions().empty());
  post(0, add);
  world_->pair().run_to(start + microseconds(170));
  ASSERT_EQ(completions().size(), 1u);
  EXPECT_EQ(completions()[0].queue, world_->queue(0, 0));
  // Those that wait already are told too.
  set(0, 1, {.err_timeout = 6});  // 262 us.
  world_->pair().run_to(start + microseconds(264));
  EXPECT_EQ(completions().size(), 2u);
}

TEST_F(JettyPatienceOf, CodesHaveTheirRanges) {
  make();
  UbEngine& engine = world_->engine(0);
  EXPECT_FALSE(engine.set_patience(world_->queue(0), {.rnr_retry = 8}).ok());
  EXPECT_FALSE(engine.set_patience(world_->queue(0), {.err_timeout = 32}).ok());
  EXPECT_FALSE(engine.set_patience(world_->queue(0), {.min_rnr_timer = 32}).ok());
  EXPECT_FALSE(engine.set_patience(99, {}).ok());
  EXPECT_TRUE(
      engine.set_patience(world_->queue(0), {.rnr_retry = 7, .err_timeout = 31, .min_rnr_timer = 31}).ok());
}

}  // namespace
}  // namespace wharf::ub
