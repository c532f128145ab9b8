// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/jetty_state.h"

#include <gtest/gtest.h>

#include "tests/support/generated_block.h"
#include "tests/support/state_matrix.h"

namespace wharf::ub {
namespace {

TEST(UbJettyState, TheTableOfTheDocument) {
  test::expect_generated_block(
      "docs/protocol/ub.md", "jetty states",
      test::state_matrix<JettyState, JettyEvent>(
          kJettyStateCount, kJettyEventCount,
          [](JettyState state, JettyEvent event) { return next_state(state, event); }));
}

}  // namespace
}  // namespace wharf::ub
