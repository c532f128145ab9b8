// SPDX-License-Identifier: Apache-2.0
// What every engine whose first retransmission time-out follows the round trips must do. [RFC 6298]
#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"
#include "tests/support/engine_pair.h"

namespace wharf::test {

/// The configuration that the checks expect: before any sample, at least, at most.
inline constexpr TimePs kAdaptiveBase = milliseconds(4);
inline constexpr TimePs kAdaptiveFloor = microseconds(300);

/// Two engines, and how a test of one kind of them posts a small write of host 0 and counts its time-outs.
template <engine::Engine E>
class AdaptiveTimeouts {
 public:
  AdaptiveTimeouts(EnginePair<E>& pair, std::function<void()> post, std::function<std::uint64_t()> timeouts)
      : pair_(pair), post_(std::move(post)), timeouts_(std::move(timeouts)) {}

  void write(int times = 1) {
    for (int i = 0; i < times; ++i) {
      const std::size_t done = pair_.host(0).completions.size();
      post_();
      ASSERT_EQ(pair_.run_until([&] { return pair_.host(0).completions.size() > done; }), RunEnd::kDone);
      ASSERT_TRUE(pair_.host(0).completions.back().ok());
    }
  }
  void delay(TimePs one_way) { pair_.wire().options().delay = one_way; }
  std::uint64_t timeouts() const { return timeouts_(); }

  /// How long a write waits that nobody hears, until it is sent again and is.
  TimePs wait_of_lost_write() {
    const std::uint64_t before = timeouts();
    const TimePs begun = pair_.now();
    pair_.host(1).plugged = false;
    const std::size_t done = pair_.host(0).completions.size();
    post_();
    EXPECT_EQ(pair_.run_until([&] { return timeouts() > before; }), RunEnd::kDone);
    const TimePs waited = pair_.now() - begun;
    pair_.host(1).plugged = true;
    EXPECT_EQ(pair_.run_until([&] { return pair_.host(0).completions.size() > done; }), RunEnd::kDone);
    EXPECT_TRUE(pair_.host(0).completions.back().ok());
    return waited;
  }

  /// On a fast path what is lost is soon sent again, and on no path sooner than answers come.
  void expect_short_waits_on_a_fast_path() {
    delay(microseconds(10));
    EXPECT_EQ(wait_of_lost_write(), kAdaptiveBase) << "before any sample";
    write(100);
    EXPECT_EQ(wait_of_lost_write(), kAdaptiveFloor);
    write(5);
    delay(microseconds(500));
    write(100);
    const TimePs waited = wait_of_lost_write();
    EXPECT_GE(waited, milliseconds(1));
    EXPECT_LT(waited, microseconds(1'500));
  }

  /// A path slower than the first time-out, which makes every sample ambiguous at first.
  void expect_no_repetition_on_a_slow_path() {
    delay(milliseconds(20));
    write(8);
    const std::uint64_t learnt = timeouts();
    EXPECT_GT(learnt, 0u);
    write(20);
    EXPECT_EQ(timeouts(), learnt);
  }

 private:
  EnginePair<E>& pair_;
  std::function<void()> post_;
  std::function<std::uint64_t()> timeouts_;
};

}  // namespace wharf::test
