// SPDX-License-Identifier: Apache-2.0
// The RoCEv2 part of a dissection.
#pragma once

#include <cstdint>
#include <string>

#include "wire/dissect_tree.h"
#include "wire/packet.h"

namespace wharf::wire {

/// Adds BTH and extension headers, which begin at byte `at`, and returns the summary of the packet.
std::string dissect_roce(const Packet& packet, std::uint32_t at, DissectTree& tree);

}  // namespace wharf::wire
