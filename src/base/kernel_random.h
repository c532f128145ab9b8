// SPDX-License-Identifier: Apache-2.0
// Numbers that nobody can foretell, from the system.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace wharf {

/// 64 bits of the kernel's random source. An environment error where the system gives none.
Result<std::uint64_t> kernel_random();

/// Whether two secrets are the same. Takes the same time wherever they differ.
inline bool same_secret(std::uint64_t left, std::uint64_t right) {
  std::uint64_t difference = left ^ right;
  asm volatile("" : "+r"(difference));  // The compiler must not look for a shorter way.
  return difference == 0;
}

}  // namespace wharf
