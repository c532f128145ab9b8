// SPDX-License-Identifier: Apache-2.0
// In steady state the engine takes no memory per packet. Apart from the other tests because it replaces the
// allocator of its program.
#include <cstdlib>
#include <new>

#include "tests/support/ub_back_to_back.h"

namespace {
std::uint64_t allocations = 0;
}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace wharf::ub {
namespace {

TEST(UbSteadyState, TakesNoMemoryPerPacket) {
  for (const bool bytes : {false, true}) {
    test::UbBackToBack world(bytes);
    for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kFetchAdd}) {
      world.run(verb, 1000);
      const std::uint64_t before = allocations;
      world.run(verb, 1000);
      EXPECT_EQ(allocations, before) << verbs::name(verb);
    }
  }
}

}  // namespace
}  // namespace wharf::ub
