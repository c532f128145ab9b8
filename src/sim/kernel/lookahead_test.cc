// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/lookahead.h"

#include "base/random.h"

namespace wharf::sim {
namespace {

struct Record {
  TimePs time;
  std::uint32_t key = 0;
  bool known = false;
  bool pushed_late = false;
};
bool before(const Record& a, const Record& b) { return a.time != b.time ? a.time < b.time : a.key < b.key; }

/// Nothing is shown to a later step before it has become known.
struct CountingStages {
  void known(Record& record) { record.known = true; }
  void fetch_first(Record& record) { check(record); }
  void fetch_second(Record& record) {
    check(record);
    ++prepared;
  }
  void check(const Record& record) { EXPECT_TRUE(record.known || record.pushed_late); }

  std::uint64_t prepared = 0;
};

/// The order is that of a plain queue, whatever is pushed while records are ahead.
TEST(Lookahead, OrderIsThatOfThePlainQueue) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomStream random(seed, "lookahead");
    Lookahead<Record> ahead;
    EventQueue<Record> plain;
    CountingStages stages;
    std::uint32_t key = 0;
    const auto push = [&](TimePs at) {
      const Record record{at, key, false, key >= 200};
      ++key;
      ahead.push(record, stages);
      plain.push(record);
    };
    for (int i = 0; i < 200; ++i) push(picoseconds(static_cast<std::int64_t>(random.below(1000))));
    TimePs end;
    std::uint32_t popped = 0;
    while (!plain.empty()) {
      end += picoseconds(static_cast<std::int64_t>(1 + random.below(300)));
      Record record;
      while (ahead.pop_until(end, record, stages)) {
        const Record expected = plain.pop();
        ASSERT_EQ(record.time, expected.time);
        ASSERT_EQ(record.key, expected.key);
        ++popped;
        // Late records, which land among those that are ahead, behind them, and at the same instant.
        for (std::uint64_t more = popped < 3000 ? random.below(3) : 0; more > 0; --more)
          push(record.time + picoseconds(static_cast<std::int64_t>(random.below(400))));
      }
      ASSERT_EQ(ahead.size(), plain.size());
      ASSERT_EQ(ahead.next_time(), plain.empty() ? kNever : plain.peek().time);
    }
    EXPECT_GT(popped, 200u);
    EXPECT_GT(stages.prepared, popped / 4);
  }
}

}  // namespace
}  // namespace wharf::sim
