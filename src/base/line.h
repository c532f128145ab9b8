// SPDX-License-Identifier: Apache-2.0
// The cache line: what processors fetch, what memory keeps coherent, and what ordering rules speak of. One
// size for every machine that wharf describes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace wharf {

/// Bytes in a line.
inline constexpr std::uint32_t kLineBytes = 64;
/// Logarithm of kLineBytes.
inline constexpr unsigned kLineShift = 6;

/// A byte address divided by kLineBytes: below 2^58.
using LineNumber = std::uint64_t;
constexpr LineNumber line_of(std::uint64_t address) { return address >> kLineShift; }

/// The bytes of a line, lowest address first.
using LineBytes = std::array<std::byte, kLineBytes>;

}  // namespace wharf
