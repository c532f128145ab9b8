// SPDX-License-Identifier: Apache-2.0
#include "engine/reliability/receiver_not_ready.h"

#include <gtest/gtest.h>

namespace wharf::reliability {
namespace {

TEST(ReceiverNotReady, IsTheTableOfTheSpecification) {
  EXPECT_EQ(receiver_not_ready_delay(0), microseconds(655'360));
  EXPECT_EQ(receiver_not_ready_delay(1), microseconds(10));
  EXPECT_EQ(receiver_not_ready_delay(12), microseconds(640));
  EXPECT_EQ(receiver_not_ready_delay(25), microseconds(61'440));
  EXPECT_EQ(receiver_not_ready_delay(31), microseconds(491'520));
}

TEST(ReceiverNotReady, GrowsWithTheCode) {
  for (std::uint8_t code = 2; code < 32; ++code) {
    EXPECT_GT(receiver_not_ready_delay(code), receiver_not_ready_delay(static_cast<std::uint8_t>(code - 1)));
  }
}

}  // namespace
}  // namespace wharf::reliability
