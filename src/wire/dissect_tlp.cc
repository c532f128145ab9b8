// SPDX-License-Identifier: Apache-2.0
#include "wire/dissect_tlp.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "wire/dissect_tree.h"
#include "wire/hex_text.h"
#include "wire/tlp_codec.h"
#include "wire/tlp_names.h"
#include "wire/tlp_ordering_label.h"

namespace wharf::wire {
namespace {

std::string id_text(PcieId id) {
  return fmt::format("{:02x}:{:02x}.{}", id >> 8U, (id >> 3U) & 31U, id & 7U);
}

/// "SC (0)".
template <typename Enumerator>
std::string named(std::string_view name, Enumerator number) {
  return fmt::format("{} ({})", name, static_cast<unsigned>(number));
}

std::string enables_text(unsigned enables) { return fmt::format("{:04b}", enables); }

std::string_view order_text(TlpOrder order) {
  switch (order) {
    case TlpOrder::kStrong:
      return "strong";
    case TlpOrder::kRelaxedOrdering:
      return "relaxed ordering";
    case TlpOrder::kIdBased:
      return "ID-based";
    case TlpOrder::kRelaxed:
      return "relaxed";
    case TlpOrder::kAcquire:
      return "acquire";
    case TlpOrder::kRelease:
      return "release";
    case TlpOrder::kAscending:
      return "ascending";
    case TlpOrder::kReadRelease:
      return "read-release";
  }
  return "reserved";
}

std::string label_text(const TlpOrderingLabel& label) {
  std::string text(order_text(label.order));
  if (label.thread != 0) text += fmt::format(", thread {}", label.thread);
  if (label.sequence) {
    const auto [number, back] = *label.sequence;
    text += fmt::format(", number {}", number);
    if (back != TlpSequence::kNoWait)
      text += fmt::format(" after all below {}", static_cast<std::uint16_t>(number - back));
  }
  return text;
}

/// Walks the packet; `at_` is the next byte.
class TlpDissector {
 public:
  TlpDissector(std::span<const std::byte> bytes, const Tlp& tlp, Dissection& dissection)
      : bytes_(bytes), tlp_(tlp), tree_(dissection.lines), dissection_(dissection) {}

  void run() {
    prefixes();
    header();
    data();
    digest();
  }

 private:
  void add(std::string name, std::string value, std::uint32_t length) {
    tree_.header(std::move(name), std::move(value), at_, length);
    at_ += length;
  }
  /// A field of the header that was added last and begins at `header_at_`.
  void field(std::string name, std::string value, std::uint32_t offset, std::uint32_t length) {
    tree_.field(std::move(name), std::move(value), header_at_ + offset, length);
  }
  void flag(std::string name, bool value, std::uint32_t offset) {
    field(std::move(name), value ? "1" : "0", offset, 1);
  }

  void prefixes() {
    for (std::uint32_t i = 0; i < tlp_.prefixes.size(); ++i) {
      const std::uint32_t word = tlp_.prefixes[i];
      const TlpPrefixType type = tlp_prefix_type(word);
      add(fmt::format("prefix {}", tlp_prefix_name(type)), fmt::format("{:#08x}", word & kTlpPrefixValueMask),
          kTlpPrefixBytes);
      header_at_ = at_ - kTlpPrefixBytes;
      if (type == TlpPrefixType::kPasid) {
        const Pasid pasid = pasid_of(word);
        flag("privileged mode requested", pasid.privileged, 1);
        flag("execute requested", pasid.execute, 1);
        field("PASID", fmt::format("{:#x}", pasid.id), 1, 3);
      } else if (type == kTlpOrderingPrefix) {
        field("ordering code (proposed)", fmt::format("{}", word >> 20U & 15U), 1, 1);
        field("thread (proposed)", fmt::format("{}", word & kTlpThreadMask), 1, 3);
      } else if (type == kTlpSequencePrefix) {
        field("back (proposed)", fmt::format("{}", tlp_sequence(word).back), 1, 1);
        field("sequence number (proposed)", fmt::format("{}", tlp_sequence(word).number), 2, 2);
      }
    }
  }

