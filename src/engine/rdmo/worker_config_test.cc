// SPDX-License-Identifier: Apache-2.0
// What a worker can be configured to, and how it refuses the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/rdmo/worker.h"

namespace wharf::rdmo {
namespace {

TEST(WorkerConfigs, SomeTimeIsLeftToMemoryAndToSenders) {
  WorkerConfig config;
  config.memory_time_max = picoseconds(1);
  config.sender_time_max = picoseconds(1);
  EXPECT_TRUE(Worker::create(config).ok());
  config.memory_time_max = kTimeZero;
  EXPECT_EQ(Worker::create(config).error().message, "memory_time_max is not positive");
  config = {};
  config.sender_time_max = kTimeZero;
  EXPECT_EQ(Worker::create(config).error().message, "sender_time_max is not positive");
}

TEST(WorkerConfigs, RefusesConfigsByTheirKey) {
  WorkerConfig config;
  config.window = 0;
  EXPECT_THAT(Worker::create(config).error().message, ::testing::HasSubstr("window is 0"));
  config = {};
  config.layout = wire::RdmoLayout::kGuide;
  config.regions_max = 65536;
  EXPECT_THAT(Worker::create(config).error().message, ::testing::HasSubstr("regions_max"));
}

}  // namespace
}  // namespace wharf::rdmo
