// SPDX-License-Identifier: Apache-2.0
// The machines of an aperture without I/O: what a page needs, which page goes, what is read ahead, what has
// changed.
#include "live/aperture/page_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "live/aperture/changed_bytes.h"
#include "live/aperture/read_ahead.h"

namespace wharf::live {
namespace {

void bring(PageTable& table, std::uint64_t page, PageState as = PageState::kClean) {
  ASSERT_TRUE(table.try_lock(page));
  table.fetching(page);
  table.arrived(page, as);
  table.unlock(page);
}

TEST(PageTable, SaysWhatEachAccessNeeds) {
  PageTable table(4, 8);
  EXPECT_EQ(table.asked_for(0, false), PageNeed::kFetch);
  ASSERT_TRUE(table.try_lock(0));
  EXPECT_FALSE(table.try_lock(0));
  table.fetching(0);
  EXPECT_FALSE(table.asked(0));
  EXPECT_EQ(table.asked_for(0, true), PageNeed::kWait);
  EXPECT_TRUE(table.asked(0));
  table.arrived(0, PageState::kHeld);
  EXPECT_FALSE(table.there(0));
  EXPECT_EQ(table.asked_for(0, false), PageNeed::kShow);
  table.shown(0, PageState::kClean);
  EXPECT_TRUE(table.there(0));
  EXPECT_EQ(table.asked_for(0, false), PageNeed::kWake);
  EXPECT_EQ(table.asked_for(0, true), PageNeed::kAllow);
  table.stored(0);
  EXPECT_EQ(table.asked_for(0, true), PageNeed::kWake);
  table.leaves(0);
  // One that has left is fetched once, whoever asks how often.
  EXPECT_EQ(table.asked_for(0, false), PageNeed::kFetch);
  EXPECT_EQ(table.asked_for(0, false), PageNeed::kWait);
  table.gone(0);
  EXPECT_FALSE(table.asked(0));
  EXPECT_EQ(table.held(), 0U);
  table.lost(0);
  EXPECT_EQ(table.asked_for(0, false), PageNeed::kWake);
}

TEST(PageTable, WhatIsKeptForStoresIsUntilItIsReleased) {
  PageTable table(2, 8);
  bring(table, 0);
  table.keep(0, true);
  table.keep(0, false);
  EXPECT_TRUE(table.kept_for_stores(0));
  EXPECT_EQ(table.kept_pages(), 1U);
  table.release(0);
  EXPECT_FALSE(table.kept_for_stores(0));
  table.keep(0, false);
  EXPECT_TRUE(table.kept(0));
  EXPECT_FALSE(table.kept_for_stores(0));
  ASSERT_TRUE(table.try_lock(0));
  table.gone(0);
  EXPECT_EQ(table.kept_pages(), 0U);
}

TEST(PageTable, WhereOnlyChangedPagesAreTheHandDoesNotLook) {
  PageTable table(1'000, 8);
  for (std::uint64_t page = 0; page < 1'000; ++page) {
    bring(table, page, PageState::kDirty);
    EXPECT_EQ(table.choose_victim(false), std::nullopt);
  }
  EXPECT_EQ(table.looks(), 0U);
  ASSERT_TRUE(table.try_lock(7));
  table.cleaned(7);
  table.unlock(7);
  EXPECT_EQ(table.choose_victim(false), 7U);
}

TEST(PageTable, TheHandSparesOnceWhatWasUsed) {
  PageTable table(8, 3);
  for (std::uint64_t page = 0; page < 3; ++page) bring(table, page);
  // All were used when they came: the first time around takes the marks, the second takes the first page.
  EXPECT_EQ(table.choose_victim(true), 0U);
  table.gone(0);
  table.unlock(0);
  bring(table, 3);
  static_cast<void>(table.asked_for(1, false));
  EXPECT_EQ(table.choose_victim(true), 2U);
}

TEST(PageTable, NothingGoesThatIsKeptHeldOrMayNot) {
  PageTable table(8, 3);
  for (std::uint64_t page = 0; page < 3; ++page) bring(table, page);
  table.keep(0, true);
  ASSERT_TRUE(table.try_lock(1));
  table.stored(2);
  EXPECT_EQ(table.choose_victim(false), std::nullopt);
  EXPECT_EQ(table.choose_victim(true), 2U);
  EXPECT_TRUE(table.room_will_come());
  EXPECT_EQ(table.choose_victim(true), std::nullopt);
}

RC_GTEST_PROP(PageTableProperty, CountsWhatItHolds, ()) {
  constexpr std::uint64_t kPages = 12;
  constexpr std::uint64_t kLimit = 4;
  PageTable table(kPages, kLimit);
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 7), rc::gen::inRange(0, static_cast<int>(kPages))));
  std::vector<std::uint64_t> victims;
  for (const auto& [what, which] : steps) {
    const auto page = static_cast<std::uint64_t>(which);
    const PageState state = table.state(page);
    const bool free = !table.busy(page);
    if (what == 0 && free && state == PageState::kAbsent) {
      table.try_lock(page);
      table.fetching(page);
    } else if (what == 1 && state == PageState::kFetching) {
      table.arrived(page, page % 3 == 0 ? PageState::kHeld : PageState::kClean);
      table.unlock(page);
    } else if (what == 2 && state == PageState::kFetching) {
      table.not_arrived(page);
      table.unlock(page);
    } else if (what == 3 && state == PageState::kClean) {
      table.stored(page);
    } else if (what == 4) {
      if (const auto victim = table.choose_victim(page % 2 == 0)) {
        RC_ASSERT(!table.kept(*victim));
        RC_ASSERT(page % 2 == 0 || table.state(*victim) != PageState::kDirty);
        victims.push_back(*victim);
      }
    } else if (what == 5 && !victims.empty()) {
      const std::uint64_t victim = victims.back();
      victims.pop_back();
      if (table.state(victim) == PageState::kDirty && page % 2 == 0) table.leaves(victim);
      table.gone(victim);
      table.unlock(victim);
    } else if (what == 6 && free && table.there(page)) {
      if (table.kept(page)) {
        table.release(page);
      } else {
        table.keep(page, page % 2 == 0);
      }
    }
    std::uint64_t held = 0;
    std::uint64_t kept = 0;
    for (std::uint64_t each = 0; each < kPages; ++each) {
      held += table.state(each) != PageState::kAbsent ? 1 : 0;
      kept += table.kept(each) ? 1 : 0;
    }
    RC_ASSERT(table.held() == held);
    RC_ASSERT(table.kept_pages() == kept);
    RC_ASSERT(table.too_many() == (held - victims.size() > kLimit));
    RC_ASSERT(table.room_will_come() == !victims.empty());
  }
}

