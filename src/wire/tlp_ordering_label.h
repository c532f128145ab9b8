// SPDX-License-Identifier: Apache-2.0
// THE mapping between the bits of a transaction layer packet and the order that it asks for: the only place
// that knows where the proposed acquire, release, thread and sequence number stand. The meanings are those of
// the engines' vocabulary (engine/ordering/request.h, `Label` and `Domain`), enumerator for enumerator; wire
// cannot include it.
//
// "Efficient Remote Memory Ordering for Non-Coherent Interconnects" (4.1, 5.1, 5.2) re-purposes the relaxed
// ordering attribute of writes as release, adds an acquire bit to reads, a thread ID to both, and sequence
// numbers to MMIO; it names no bit, no width and no prefix. Its release bit is set for the stronger request,
// while RO is set for the weaker one, and every device of today sends RO=0 and means strong. So (all of it
// Choice):
//
//   - Both ends of a link are told which reading holds (TlpOrderingForm), as for every vendor's prefix.
//   - acquire: byte 1 bit 1 of MRd and of atomics. Reserved up to PCIe 3.0 and from 6.0 on, in between that
//   of
//     lightweight notification, which was withdrawn; unlike PH and T9/T8 it is free for each address and tag.
//   - release: RO of MWr and of atomics.
//   - Without an ordering prefix everything else is as PCIe has it: RO=0 is a strong write, never a relaxed
//   one.
//   - The ordering prefix (VendPrefixE0) names the thread, in as many bits as PASID has, and everything that
//   the two
//     header bits cannot say. With it, and neither bit set, the request is relaxed:
//       0 type 0x9e | 1-3 code 4, thread 20
//   - The sequence prefix (VendPrefixE1) numbers MMIO requests for a reorder buffer at the device; the thread
//   is
//     that of the ordering prefix, 0 without one. It also says how far back the request's order reaches, so
//     that a fence need not make every later store a release:
//       0 type 0x9f | 1 back 8 | 2-3 number 16
#pragma once

#include <cstdint>
#include <optional>

#include "wire/tlp_packet.h"

