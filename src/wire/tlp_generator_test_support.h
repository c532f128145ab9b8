// SPDX-License-Identifier: Apache-2.0
// Transaction layer packets of every kind, drawn from a number, for tests.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "wire/tlp_packet.h"

namespace wharf::wire {

class TlpGenerator {
 public:
  explicit TlpGenerator(std::uint64_t seed) : random_(seed, "tlp") {}

  Tlp draw() {
    const auto type = static_cast<TlpType>(below(kTlpTypeCount));
    Tlp tlp = of(type);
    tlp.type = type;
    tlp.requester = static_cast<PcieId>(below(0x10000));
    tlp.tag = static_cast<std::uint16_t>(below(tlp_flow(type) == TlpFlow::kPosted ? 0x100 : 0x400));
    tlp.spare = flag();
    tlp.digest = flag();
    tlp.poisoned = flag();
    if (is_tlp_memory(type)) {
      if (flag()) tlp.address_type = TlpAddressType::kTranslated;
      tlp.hints = flag() && (tlp.type != TlpType::kMemoryRead || full(tlp));
    }
    if (tlp.hints) {
      tlp.processing_hint = static_cast<std::uint8_t>(below(4));
      tlp.steering_tag = static_cast<std::uint8_t>(below(256));
      if (type == TlpType::kMemoryWrite) tlp.tag = 0;
    }
    if (is_tlp_memory(type) || tlp_form(type) == TlpForm::kCompletion) {
      tlp.traffic_class = static_cast<std::uint8_t>(below(8));
      tlp.relaxed_ordering = flag();
      tlp.no_snoop = flag();
      tlp.id_based_ordering = flag();
    }
    prefixes(tlp);
    return tlp;
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_.below(n)); }
  bool flag() { return below(2) != 0; }
  static bool full(const Tlp& tlp) {
    return tlp.first_enables == 15 && tlp.last_enables == (tlp.dwords == 1 ? 0 : 15);
  }
  Payload data(std::uint32_t bytes) { return pattern_payload(below(1000), 0, bytes); }

  /// Below and above 4 GiB, `room` bytes before a page ends.
  std::uint64_t address(std::uint32_t room) {
    const std::uint64_t page =
        (flag() ? random_.below(1U << 20U) : random_.below(1ULL << 52U)) * kTlpPageBytes;
    return page + below(kTlpPageBytes - room + 1);
  }

  Tlp of(TlpType type) {
    Tlp tlp;
    switch (tlp_form(type)) {
      case TlpForm::kAddress:
        return is_tlp_io(type) ? io(type) : is_tlp_atomic(type) ? atomic(type) : memory(type);
      case TlpForm::kConfig:
        tlp.dwords = 1;
        tlp.first_enables = static_cast<std::uint8_t>(below(16));
        tlp.destination = static_cast<PcieId>(below(0x10000));
        tlp.register_offset = static_cast<std::uint16_t>(4 * below(1024));
        if (tlp_carries_data(type)) tlp.payload = data(4);
        return tlp;
      case TlpForm::kMessage:
        tlp.routing = TlpRouting::kLocal;
        tlp.message_code = 0x7e;
        tlp.message = random_.next_u64();
        if (!tlp_carries_data(type)) return tlp;
        tlp.dwords = static_cast<std::uint16_t>(1 + below(16));
        tlp.payload = data(4U * tlp.dwords);
        return tlp;
      case TlpForm::kCompletion:
        return completion(type);
    }
    return tlp;
  }
  Tlp memory(TlpType type) {
    const std::uint32_t bytes = below(4) == 0 ? 1 + below(kTlpPageBytes) : 1 + below(64);
    const bool write = type == TlpType::kMemoryWrite;
    Tlp tlp = write ? memory_write_tlp(address(bytes), data(bytes), 0)
                    : memory_read_tlp(address(bytes), bytes, 0, 0);
    if (tlp.dwords == 1) tlp.first_enables = static_cast<std::uint8_t>(below(16));
    if (write) tlp.payload = data(4U * tlp.dwords);
    return tlp;
  }
  Tlp atomic(TlpType type) {
    const bool compare = type == TlpType::kCompareSwap;
    const std::uint32_t operand = 4U << below(compare ? 3 : 2);
    return atomic_tlp(type, address(operand) / operand * operand, data(compare ? 2 * operand : operand), 0,
                      0);
  }
  Tlp io(TlpType type) {
    Tlp tlp;
    tlp.address = 4 * below(0x4000);
    tlp.dwords = 1;
    tlp.first_enables = static_cast<std::uint8_t>(below(16));
    if (tlp_carries_data(type)) tlp.payload = data(4);
    return tlp;
  }
  /// The last completion of a read, or one up to a boundary of 128.
  Tlp completion(TlpType type) {
    const std::uint32_t left = 1 + below(1024);
    const std::uint32_t start = below(128);
    const std::uint32_t bytes = flag() ? left : 128 - start < left ? 128 - start : left;
    const Tlp request = memory_read_tlp(start, left, 0, 0);
    Tlp tlp = completion_data_tlp(request, static_cast<PcieId>(below(0x10000)), start, left, data(bytes));
    if (type == TlpType::kCompletion) tlp = completion_tlp(request, 0, TlpStatus::kCompleterAbort, left);
    return tlp;
  }
  void prefixes(Tlp& tlp) {
    if (flag()) return;
    if (flag()) tlp.prefixes.add(TlpPrefixType::kVendorLocal1, below(1U << 24U));
    const bool spaces = is_tlp_memory(tlp.type) || tlp_form(tlp.type) == TlpForm::kMessage;
    if (flag() && spaces)
      tlp.prefixes.add(TlpPrefixType::kPasid, pasid_value({below(1U << 20U), flag(), flag()}));
    if (flag()) tlp.prefixes.add(TlpPrefixType::kVendor0, below(1U << 24U));
    if (flag()) tlp.prefixes.add(TlpPrefixType::kVendor1, below(1U << 24U));
  }

  RandomStream random_;
};

inline Tlp arbitrary_tlp(std::uint64_t seed) { return TlpGenerator(seed).draw(); }

}  // namespace wharf::wire
