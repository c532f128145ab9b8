// SPDX-License-Identifier: Apache-2.0
// How people name a machine: by its IPv4 address or by a name that the system knows.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace wharf::live {

/// The IPv4 address of `host`, in host byte order: dotted ("127.0.0.1"), or the first one that the system
/// finds for a name ("localhost"), which may ask the network. Input errors: no address and no name [RFC 1123
/// 2.1]; an IPv6 address, which no transport here goes by; a name without an IPv4 address.
Result<std::uint32_t> find_host(const std::string& host);

}  // namespace wharf::live
