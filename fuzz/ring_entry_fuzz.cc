// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the decoders of ring entries: what they accept is written back byte for byte, and makes a
// request that says the same.
// LINK: wharf_wire wharf_verbs
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "verbs/ring_request.h"
#include "wire/ring_entry.h"

namespace {

using wharf::wire::RingEntryError;

void check_work(std::span<const std::byte> bytes) {
  wharf::wire::WorkEntry entry;
  if (wharf::wire::decode(bytes, entry) != RingEntryError::kNone) return;
  std::array<std::byte, wharf::wire::kLongWorkEntryBytes> again{};
  wharf::wire::encode(entry, again);
  const std::uint32_t length = wharf::wire::encoded_bytes(entry);
  WHARF_CHECK(length <= bytes.size());
  WHARF_CHECK(std::equal(again.begin(), again.begin() + length, bytes.begin()));
  const wharf::verbs::WorkRequest request = wharf::verbs::to_request(entry);
  const std::optional<wharf::wire::WorkEntry> back = wharf::verbs::to_entry(request);
  WHARF_CHECK(back.has_value() && back->id == entry.id && back->opcode == entry.opcode);
  WHARF_CHECK(back->piece_count == entry.piece_count);
  WHARF_CHECK(entry.piece_count == 0 || back->pieces[0] == entry.pieces[0]);
}

template <typename Entry>
void check_short(std::span<const std::byte> bytes) {
  Entry entry;
  if (wharf::wire::decode(bytes, entry) != RingEntryError::kNone) return;
  std::array<std::byte, wharf::wire::kRingEntryBytes> again{};
  wharf::wire::encode(entry, again);
  WHARF_CHECK(std::equal(again.begin(), again.end(), bytes.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_work(bytes);
  check_short<wharf::wire::ReceiveEntry>(bytes);
  check_short<wharf::wire::CompletionEntry>(bytes);
  return 0;
}
