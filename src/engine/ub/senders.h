// SPDX-License-Identifier: Apache-2.0
// Whose messages a jetty takes, beside its token, where a program says so. [URMA API, transport modes, bind]
#pragma once

#include <cstdint>
#include <optional>

#include "engine/queues.h"
#include "wire/host_address.h"

namespace wharf::ub {

constexpr std::uint8_t mask_of(engine::ServiceMode mode) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(mode));
}

struct Senders {
  /// One jetty elsewhere, by the number that its requests say.
  struct One {
    wire::HostAddress host;
    std::uint32_t jetty = 0;
  };

  std::uint8_t modes = 0xff;   ///< Service modes of their requests, by mask_of().
  bool checks_token = false;   ///< The jetty has a token whose value is 0, and it is compared, too.
  std::optional<One> alone{};  ///< No other.
};

}  // namespace wharf::ub