  void header() {
    const std::uint32_t length = tlp_header_bytes(tlp_.type, tlp_.address);
    const std::string name(tlp_type_name(tlp_.type));
    header_at_ = at_;
    dissection_.summary = fmt::format("PCIe {}", name);
    add(name, length == kTlpWideHeaderBytes ? "4 double words" : "3 double words", length);
    first_word();
    switch (tlp_form(tlp_.type)) {
      case TlpForm::kAddress:
        request();
        address(length);
        break;
      case TlpForm::kConfig:
        request();
        field("destination", id_text(tlp_.destination), 8, 2);
        field("register", fmt::format("{:#05x}", tlp_.register_offset), 10, 2);
        dissection_.destination = id_text(tlp_.destination);
        dissection_.summary += fmt::format(", register {:#x}, tag {}", tlp_.register_offset, tlp_.tag);
        break;
      case TlpForm::kCompletion:
        completion();
        break;
      case TlpForm::kMessage:
        message();
        break;
    }
    if (tlp_.poisoned) dissection_.summary += ", poisoned";
  }

  void first_word() {
    field("Fmt", fmt::format("{}", load_u8(&bytes_[header_at_]) >> 5U), 0, 1);
    field("Type", fmt::format("{:#04x}", load_u8(&bytes_[header_at_]) & 31U), 0, 1);
    field("TC", fmt::format("{}", tlp_.traffic_class), 1, 1);
    flag("IDO", tlp_.id_based_ordering, 1);
    flag("bit 1 of byte 1 (acquire as proposed, LN in 3.1 to 5.0)", tlp_.spare, 1);
    flag("TH", tlp_.hints, 1);
    flag("TD", tlp_.digest, 2);
    flag("EP", tlp_.poisoned, 2);
    flag("RO", tlp_.relaxed_ordering, 2);
    flag("NS", tlp_.no_snoop, 2);
    if (is_tlp_memory(tlp_.type))
      field("AT", named(tlp_address_type_name(tlp_.address_type), tlp_.address_type), 2, 1);
    if (tlp_has_length(tlp_.type)) field("Length", fmt::format("{}", tlp_.dwords), 2, 2);
    if (!has_ordering_label(tlp_.type)) return;
    const auto today = ordering_label(tlp_, TlpOrderingForm::kToday);
    const auto proposed = ordering_label(tlp_, TlpOrderingForm::kProposed);
    field("order today", label_text(*today), 1, 2);
    field("order as proposed", proposed ? label_text(*proposed) : "bits that contradict one another", 1, 2);
  }

  void request() {
    dissection_.source = id_text(tlp_.requester);
    field("requester", id_text(tlp_.requester), 4, 2);
    const bool write_hint = tlp_.hints && tlp_.type == TlpType::kMemoryWrite;
    if (!write_hint) field("tag", fmt::format("{}", tlp_.tag), 6, 1);
    if (tlp_.hints) field("steering tag", fmt::format("{:#04x}", tlp_.steering_tag), write_hint ? 6 : 7, 1);
    if (is_tlp_atomic(tlp_.type) || (tlp_.hints && !write_hint)) return;
    field("last byte enables", enables_text(tlp_.last_enables), 7, 1);
    field("first byte enables", enables_text(tlp_.first_enables), 7, 1);
  }

  void address(std::uint32_t length) {
    field("address", fmt::format("{:#x}", tlp_.address), 8, length - 8);
    if (tlp_.hints) field("PH", fmt::format("{}", tlp_.processing_hint), length - 1, 1);
    dissection_.destination = is_tlp_io(tlp_.type) ? "I/O" : "memory";
    const bool none = tlp_.dwords == 1 && tlp_.first_enables == 0;
    dissection_.summary +=
        fmt::format(", {} bytes at {:#x}", none ? 0 : tlp_access_bytes(tlp_), tlp_access_address(tlp_));
    if (tlp_flow(tlp_.type) != TlpFlow::kPosted) dissection_.summary += fmt::format(", tag {}", tlp_.tag);
    if (tlp_.prefixes.find(kTlpOrderingPrefix) == nullptr &&
        tlp_.prefixes.find(kTlpSequencePrefix) == nullptr && !tlp_.spare)
      return;
    const auto label = ordering_label(tlp_, TlpOrderingForm::kProposed);
    dissection_.summary += label ? ", " + label_text(*label) : ", contradictory order";
  }

