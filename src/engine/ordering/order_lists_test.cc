// SPDX-License-Identifier: Apache-2.0
#include "engine/ordering/order_lists.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "engine/ordering/names.h"

namespace wharf::ordering {
namespace {

Request request(Kind kind, Label label, std::uint32_t thread, std::uint64_t number) {
  Request made;
  made.kind = kind;
  made.label = label;
  made.domain = Domain{.requester = thread == 3 ? 2U : 1U, .thread = thread};
  made.number = number;
  return made;
}

// The relation in two forms, class lists and pairs, for every pair of kinds and labels, in one domain, in two
// of one requester and in two of two requesters, and within one request.
TEST(OrderLists, WaitForExactlyWhatTheMatrixSays) {
  for (int code = 0; code < kRlsqDesignCount * 4 * 4 * 9 * kLabelCount * kLabelCount; ++code) {
    int rest = code;
    const auto take = [&rest](int n) {
      const int digit = rest % n;
      rest /= n;
      return digit;
    };
    const auto design = static_cast<RlsqDesign>(take(kRlsqDesignCount));
    const OrderOptions options{.write_before_annotated_read = take(2) != 0,
                               .release_before_acquire = take(2) != 0};
    const int where = take(4);
    const Request first = request(static_cast<Kind>(take(3)), static_cast<Label>(take(kLabelCount)), 1, 1);
    Request second = request(static_cast<Kind>(take(3)), static_cast<Label>(take(kLabelCount)),
                             where == 0 || where == 3 ? 1U
                             : where == 1             ? 2U
                                                      : 3U,
                             2);
    Request lower = first;
    if (where == 3) {
      // The lines of a request have one kind and label.
      second = first;
      second.is_first = false;
      lower.is_last = false;
    }
    OrderLists lists(2, knows_domains(design));
    EXPECT_EQ(lists.add(0, order_needs(design, options, first), lower, OrderLists::kNone), 0);
    const OrderClasses waits = lists.add(1, order_needs(design, options, second), second, OrderLists::kNone);
    EXPECT_EQ(waits != 0, keeps_order(design, options, first, second))
        << name(design) << ": " << name(first.label) << " " << name(first.kind) << ", then "
        << name(second.label) << " " << name(second.kind) << ", case " << where;
    int woken = 0;
    lists.complete(0, [&woken](OrderLists::Index entry) { woken += entry == 1 ? 1 : 100; });
    EXPECT_EQ(woken, waits != 0 ? 1 : 0);
    EXPECT_EQ(lists.waiting(1), 0);
  }
}

TEST(OrderLists, WaitersMoveToTheYoungestThatIsLeft) {
  OrderLists lists(8, true);
  const auto add = [&lists](OrderLists::Index entry, const Request& what) {
    return lists.add(entry, order_needs(RlsqDesign::kSpeculative, {}, what), what, OrderLists::kNone);
  };
  std::vector<OrderLists::Index> woken;
  const auto note = [&woken](OrderLists::Index entry) { woken.push_back(entry); };
  add(0, request(Kind::kRead, Label::kRelaxed, 1, 1));
  add(1, request(Kind::kRead, Label::kRelaxed, 1, 2));
  add(2, request(Kind::kRead, Label::kRelaxed, 1, 3));
  add(3, request(Kind::kWrite, Label::kRelease, 1, 4));
  EXPECT_EQ(lists.blocker(3, OrderClass::kNonPosted), 2);
  lists.complete(2, note);
  EXPECT_EQ(lists.blocker(3, OrderClass::kNonPosted), 1);
  lists.complete(0, note);
  EXPECT_TRUE(woken.empty());
  lists.complete(1, note);
  EXPECT_EQ(woken, std::vector<OrderLists::Index>{3});
}

// The lines of an acquire do not wait for each other, but all for the acquire
// before.
TEST(OrderLists, LinesOfAnAcquireWaitForWhatTheFirstOneWaitsFor) {
  OrderLists lists(8, true);
  const auto add = [&lists](OrderLists::Index entry, std::uint64_t number, bool is_first) {
    Request what = request(Kind::kRead, Label::kAcquire, 1, number);
    what.is_first = is_first;
    what.is_last = false;
    return lists.add(entry, order_needs(RlsqDesign::kThreadSpecific, {}, what), what, OrderLists::kNone);
  };
  std::vector<OrderLists::Index> woken;
  const auto note = [&woken](OrderLists::Index entry) { woken.push_back(entry); };
  EXPECT_EQ(add(0, 1, true), 0);
  EXPECT_EQ(add(1, 1, false), 0);
  EXPECT_NE(add(2, 2, true), 0);
  EXPECT_NE(add(3, 2, false), 0);
  lists.complete(1, note);
  EXPECT_TRUE(woken.empty());
  EXPECT_NE(add(4, 2, false), 0);
  lists.complete(0, note);
  EXPECT_EQ(woken, (std::vector<OrderLists::Index>{2, 3, 4}));
  EXPECT_EQ(add(5, 2, false), 0) << "what the first line waited for is over";
}

// Random arrivals and completions against the matrix, entry by entry.
TEST(OrderLists, RandomHistoriesAgreeWithTheMatrix) {
  constexpr std::uint32_t kCapacity = 12;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RandomStream stream(seed, "order lists");
    const auto design = static_cast<RlsqDesign>(stream.below(kRlsqDesignCount));
    const OrderOptions options{.write_before_annotated_read = stream.below(2) != 0,
                               .release_before_acquire = stream.below(2) != 0};
    OrderLists lists(kCapacity, knows_domains(design));
    std::vector<std::pair<OrderLists::Index, Request>> live;  // In order of arrival.
    Request next = request(Kind::kRead, Label::kStrong, 1, 0);
    for (int step = 0; step < 120; ++step) {
      if (live.size() < kCapacity && stream.below(2) != 0) {
        if (next.number != 0 && stream.below(3) == 0) {
          next.is_first = false;
        } else {
          next = request(static_cast<Kind>(stream.below(3)), static_cast<Label>(stream.below(kLabelCount)),
                         static_cast<std::uint32_t>(1 + stream.below(3)), next.number + 1);
          next.is_last = false;
        }
        OrderLists::Index index = 0;
        while (std::any_of(live.begin(), live.end(), [index](const auto& at) { return at.first == index; }))
          ++index;
        lists.add(index, order_needs(design, options, next), next, OrderLists::kNone);
        live.emplace_back(index, next);
      } else if (!live.empty()) {
        const std::size_t which = stream.below(live.size());
        if (lists.waiting(live[which].first) != 0) continue;
        lists.complete(live[which].first, [](OrderLists::Index) {});
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      }
      for (std::size_t later = 0; later < live.size(); ++later) {
        const bool must_wait = std::any_of(
            live.begin(), live.begin() + static_cast<std::ptrdiff_t>(later), [&](const auto& earlier) {
              return keeps_order(design, options, earlier.second, live[later].second);
            });
        ASSERT_EQ(lists.waiting(live[later].first) != 0, must_wait) << "seed " << seed << ", step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace wharf::ordering
