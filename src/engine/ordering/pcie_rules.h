// SPDX-License-Identifier: Apache-2.0
// Which transaction layer packet may pass which in a queue of the PCIe fabric: PCI Express Base
// Specification, "Transaction Ordering" (the ordering rules table with relaxed and id-based ordering), and
// what the proposed labels add.
#pragma once

#include <cstdint>

#include "engine/ordering/request.h"
#include "engine/ordering/rlsq_design.h"

namespace wharf::ordering {

enum class PacketClass : std::uint8_t {
  kPosted,         ///< Memory writes and messages.
  kRead,           ///< Non-posted without data.
  kNonPostedData,  ///< Non-posted with data: atomics, configuration and I/O writes.
  kCompletion,
};

/// What of a packet decides its order. All packets compared are of one traffic class and travel the same way.
struct PacketOrder {
  PacketClass packet_class = PacketClass::kPosted;
  Label label = Label::kStrong;
  /// Requests: who asks. Completions: `requester` is the function that answers, as the rules for IDO want it.
  Domain domain;
  std::uint64_t transaction =
      0;  ///< Requests: of which request this is a part. Completions: which one they answer.
};

/// What the queues of a fabric know of the proposal.
enum class FabricOrder : std::uint8_t {
  kLegacy,  ///< Nothing: labels travel as RO bits at most, and acquire and release are not kept on the way.
  /// Choice: requests of one domain are kept in the order that the thread-specific queue keeps, in every
  /// switch, so that the queue sees acquires and releases where the program has them. (The proposal has its
  /// queue rely on that, yet leaves reads free to pass each other; numbers on the packets would be the other
  /// way out.) The price: a posted write may have to stay behind an acquire read of its own domain. Toward a
  /// root complex that always takes reads in the end, this cannot close a cycle; between peer devices that
  /// take reads only after they have sent writes of their own it can, and acquires must not be sent there.
  kDomains,
};

enum class Passing : std::uint8_t {
  kNo,    ///< Never.
  kMay,   ///< Allowed, nobody may rely on it.
  kMust,  ///< It must be able to when the first one is blocked, or the fabric can deadlock.
};

namespace passing_rules {

constexpr bool has_relaxed_ordering(Label label) {
  return label == Label::kRelaxedOrdering || label == Label::kRelaxed || label == Label::kAscending;
}
constexpr bool is_id_based_other(const PacketOrder& second, const PacketOrder& first) {
  return second.label == Label::kIdBased && second.domain.requester != first.domain.requester;
}

/// Rows A to D of the specification's table, columns 2 to 5.
constexpr Passing legacy(const PacketOrder& second, const PacketOrder& first) {
  const bool is_relaxed = has_relaxed_ordering(second.label);
  switch (second.packet_class) {
    case PacketClass::kPosted:
      if (first.packet_class != PacketClass::kPosted)
        return Passing::kMust;  // A3, A4; A5 as bridges need it.
      return is_relaxed || is_id_based_other(second, first) ? Passing::kMay : Passing::kNo;  // A2.
    case PacketClass::kRead:
      if (first.packet_class != PacketClass::kPosted) return Passing::kMay;    // B3 to B5.
      return is_id_based_other(second, first) ? Passing::kMay : Passing::kNo;  // B2: RO does not help a read.
    case PacketClass::kNonPostedData:
      if (first.packet_class != PacketClass::kPosted) return Passing::kMay;                  // C3 to C5.
      return is_relaxed || is_id_based_other(second, first) ? Passing::kMay : Passing::kNo;  // C2.
    case PacketClass::kCompletion:
      if (first.packet_class == PacketClass::kPosted) {  // D2.
        return is_relaxed || is_id_based_other(second, first) ? Passing::kMay : Passing::kNo;
      }
      if (first.packet_class != PacketClass::kCompletion) return Passing::kMust;  // D3, D4.
      return second.transaction == first.transaction && second.domain == first.domain ? Passing::kNo
                                                                                      : Passing::kMay;  // D5.
  }
  return Passing::kNo;
}

constexpr Kind kind_of(PacketClass packet_class) {
  if (packet_class == PacketClass::kPosted) return Kind::kWrite;
  return packet_class == PacketClass::kRead ? Kind::kRead : Kind::kAtomic;
}

}  // namespace passing_rules

/// Whether `second`, which entered the queue later, may leave before `first`.
constexpr Passing passing(FabricOrder fabric, OrderOptions options, const PacketOrder& second,
                          const PacketOrder& first) {
  const Kind second_kind = passing_rules::kind_of(second.packet_class);
  const Kind first_kind = passing_rules::kind_of(first.packet_class);
  PacketOrder seen = second;
  if (second.packet_class == PacketClass::kCompletion || first.packet_class == PacketClass::kCompletion) {
    // The attributes of a completion are those of its request. Where labels are unknown a read goes out with
    // RO=0, whatever its label (effective_label); where they are known, "relaxed" alone means RO=1.
    const bool is_relaxed = fabric == FabricOrder::kDomains && second.label == Label::kRelaxed;
    if (!is_relaxed && !is_legacy(second.label)) seen.label = Label::kStrong;
    return passing_rules::legacy(seen, first);
  }
  if (fabric == FabricOrder::kLegacy) {
    seen.label = effective_label(RlsqDesign::kBaseline, second_kind, second.label);
    return passing_rules::legacy(seen, first);
  }
  if (first.domain == second.domain) {
    Request earlier;
    earlier.kind = first_kind;
    earlier.label = first.label;
    earlier.domain = first.domain;
    earlier.number = first.transaction;
    Request later = earlier;
    later.kind = second_kind;
    later.label = second.label;
    later.number = second.transaction;
    if (keeps_order(RlsqDesign::kThreadSpecific, options, earlier, later)) return Passing::kNo;
  }
  // Between domains, and where the labels leave it free: the legacy rules, but that a labelled request is
  // never held by what its label does not name.
  const Passing rule = passing_rules::legacy(seen, first);
  const bool is_free = !is_legacy(second.label) && first.packet_class == PacketClass::kPosted;
  return rule == Passing::kNo && is_free ? Passing::kMay : rule;
}

/// True when `second` is allowed to overtake `first`.
constexpr bool may_pass(FabricOrder fabric, OrderOptions options, const PacketOrder& second,
                        const PacketOrder& first) {
  return passing(fabric, options, second, first) != Passing::kNo;
}
/// True when a blocked `first` must never hold `second` up.
constexpr bool must_be_able_to_pass(FabricOrder fabric, OrderOptions options, const PacketOrder& second,
                                    const PacketOrder& first) {
  return passing(fabric, options, second, first) == Passing::kMust;
}

}  // namespace wharf::ordering
