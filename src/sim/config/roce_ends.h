// SPDX-License-Identifier: Apache-2.0
// The rules that turn what is chosen about senders, with a network, into the configuration of RoCEv2 engines.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/roce/config.h"
#include "sim/config/sender_ends.h"

namespace wharf::sim {

/// Refuses what is no path MTU of the protocol.
Result<void> check_roce_payload(std::uint64_t payload);
/// `rto`: by rule or as given. Theirs to say: seeds, and how often they try.
roce::RoceConfig derive_roce_ends(const SenderEnds& ends, const SenderNetwork& network, std::uint64_t payload,
                                  TimePs rto);

}  // namespace wharf::sim
