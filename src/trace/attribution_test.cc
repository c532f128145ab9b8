// SPDX-License-Identifier: Apache-2.0
#include "trace/attribution.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wharf::trace {
namespace {

TimePs ns(int n) { return nanoseconds(n); }
TimePs of(const std::array<TimePs, kStageCount>& times, Stage stage) {
  return times[static_cast<std::size_t>(stage)];
}

TEST(Attribution, AChainIsAllCritical) {
  Attribution attribution;
  const auto operation = attribution.begin(ns(10));
  attribution.span(operation, Stage::kSubmitBus, ns(10), ns(40));
  attribution.span(operation, Stage::kWireForward, ns(40), ns(140));
  const OperationPath& path = attribution.end(operation, ns(140));
  EXPECT_EQ(path.latency, ns(130));
  EXPECT_EQ(path.unattributed, kTimeZero);
  EXPECT_EQ(of(path.critical, Stage::kSubmitBus), ns(30));
  EXPECT_EQ(of(path.critical, Stage::kWireForward), ns(100));
  EXPECT_EQ(of(path.overlapped, Stage::kWireForward), kTimeZero);
}

TEST(Attribution, PostedWritesThatOverlapAreCountedApart) {
  Attribution attribution;
  const auto operation = attribution.begin(ns(0));
  attribution.span(operation, Stage::kResponseWrite, ns(0), ns(250));
  attribution.span(operation, Stage::kCompletionWrite, ns(2), ns(252));
  const OperationPath& path = attribution.end(operation, ns(252));
  EXPECT_EQ(of(path.critical, Stage::kCompletionWrite), ns(250));
  EXPECT_EQ(of(path.critical, Stage::kResponseWrite), ns(2));
  EXPECT_EQ(of(path.overlapped, Stage::kResponseWrite), ns(248));
}

TEST(Attribution, TimeThatNoSpanClaimsBelongsToWhereTheOperationRests) {
  Attribution attribution;
  const auto operation = attribution.begin(ns(0));
  attribution.span(operation, Stage::kSubmitBus, ns(0), ns(30));
  attribution.rest(operation, Stage::kSendQueueWait, ns(30));
  attribution.span(operation, Stage::kWorkRequestFetch, ns(40), ns(60));
  attribution.span(operation, Stage::kWireForward, ns(70), ns(170));
  attribution.rest(operation, Stage::kRetransmissionWait, ns(70));
  attribution.rest(operation, Stage::kReorderWait, ns(170));
  attribution.span(operation, Stage::kTargetBus, ns(175), ns(200));
  const OperationPath& path = attribution.end(operation, ns(203));
  EXPECT_EQ(path.unattributed, kTimeZero);
  EXPECT_EQ(of(path.critical, Stage::kSendQueueWait), ns(20));
  EXPECT_EQ(of(path.critical, Stage::kRetransmissionWait), kTimeZero);
  EXPECT_EQ(of(path.critical, Stage::kReorderWait), ns(8));
  EXPECT_EQ(of(path.critical, Stage::kWireForward), ns(100));
}

TEST(Attribution, AHoleIsReportedNotHidden) {
  Attribution attribution;
  const auto operation = attribution.begin(ns(0));
  attribution.span(operation, Stage::kSubmitBus, ns(0), ns(30));
  attribution.span(operation, Stage::kWireForward, ns(35), ns(100));
  EXPECT_EQ(attribution.end(operation, ns(100)).unattributed, ns(5));
}

TEST(Attribution, SpansBeyondTheEndAndLateSpansDoNotCount) {
  Attribution attribution;
  const auto operation = attribution.begin(ns(0));
  attribution.span(operation, Stage::kTargetPcieWrite, ns(20), ns(400));
  attribution.span(operation, Stage::kSubmitBus, ns(0), ns(100));
  const OperationPath& path = attribution.end(operation, ns(100));
  EXPECT_EQ(of(path.critical, Stage::kSubmitBus), ns(100));
  EXPECT_EQ(of(path.overlapped, Stage::kTargetPcieWrite), ns(80));
  attribution.span(operation, Stage::kSubmitBus, ns(100), ns(200));
  EXPECT_EQ(attribution.in_flight(), 0U);
}

RC_GTEST_PROP(Attribution, CriticalTimeAndHolesSumToTheLatency, ()) {
  Attribution attribution;
  const int latency = *rc::gen::inRange(1, 500);
  const auto operation = attribution.begin(kTimeZero);
  const int count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i) {
    const int begin = *rc::gen::inRange(0, 500);
    const int length = *rc::gen::inRange(1, 100);
    attribution.span(operation, static_cast<Stage>(*rc::gen::inRange(0, kStageCount)), ns(begin),
                     ns(begin + length));
  }
  const OperationPath& path = attribution.end(operation, ns(latency));
  TimePs sum = path.unattributed;
  for (int stage = 0; stage < kStageCount; ++stage) {
    sum += path.critical[static_cast<std::size_t>(stage)];
    RC_ASSERT(path.overlapped[static_cast<std::size_t>(stage)] >= kTimeZero);
  }
  RC_ASSERT(sum == ns(latency));
}

}  // namespace
}  // namespace wharf::trace