namespace wharf::wire {

/// What the attributes of a link's packets mean.
enum class TlpOrderingForm : std::uint8_t {
  kToday,     ///< PCIe as it is: acquire bit and vendor prefixes are ignored.
  kProposed,  ///< The proposal.
};

/// The order that a request asks for.
enum class TlpOrder : std::uint8_t {
  kStrong,           ///< Today's RO=0, IDO=0: after all earlier writes.
  kRelaxedOrdering,  ///< Today's RO=1: a write may pass earlier writes.
  kIdBased,          ///< Today's IDO=1: as strong, among requests of its own requester.
  kRelaxed,          ///< In any order.
  kAcquire,          ///< Every later request of the thread takes effect after it.
  kRelease,          ///< After every earlier request of the thread.
  kAscending,        ///< Relaxed, but its own lines from the lowest address upward.
  kReadRelease,      ///< A read after every earlier read of the thread.
};
inline constexpr std::uint32_t kTlpOrderCount = static_cast<std::uint32_t>(TlpOrder::kReadRelease) + 1;

/// The place of an MMIO request among those of its thread. Numbers count modulo 2^16, or less where both ends
/// know so; the epochs of a numbering by fences, which need a count besides, have no room here.
struct TlpSequence {
  std::uint16_t number = 0;
  /// It takes effect after every request with a number below `number - back`: 0 for a release, and kNoWait
  /// when all that may still be missing are free to come later.
  std::uint8_t back = kNoWait;
  static constexpr std::uint8_t kNoWait = 255;
  friend bool operator==(const TlpSequence&, const TlpSequence&) = default;
};

/// Everything that a request says about order.
struct TlpOrderingLabel {
  TlpOrder order = TlpOrder::kStrong;
  std::uint32_t thread = 0;                  ///< 20 bits; with the requester ID the ordering domain.
  std::optional<TlpSequence> sequence = {};  ///< MMIO requests that are numbered.
  friend bool operator==(const TlpOrderingLabel&, const TlpOrderingLabel&) = default;
};
inline constexpr std::uint32_t kTlpThreadMask = 0xf'ffff;

inline constexpr TlpPrefixType kTlpOrderingPrefix = TlpPrefixType::kVendor0;
inline constexpr TlpPrefixType kTlpSequencePrefix = TlpPrefixType::kVendor1;

/// The value of a sequence prefix, and back.
constexpr std::uint32_t tlp_sequence_value(const TlpSequence& sequence) {
  return (std::uint32_t{sequence.back} << 16U) | sequence.number;
}
constexpr TlpSequence tlp_sequence(std::uint32_t word) {
  return TlpSequence{static_cast<std::uint16_t>(word), static_cast<std::uint8_t>(word >> 16U)};
}

/// Codes of the ordering prefix: 0 leaves it to the header's bits, the others are 1 + TlpOrder.
constexpr std::uint32_t tlp_order_code(TlpOrder order) { return 1 + static_cast<std::uint32_t>(order); }

constexpr bool has_acquire_bit(TlpType type) { return type == TlpType::kMemoryRead || is_tlp_atomic(type); }
constexpr bool has_release_bit(TlpType type) { return type == TlpType::kMemoryWrite || is_tlp_atomic(type); }

/// What the attributes say today. RO takes nothing from a read but the order of its completions.
inline TlpOrder tlp_order_today(const Tlp& tlp) {
  if (tlp.relaxed_ordering && tlp.type == TlpType::kMemoryWrite) return TlpOrder::kRelaxedOrdering;
  if (tlp.id_based_ordering) return TlpOrder::kIdBased;
  return tlp.relaxed_ordering ? TlpOrder::kRelaxedOrdering : TlpOrder::kStrong;
}

/// Whether requests of `type` have labels: reads, writes and atomics of memory.
constexpr bool has_ordering_label(TlpType type) { return is_tlp_memory(type); }

/// What `tlp`, a request of memory, asks for. Nothing when its bits contradict one another: both bits of an
/// atomic, a bit beside a code of the prefix, or a code that is none.
inline std::optional<TlpOrderingLabel> ordering_label(const Tlp& tlp, TlpOrderingForm form) {
  TlpOrderingLabel label;
  label.order = tlp_order_today(tlp);
  if (form == TlpOrderingForm::kToday) return label;
  if (const std::uint32_t* const word = tlp.prefixes.find(kTlpSequencePrefix))
    label.sequence = tlp_sequence(*word);
  const bool acquire = tlp.spare && has_acquire_bit(tlp.type);
  const bool release = tlp.relaxed_ordering && has_release_bit(tlp.type);
  if (acquire && release) return std::nullopt;
  const std::uint32_t* const word = tlp.prefixes.find(kTlpOrderingPrefix);
  if (word != nullptr) {
    label.thread = *word & kTlpThreadMask;
    label.order = TlpOrder::kRelaxed;
    if (const std::uint32_t code = *word >> 20U & 15U; code != 0) {
      if (code > kTlpOrderCount || acquire || release) return std::nullopt;
      label.order = static_cast<TlpOrder>(code - 1);
      return label;
    }
  }
  if (acquire) label.order = TlpOrder::kAcquire;
  if (release) label.order = TlpOrder::kRelease;
  return label;
}

/// Makes `tlp`, a request of memory, ask for `label`: sets RO, IDO, the acquire bit and both prefixes,
/// replacing what they were. Links of today say as much of it as PCIe can: a release is a strong write, an
/// acquire nothing more than a read, and there are no threads. An access that is cut asks on every piece.
inline void set_ordering_label(const TlpOrderingLabel& label, TlpOrderingForm form, Tlp& tlp) {
  const TlpOrder order = label.order;
  tlp.prefixes.remove(kTlpOrderingPrefix);
  tlp.prefixes.remove(kTlpSequencePrefix);
  tlp.spare = false;
  tlp.relaxed_ordering = order == TlpOrder::kRelaxedOrdering;
  tlp.id_based_ordering = order == TlpOrder::kIdBased;
  if (form == TlpOrderingForm::kToday) {
    if (order == TlpOrder::kRelaxed && tlp.type == TlpType::kMemoryWrite) tlp.relaxed_ordering = true;
    return;
  }
  const bool attributes_say_it = label.thread == 0 && order <= TlpOrder::kIdBased &&
                                 !(tlp.relaxed_ordering && has_release_bit(tlp.type));
  if (!attributes_say_it) {
    tlp.id_based_ordering = false;
    tlp.spare = order == TlpOrder::kAcquire && has_acquire_bit(tlp.type);
    tlp.relaxed_ordering = order == TlpOrder::kRelease && has_release_bit(tlp.type);
    const bool bit_says_it = tlp.spare || tlp.relaxed_ordering;
    const std::uint32_t code = bit_says_it || order == TlpOrder::kRelaxed ? 0 : tlp_order_code(order);
    if (!bit_says_it || label.thread != 0)
      tlp.prefixes.add(kTlpOrderingPrefix, (code << 20U) | (label.thread & kTlpThreadMask));
  }
  if (label.sequence) tlp.prefixes.add(kTlpSequencePrefix, tlp_sequence_value(*label.sequence));
}

}  // namespace wharf::wire
