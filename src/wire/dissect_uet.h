// SPDX-License-Identifier: Apache-2.0
// The Ultra Ethernet part of a dissection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "wire/captured_frame.h"
#include "wire/dissect_tree.h"

namespace wharf::wire {

/// Adds PDS header, SES header and extension, and returns the summary of the packet.
std::string dissect_uet(const CapturedPacket& captured, DissectTree& tree);

/// Adds the TSS header of a secured packet, which begins at byte `at`, if it is whole, and returns its end.
std::uint32_t dissect_uet_tss(std::span<const std::byte> frame, std::uint32_t at, DissectTree& tree);

}  // namespace wharf::wire
