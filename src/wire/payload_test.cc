// SPDX-License-Identifier: Apache-2.0
// Payload slices and pool, and the sequence arithmetic that goes with packets.
#include "wire/payload.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "wire/payload_pool.h"
#include "wire/psn.h"

namespace wharf::wire {
namespace {

std::vector<std::byte> bytes_of(const Payload& payload) {
  std::vector<std::byte> bytes(payload.length);
  fill(payload, bytes);
  return bytes;
}

/// A pattern and its bytes are the same payload, whole or in slices, and byte by byte.
RC_GTEST_PROP(Payload, PatternsEqualTheirBytes, ()) {
  const Payload pattern =
      pattern_payload(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange<std::uint64_t>(0, 1 << 20),
                      *rc::gen::inRange<std::uint32_t>(0, 700));
  const std::vector<std::byte> bytes = bytes_of(pattern);
  const Payload plain = bytes_payload(bytes);
  RC_ASSERT(payload_equal(pattern, plain));
  RC_ASSERT(payload_equal(plain, pattern));
  const auto offset = *rc::gen::inRange<std::uint32_t>(0, pattern.length + 1);
  const auto length = *rc::gen::inRange<std::uint32_t>(0, pattern.length - offset + 1);
  RC_ASSERT(payload_equal(slice(pattern, offset, length), slice(plain, offset, length)));
  for (std::uint32_t i = 0; i < pattern.length; ++i) RC_ASSERT(payload_byte(pattern, i) == bytes[i]);
}

TEST(PayloadEqual, TellsDifferencesApart) {
  const Payload pattern = pattern_payload(1, 0, 300);
  EXPECT_FALSE(payload_equal(pattern, pattern_payload(2, 0, 300)));
  EXPECT_FALSE(payload_equal(pattern, pattern_payload(1, 1, 300)));
  EXPECT_FALSE(payload_equal(pattern, pattern_payload(1, 0, 299)));
  std::vector<std::byte> bytes = bytes_of(pattern);
  bytes[299] ^= std::byte{1};
  EXPECT_FALSE(payload_equal(pattern, bytes_payload(bytes)));
}

TEST(PayloadPool, CountsReferences) {
  PayloadPool pool;
  const BufferId id = pool.acquire(100);
  EXPECT_EQ(pool.in_use(), 1U);
  pool.retain(id);
  pool.release(id);
  EXPECT_EQ(pool.in_use(), 1U);
  pool.data(id)[99] = std::byte{5};
  pool.release(id);
  EXPECT_EQ(pool.in_use(), 0U);
  pool.retain(kNoBuffer);
  pool.release(kNoBuffer);
}

TEST(PayloadPool, SteadyStateTakesNoMemory) {
  PayloadPool pool;
  std::vector<BufferId> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back(pool.acquire(64));
  for (const BufferId id : ids) pool.release(id);
  const std::uint64_t reserved = pool.reserved_bytes();
  for (int round = 0; round < 100; ++round) {
    for (BufferId& id : ids) id = pool.acquire(64);
    for (const BufferId id : ids) pool.release(id);
  }
  EXPECT_EQ(pool.reserved_bytes(), reserved);
  EXPECT_EQ(pool.in_use(), 0U);
}

/// Buffers in use never overlap, in any class and across slabs.
TEST(PayloadPool, BuffersAreDisjoint) {
  PayloadPool pool;
  std::set<std::pair<const std::byte*, const std::byte*>> ranges;
  for (const std::uint32_t length : PayloadPool::kClassBytes)
    for (int i = 0; i < 50; ++i) {
      const std::byte* const at = pool.data(pool.acquire(length));
      ranges.emplace(at, at + length);
    }
  const std::byte* end = nullptr;
  for (const auto& [from, to] : ranges) {
    EXPECT_GE(from, end);
    end = to;
  }
}

TEST(PayloadPoolDeath, MisuseStops) {
  PayloadPool pool;
  const BufferId id = pool.acquire(1);
  pool.release(id);
  EXPECT_DEATH(pool.release(id), "references > 0");
  EXPECT_DEATH(pool.acquire(PayloadPool::kLargestBytes + 1), "length");
}

TEST(Psn, WrapsAndCompares) {
  EXPECT_EQ(psn_add(0xffffff, 1), 0U);
  EXPECT_EQ(psn_subtract(0, 1), 0xffffffU);
  EXPECT_TRUE(psn_after(0, 0xffffff));
  EXPECT_TRUE(psn_before(0xffffff, 0));
  EXPECT_FALSE(psn_after(5, 5));
  EXPECT_EQ(psn_difference(kPsnHalfRange - 1, 0), 0x7fffff);
  EXPECT_EQ(psn_difference(kPsnHalfRange, 0), -0x800000);
}

RC_GTEST_PROP(Psn, UnwrapFindsTheNearestCounter, ()) {
  const auto expected = *rc::gen::inRange<std::uint64_t>(1U << 24U, std::uint64_t{1} << 50U);
  const auto distance = *rc::gen::inRange<std::int64_t>(-0x800000, 0x800000);
  const std::uint64_t counter = expected + static_cast<std::uint64_t>(distance);
  RC_ASSERT(psn_unwrap(expected, psn_wrap(counter)) == counter);
}

TEST(Psn, UnwrapStaysAboveZero) { EXPECT_EQ(psn_unwrap(0, 0xffffff), 0xffffffU); }

TEST(PayloadPool, BuffersLieInTheCallersMemoryAsLongAsItLasts) {
  std::vector<std::byte> memory(2 * PayloadPool::kSlabBytes + 100);
  PayloadPool pool{std::span(memory)};
  const auto is_given = [&](BufferId id) {
    return pool.data(id) >= memory.data() && pool.data(id) < memory.data() + memory.size();
  };
  std::vector<BufferId> held;
  while (pool.has_room(4096)) {
    held.push_back(pool.acquire(4096));
    EXPECT_TRUE(is_given(held.back()));
  }
  EXPECT_EQ(held.size(), 2 * PayloadPool::kSlabBytes / 4096);
  EXPECT_EQ(pool.reserved_bytes(), 0U);
  EXPECT_FALSE(pool.has_room(64));
  held.push_back(pool.acquire(64));
  EXPECT_FALSE(is_given(held.back()));
  EXPECT_EQ(pool.reserved_bytes(), PayloadPool::kSlabBytes);
  for (const BufferId id : held) pool.release(id);
  EXPECT_TRUE(pool.has_room(4096));
  EXPECT_FALSE(pool.has_room(PayloadPool::kLargestBytes + 1));
}

}  // namespace
}  // namespace wharf::wire
