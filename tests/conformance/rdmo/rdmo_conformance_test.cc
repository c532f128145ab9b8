// SPDX-License-Identifier: Apache-2.0
// Every rule in requirements.md names a test that exists, or says why there is none.
#include "tests/support/requirement_rows.h"

namespace wharf::test {
namespace {

TEST(RdmoConformance, EveryRuleHasItsTest) {
  EXPECT_GE(expect_rows_have_tests("tests/conformance/rdmo/requirements.md",
                                   {"src/engine/rdmo", "src/live/rdmo", "src/wire", "tests/live"}),
            70);
}

}  // namespace
}  // namespace wharf::test
