// SPDX-License-Identifier: Apache-2.0
// A target and its worker's notifications, played by the test: late ones, senseless ones.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/rdmo/client.h"
#include "live/rdmo/memory_offers.h"
#include "live/rdmo/played_worker_test_support.h"

namespace wharf::live {
namespace {

using wire::RdmoCommandType;

std::vector<std::byte> initiator() { return std::vector<std::byte>(8, std::byte{1}); }

TEST(RdmoTarget, ANotificationThatComesLateAnswersNoLaterCommand) {
  std::atomic<int> created{0};
  std::atomic<int> destroyed{-1};
  std::optional<wire::RdmoNotification> late;
  PlayedWorker* self = nullptr;
  PlayedWorker worker([&](const wire::RdmoCommand& command) {
    std::vector<wire::RdmoNotification> now;
    if (command.type == RdmoCommandType::kRqCreate && ++created == 1) {
      late = answer_to(command, 41);  // When the target has given it up.
      return now;
    }
    if (late) now.push_back(*std::exchange(late, std::nullopt));
    if (command.type == RdmoCommandType::kRqDestroy) destroyed = static_cast<int>(command.queue);
    now.push_back(answer_to(command, command.type == RdmoCommandType::kRqCreate ? 42 : 7));
    if (command.type == RdmoCommandType::kClientInit) now.back().address = self->address();
    return now;
  });
  self = &worker;
  RdmoTargetConfig config;
  config.worker.port = worker.port();
  config.transports = "tcp,self";
  config.time_max = milliseconds(1500);
  auto target = RdmoTarget::create(config);
  ASSERT_TRUE(target) << target.error().message;
  const auto first = (*target)->admit(initiator());
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, ErrorKind::kStalled);
  const auto second = (*target)->admit(initiator());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(*second, 42U);
  const auto third = (*target)->admit(initiator());
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(*third, 42U);
  EXPECT_TRUE((*target)->withdraw());
  EXPECT_EQ(destroyed, 41) << "the queue that came late is nobody's";
}

TEST(RdmoTarget, ANotificationOfACommandThatWasNotGivenMakesNoSense) {
  PlayedWorker* self = nullptr;
  PlayedWorker worker([&](const wire::RdmoCommand& command) {
    std::vector<wire::RdmoNotification> now{answer_to(command, 7)};
    if (command.type == RdmoCommandType::kClientInit) now.back().address = self->address();
    if (command.type == RdmoCommandType::kRqCreate) ++now.back().context;
    return now;
  });
  self = &worker;
  RdmoTargetConfig config;
  config.worker.port = worker.port();
  config.transports = "tcp,self";
  auto target = RdmoTarget::create(config);
  ASSERT_TRUE(target) << target.error().message;
  const auto queue = (*target)->admit(initiator());
  ASSERT_FALSE(queue);
  EXPECT_NE(queue.error().message.find("makes no sense"), std::string::npos);
}

// Somebody takes what is offered, and the worker never names it.
TEST(RdmoTarget, MemoryThatTheWorkerDidNotMapIsNotShared) {
  PlayedWorker* self = nullptr;
  bool offered = false;
  PlayedWorker worker([&](const wire::RdmoCommand& command) {
    std::vector<wire::RdmoNotification> now{answer_to(command, 7)};
    if (command.type == RdmoCommandType::kClientInit) now.back().address = self->address();
    if (command.type == RdmoCommandType::kMrRegister) offered = !command.handle.empty();
    return now;
  });
  self = &worker;
  const auto offers = MemoryOffers::listen(worker.address());
  ASSERT_TRUE(offers) << offers.error().message;
  RdmoTargetConfig config;
  config.worker.port = worker.port();
  config.transports = "tcp,self";
  auto target = RdmoTarget::create(config);
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_TRUE(offered);
  EXPECT_FALSE((*target)->shared());
}

}  // namespace
}  // namespace wharf::live
