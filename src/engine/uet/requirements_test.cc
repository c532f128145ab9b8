// SPDX-License-Identifier: Apache-2.0
// The tests of this program that show a rule of tests/conformance/uet/requirements.md must run.
#include <gtest/gtest.h>

#include "tests/support/requirement_report.h"

namespace wharf::test {
namespace {

const auto* const kReport = ::testing::AddGlobalTestEnvironment(new RequirementReport(
    "tests/conformance/uet/requirements.md",
    {"src/engine/uet", "src/engine/congestion", "src/wire", "tests/chaos", "tests/conformance/uet"}));

}  // namespace
}  // namespace wharf::test
