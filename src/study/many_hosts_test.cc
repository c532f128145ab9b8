// SPDX-License-Identifier: Apache-2.0
// The quick studies of many hosts: what they promise of their own figures holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/fabric/fabric.h"
#include "study/registry.h"
#include "study/ultra_ethernet/ultra_ethernet.h"

namespace wharf::study {
namespace {

StudyContext context() {
  StudyContext context;
  context.profiles = "profiles";
  context.reference = "studies";
  context.threads = 2;
  return context;
}

void expect_holds(const Result<StudyResult>& result) {
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->rows.empty());
  EXPECT_FALSE(result->sentences.empty());
  for (const Check& check : result->checks)
    EXPECT_TRUE(check.holds()) << check.what << ": " << check.value << ", expected " << check.least << " to "
                               << check.most;
}

TEST(ManyHosts, TheBaseRoundTripIsTheSumOfItsParts) { expect_holds(ultra_ethernet::base_rtt(context())); }

TEST(ManyHosts, WorkedExamplesComeOut) { expect_holds(ultra_ethernet::worked_examples(context())); }

TEST(ManyHosts, RunsAgreeWithTheUecSimulator) {
  expect_holds(ultra_ethernet::reference_simulator(context()));
}

TEST(ManyHosts, EachTypeOfCongestionHasItsCure) { expect_holds(fabric::congestion_types(context())); }

TEST(ManyHosts, TheirStudiesAreListed) {
  for (const char* id :
       {"openurma/figure17", "openurma/figure44", "openurma/figure45", "fabric/congestion-types",
        "uet/base-rtt", "uet/htsim-reference", "uet/worked-examples"}) {
    EXPECT_TRUE(find_studies(id).ok()) << id;
  }
}

}  // namespace
}  // namespace wharf::study
