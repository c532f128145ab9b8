// SPDX-License-Identifier: Apache-2.0
// Packed structures and bytes on wide ports, as those of the hardware NIC, under the names that harnesses
// use.
#pragma once

#include <cstdint>

#include "engine/ub/hardware/port_bits.h"

namespace wharf::rtl {

/// The bits of a packed structure or of bytes, the first of them highest.
template <std::uint32_t Bits>
using Packed = hardware::PortBits<Bits>;

/// Bits of a packed structure, taken from the highest on: what Packed puts.
class Unpacked {
 public:
  Unpacked(const std::uint32_t* words, std::uint32_t bits) : words_(words), at_(bits) {}
  std::uint64_t take(std::uint32_t width) {
    std::uint64_t value = 0;
    for (std::uint32_t i = 0; i < width; ++i) {
      --at_;
      value = value << 1U | (words_[at_ / 32] >> (at_ % 32) & 1U);
    }
    return value;
  }

 private:
  const std::uint32_t* words_;
  std::uint32_t at_;
};

/// A flit or line of 64 bytes.
using Flit = hardware::Line;

/// The 64 bytes that stand in `words`, sixteen of them, byte 0 highest.
inline Flit flit_of(const std::uint32_t* words) { return hardware::line_of(words); }
inline void put_flit(const Flit& flit, std::uint32_t* words) { hardware::put_line(flit, words); }

}  // namespace wharf::rtl
