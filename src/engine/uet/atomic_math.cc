// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/atomic_math.h"

#include <bit>
#include <complex>
#include <cstring>
#include <type_traits>

namespace wharf::uet {

using wire::UetAtomicOpcode;
using wire::UetDatatype;

float bfloat16_to_float(std::uint16_t value) { return std::bit_cast<float>(std::uint32_t{value} << 16U); }

std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fff'ffffU) > 0x7f80'0000U) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);  // NaN.
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = (half >> 10U) & 0x1fU;
  std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f80'0000U | (fraction << 13U));
  if (exponent == 0) {
    if (fraction == 0) return std::bit_cast<float>(sign);
    std::uint32_t shift = 0;
    while ((fraction & 0x400U) == 0) {
      fraction <<= 1U;
      ++shift;
    }
    return std::bit_cast<float>(sign | ((113U - shift) << 23U) | ((fraction & 0x3ffU) << 13U));
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fff'ffffU;
  if (magnitude > 0x7f80'0000U) return static_cast<std::uint16_t>(sign | 0x7e00U);  // NaN.
  if (magnitude >= 0x4780'0000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x3300'0000U) return static_cast<std::uint16_t>(sign);
  const std::uint32_t exponent = magnitude >> 23U;
  const std::uint32_t fraction = (magnitude & 0x7f'ffffU) | 0x80'0000U;
  // Normal numbers drop 13 bits of the fraction, subnormal ones more.
  const std::uint32_t drop = exponent < 113 ? 126U - exponent : 13U;
  const std::uint32_t base = exponent < 113 ? 0U : (exponent - 113U) << 10U;
  std::uint32_t rounded = fraction >> drop;
  const std::uint32_t rest = fraction & ((1U << drop) - 1);
  const std::uint32_t middle = 1U << (drop - 1);
  if (rest > middle || (rest == middle && (rounded & 1U) != 0)) ++rounded;
  return static_cast<std::uint16_t>(sign | (base + rounded));
}

namespace {

enum class Family : std::uint8_t { kInteger, kReal, kComplex, kUnknown };

Family family(UetDatatype datatype) {
  switch (datatype) {
    case UetDatatype::kInt8:
    case UetDatatype::kUint8:
    case UetDatatype::kInt16:
    case UetDatatype::kUint16:
    case UetDatatype::kInt32:
    case UetDatatype::kUint32:
    case UetDatatype::kInt64:
    case UetDatatype::kUint64:
    case UetDatatype::kInt128:
    case UetDatatype::kUint128:
      return Family::kInteger;
    case UetDatatype::kFloat:
    case UetDatatype::kDouble:
    case UetDatatype::kLongDouble:
    case UetDatatype::kBfloat16:
    case UetDatatype::kFloat16:
      return Family::kReal;
    case UetDatatype::kFloatComplex:
    case UetDatatype::kDoubleComplex:
    case UetDatatype::kLongDoubleComplex:
      return Family::kComplex;
  }
  return Family::kUnknown;
}

/// Values of 16-bit formats compute in single precision.
struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};
float load(Half value) { return half_to_float(value.bits); }
float load(Bfloat value) { return bfloat16_to_float(value.bits); }
void store(float value, Half& out) { out.bits = float_to_half(value); }
void store(float value, Bfloat& out) { out.bits = float_to_bfloat16(value); }

template <typename T>
T load(T value) {
  return value;
}
template <typename T>
void store(T value, T& out) {
  out = value;
}

template <typename T>
constexpr bool kIsInteger =
    std::is_integral_v<T> || std::is_same_v<T, __int128> || std::is_same_v<T, unsigned __int128>;
template <typename T>
constexpr bool kIsComplex = false;
template <typename T>
constexpr bool kIsComplex<std::complex<T>> = true;

/// Unsigned arithmetic of the same width: integers wrap.
template <typename T>
struct Wrapping {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct Wrapping<__int128> {
  using Type = unsigned __int128;
};
template <>
struct Wrapping<unsigned __int128> {
  using Type = unsigned __int128;
};

template <typename T>
T add(T a, T b, int sign) {
  if constexpr (kIsInteger<T>) {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(sign > 0 ? static_cast<U>(a) + static_cast<U>(b)
                                   : static_cast<U>(a) - static_cast<U>(b));
  } else {
    return sign > 0 ? a + b : a - b;
  }
}
template <typename T>
T multiply(T a, T b) {
  if constexpr (kIsInteger<T>) {
    using U = typename Wrapping<T>::Type;
    if constexpr (sizeof(U) < sizeof(unsigned)) {
      return static_cast<T>(static_cast<unsigned>(static_cast<U>(a)) *
                            static_cast<unsigned>(static_cast<U>(b)));
    } else {
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    }
  } else {
    return a * b;
  }
}

template <typename V>
bool swaps(UetAtomicOpcode opcode, V compare, V target) {
  if (opcode == UetAtomicOpcode::kCompareSwap) return compare == target;
  if (opcode == UetAtomicOpcode::kCompareSwapNotEqual) return compare != target;
  if constexpr (!kIsComplex<V>) {
    if (opcode == UetAtomicOpcode::kCompareSwapLessEqual) return compare <= target;
    if (opcode == UetAtomicOpcode::kCompareSwapLess) return compare < target;
    if (opcode == UetAtomicOpcode::kCompareSwapGreaterEqual) return compare >= target;
    if (opcode == UetAtomicOpcode::kCompareSwapGreater) return compare > target;
  }
  return false;
}

template <typename V>
V combine(UetAtomicOpcode opcode, V target, V operand) {
  if (opcode == UetAtomicOpcode::kSum) return add(target, operand, 1);
  if (opcode == UetAtomicOpcode::kDifference) return add(target, operand, -1);
  if (opcode == UetAtomicOpcode::kProduct) return multiply(target, operand);
  if constexpr (!kIsComplex<V>) {
    if (opcode == UetAtomicOpcode::kMin) return operand < target ? operand : target;
    if (opcode == UetAtomicOpcode::kMax) return target < operand ? operand : target;
  }
  if constexpr (kIsInteger<V>) {
    if (opcode == UetAtomicOpcode::kBitwiseOr) return static_cast<V>(target | operand);
    if (opcode == UetAtomicOpcode::kBitwiseAnd) return static_cast<V>(target & operand);
    if (opcode == UetAtomicOpcode::kBitwiseXor) return static_cast<V>(target ^ operand);
    if (opcode == UetAtomicOpcode::kLogicalOr) return static_cast<V>(target != 0 || operand != 0);
    if (opcode == UetAtomicOpcode::kLogicalAnd) return static_cast<V>(target != 0 && operand != 0);
    if (opcode == UetAtomicOpcode::kLogicalXor) return static_cast<V>((target != 0) != (operand != 0));
  }
  return target;
}

template <typename T>
void apply(const wire::UetAtomic& atomic, std::span<std::byte> target, std::span<const std::byte> operand) {
  const std::size_t size = sizeof(T);
  for (std::size_t at = 0; at + size <= target.size(); at += size) {
    T held;
    std::memcpy(&held, target.data() + at, size);
    const auto value = load(held);
    if (wire::uet_has_compare_swap(atomic.opcode)) {
      if constexpr (size <= 16) {
        T compare;
        T swap;
        std::memcpy(&compare, atomic.compare.data(), size);
        std::memcpy(&swap, atomic.swap.data(), size);
        if (swaps(atomic.opcode, load(compare), value)) held = swap;
      }
    } else {
      T other;
      std::memcpy(&other, operand.data() + at, size);
      store(combine(atomic.opcode, value, load(other)), held);
    }
    std::memcpy(target.data() + at, &held, size);
  }
}

}  // namespace

bool atomic_defined(UetAtomicOpcode opcode, UetDatatype datatype) {
  const Family kind = family(datatype);
  if (kind == Family::kUnknown) return false;
  switch (opcode) {
    case UetAtomicOpcode::kSum:
    case UetAtomicOpcode::kDifference:
    case UetAtomicOpcode::kProduct:
    case UetAtomicOpcode::kRead:
    case UetAtomicOpcode::kWrite:
    case UetAtomicOpcode::kInvalidate:
      return true;
    case UetAtomicOpcode::kCompareSwap:
    case UetAtomicOpcode::kCompareSwapNotEqual:
      return wire::uet_datatype_bytes(datatype) <= 16;
    case UetAtomicOpcode::kMin:
    case UetAtomicOpcode::kMax:
    case UetAtomicOpcode::kCompareSwapLessEqual:
    case UetAtomicOpcode::kCompareSwapLess:
    case UetAtomicOpcode::kCompareSwapGreaterEqual:
    case UetAtomicOpcode::kCompareSwapGreater:
      return kind != Family::kComplex;
    case UetAtomicOpcode::kLogicalOr:
    case UetAtomicOpcode::kLogicalAnd:
    case UetAtomicOpcode::kBitwiseOr:
    case UetAtomicOpcode::kBitwiseAnd:
    case UetAtomicOpcode::kLogicalXor:
    case UetAtomicOpcode::kBitwiseXor:
    case UetAtomicOpcode::kMaskedSwap:
      return kind == Family::kInteger;
  }
  return false;
}

void apply_atomic(const wire::UetAtomic& atomic, std::span<std::byte> target,
                  std::span<const std::byte> operand) {
  if (atomic.opcode == UetAtomicOpcode::kRead || atomic.opcode == UetAtomicOpcode::kInvalidate) return;
  if (atomic.opcode == UetAtomicOpcode::kWrite) {
    std::memcpy(target.data(), operand.data(), target.size());
    return;
  }
  if (atomic.opcode == UetAtomicOpcode::kMaskedSwap) {
    // Choice: as libfabric has it, (swap & mask) | (target & ~mask) with the mask in the compare value.
    for (std::size_t i = 0; i < target.size(); ++i) {
      const auto mask = std::byte{atomic.compare[i % 16]};
      target[i] = (std::byte{atomic.swap[i % 16]} & mask) | (target[i] & ~mask);
    }
    return;
  }
  switch (atomic.datatype) {
    case UetDatatype::kInt8:
      return apply<std::int8_t>(atomic, target, operand);
    case UetDatatype::kUint8:
      return apply<std::uint8_t>(atomic, target, operand);
    case UetDatatype::kInt16:
      return apply<std::int16_t>(atomic, target, operand);
    case UetDatatype::kUint16:
      return apply<std::uint16_t>(atomic, target, operand);
    case UetDatatype::kInt32:
      return apply<std::int32_t>(atomic, target, operand);
    case UetDatatype::kUint32:
      return apply<std::uint32_t>(atomic, target, operand);
    case UetDatatype::kInt64:
      return apply<std::int64_t>(atomic, target, operand);
    case UetDatatype::kUint64:
      return apply<std::uint64_t>(atomic, target, operand);
    case UetDatatype::kInt128:
      return apply<__int128>(atomic, target, operand);
    case UetDatatype::kUint128:
      return apply<unsigned __int128>(atomic, target, operand);
    case UetDatatype::kFloat:
      return apply<float>(atomic, target, operand);
    case UetDatatype::kDouble:
      return apply<double>(atomic, target, operand);
    case UetDatatype::kFloatComplex:
      return apply<std::complex<float>>(atomic, target, operand);
    case UetDatatype::kDoubleComplex:
      return apply<std::complex<double>>(atomic, target, operand);
    case UetDatatype::kLongDouble:
      return apply<long double>(atomic, target, operand);
    case UetDatatype::kLongDoubleComplex:
      return apply<std::complex<long double>>(atomic, target, operand);
    case UetDatatype::kBfloat16:
      return apply<Bfloat>(atomic, target, operand);
    case UetDatatype::kFloat16:
      return apply<Half>(atomic, target, operand);
  }
}

}  // namespace wharf::uet
