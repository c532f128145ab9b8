// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to every decoder of RDMO: what one accepts is written back, and no walk reads past the end.
// LINK: wharf_wire
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "wire/rdmo_control.h"
#include "wire/rdmo_extended.h"
#include "wire/rdmo_message.h"

namespace {

using namespace wharf::wire;
using Bytes = std::span<const std::byte>;
using Header = std::array<std::byte, kRdmoHeaderBytesMax>;

void check_request(Bytes bytes, RdmoLayout layout) {
  RdmoRequest request;
  if (decode(bytes, layout, request) != RdmoError::kNone) return;
  WHARF_CHECK(fits(request, layout));
  Header again{};
  const std::uint32_t length = encode(request, layout, again.data());
  RdmoRequest back;
  WHARF_CHECK(decode(Bytes(again).first(length), layout, back) == RdmoError::kNone && back == request);
}

void check_response(Bytes bytes, RdmoLayout layout) {
  std::uint64_t flush = 0;
  if (decode_rdmo_response(bytes, layout, flush) != RdmoError::kNone) return;
  Header again{};
  const std::uint32_t length = encode_rdmo_response(flush, layout, again.data());
  WHARF_CHECK(std::equal(again.begin(), again.begin() + length, bytes.begin()));
}

/// The extended form is exact: what is accepted is written back byte for byte.
template <typename Message>
void check_exact(Bytes bytes) {
  Message message;
  if (decode(bytes, message) != RdmoError::kNone) return;
  Header again{};
  const std::uint32_t length = encode(message, again.data());
  WHARF_CHECK(length == bytes.size() && std::equal(bytes.begin(), bytes.end(), again.begin()));
}

void check_entries(Bytes bytes) {
  RdmoEntryReader reader(bytes);
  RdmoEntry entry;
  Bytes data;
  const std::byte* behind = bytes.data();
  while (reader.next(entry, data)) {
    WHARF_CHECK(data.data() == behind + kRdmoEntryBytes && data.size() == entry.length);
    behind = data.data() + data.size();
  }
  WHARF_CHECK(reader.whole() == (behind == bytes.data() + bytes.size()));
}

template <typename Message>
void check_control(Bytes bytes) {
  Message message;
  if (decode(bytes, message) != RdmoControlError::kNone) return;
  std::vector<std::byte> again;
  encode(message, again);
  WHARF_CHECK(again.size() == bytes.size());
  Message back;
  WHARF_CHECK(decode(again, back) == RdmoControlError::kNone);
  std::vector<std::byte> once_more;
  encode(back, once_more);
  WHARF_CHECK(once_more == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const RdmoLayout layout : {RdmoLayout::kShipped, RdmoLayout::kGuide}) {
    check_request(bytes, layout);
    check_response(bytes, layout);
  }
  check_exact<RdmoExtendedRequest>(bytes);
  check_exact<RdmoAnswer>(bytes);
  check_entries(bytes);
  check_control<RdmoCommand>(bytes);
  check_control<RdmoNotification>(bytes);
  return 0;
}
