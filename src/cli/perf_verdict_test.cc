// SPDX-License-Identifier: Apache-2.0
#include "cli/perf_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PerfVerdict, NothingMeasuredIsAFailureUnlessItWasInterrupted) {
  live::Measurement measurement;
  EXPECT_THAT(failures_of(measurement, false), ElementsAre("no operation was measured, expected at least 1"));
  EXPECT_THAT(failures_of(measurement, true), IsEmpty());
  measurement.loop.operations = 1;
  EXPECT_THAT(failures_of(measurement, false), IsEmpty());
}

TEST(PerfVerdict, WrongBytesAreAFailureInterruptedOrNot) {
  live::Measurement measurement;
  measurement.loop.operations = 1;
  measurement.loop.verdict.violations = 1;
  for (const bool interrupted : {false, true})
    EXPECT_THAT(failures_of(measurement, interrupted),
                ElementsAre(workload::describe(measurement.loop.verdict)));
}

}  // namespace
}  // namespace wharf::cli
