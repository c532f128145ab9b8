// SPDX-License-Identifier: Apache-2.0
// The pager against hand-made sequences, and the closed forms of OpenURMA 8.2 that its variant must give.
#include "sim/host/replay/paging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "sim/host/replay/serial_page_transfer_test_support.h"

namespace wharf::sim {
namespace {

/// Remembers what was asked for; the test answers.
struct RecordingPort {
  struct Transfer {
    TimePs at;
    PageNumber page;
    std::uint32_t pages;  // 0: a write.
    std::uint32_t id;
  };
  void start_page_read(TimePs at, PageNumber page, std::uint32_t pages, std::uint32_t id) {
    transfers.push_back({at, page, pages, id});
  }
  void start_page_write(TimePs at, PageNumber page, std::uint32_t id) {
    transfers.push_back({at, page, 0, id});
  }
  std::vector<Transfer> transfers;
};
static_assert(PageTransferPort<RecordingPort>);

constexpr auto kNoLines = [](PageNumber) { return false; };

PagingConfig infiniswap() {
  return {.fault_cost = microseconds(3),
          .resident_pages = 4096,
          .window_pages = 1,
          .read = PageReadRule::kWholeWindow,
          .write_back = PageWriteBackRule::kNone};
}
PagingConfig fastswap() {
  PagingConfig config = infiniswap();
  config.fault_cost = microseconds(1);
  config.window_pages = 8;
  return config;
}

/// Runs one fault of the paper's variant with its serial transfer; the time until the data is in a register.
TimePs serial_fault(const PagingConfig& config, const SerialPageTransferConfig& costs = {}) {
  RecordingPort port;
  Paging<RecordingPort> paging(config, port);
  const TimePs began = nanoseconds(12345);
  EXPECT_FALSE(paging.lookup(began, 100, false, kNoLines).resident);
  EXPECT_EQ(port.transfers.size(), 1U);
  const RecordingPort::Transfer& read = port.transfers.at(0);
  const TimePs done = read.at + SerialPageTransfer(costs).duration(std::int64_t{read.pages} * kPageBytes);
  paging.read_done(done, read.id, kNoLines);
  EXPECT_FALSE(paging.waiting());
  EXPECT_TRUE(paging.lookup(paging.resume_at(), 100, false, kNoLines).resident);
  const TimePs local_memory = nanoseconds(70);
  return paging.resume_at() + local_memory - began;
}

TEST(SerialPaging, GivesThePublishedFaultTimes) {
  EXPECT_EQ(serial_fault(infiniswap()), nanoseconds(6087));
  EXPECT_EQ(serial_fault(fastswap()), nanoseconds(10227));
}

TEST(SerialPaging, GivesThePublishedFaultTimesForOtherKernelCosts) {
  const std::vector<std::pair<int, int>> published{{1, 4087}, {3, 6087}, {5, 8087}, {10, 13087}};
  for (const auto& [cost, fault] : published) {
    PagingConfig config = infiniswap();
    config.fault_cost = microseconds(cost);
    EXPECT_EQ(serial_fault(config), nanoseconds(fault));
  }
}

TEST(SerialPaging, ChargingTheTargetsReceiveStageAddsOneVisit) {
  EXPECT_EQ(serial_fault(infiniswap(), {.request_receive_stage = true}), nanoseconds(6087 + 31));
}

TEST(SerialPaging, AResidentPageNeedsNoTransfer) {
  RecordingPort port;
  Paging<RecordingPort> paging(fastswap(), port);
  paging.lookup(kTimeZero, 100, false, kNoLines);
  paging.read_done(microseconds(9), port.transfers[0].id, kNoLines);
  for (PageNumber page = 100; page < 108; ++page) {
    const auto lookup = paging.lookup(microseconds(10), page, true, kNoLines);
    EXPECT_TRUE(lookup.resident);
    EXPECT_EQ(lookup.usable, microseconds(10));
  }
  EXPECT_EQ(port.transfers.size(), 1U);
  EXPECT_EQ(paging.counters().prefetches_used, 7U);
  EXPECT_FALSE(paging.is_resident(108));
}

TEST(SerialPaging, DropsModifiedPagesWithoutWritingThem) {
  PagingConfig config = infiniswap();
  config.resident_pages = 2;
  RecordingPort port;
  Paging<RecordingPort> paging(config, port);
  for (PageNumber page = 1; page <= 3; ++page) {
    paging.lookup(microseconds(10 * static_cast<int>(page)), page, true, kNoLines);
    paging.read_done(microseconds(10 * static_cast<int>(page) + 5), port.transfers.back().id, kNoLines);
  }
  EXPECT_EQ(paging.counters().evictions, 1U);
  EXPECT_EQ(paging.counters().pages_written, 0U);
  EXPECT_FALSE(paging.is_resident(1));
}

TEST(Paging, TheCriticalPageGoesFirstAndTheProgramWaitsForItAlone) {
  PagingConfig config{.fault_cost = microseconds(1), .resident_pages = 64, .window_pages = 4};
  RecordingPort port;
  Paging<RecordingPort> paging(config, port);
  paging.lookup(microseconds(10), 100, false, kNoLines);
  ASSERT_EQ(port.transfers.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(port.transfers[i].page, 100U + i);
    EXPECT_EQ(port.transfers[i].pages, 1U);
    EXPECT_EQ(port.transfers[i].at, microseconds(11)) << "after the kernel's part";
  }
  paging.read_done(microseconds(14), port.transfers[0].id, kNoLines);
  EXPECT_FALSE(paging.waiting());
  EXPECT_EQ(paging.resume_at(), microseconds(14));
  EXPECT_FALSE(paging.is_resident(101));

  // The next page is still on its way: the trap runs beside the rest of its journey.
  EXPECT_FALSE(paging.lookup(microseconds(15), 101, true, kNoLines).resident);
  EXPECT_EQ(port.transfers.size(), 4U) << "no second transfer";
  paging.read_done(picoseconds(15'500'000), port.transfers[1].id, kNoLines);
  EXPECT_EQ(paging.resume_at(), microseconds(16));
  EXPECT_EQ(paging.counters().prefetch_waits, 1U);
  EXPECT_EQ(paging.counters().faults, 1U);

  paging.read_done(microseconds(17), port.transfers[2].id, kNoLines);
  EXPECT_TRUE(paging.lookup(microseconds(18), 102, false, kNoLines).resident);
  EXPECT_EQ(paging.counters().prefetches_used, 2U);
  EXPECT_EQ(paging.counters().pages_prefetched, 3U);
}

/// Brings in one page at once.
void touch(Paging<RecordingPort>& paging, RecordingPort& port, TimePs at, PageNumber page, bool store) {
  if (paging.lookup(at, page, store, kNoLines).resident) return;
  paging.read_done(at + microseconds(2), port.transfers.back().id, kNoLines);
  ASSERT_FALSE(paging.waiting());
}

TEST(Paging, EvictsTheLeastRecentlyUsedAndWritesItIfModified) {
  PagingConfig config{.fault_cost = microseconds(1), .resident_pages = 3, .window_pages = 1};
  RecordingPort port;
  Paging<RecordingPort> paging(config, port);
  touch(paging, port, microseconds(0), 1, true);
  touch(paging, port, microseconds(10), 2, false);
  touch(paging, port, microseconds(20), 3, false);
  touch(paging, port, microseconds(30), 1, false);  // 2 is the oldest now.
  paging.lookup(microseconds(40), 4, false, kNoLines);
  EXPECT_FALSE(paging.is_resident(2));
  EXPECT_EQ(paging.counters().pages_written, 0U) << "2 was only read";
  paging.read_done(microseconds(45), port.transfers.back().id, kNoLines);
  touch(paging, port, microseconds(50), 5, false);      // 3 leaves.
  paging.lookup(microseconds(60), 6, false, kNoLines);  // 1 leaves, modified.
  ASSERT_EQ(paging.counters().pages_written, 1U);
  const auto& write = port.transfers[port.transfers.size() - 2];
  EXPECT_EQ(write.page, 1U);
  EXPECT_EQ(write.pages, 0U);
  EXPECT_EQ(write.at, microseconds(61));
}

TEST(Paging, DirtyLinesInTheCachesMakeALeavingPageDirty) {
  PagingConfig config{.fault_cost = microseconds(1), .resident_pages = 2, .window_pages = 1};
  RecordingPort port;
  Paging<RecordingPort> paging(config, port);
  touch(paging, port, microseconds(0), 1, false);
  touch(paging, port, microseconds(10), 2, false);
  std::vector<PageNumber> dropped;
  paging.lookup(microseconds(20), 3, false, [&](PageNumber page) {
    dropped.push_back(page);
    return true;
  });
  EXPECT_THAT(dropped, testing::ElementsAre(1));
  EXPECT_EQ(paging.counters().pages_written, 1U);
}

TEST(Paging, AFaultWaitsWhenTooManyPagesAreBeingWritten) {
  PagingConfig config{
      .fault_cost = microseconds(1), .resident_pages = 2, .window_pages = 1, .outstanding_writes = 1};
  RecordingPort port;
  Paging<RecordingPort> paging(config, port);
  touch(paging, port, microseconds(0), 1, true);
  touch(paging, port, microseconds(10), 2, true);
  touch(paging, port, microseconds(20), 3, true);  // 1 is being written.
  const std::uint32_t write = port.transfers[2].id;
  EXPECT_EQ(port.transfers[2].page, 1U);
  const std::size_t before = port.transfers.size();
  paging.lookup(microseconds(30), 4, false, kNoLines);  // 2 would have to be written.
  EXPECT_EQ(port.transfers.size(), before);
  EXPECT_TRUE(paging.waiting());
  paging.write_done(microseconds(40), write, kNoLines);
  ASSERT_EQ(port.transfers.size(), before + 2) << "the write of 2 and the read of 4";
  EXPECT_EQ(port.transfers.back().page, 4U);
  EXPECT_EQ(port.transfers.back().at, microseconds(40));
}

TEST(Paging, APageThatIsBeingWrittenIsTakenBackWithoutATransfer) {
  PagingConfig config{.fault_cost = microseconds(1), .resident_pages = 2, .window_pages = 1};
  RecordingPort port;
  Paging<RecordingPort> paging(config, port);
  touch(paging, port, microseconds(0), 1, true);
  touch(paging, port, microseconds(10), 2, false);
  touch(paging, port, microseconds(20), 3, false);  // 1 is being written.
  const std::size_t before = port.transfers.size();
  const auto lookup = paging.lookup(microseconds(30), 1, true, kNoLines);
  EXPECT_TRUE(lookup.resident);
  EXPECT_EQ(lookup.usable, microseconds(31)) << "the trap still costs";
  EXPECT_EQ(port.transfers.size(), before);
  EXPECT_EQ(paging.counters().reclaimed, 1U);
  // Modified again, it may not be written a second time before the first write is done.
  touch(paging, port, microseconds(40), 3, false);
  const std::size_t transfers = port.transfers.size();
  paging.lookup(microseconds(50), 4, false, kNoLines);
  EXPECT_TRUE(paging.waiting());
  EXPECT_EQ(port.transfers.size(), transfers);
}

TEST(Paging, KeepsItsFramesUnderRandomUse) {
  // With answers delayed at random, frames are never overbooked and every access ends.
  RandomStream random(7, "paging_test");
  for (int round = 0; round < 50; ++round) {
    PagingConfig config{
        .fault_cost = microseconds(1),
        .resident_pages = static_cast<std::uint32_t>(8 + random.below(20)),
        .window_pages = static_cast<std::uint32_t>(1 + random.below(4)),
        .read = random.below(2) == 0 ? PageReadRule::kCriticalPageFirst : PageReadRule::kWholeWindow,
        .outstanding_writes = static_cast<std::uint32_t>(1 + random.below(3))};
    RecordingPort port;
    Paging<RecordingPort> paging(config, port);
    TimePs now = kTimeZero;
    const auto answer_one = [&] {
      ASSERT_FALSE(port.transfers.empty()) << "waiting for nothing";
      const std::size_t at = random.below(port.transfers.size());
      const RecordingPort::Transfer transfer = port.transfers[at];
      port.transfers.erase(port.transfers.begin() + static_cast<std::ptrdiff_t>(at));
      now = max(now, transfer.at) + nanoseconds(1);
      if (transfer.pages > 0) {
        paging.read_done(now, transfer.id, kNoLines);
      } else {
        paging.write_done(now, transfer.id, kNoLines);
      }
    };
    for (int access = 0; access < 300; ++access) {
      const PageNumber page = random.below(64);
      const auto lookup = paging.lookup(now, page, random.below(2) == 0, kNoLines);
      if (lookup.resident) {
        now = max(now, lookup.usable);
      } else {
        while (paging.waiting() && !testing::Test::HasFatalFailure()) answer_one();
        now = max(now, paging.resume_at());
      }
      ASSERT_TRUE(paging.is_resident(page));
      std::uint32_t resident = 0;
      for (PageNumber p = 0; p < 80; ++p) resident += paging.is_resident(p) ? 1U : 0U;
      ASSERT_LE(resident, config.resident_pages);
      if (!port.transfers.empty() && random.below(3) == 0) answer_one();
    }
    while (!port.transfers.empty()) answer_one();
    EXPECT_EQ(paging.outstanding(), 0U);
  }
}

TEST(Paging, RefusalsNameTheKey) {
  EXPECT_THAT(validate_paging({.window_pages = 0}).error().message,
              testing::StartsWith("paging.window_pages is 0"));
  EXPECT_THAT(validate_paging({.resident_pages = 7, .window_pages = 4}).error().message,
              testing::StartsWith("paging.resident_pages is 7, expected 8"));
  EXPECT_THAT(validate_paging({.outstanding_writes = 0}).error().message,
              testing::StartsWith("paging.outstanding_writes is 0"));
  EXPECT_THAT(validate_paging({.fault_cost = picoseconds(-1)}).error().message,
              testing::StartsWith("paging.fault_cost is -1 ps"));
}

}  // namespace
}  // namespace wharf::sim
