// SPDX-License-Identifier: Apache-2.0
// What a memory key grants, and to whom. [IBTA vol 1 10.2.3, 10.6.2]
#include "engine/roce/memory_key_table.h"

#include <gtest/gtest.h>

namespace wharf::roce {
namespace {

constexpr std::uint64_t kBase = 0x1000;
constexpr std::uint64_t kLength = 256;

verbs::SegmentConfig region(std::uint32_t domain = 0, verbs::AddressSpaceId space = 0) {
  return {.base = kBase, .length = kLength, .domain = domain, .space = space};
}

// A key is valid in the protection domain that it was registered in, for requests of peers and for those of
// the program alike.
TEST(RoceMemoryKeys, AKeyServesItsOwnDomainOnly) {
  MemoryKeyTable keys;
  const std::uint32_t key = keys.add(region(5)).value().id;
  verbs::AddressSpaceId space = 0;
  EXPECT_TRUE(keys.covers(5, key, kBase, kLength, space));
  EXPECT_FALSE(keys.covers(6, key, kBase, kLength, space));
  EXPECT_NE(keys.find(5, key, kBase, kLength, RemoteAccess::kWrite), nullptr);
  EXPECT_EQ(keys.find(6, key, kBase, kLength, RemoteAccess::kWrite), nullptr);
  EXPECT_TRUE(keys.is_valid(5, key));
  EXPECT_FALSE(keys.is_valid(6, key));
}

// The first byte and the last belong to the region, their neighbours do not.
TEST(RoceMemoryKeys, ARegionEndsWhereItSays) {
  MemoryKeyTable keys;
  const std::uint32_t key = keys.add(region()).value().id;
  verbs::AddressSpaceId space = 0;
  struct Range {
    std::uint64_t address;
    std::uint64_t length;
    bool inside;
  };
  for (const Range range :
       {Range{kBase, kLength, true}, Range{kBase + kLength - 1, 1, true}, Range{kBase + kLength, 0, true},
        Range{kBase - 1, 1, false}, Range{kBase - 1, 2, false}, Range{kBase + 1, kLength, false},
        Range{kBase + kLength, 1, false}, Range{kBase, kLength + 1, false},
        Range{kBase + 8, ~std::uint64_t{0} - 4, false}, Range{0, kBase + 1, false}}) {
    EXPECT_EQ(keys.covers(0, key, range.address, range.length, space), range.inside)
        << range.address << " " << range.length;
    if (range.length == 0) continue;  // Not asked for.
    EXPECT_EQ(keys.find(0, key, range.address, range.length, RemoteAccess::kRead) != nullptr, range.inside)
        << range.address << " " << range.length;
  }
}

// A right that was not granted is not there, whichever others were.
TEST(RoceMemoryKeys, EachRightIsGrantedAlone) {
  for (unsigned granted = 0; granted < 8; ++granted) {
    MemoryKeyTable keys;
    verbs::SegmentConfig config = region();
    config.rights = {};
    config.rights.remote_read = (granted & 1U) != 0;
    config.rights.remote_write = (granted & 2U) != 0;
    config.rights.remote_atomic = (granted & 4U) != 0;
    const auto key = keys.add(config);
    ASSERT_EQ(key.ok(), (granted & 4U) == 0 || granted == 7);
    if (!key.ok()) continue;
    const auto grants = [&](RemoteAccess access) {
      return keys.find(0, key.value().id, kBase, 8, access) != nullptr;
    };
    EXPECT_EQ(grants(RemoteAccess::kRead), (granted & 1U) != 0);
    EXPECT_EQ(grants(RemoteAccess::kWrite), (granted & 2U) != 0);
    EXPECT_EQ(grants(RemoteAccess::kAtomic), (granted & 4U) != 0);
  }
}

// The record of a key that was given back is used again; whoever kept the old key has nothing.
TEST(RoceMemoryKeys, AKeyThatWasGivenBackStaysInvalid) {
  MemoryKeyTable keys;
  const std::uint32_t old = keys.add(region()).value().id;
  std::uint32_t last = old;
  for (int use = 0; use < 255; ++use) {
    ASSERT_TRUE(keys.remove(last).ok());
    EXPECT_FALSE(keys.is_issued(last));
    EXPECT_FALSE(keys.is_valid(0, last));
    EXPECT_EQ(keys.live(), 0u);
    const std::uint32_t next = keys.add(region()).value().id;
    EXPECT_EQ(next >> 8U, old >> 8U);
    EXPECT_NE(next, last);
    EXPECT_NE(next, old) << use;
    EXPECT_FALSE(keys.is_issued(old));
    EXPECT_EQ(keys.find(0, old, kBase, 8, RemoteAccess::kRead), nullptr);
    verbs::AddressSpaceId space = 0;
    EXPECT_FALSE(keys.covers(0, old, kBase, 8, space));
    EXPECT_FALSE(keys.remove(old).ok());
    last = next;
  }
  EXPECT_EQ(keys.live(), 1u);
}

// [IBTA vol 1 9.4.1.1] What a peer invalidates is no longer valid; the program still gives its key back.
TEST(RoceMemoryKeys, AnInvalidatedKeyIsStillIssued) {
  MemoryKeyTable keys;
  const std::uint32_t key = keys.add(region()).value().id;
  keys.invalidate(key);
  EXPECT_FALSE(keys.is_valid(0, key));
  EXPECT_EQ(keys.find(0, key, kBase, 8, RemoteAccess::kRead), nullptr);
  EXPECT_TRUE(keys.is_issued(key));
  EXPECT_TRUE(keys.remove(key).ok());
}

// A region's addresses mean memory of the address space that it was registered in.
TEST(RoceMemoryKeys, ARegionLiesInItsAddressSpace) {
  MemoryKeyTable keys;
  const std::uint32_t first = keys.add(region(0, 0)).value().id;
  const std::uint32_t second = keys.add(region(0, 7)).value().id;
  const std::uint32_t third = keys.add(region(0, 7)).value().id;
  verbs::AddressSpaceId space = 99;
  for (const auto& [key, expected] : {std::pair{first, 0U}, std::pair{second, 7U}, std::pair{third, 7U}}) {
    const MemoryKeyRecord* record = keys.find(0, key, kBase, 8, RemoteAccess::kRead);
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(keys.space_of(*record), expected);
    ASSERT_TRUE(keys.covers(0, key, kBase, 8, space));
    EXPECT_EQ(space, expected);
  }
}

TEST(RoceMemoryKeys, RefusesRegionsThatCannotBe) {
  MemoryKeyTable keys;
  verbs::SegmentConfig config = region();
  config.base = 0;
  EXPECT_FALSE(keys.add(config).ok());
  config.base = ~std::uint64_t{0} - 8;
  config.length = 9;
  EXPECT_FALSE(keys.add(config).ok());
  config.length = 8;
  EXPECT_TRUE(keys.add(config).ok());
  EXPECT_FALSE(keys.remove(0).ok());
  EXPECT_FALSE(keys.is_issued(0));
}

}  // namespace
}  // namespace wharf::roce
