// SPDX-License-Identifier: Apache-2.0
// The name of a host inside wharf. address_plan.h turns it into the addresses of each network and back.
#pragma once

#include <compare>
#include <cstdint>

namespace wharf::wire {

/// A host number, counted from 0.
struct HostAddress {
  std::uint32_t number = 0;
  constexpr auto operator<=>(const HostAddress&) const = default;
};

/// "No host": an unset address, or one that is not in the address plan.
inline constexpr HostAddress kNoHost{0xffff'ffff};

}  // namespace wharf::wire
