// SPDX-License-Identifier: Apache-2.0
// The tests of this program that show a rule of tests/conformance/ub/requirements.md must run.
#include <gtest/gtest.h>

#include "tests/support/requirement_report.h"

namespace wharf::test {
namespace {

const auto* const kReport = ::testing::AddGlobalTestEnvironment(
    new RequirementReport("tests/conformance/ub/requirements.md", {"tests/conformance/ub", "src/engine/ub"}));

}  // namespace
}  // namespace wharf::test
