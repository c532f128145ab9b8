// SPDX-License-Identifier: Apache-2.0
#include "verbs/verb.h"

#include <gtest/gtest.h>

namespace wharf::verbs {
namespace {

TEST(Verb, EveryNameReadsBackToItsVerb) {
  for (int index = 0; index < kVerbCount; ++index) {
    const Verb verb = static_cast<Verb>(index);
    EXPECT_EQ(parse_verb(name(verb)), verb);
  }
  EXPECT_EQ(parse_verb("faa"), Verb::kFetchAdd);
  EXPECT_EQ(parse_verb("cas"), Verb::kCompareSwap);
  EXPECT_FALSE(parse_verb("raed").has_value());
}

TEST(Verb, ClassesDoNotOverlap) {
  for (int index = 0; index < kVerbCount; ++index) {
    const Verb verb = static_cast<Verb>(index);
    const int classes = int{is_atomic(verb)} + int{is_send(verb)} + int{is_write(verb)} +
                        int{is_load_store(verb)} + int{verb == Verb::kRead};
    EXPECT_EQ(classes, 1) << name(verb);
  }
}

}  // namespace
}  // namespace wharf::verbs
