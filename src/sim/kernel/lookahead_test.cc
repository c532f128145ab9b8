// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/lookahead.h"

#include "base/random.h"

namespace wharf::sim {
namespace {

struct Record {
  TimePs time;
  std::uint32_t key = 0;
  std::uint32_t stages = 0;
};
bool before(const Record& a, const Record& b) { return a.time != b.time ? a.time < b.time : a.key < b.key; }

/// Each stage is shown once at most, in order.
struct CountingStages {
  void known(Record& record) { record.stages |= 1U; }
  void fetch_first(Record& record) {
    EXPECT_LT(record.stages, 2u);
    record.stages |= 2U;
  }
  void fetch_second(Record& record) {
    EXPECT_LT(record.stages, 4u);
    record.stages |= 4U;
  }
  void fetch_last(Record& record) {
    EXPECT_LT(record.stages, 8u);
    record.stages |= 8U;
  }
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
      const Record record{at, key++, 0};
      ahead.push(record);
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
  }
}

}  // namespace
}  // namespace wharf::sim
