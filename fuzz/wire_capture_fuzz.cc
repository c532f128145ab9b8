// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the capture reader, plain or compressed: it reads frames or names what is wrong.
// LINK: wharf_wire
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "wire/capture_reader.h"
#include "wire/compressed_file.h"
#include "wire/dissect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kUnpackedBytesMax = 1 << 20;
  auto bytes = wharf::wire::decompress(std::as_bytes(std::span(data, size)), "input", kUnpackedBytesMax);
  if (!bytes) return 0;
  auto reader = wharf::wire::CaptureReader::from_bytes(std::move(bytes).value(), "input");
  if (!reader) return 0;
  wharf::wire::CapturedFrame frame;
  while (true) {
    const wharf::Result<bool> more = reader->next(frame);
    if (!more || !*more) return 0;
    WHARF_CHECK(frame.picoseconds < 1'000'000'000'000);
    const auto link = static_cast<wharf::wire::LinkType>(frame.link_type);
    (void)wharf::wire::dissect(frame.bytes, link);
  }
}