  void completion() {
    dissection_.source = id_text(tlp_.completer);
    dissection_.destination = id_text(tlp_.requester);
    field("completer", id_text(tlp_.completer), 4, 2);
    field("status", named(tlp_status_name(tlp_.status), tlp_.status), 6, 1);
    flag("BCM", tlp_.byte_count_modified, 6);
    field("byte count", fmt::format("{}", tlp_.byte_count), 6, 2);
    field("requester", id_text(tlp_.requester), 8, 2);
    field("tag", fmt::format("{}", tlp_.tag), 10, 1);
    field("lower address", fmt::format("{:#04x}", tlp_.lower_address), 11, 1);
    dissection_.summary +=
        fmt::format(", {}, byte count {}, lower address {:#x}, tag {}", tlp_status_name(tlp_.status),
                    tlp_.byte_count, tlp_.lower_address, tlp_.tag);
  }

  void message() {
    const TlpMessageInfo* const info = tlp_message_info(tlp_.message_code);
    const std::string name(info == nullptr ? "reserved" : info->name);
    dissection_.source = id_text(tlp_.requester);
    const bool by_id = tlp_.routing == TlpRouting::kById;
    dissection_.destination = by_id ? id_text(static_cast<PcieId>(tlp_.message >> 48U))
                                    : std::string(tlp_routing_name(tlp_.routing));
    field("routing", named(tlp_routing_name(tlp_.routing), tlp_.routing), 0, 1);
    field("requester", id_text(tlp_.requester), 4, 2);
    field("tag", fmt::format("{}", tlp_.tag), 6, 1);
    field("message code", fmt::format("{} ({:#04x})", name, tlp_.message_code), 7, 1);
    if (by_id) field("destination", dissection_.destination, 8, 2);
    field("bytes 8 to 15", hex_text(bytes_.subspan(header_at_ + 8, 8)), 8, 8);
    dissection_.summary += fmt::format(", {}, {}", name, tlp_routing_name(tlp_.routing));
  }

  void data() {
    if (tlp_.payload.length == 0) return;
    constexpr std::uint32_t kShown = 16;
    const std::uint32_t length = tlp_.payload.length;
    add("data",
        fmt::format("{} bytes: {}{}", length, hex_text(bytes_.subspan(at_, std::min(kShown, length))),
                    length > kShown ? "..." : ""),
        length);
    dissection_.summary += fmt::format(", data {}", length);
  }

  void digest() {
    if (!tlp_.digest) return;
    const std::uint32_t received = load_le32(&bytes_[at_]);
    const std::uint32_t computed = tlp_ecrc(bytes_.first(at_));
    dissection_.icrc = received == computed ? IcrcState::kGood : IcrcState::kBad;
    if (received != computed) dissection_.summary += ", bad ECRC";
    add("ECRC",
        received == computed ? fmt::format("{:#010x} (good)", received)
                             : fmt::format("{:#010x} (bad: expected {:#010x})", received, computed),
        kTlpDigestBytes);
  }

  std::span<const std::byte> bytes_;
  const Tlp& tlp_;
  DissectTree tree_;
  Dissection& dissection_;
  std::uint32_t at_ = 0;
  std::uint32_t header_at_ = 0;
};

}  // namespace

Dissection dissect_tlp(std::span<const std::byte> bytes) {
  Dissection dissection;
  Tlp tlp;
  dissection.tlp_reason = decode_tlp(bytes, tlp, {.verify_ecrc = false});
  if (dissection.tlp_reason != TlpDropReason::kNone) {
    dissection.reason = DropReason::kBadTlp;
    dissection.summary = fmt::format("refused: {}", dissection_status(dissection));
    DissectTree(dissection.lines)
        .header("refused", std::string(dissection_status(dissection)), 0,
                static_cast<std::uint32_t>(bytes.size()));
    return dissection;
  }
  TlpDissector(bytes, tlp, dissection).run();
  std::vector<std::byte> again(tlp_bytes(tlp));
  encode_tlp(tlp, again);
  dissection.reencodes = std::ranges::equal(again, bytes);
  return dissection;
}

}  // namespace wharf::wire
