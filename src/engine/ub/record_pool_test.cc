// SPDX-License-Identifier: Apache-2.0
// Places of a pool are nobody else's until they are given back, one by one or as a run.
#include "engine/ub/record_pool.h"

#include <gtest/gtest.h>

namespace wharf::ub {
namespace {

struct Record {
  std::uint32_t next = kNoSlot;
  int value = 0;
};

TEST(RecordPool, GivesEachPlaceOnceAndTheLastReleasedFirst) {
  RecordPool<Record> pool;
  pool.reserve(3);
  EXPECT_FALSE(pool.has_used());
  EXPECT_EQ(pool.acquire(), 0U);
  EXPECT_EQ(pool.acquire(), 1U);
  EXPECT_EQ(pool.acquire(), 2U);
  EXPECT_EQ(pool.acquire(), kNoSlot);
  EXPECT_EQ(pool.extent(), 3U);
  pool[1].value = 7;
  pool.release(2);
  pool.release(1);
  ASSERT_TRUE(pool.has_used());
  EXPECT_EQ(pool.acquire(), 1U);
  EXPECT_EQ(pool[1].value, 7);  // It keeps its last value.
  EXPECT_EQ(pool.acquire_used(), 2U);
  EXPECT_FALSE(pool.has_used());
}

TEST(RecordPool, TakesARunBackInOnePiece) {
  RecordPool<Record> pool;
  pool.reserve(4);
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_EQ(pool.acquire(), i);
  pool.release(0);
  pool[1].next = 3;
  pool[3].next = 2;
  pool.release_run(1, 2);
  for (const std::uint32_t expected : {1U, 3U, 2U, 0U, kNoSlot}) EXPECT_EQ(pool.acquire(), expected);
}

}  // namespace
}  // namespace wharf::ub
