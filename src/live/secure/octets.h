// SPDX-License-Identifier: Apache-2.0
// Bytes as libsodium names them.
#pragma once

#include <cstddef>

namespace wharf::live {

inline const unsigned char* octets(const std::byte* at) { return reinterpret_cast<const unsigned char*>(at); }
inline unsigned char* octets(std::byte* at) { return reinterpret_cast<unsigned char*>(at); }

}  // namespace wharf::live
