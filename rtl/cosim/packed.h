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

/// A flit or line of 64 bytes.
using Flit = hardware::Line;

/// The 64 bytes that stand in `words`, sixteen of them, byte 0 highest.
inline Flit flit_of(const std::uint32_t* words) { return hardware::line_of(words); }
inline void put_flit(const Flit& flit, std::uint32_t* words) { hardware::put_line(flit, words); }

}  // namespace wharf::rtl