TEST(ReadAhead, DoublesAlongAStream) {
  ReadAhead ahead(8);
  EXPECT_EQ(ahead.asked(10).count, 0U);
  EXPECT_EQ(ahead.asked(11), (ReadAhead::Window{12, 4}));
  EXPECT_EQ(ahead.asked(12), (ReadAhead::Window{16, 8}));
  EXPECT_EQ(ahead.asked(16), (ReadAhead::Window{24, 8}));
  // A jump begins anew, beside the stream.
  EXPECT_EQ(ahead.asked(100).count, 0U);
  EXPECT_EQ(ahead.asked(24), (ReadAhead::Window{32, 8}));
  EXPECT_EQ(ahead.asked(101), (ReadAhead::Window{102, 4}));
}

TEST(ReadAhead, RandomPagesAreNoStream) {
  ReadAhead ahead(8);
  for (const std::uint64_t page : {5U, 3U, 9U, 1U, 7U, 11U}) EXPECT_EQ(ahead.asked(page).count, 0U);
  ReadAhead never(0);
  for (std::uint64_t page = 0; page < 9; ++page) EXPECT_EQ(never.asked(page).count, 0U);
}

RC_GTEST_PROP(ChangedBytes, CoverWhatDiffersAndNothingElse, ()) {
  constexpr std::uint32_t kBytes = 512;
  const auto grain = std::uint32_t{1} << *rc::gen::inRange(0, 4);
  const auto from = *rc::gen::inRange<std::uint32_t>(0, kBytes / grain + 1) * grain;
  const auto to = *rc::gen::inRange<std::uint32_t>(from / grain, kBytes / grain + 1) * grain;
  std::vector<std::byte> before(kBytes);
  std::vector<std::byte> now(kBytes);
  for (const int at : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, static_cast<int>(kBytes))))
    now[static_cast<std::size_t>(at)] = std::byte{1};
  std::vector<bool> covered(kBytes);
  std::uint32_t last = 0;
  for (const ChangedRun& run : changed_runs(now, before, from, to, grain)) {
    RC_ASSERT(run.length > 0 && run.offset >= from && run.offset + run.length <= to);
    RC_ASSERT(run.offset == from || run.offset > last || last == 0);
    last = run.offset + run.length;
    for (std::uint32_t at = run.offset; at < last; ++at) covered[at] = true;
  }
  for (std::uint32_t at = 0; at < kBytes; ++at) {
    bool differs = false;
    for (std::uint32_t each = at / grain * grain; each < at / grain * grain + grain; ++each)
      differs = differs || now[each] != before[each];
    RC_ASSERT(covered[at] == (differs && at >= from && at < to));
  }
}

}  // namespace
}  // namespace wharf::live
