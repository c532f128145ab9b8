// SPDX-License-Identifier: Apache-2.0
// Targets whose endpoint is never wired up: their places are free again, and the worker can stop.
#include <gtest/gtest.h>

#include <optional>

#include "engine/rdmo/worker_world_test_support.h"

namespace wharf::rdmo {
namespace {

using wire::DocaError;

class Openings : public ::testing::Test {
 protected:
  void SetUp() override {
    world.emplace();
    world->targets.emplace_back();
  }
  /// CLIENT_INIT; gives the action that opens the target, which nobody has answered.
  Action init(DestinationId destination) {
    wire::RdmoCommand init;
    init.type = wire::RdmoCommandType::kClientInit;
    init.id = 100 + destination;
    const std::vector<std::byte> address = bytes_of("target" + std::to_string(destination));
    init.peer = address;
    std::vector<std::byte> bytes;
    wire::encode(init, bytes);
    world->worker.command(world->now, destination, bytes);
    world->drain_outputs();
    return next();
  }
  Action next() {
    if (world->actions.empty()) {
      ADD_FAILURE() << "there is no action";
      return {};
    }
    const Action action = world->actions.front();
    world->actions.pop_front();
    return action;
  }
  void answer(const Action& action, DocaError status = DocaError::kSuccess) {
    ActionResult result;
    result.status = status;
    world->worker.action_done(world->now, action.id, result);
    world->drain_outputs();
  }
  void expire() {
    ASSERT_NE(world->worker.deadline(), kNever);
    world->now = world->worker.deadline();
    world->worker.expire(world->now);
    world->drain_outputs();
  }
  DocaError last_status() {
    wire::RdmoNotification notification;
    if (world->notices.empty()) return DocaError::kSuccess;
    EXPECT_EQ(wire::decode(world->notices.back().bytes, notification), wire::RdmoControlError::kNone);
    return notification.status;
  }
  std::optional<WorkerWorld> world;
};

TEST_F(Openings, EndByTime) {
  const Action open = init(0);
  ASSERT_EQ(open.kind, ActionKind::kOpenTarget);
  expire();
  const Action cancel = next();
  EXPECT_EQ(cancel.kind, ActionKind::kCancelOpening);
  EXPECT_EQ(cancel.opening, open.id);
  EXPECT_EQ(world->now, world->worker.config().memory_time_max);
  answer(cancel);
  EXPECT_EQ(world->worker.targets(), 1U) << "the opening itself is answered";
  answer(open, DocaError::kInputOutputFailed);
  EXPECT_EQ(world->worker.targets(), 0U);
  EXPECT_EQ(last_status(), DocaError::kInputOutputFailed);
  EXPECT_EQ(world->worker.deadline(), kNever);
}

TEST_F(Openings, EndWithTheirChannel) {
  const Action open = init(0);
  world->worker.destination_lost(world->now, 0);
  world->drain_outputs();
  const Action cancel = next();
  EXPECT_EQ(cancel.kind, ActionKind::kCancelOpening);
  EXPECT_EQ(cancel.opening, open.id);
  answer(open, DocaError::kInputOutputFailed);
  answer(cancel);
  EXPECT_EQ(world->worker.targets(), 0U);
}

TEST_F(Openings, ThatEndWellAfterAllAreKept) {
  const Action open = init(0);
  expire();
  const Action cancel = next();
  answer(open);  // The host had the answer already.
  answer(cancel);
  EXPECT_EQ(world->worker.targets(), 1U);
  EXPECT_EQ(last_status(), DocaError::kSuccess);
  world->worker.stop(world->now);
  world->run();
  EXPECT_TRUE(world->worker.stopped());
}

TEST_F(Openings, KeepNoWorkerFromStopping) {
  const Action open = init(0);
  world->worker.stop(world->now);
  world->drain_outputs();
  EXPECT_FALSE(world->worker.stopped());
  expire();
  answer(next());
  answer(open, DocaError::kInputOutputFailed);
  EXPECT_TRUE(world->worker.stopped());
}

TEST_F(Openings, AreNotHeldAgainstATargetThatIsOpen) {
  answer(init(0));
  world->now = world->worker.config().memory_time_max;
  world->worker.expire(world->now);
  world->drain_outputs();
  EXPECT_TRUE(world->actions.empty());
  EXPECT_EQ(world->worker.targets(), 1U);
}

}  // namespace
}  // namespace wharf::rdmo
