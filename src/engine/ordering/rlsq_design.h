// SPDX-License-Identifier: Apache-2.0
// The designs of a Remote Load-Store Queue, and which pairs of requests each of them keeps in order: the
// contract that the queue implements and that tests, litmus programs and documents check it against.
#pragma once

#include <cstdint>

#include "engine/ordering/request.h"

namespace wharf::ordering {

/// "Efficient Remote Memory Ordering for Non-Coherent Interconnects" 5.1 and 6.2.
enum class RlsqDesign : std::uint8_t {
  kBaseline,           ///< Today's root complex: legacy rules only, the proposed labels are ignored.
  kReleaseAcquire,     ///< Labels are obeyed by stalling; all requests are one domain.
  kThreadSpecific,     ///< As kReleaseAcquire, for each domain by itself.
  kSpeculative,        ///< As kThreadSpecific, but reads run ahead and are squashed by conflicting writes.
  kStrictBlocking,     ///< "RC" of the figures: all reads in one total order, one at a time; labels ignored.
  kStrictSpeculative,  ///< "RC-opt": the same order, but reads run ahead and are squashed.
};
inline constexpr int kRlsqDesignCount = static_cast<int>(RlsqDesign::kStrictSpeculative) + 1;

/// True when the design obeys the proposed labels.
constexpr bool obeys_labels(RlsqDesign design) {
  return design == RlsqDesign::kReleaseAcquire || design == RlsqDesign::kThreadSpecific ||
         design == RlsqDesign::kSpeculative;
}
/// True when requests of different domains are never ordered (but for those on one line).
constexpr bool knows_domains(RlsqDesign design) {
  return design == RlsqDesign::kThreadSpecific || design == RlsqDesign::kSpeculative;
}
/// True when reads are sent before they may take effect.
constexpr bool is_speculative(RlsqDesign design) {
  return design == RlsqDesign::kSpeculative || design == RlsqDesign::kStrictSpeculative;
}
constexpr bool is_strict(RlsqDesign design) {
  return design == RlsqDesign::kStrictBlocking || design == RlsqDesign::kStrictSpeculative;
}

/// What the paper leaves open for the designs that obey labels.
struct OrderOptions {
  /// A read with one of the proposed labels waits for earlier posted writes, as every legacy read does.
  bool write_before_annotated_read = false;
  /// A release, be it a write or an atomic, takes effect before a later acquire read or atomic of its domain
  /// (RCsc; otherwise RCpc).
  bool release_before_acquire = false;
};

/// What a design makes of a label. One that ignores the proposal's: relaxed writes are sent with RO=1 by
/// today's devices, all others with RO=0.
constexpr Label effective_label(RlsqDesign design, Kind kind, Label label) {
  if (obeys_labels(design) || is_legacy(label)) return label;
  return label == Label::kRelaxed && kind == Kind::kWrite ? Label::kRelaxedOrdering : Label::kStrong;
}

/// Whether `second`, which arrived later, takes effect only after `first` is complete: a read when its value
/// is final, a write or atomic when it is performed. Says nothing of requests on one line, which every design
/// keeps in order of arrival within a domain; nor does "no" mean that the queue will swap them.
constexpr bool keeps_order(RlsqDesign design, OrderOptions options, const Request& first,
                           const Request& second) {
  const Label first_label = effective_label(design, first.kind, first.label);
  const Label second_label = effective_label(design, second.kind, second.label);
  const bool is_same_request = first.domain == second.domain && first.number == second.number;
  if (knows_domains(design) && !(first.domain == second.domain)) return false;
  if (is_same_request && first_label == Label::kAscending) return true;
  if (!is_same_request) {
    if (first_label == Label::kAcquire || second_label == Label::kRelease) return true;
    if (second_label == Label::kReadRelease && !first.is_posted()) return true;
  }
  if (is_strict(design) && !first.is_posted() && !second.is_posted()) return true;
  const bool is_release_then_acquire =
      first_label == Label::kRelease && second_label == Label::kAcquire && !second.is_posted();
  if (options.release_before_acquire && is_release_then_acquire && !is_same_request) return true;
  if (!first.is_posted()) return false;
  // What is left are the rules of PCIe after a posted write.
  if (second_label == Label::kIdBased && first.domain.requester != second.domain.requester) return false;
  if (second.is_posted()) return second_label == Label::kStrong || second_label == Label::kIdBased;
  if (is_legacy(second_label)) return true;
  return options.write_before_annotated_read;
}

}  // namespace wharf::ordering
