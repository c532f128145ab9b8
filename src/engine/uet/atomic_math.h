// SPDX-License-Identifier: Apache-2.0
// The arithmetic of SES atomics on every datatype. Apart from the unit that orders them because it is pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/uet_ses.h"

namespace wharf::uet {

/// Whether the operation is defined on the datatype: bitwise and logical ones on integers, order on all but
/// complex numbers.
bool atomic_defined(wire::UetAtomicOpcode opcode, wire::UetDatatype datatype);

/// Applies the operation to each element of `target` in place. `operand` has as many bytes as `target`, or
/// none for operations without one; the compare-and-swap family takes its values from `atomic`.
void apply_atomic(const wire::UetAtomic& atomic, std::span<std::byte> target,
                  std::span<const std::byte> operand);

/// BF16 and FP16 by way of single precision, rounded to nearest even.
float half_to_float(std::uint16_t half);
std::uint16_t float_to_half(float value);
float bfloat16_to_float(std::uint16_t value);
std::uint16_t float_to_bfloat16(float value);

}  // namespace wharf::uet
