// SPDX-License-Identifier: Apache-2.0
#include "engine/reliability/deadline_heap.h"

#include <map>

namespace wharf::reliability {
namespace {

TEST(DeadlineHeap, EqualDeadlinesComeInOwnerOrder) {
  DeadlineHeap heap;
  heap.reserve(4);
  EXPECT_EQ(heap.earliest(), kNever);
  heap.set(3, microseconds(1));
  heap.set(1, microseconds(1));
  heap.set(2, microseconds(2));
  EXPECT_EQ(heap.earliest_owner(), 1u);
  heap.set(1, kNever);
  EXPECT_EQ(heap.earliest_owner(), 3u);
  heap.set(3, microseconds(9));
  EXPECT_EQ(heap.earliest_owner(), 2u);
  EXPECT_EQ(heap.get(3), microseconds(9));
  EXPECT_EQ(heap.get(1), kNever);
}

RC_GTEST_PROP(DeadlineHeap, EqualsASortedModel, ()) {
  constexpr std::uint32_t kOwners = 12;
  DeadlineHeap heap;
  heap.reserve(kOwners);
  std::map<std::uint32_t, std::int64_t> model;
  const auto steps = *rc::gen::container<std::vector<std::pair<std::uint32_t, int>>>(
      rc::gen::pair(rc::gen::inRange<std::uint32_t>(0, kOwners), rc::gen::inRange(-5, 30)));
  for (const auto& [owner, deadline] : steps) {
    if (deadline < 0) {
      heap.set(owner, kNever);
      model.erase(owner);
    } else {
      heap.set(owner, TimePs{deadline});
      model[owner] = deadline;
    }
    RC_ASSERT(heap.empty() == model.empty());
    if (model.empty()) continue;
    auto best = model.begin();
    for (auto it = model.begin(); it != model.end(); ++it) {
      if (it->second < best->second) best = it;
    }
    RC_ASSERT(heap.earliest() == TimePs{best->second});
    RC_ASSERT(heap.earliest_owner() == best->first);
  }
}

}  // namespace
}  // namespace wharf::reliability
