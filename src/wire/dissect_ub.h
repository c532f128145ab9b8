// SPDX-License-Identifier: Apache-2.0
// The Unified Bus part of a dissection.
#pragma once

#include <string>

#include "wire/captured_frame.h"
#include "wire/dissect_tree.h"
#include "wire/ub_codec.h"

namespace wharf::wire {

/// Adds LPH, NTH or OPtag.
void dissect_ub_network(const CapturedPacket& captured, DissectTree& tree);

/// Adds transport, transaction and extension headers, and returns the summary of the packet.
std::string dissect_ub(const CapturedPacket& captured, DissectTree& tree);

}  // namespace wharf::wire
