// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the decoder of PCIe packets: it refuses them, or what it read encodes to a packet that reads
// the same. The first byte chooses the rules of the link.
// LINK: wharf_wire
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "wire/dissect.h"
#include "wire/tlp_codec.h"
#include "wire/tlp_ordering_label.h"

namespace {

using wharf::wire::Tlp;
using wharf::wire::TlpDropReason;

std::vector<std::byte> encoded(const Tlp& tlp) {
  std::vector<std::byte> bytes(wharf::wire::tlp_bytes(tlp));
  WHARF_CHECK(wharf::wire::encode_tlp(tlp, bytes) == bytes.size());
  return bytes;
}

/// Reserved bits may be lost once; after that, nothing changes any more.
void check_packet(std::span<const std::byte> bytes, const wharf::wire::TlpRules& rules) {
  Tlp tlp;
  if (wharf::wire::decode_tlp(bytes, tlp, rules) != TlpDropReason::kNone) return;
  const std::vector<std::byte> first = encoded(tlp);
  WHARF_CHECK(first.size() == bytes.size());
  Tlp again;
  WHARF_CHECK(
      wharf::wire::decode_tlp(first, again, {rules.max_payload, rules.read_completion_boundary, true}) ==
      TlpDropReason::kNone);
  WHARF_CHECK(wharf::wire::payload_equal(again.payload, tlp.payload));
  WHARF_CHECK(again.type == tlp.type && again.address == tlp.address && again.dwords == tlp.dwords);
  WHARF_CHECK(again.prefixes == tlp.prefixes && again.tag == tlp.tag);
  WHARF_CHECK(encoded(again) == first);
}

/// What a request asks for survives being asked for again, in a packet with room for the prefixes.
void check_label(std::span<const std::byte> bytes, const wharf::wire::TlpRules& rules) {
  using wharf::wire::TlpOrderingForm;
  Tlp tlp;
  if (wharf::wire::decode_tlp(bytes, tlp, rules) != TlpDropReason::kNone) return;
  if (!wharf::wire::has_ordering_label(tlp.type) || tlp.prefixes.size() > 2) return;
  const auto label = wharf::wire::ordering_label(tlp, TlpOrderingForm::kProposed);
  if (!label) return;
  wharf::wire::set_ordering_label(*label, TlpOrderingForm::kProposed, tlp);
  WHARF_CHECK(wharf::wire::ordering_label(tlp, TlpOrderingForm::kProposed) == label);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // Digests are rarely right by chance: they are not asked for.
  const wharf::wire::TlpRules rules{(data[0] & 1U) != 0 ? 128U : 4096U, (data[0] & 2U) != 0 ? 128U : 64U,
                                    false};
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  check_packet(bytes, rules);
  check_label(bytes, rules);
  const wharf::wire::Dissection dissection = wharf::wire::dissect(bytes, wharf::wire::LinkType::kPcieTlp);
  for (const wharf::wire::DissectLine& line : dissection.lines)
    WHARF_CHECK(line.offset + line.length <= bytes.size());
  return 0;
}
