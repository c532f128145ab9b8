// SPDX-License-Identifier: Apache-2.0
// Arbitrary valid packets for property tests and fuzz seeds: everything that a frame can express, nothing
// more. Inside a property of RapidCheck only.
#pragma once

#include <cstdint>

#include "wire/packet.h"

namespace wharf::wire {

/// From 0 up to what so many bits (at most 63) hold.
std::uint64_t arbitrary_number(unsigned bits);
template <typename Number>
Number arbitrary_bits(unsigned bits) {
  return static_cast<Number>(arbitrary_number(bits));
}
bool arbitrary_flag();
std::uint64_t arbitrary_word();

Packet arbitrary_roce_packet();
Packet arbitrary_ub_packet();
Packet arbitrary_uet_packet();

}  // namespace wharf::wire
