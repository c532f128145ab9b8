// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the decoder of session messages: what it accepts must encode to the same bytes.
// LINK: wharf_live_udp
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "live/udp/session.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of its own, so that reading past the end is seen.
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> bytes(first, first + size);
  const auto decoded = wharf::live::decode_session_message(bytes);
  if (decoded.ok()) WHARF_CHECK(wharf::live::encode(*decoded) == bytes);
  return 0;
}
