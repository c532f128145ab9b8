// SPDX-License-Identifier: Apache-2.0
#include "study/frame/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/frame/runs.h"

namespace wharf::study {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Overrides, StandInThePlaceOfAStudysOwnKeys) {
  const Overrides overrides("", {"run.payload=4KiB", "model.link.rate=10Gbps"});
  EXPECT_THAT(overrides.over({"run.payload=64B", "run.verb=read"}),
              ElementsAre("run.verb=read", "run.payload=4KiB", "model.link.rate=10Gbps"));
  EXPECT_TRUE(overrides.any());
  EXPECT_FALSE(Overrides().any());
  EXPECT_TRUE(Overrides("openurma-serial", {}).any());
}

// A key that acts in one simulation of a study is not idle.
TEST(Overrides, AreIdleWhereNoSimulationUsesThem) {
  const Overrides overrides("", {"a.b=1", "c.d=2"});
  overrides.note({"a.b has no influence here", "c.d has no influence here", "e.f has no influence here"});
  overrides.note({"c.d has no influence here", "e.f has no influence here"});
  EXPECT_EQ(overrides.simulations(), 2U);
  EXPECT_THAT(overrides.idle(), ElementsAre("c.d has no influence here")) << "e.f is the study's own";
}

TEST(Overrides, ReachTheScenariosOfAStudy) {
  const Overrides overrides("openurma-serial", {"model.link.delay=1us"});
  StudyContext context;
  context.profiles = "profiles";
  const RunRequest request{"openurma-contexts", "ub_urma", {"model.link.delay=200ns"}};
  const auto own = load_request(context, request);
  ASSERT_TRUE(own.ok()) << own.error().message;
  context.overrides = &overrides;
  const auto other = load_request(context, request);
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_NE(own->effective, other->effective);
  EXPECT_EQ(overrides.simulations(), 1U);
  EXPECT_THAT(overrides.idle(), IsEmpty());
}

}  // namespace
}  // namespace wharf::study
