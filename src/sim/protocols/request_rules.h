// SPDX-License-Identifier: Apache-2.0
// What protocols differ in where they share a key: each answer stands beside the keys of the one that
// differs.
#pragma once

#include "wire/protocol_traits.h"

namespace wharf::sim {

/// Requests may be ordered one by one, and completions may be reported out of order.
bool orders_requests(wire::Protocol protocol);

}  // namespace wharf::sim
