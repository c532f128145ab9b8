// SPDX-License-Identifier: Apache-2.0
// In steady state the engine takes no memory per packet. Apart from the other tests because it replaces the
// allocator of its program.

#include "tests/support/counting_allocator.h"
#include "tests/support/uet_back_to_back.h"

namespace wharf::uet {
namespace {

using test::allocations;

TEST(UetSteadyState, TakesNoMemoryPerPacket) {
  for (const bool bytes : {false, true}) {
    test::UetBackToBack world(bytes);
    for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kFetchAdd}) {
      world.run(verb, 1000);
      const std::uint64_t before = allocations;
      world.run(verb, 1000);
      EXPECT_EQ(allocations, before) << verbs::name(verb);
    }
  }
}

}  // namespace
}  // namespace wharf::uet
