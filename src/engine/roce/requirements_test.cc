// SPDX-License-Identifier: Apache-2.0
// The tests of this program that show a rule of tests/conformance/roce/requirements.md must run and pass.
#include <gtest/gtest.h>

#include "tests/support/requirement_report.h"

namespace wharf::test {
namespace {

const auto* const kReport = ::testing::AddGlobalTestEnvironment(new RequirementReport(
    "tests/conformance/roce/requirements.md", {"src/engine/roce", "src/engine/reliability"}));

}  // namespace
}  // namespace wharf::test
