// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/shared_mappings.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace wharf::live {
namespace {

TEST(SharedMappings, OnlyWhatIsSharedAndMayBeWrittenCounts) {
  const SharedMappings none;
  const SharedMappings some = SharedMappings::parse(
      "1000-3000 rw-s 00000000 00:01 12                         /dev/shm/one (deleted)\n"
      "3000-4000 rw-s 00000000 00:01 13\n"
      "5000-6000 rw-p 00000000 00:00 0                          [heap]\n"
      "7000-8000 r--s 00000000 00:01 14                         /dev/shm/two\n"
      "ffff000000000000-ffffffffffffffff rw-s 00000000 00:01 15 /dev/shm/end\n"
      "no mapping\n9000\n-\n");
  EXPECT_TRUE(some.hold_new(none, 0x1000, 0x2000));
  EXPECT_TRUE(some.hold_new(none, 0x2fff, 1));
  EXPECT_TRUE(some.hold_new(none, 0x3000, 0x1000));
  EXPECT_FALSE(some.hold_new(none, 0x1000, 0x2001)) << "the rest is another one's";
  EXPECT_FALSE(some.hold_new(none, 0xfff, 2));
  EXPECT_FALSE(some.hold_new(none, 0x4000, 1));
  EXPECT_FALSE(some.hold_new(none, 0x5000, 8)) << "private";
  EXPECT_FALSE(some.hold_new(none, 0x7000, 8)) << "not for writing";
  EXPECT_FALSE(some.hold_new(none, 0x1800, ~std::uint64_t{0} - 0x800)) << "the sum wraps";
  EXPECT_FALSE(some.hold_new(none, 0xfffffffffffffff0, 0x20));
}

TEST(SharedMappings, WhatWasThereBeforeIsNotNew) {
  const SharedMappings before = SharedMappings::parse("1000-3000 rw-s 0 00:01 12\n");
  const SharedMappings now = SharedMappings::parse("1000-3000 rw-s 0 00:01 12\n8000-9000 rw-s 0 00:01 13\n");
  EXPECT_FALSE(now.hold_new(before, 0x1000, 8));
  EXPECT_TRUE(now.hold_new(before, 0x8000, 0x1000));
  const SharedMappings grown = SharedMappings::parse("1000-5000 rw-s 0 00:01 12\n");
  EXPECT_FALSE(grown.hold_new(before, 0x4000, 8)) << "the kernel may make one of two";
}

TEST(SharedMappings, AreThoseOfThisProcess) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto before = SharedMappings::read();
  ASSERT_TRUE(before);
  void* shared = ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void* own = ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  ASSERT_NE(own, MAP_FAILED);
  const auto now = SharedMappings::read();
  ASSERT_TRUE(now);
  const auto at = reinterpret_cast<std::uint64_t>(shared);
  EXPECT_TRUE(now->hold_new(*before, at, 4 * page));
  EXPECT_TRUE(now->hold_new(*before, at + page, 3 * page));
  EXPECT_FALSE(now->hold_new(*before, at, 4 * page + 1));
  EXPECT_FALSE(now->hold_new(*before, at - 1, 2));
  EXPECT_FALSE(now->hold_new(*now, at, 8));
  EXPECT_FALSE(now->hold_new(*before, reinterpret_cast<std::uint64_t>(own), 8));
  ::munmap(shared, 4 * page);
  ::munmap(own, 4 * page);
}

}  // namespace
}  // namespace wharf::live
