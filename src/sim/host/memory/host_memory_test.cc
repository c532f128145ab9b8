// SPDX-License-Identifier: Apache-2.0
#include "sim/host/memory/host_memory.h"

#include "base/bytes.h"

namespace wharf::sim {
namespace {

TEST(HostMemory, RegionsAreZeroedAndBounded) {
  HostMemory memory;
  const std::uint64_t a = memory.allocate(Bytes{100});
  const std::uint64_t b = memory.allocate(Bytes{100});
  EXPECT_NE(a, 0U);
  EXPECT_EQ(a % 4096, 0U);
  EXPECT_TRUE(memory.is_mapped(a, 100));
  EXPECT_FALSE(memory.is_mapped(a, 101));
  EXPECT_FALSE(memory.is_mapped(a - 1, 1));
  EXPECT_FALSE(memory.is_mapped(a + 50, b - a));
  EXPECT_FALSE(memory.is_mapped(0, 1));
  for (const std::byte byte : memory.bytes(a, Bytes{100})) EXPECT_EQ(byte, std::byte{0});
}

TEST(HostMemory, ReadsAreSnapshots) {
  HostMemory memory;
  wire::PayloadPool pool;
  const std::uint64_t at = memory.allocate(Bytes{64});
  memory.bytes(at, Bytes{1})[0] = std::byte{7};
  const auto data = memory.read(at, 64, pool);
  ASSERT_TRUE(data.has_value());
  memory.bytes(at, Bytes{1})[0] = std::byte{8};
  EXPECT_EQ(wire::payload_byte(*data, 0), std::byte{7});
  pool.release(data->buffer);
  EXPECT_EQ(pool.in_use(), 0U);
  EXPECT_FALSE(memory.read(at, 65, pool).has_value());
}

TEST(HostMemory, PatternRegionsReadTheirPattern) {
  HostMemory memory;
  wire::PayloadPool pool;
  const std::uint64_t at = memory.allocate_pattern(kibibytes(1024 * 1024), 5);
  const auto data = memory.read(at + 1000, 1'000'000, pool);
  ASSERT_TRUE(data.has_value());
  EXPECT_EQ(data->length, 1'000'000U);
  EXPECT_EQ(wire::payload_byte(*data, 3), wire::pattern_byte(5, 1003));
  EXPECT_TRUE(memory.write(at, wire::pattern_payload(9, 0, 4096)));
  EXPECT_EQ(wire::payload_byte(*memory.read(at, 8, pool), 0), wire::pattern_byte(5, 0));
}

TEST(HostMemory, Atomics) {
  HostMemory memory;
  const std::uint64_t at = memory.allocate(Bytes{64});
  using verbs::Verb;
  const auto run = [&](Verb verb, std::uint64_t operand, std::uint64_t compare = 0, std::uint8_t width = 8) {
    return memory.atomic(verb, at, width, {operand, 0}, {compare, 0}).value()[0];
  };
  EXPECT_EQ(run(Verb::kFetchAdd, 5), 0U);
  EXPECT_EQ(run(Verb::kFetchSub, 2), 5U);
  EXPECT_EQ(run(Verb::kCompareSwap, 9, 4), 3U);  // Unequal: unchanged.
  EXPECT_EQ(run(Verb::kCompareSwap, 9, 3), 3U);
  EXPECT_EQ(run(Verb::kFetchXor, 1), 9U);
  EXPECT_EQ(run(Verb::kFetchAnd, 12), 8U);
  EXPECT_EQ(run(Verb::kFetchOr, 3), 8U);
  EXPECT_EQ(run(Verb::kSwap, 0xffff'ffff'0000'0001U), 11U);
  EXPECT_EQ(run(Verb::kFetchAdd, 0xffff'ffffU, 0, 4), 1U);  // Wraps within its 4 bytes.
  EXPECT_EQ(run(Verb::kAtomicLoad, 0), 0xffff'ffff'0000'0000U);
  EXPECT_EQ(run(Verb::kAtomicStore, 1), 0xffff'ffff'0000'0000U);
  // 16-byte compare-and-swap.
  EXPECT_TRUE(memory.atomic(Verb::kCompareSwap, at, 16, {7, 8}, {1, 0}).has_value());
  EXPECT_EQ(load_le64(memory.bytes(at + 8, Bytes{8}).data()), 8U);
  // Misaligned, unmapped, without bytes.
  EXPECT_FALSE(memory.atomic(Verb::kFetchAdd, at + 4, 8, {}, {}).has_value());
  EXPECT_FALSE(memory.atomic(Verb::kFetchAdd, at + 64, 8, {}, {}).has_value());
  EXPECT_FALSE(memory.atomic(Verb::kFetchAdd, memory.allocate_pattern(Bytes{64}, 1), 8, {}, {}).has_value());
}

}  // namespace
}  // namespace wharf::sim
