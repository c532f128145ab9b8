// SPDX-License-Identifier: Apache-2.0
#include "live/reactor/idle_policy.h"

#include <gtest/gtest.h>

namespace wharf::live {
namespace {

/// Counts who would sleep, and lets nobody.
struct WakefulPort {
  bool prepare_wait() {
    ++waits;
    return false;
  }
  void waited() {}
  int descriptor() const { return -1; }
  int waits = 0;
};

TEST(IdlePolicy, SpinsThenYieldsThenSleeps) {
  IdlePolicy idle({.spins = 3, .yields = 2});
  WakefulPort port;
  for (int round = 0; round < 5; ++round) idle.idle(kTimeZero, kNever, port);
  EXPECT_EQ(port.waits, 0);
  idle.idle(kTimeZero, kNever, port);
  EXPECT_EQ(port.waits, 1);
  idle.worked();
  idle.idle(kTimeZero, kNever, port);
  EXPECT_EQ(port.waits, 1);
}

TEST(IdlePolicy, BusyPollingLastsWhileThereIsSomebody) {
  IdlePolicy idle({.busy_poll = true, .spins = 1, .yields = 0});
  WakefulPort port;
  for (int round = 0; round < 100; ++round) idle.idle(kTimeZero, kNever, port);
  EXPECT_EQ(port.waits, 0);
  idle.set_awaited(false);
  idle.idle(kTimeZero, kNever, port);
  idle.idle(kTimeZero, kNever, port);
  EXPECT_EQ(port.waits, 1);
  idle.set_awaited(true);
  for (int round = 0; round < 100; ++round) idle.idle(kTimeZero, kNever, port);
  EXPECT_EQ(port.waits, 1);
}

}  // namespace
}  // namespace wharf::live
