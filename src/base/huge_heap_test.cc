// SPDX-License-Identifier: Apache-2.0
#include "base/huge_heap.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace wharf {
namespace {

// There is nothing to see but that the heap works as before, whatever was expected of it.
TEST(HugeHeap, TheHeapWorksAsBefore) {
  for (const std::size_t expected : {std::size_t{0}, std::size_t{1} << 20U, std::size_t{64} << 20U}) {
    expect_large_heap(expected);
    std::vector<std::unique_ptr<std::vector<int>>> objects;
    for (int i = 0; i < 10'000; ++i) objects.push_back(std::make_unique<std::vector<int>>(100, i));
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(objects[static_cast<std::size_t>(i)]->back(), i);
  }
}

}  // namespace
}  // namespace wharf
