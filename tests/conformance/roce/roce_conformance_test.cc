// SPDX-License-Identifier: Apache-2.0
// Every rule in requirements.md names a test that exists, or says why there is none.
#include "tests/support/requirement_rows.h"

namespace wharf::test {
namespace {

TEST(RoceConformance, EveryRuleHasItsTest) {
  EXPECT_GE(expect_rows_have_tests("tests/conformance/roce/requirements.md",
                                   {"src/engine/roce", "src/engine/reliability"}),
            25);
}

}  // namespace
}  // namespace wharf::test
