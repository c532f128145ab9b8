// SPDX-License-Identifier: Apache-2.0
// The rules that turn what is chosen about senders, with a network, into the configuration of Unified Bus
// engines.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/ub/config.h"
#include "sim/config/sender_ends.h"

namespace wharf::sim {

/// Refuses what is no MTU of the protocol.
Result<void> check_ub_payload(std::uint64_t payload);
/// `rto`: by rule or as given. Theirs to say: how often they try.
ub::UbConfig derive_ub_ends(const SenderEnds& ends, const SenderNetwork& network, std::uint64_t payload,
                            TimePs rto);

}  // namespace wharf::sim
