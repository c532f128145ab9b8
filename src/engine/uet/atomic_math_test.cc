// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/atomic_math.h"

#include <cmath>
#include <complex>
#include <cstring>

namespace wharf::uet {
namespace {

using wire::UetAtomicOpcode;
using wire::UetDatatype;

template <typename T>
T run(UetAtomicOpcode opcode, UetDatatype datatype, T target, T operand, T compare = T{}) {
  wire::UetAtomic atomic;
  atomic.opcode = opcode;
  atomic.datatype = datatype;
  if constexpr (sizeof(T) <= 16) {
    std::memcpy(atomic.compare.data(), &compare, sizeof(T));
    std::memcpy(atomic.swap.data(), &operand, sizeof(T));
  }
  apply_atomic(atomic, std::as_writable_bytes(std::span(&target, 1)), std::as_bytes(std::span(&operand, 1)));
  return target;
}

TEST(AtomicMath, IntegersOfEveryWidth) {
  EXPECT_EQ(run<std::int8_t>(UetAtomicOpcode::kSum, UetDatatype::kInt8, 127, 1), -128);
  EXPECT_EQ(run<std::uint16_t>(UetAtomicOpcode::kProduct, UetDatatype::kUint16, 0xffff, 0xffff), 1);
  EXPECT_EQ(run<std::int32_t>(UetAtomicOpcode::kMin, UetDatatype::kInt32, 3, -4), -4);
  EXPECT_EQ(run<std::uint32_t>(UetAtomicOpcode::kMin, UetDatatype::kUint32, 3, 0xffff'fffc), 3U);
  EXPECT_EQ(run<std::int64_t>(UetAtomicOpcode::kDifference, UetDatatype::kInt64, 3, 5), -2);
  EXPECT_EQ(run<std::uint64_t>(UetAtomicOpcode::kLogicalXor, UetDatatype::kUint64, 3, 5), 0U);
  EXPECT_EQ(run<std::uint64_t>(UetAtomicOpcode::kLogicalAnd, UetDatatype::kUint64, 3, 4), 1U);
  EXPECT_EQ(run<std::uint64_t>(UetAtomicOpcode::kLogicalOr, UetDatatype::kUint64, 0, 0), 0U);
  EXPECT_EQ(run<std::uint8_t>(UetAtomicOpcode::kBitwiseAnd, UetDatatype::kUint8, 0xf3, 0x3f), 0x33);
  EXPECT_EQ(run<std::uint8_t>(UetAtomicOpcode::kBitwiseOr, UetDatatype::kUint8, 0xf0, 0x0c), 0xfc);
  EXPECT_EQ(run<std::uint8_t>(UetAtomicOpcode::kBitwiseXor, UetDatatype::kUint8, 0xff, 0x0f), 0xf0);
  using Wide = unsigned __int128;
  EXPECT_TRUE((run<Wide>(UetAtomicOpcode::kSum, UetDatatype::kUint128, ~Wide{0}, 2) == Wide{1}));
}

TEST(AtomicMath, CompareAndSwapSwapsWhenCompareHoldsAgainstTheTarget) {
  const auto swap = [](UetAtomicOpcode opcode, int compare) {
    return run<std::int32_t>(opcode, UetDatatype::kInt32, 10, 77, compare) == 77;
  };
  EXPECT_TRUE(swap(UetAtomicOpcode::kCompareSwap, 10));
  EXPECT_FALSE(swap(UetAtomicOpcode::kCompareSwap, 11));
  EXPECT_TRUE(swap(UetAtomicOpcode::kCompareSwapNotEqual, 11));
  EXPECT_TRUE(swap(UetAtomicOpcode::kCompareSwapLess, 9));
  EXPECT_FALSE(swap(UetAtomicOpcode::kCompareSwapLess, 10));
  EXPECT_TRUE(swap(UetAtomicOpcode::kCompareSwapLessEqual, 10));
  EXPECT_TRUE(swap(UetAtomicOpcode::kCompareSwapGreater, 11));
  EXPECT_FALSE(swap(UetAtomicOpcode::kCompareSwapGreaterEqual, 9));
  EXPECT_EQ(run<std::uint32_t>(UetAtomicOpcode::kMaskedSwap, UetDatatype::kUint32, 0xaaaa'aaaa, 0x1234'5678,
                               0x0000'ffff),
            0xaaaa'5678U);
}

TEST(AtomicMath, FloatingPointAndComplex) {
  EXPECT_EQ(run<double>(UetAtomicOpcode::kSum, UetDatatype::kDouble, 1.5, 2.25), 3.75);
  EXPECT_EQ(run<float>(UetAtomicOpcode::kProduct, UetDatatype::kFloat, 1.5F, -2.0F), -3.0F);
  EXPECT_EQ(run<long double>(UetAtomicOpcode::kMax, UetDatatype::kLongDouble, 1.5L, 2.0L), 2.0L);
  using Complex = std::complex<float>;
  EXPECT_EQ(run<Complex>(UetAtomicOpcode::kProduct, UetDatatype::kFloatComplex, {0, 1}, {0, 1}),
            Complex(-1, 0));
  EXPECT_FALSE(atomic_defined(UetAtomicOpcode::kMin, UetDatatype::kDoubleComplex));
  EXPECT_FALSE(atomic_defined(UetAtomicOpcode::kBitwiseAnd, UetDatatype::kFloat));
  EXPECT_FALSE(atomic_defined(UetAtomicOpcode::kSum, static_cast<UetDatatype>(0x12)));
}

TEST(AtomicMath, SixteenBitFormatsRoundToNearestEven) {
  // Every half survives the way to single precision and back.
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (std::isnan(half_to_float(half))) continue;
    EXPECT_EQ(float_to_half(half_to_float(half)), half);
  }
  EXPECT_EQ(half_to_float(0x3c00), 1.0F);
  EXPECT_EQ(half_to_float(0x0001), 0x1.0p-24F);
  EXPECT_EQ(float_to_half(1.0F + 0x1.0p-11F), 0x3c00);  // Half way: to the even one.
  EXPECT_EQ(float_to_half(1.0F + 3 * 0x1.0p-11F), 0x3c02);
  EXPECT_EQ(float_to_half(65520.0F), 0x7c00);
  EXPECT_EQ(float_to_half(0x1.0p-25F), 0x0000);
  EXPECT_EQ(bfloat16_to_float(float_to_bfloat16(1.0F)), 1.0F);
  EXPECT_EQ(float_to_bfloat16(1.0F + 0x1.0p-8F), 0x3f80);
  EXPECT_EQ(run<std::uint16_t>(UetAtomicOpcode::kSum, UetDatatype::kFloat16, 0x3c00, 0x3c00), 0x4000);
  EXPECT_EQ(run<std::uint16_t>(UetAtomicOpcode::kSum, UetDatatype::kBfloat16, 0x3f80, 0x3f80), 0x4000);
}

}  // namespace
}  // namespace wharf::uet
