// SPDX-License-Identifier: Apache-2.0
#include "base/zeroed_pages.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace wharf {
namespace {

/// From here on memory is taken when it is touched.
constexpr std::size_t kMapped = ZeroedPages::kHugePage / 2;

TEST(ZeroedPages, AreZeroAndWritableToTheLastByte) {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4096}, std::size_t{4097}, kMapped - 1, kMapped,
        ZeroedPages::kHugePage - 1, ZeroedPages::kHugePage, 2 * ZeroedPages::kHugePage + 5}) {
    const ZeroedPages pages(bytes);
    ASSERT_EQ(pages.size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.data()) % ZeroedPages::kAlignment, 0U);
    EXPECT_EQ(pages.data()[0], std::byte{0});
    EXPECT_EQ(pages.data()[bytes - 1], std::byte{0});
    pages.data()[0] = pages.data()[bytes - 1] = std::byte{1};
    EXPECT_EQ(pages.data()[bytes - 1], std::byte{1});
  }
}

TEST(ZeroedPages, LargeOnesStartAtAHugePage) {
  const ZeroedPages pages(3 * ZeroedPages::kHugePage);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.data()) % ZeroedPages::kHugePage, 0U);
}

TEST(ZeroedPages, FromHalfAHugePageOnMemoryIsTakenWhenItIsTouched) {
  const ZeroedPages pages(kMapped);
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kTouched = 5;
  pages.data()[kTouched * kPage] = std::byte{1};
  std::vector<unsigned char> taken(kMapped / kPage);
  ASSERT_EQ(mincore(pages.data(), kMapped, taken.data()), 0);
  for (std::size_t page = 0; page < taken.size(); ++page)
    EXPECT_EQ((taken[page] & 1U) != 0, page == kTouched) << page;
}

TEST(ZeroedPages, NothingIsAskedForNothing) {
  EXPECT_TRUE(ZeroedPages(0).empty());
  EXPECT_TRUE(ZeroedPages().empty());
}

TEST(ZeroedPages, MoreThanThereCanBeIsEmpty) { EXPECT_TRUE(ZeroedPages(std::size_t{1} << 60U).empty()); }

TEST(ZeroedPages, MovingKeepsTheBytes) {
  ZeroedPages first(4096);
  first.data()[7] = std::byte{9};
  ZeroedPages second(std::move(first));
  EXPECT_EQ(second.data()[7], std::byte{9});
  ZeroedPages third;
  third = std::move(second);
  EXPECT_EQ(third.data()[7], std::byte{9});
  EXPECT_EQ(third.size(), 4096U);
}

TEST(ZeroedArray, MoreThanThereCanBeThrows) {
  EXPECT_THROW(ZeroedArray<std::uint64_t>(std::size_t{1} << 57U), std::bad_alloc);
}

TEST(ZeroedArray, HoldsValuesOfItsType) {
  const ZeroedArray<std::uint64_t> array(1000);
  EXPECT_EQ(array.size(), 1000U);
  EXPECT_EQ(array[999], 0U);
  array[999] = 5;
  EXPECT_EQ(array[999], 5U);
}

}  // namespace
}  // namespace wharf
