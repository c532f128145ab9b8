// SPDX-License-Identifier: Apache-2.0
// Frames for Wireshark: the golden ones, drawn ones, and damaged ones.
#pragma once

#include <cstdint>
#include <vector>

#include "tshark.h"

namespace wharf::wire {

/// Every golden frame of UB and PCIe: each opcode in each profile.
std::vector<SampleFrame> golden_frames();

/// `count` drawn frames of each protocol: every header, form, trim and trailer, all addresses and ports.
std::vector<SampleFrame> drawn_frames(std::uint64_t seed, std::uint32_t count);

/// The same frames with a few bytes of the transport changed, cut off or added; lengths and checksums of IP
/// and UDP are right again, and those of UET and PCIe often.
std::vector<SampleFrame> damaged_frames(std::vector<SampleFrame> frames, std::uint64_t seed);

/// The same frames with bytes changed, cut off or added anywhere, and nothing set right.
std::vector<SampleFrame> wrecked_frames(std::vector<SampleFrame> frames, std::uint64_t seed);

}  // namespace wharf::wire
