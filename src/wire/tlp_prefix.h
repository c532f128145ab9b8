// SPDX-License-Identifier: Apache-2.0
// TLP prefixes: double words before the header, local to a link or going end to end. Byte 0 is the type, the
// other 24 bits are the type's own. [PCIe Base 5.0 2.2.10]
//
//   PASID  0 type 0x91 | 1-3 reserved 2, privileged 1, execute 1, PASID 20
//   4
#pragma once

#include <array>
#include <cstdint>

#include "base/check.h"

namespace wharf::wire {

/// Byte 0 of a prefix: Fmt 4, then 0 for a local or 1 for an end-to-end one, then its number.
enum class TlpPrefixType : std::uint8_t {
  kVendorLocal0 = 0x8e,
  kVendorLocal1 = 0x8f,
  kTph = 0x90,    ///< Upper half of a 16-bit steering tag.
  kPasid = 0x91,  ///< Process address space.
  kVendor0 = 0x9e,
  kVendor1 = 0x9f,
};
inline constexpr std::uint32_t kTlpPrefixBytes = 4;
inline constexpr std::uint32_t kTlpLocalPrefixesMax = 2;  ///< Choice: the specification gives no number.
inline constexpr std::uint32_t kTlpEndPrefixesMax = 4;    ///< What Max End-End TLP Prefixes can announce.
inline constexpr std::uint32_t kTlpPrefixValueMask = 0xff'ffff;

constexpr TlpPrefixType tlp_prefix_type(std::uint32_t word) { return TlpPrefixType(word >> 24U); }
constexpr std::uint32_t tlp_prefix_word(TlpPrefixType type, std::uint32_t value) {
  return (std::uint32_t{static_cast<std::uint8_t>(type)} << 24U) | (value & kTlpPrefixValueMask);
}
constexpr bool is_end_to_end(TlpPrefixType type) { return (static_cast<std::uint8_t>(type) & 0x10U) != 0; }
constexpr bool is_known_tlp_prefix(std::uint8_t type) {
  return type == 0x8e || type == 0x8f || type == 0x90 || type == 0x91 || type == 0x9e || type == 0x9f;
}

/// The prefixes of one packet, in the order in which they stand, local ones first.
class TlpPrefixes {
 public:
  std::uint32_t size() const { return count_; }
  std::uint32_t operator[](std::uint32_t index) const { return words_[index]; }

  /// The first prefix of `type`, or nullptr.
  const std::uint32_t* find(TlpPrefixType type) const {
    for (std::uint32_t i = 0; i < count_; ++i)
      if (tlp_prefix_type(words_[i]) == type) return &words_[i];
    return nullptr;
  }
  /// Adds one behind the others; there must be room, and no end-to-end one before a local one.
  void add(TlpPrefixType type, std::uint32_t value) {
    WHARF_CHECK(count_ < words_.size());
    WHARF_CHECK(count_ == 0 || is_end_to_end(type) || !is_end_to_end(tlp_prefix_type(words_[count_ - 1])));
    words_[count_++] = tlp_prefix_word(type, value);
  }
  /// Takes every prefix of `type` out.
  void remove(TlpPrefixType type) {
    std::uint8_t kept = 0;
    for (std::uint8_t i = 0; i < count_; ++i)
      if (tlp_prefix_type(words_[i]) != type) words_[kept++] = words_[i];
    while (count_ > kept) words_[--count_] = 0;
  }
  friend bool operator==(const TlpPrefixes&, const TlpPrefixes&) = default;

 private:
  std::array<std::uint32_t, kTlpLocalPrefixesMax + kTlpEndPrefixesMax> words_{};
  std::uint8_t count_ = 0;
};

/// The value of a PASID prefix. Choice: public summaries agree on the 20 bits of the PASID and that both
/// flags stand above it; they are taken in the order that OHC-A1 of revision 6 gives them. [6.20]
struct Pasid {
  std::uint32_t id = 0;     ///< 20 bits.
  bool execute = false;     ///< Execute requested.
  bool privileged = false;  ///< Privileged mode requested.
  friend bool operator==(const Pasid&, const Pasid&) = default;
};
inline constexpr std::uint32_t kPasidMask = 0xf'ffff;

constexpr std::uint32_t pasid_value(const Pasid& pasid) {
  return (pasid.privileged ? 0x20'0000U : 0U) | (pasid.execute ? 0x10'0000U : 0U) | (pasid.id & kPasidMask);
}
constexpr Pasid pasid_of(std::uint32_t word) {
  return Pasid{word & kPasidMask, (word & 0x10'0000U) != 0, (word & 0x20'0000U) != 0};
}

}  // namespace wharf::wire
