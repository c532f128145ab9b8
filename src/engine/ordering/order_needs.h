// SPDX-License-Identifier: Apache-2.0
// A request's place in the order, said in classes: which classes of requests it belongs to, and all earlier
// requests of which classes it waits for. The same relation as keeps_order(), in a form that costs nothing
// per pair.
#pragma once

#include <cstdint>

#include "engine/ordering/rlsq_design.h"
#include "engine/ordering/rlsq_mutation.h"

namespace wharf::ordering {

/// Classes of requests that later ones may have to wait for. Those before kPreviousLine are kept in chains,
/// in order of arrival; the last two are waits for one known request.
enum class OrderClass : std::uint8_t {
  kNonPosted,          ///< Reads and atomics.
  kPosted,             ///< Writes.
  kAcquire,            ///< Anything labelled acquire.
  kRelease,            ///< Anything labelled release.
  kAscending,          ///< Anything labelled ascending.
  kPostedOfRequester,  ///< Writes again, for the id-based order of designs that know no domains.
  kPreviousLine,       ///< The line below in the same ascending request.
  kSameLine,           ///< An earlier read of the domain on the same line that may not take effect yet.
};
inline constexpr unsigned kOrderChainCount = 6;
inline constexpr unsigned kOrderClassCount = 8;

/// A set of order classes.
using OrderClasses = std::uint8_t;
constexpr OrderClasses class_bit(OrderClass order_class) {
  return static_cast<OrderClasses>(1U << static_cast<unsigned>(order_class));
}

struct OrderNeeds {
  OrderClasses members = 0;
  OrderClasses waits = 0;
  bool exempts_own_request = false;  ///< Lines of the same request are not waited for.
  bool is_ascending = false;
};

/// Never contains kPreviousLine and kSameLine: those depend on what else is in the queue.
inline OrderNeeds order_needs(RlsqDesign design, OrderOptions options, const Request& request) {
  using enum OrderClass;
  const Label label = effective_label(design, request.kind, request.label);
  OrderNeeds needs;
  const auto join = [&needs](OrderClass order_class) {
    needs.members = static_cast<OrderClasses>(needs.members | class_bit(order_class));
  };
  const auto wait_for = [&needs](OrderClass order_class) {
    needs.waits = static_cast<OrderClasses>(needs.waits | class_bit(order_class));
  };
  needs.exempts_own_request =
      label == Label::kAcquire || label == Label::kRelease || label == Label::kReadRelease;
  needs.is_ascending = label == Label::kAscending && !is_mutated(Mutation::kAscendingForgotten);

  if (request.is_posted()) {
    join(kPosted);
    if (!knows_domains(design)) join(kPostedOfRequester);
  } else if (obeys_labels(design) || is_strict(design)) {
    join(kNonPosted);
  }
  if (label == Label::kAcquire) join(kAcquire);
  const bool is_forgotten = !request.is_posted() && is_mutated(Mutation::kAtomicReleaseForgotten);
  if (options.release_before_acquire && label == Label::kRelease && !is_forgotten) join(kRelease);
  if (needs.is_ascending) join(kAscending);

  if (obeys_labels(design)) wait_for(kAcquire);
  if (label == Label::kRelease && !is_mutated(Mutation::kReleaseIgnoresReads)) wait_for(kNonPosted);
  if (label == Label::kRelease && !is_mutated(Mutation::kReleaseIgnoresWrites)) wait_for(kPosted);
  if (label == Label::kReadRelease && !is_mutated(Mutation::kReadReleaseIgnored)) wait_for(kNonPosted);
  if (is_strict(design) && !request.is_posted()) wait_for(kNonPosted);

  // The rules of PCIe after posted writes.
  const bool is_id_based = label == Label::kIdBased && !knows_domains(design);
  const OrderClass earlier_writes = is_id_based ? kPostedOfRequester : kPosted;
  if (request.is_posted()) {
    const bool is_ordered = label == Label::kStrong || label == Label::kIdBased;
    if (is_ordered && !is_mutated(Mutation::kStrongWritesUnordered)) wait_for(earlier_writes);
  } else if (is_legacy(label)) {
    if (!is_mutated(Mutation::kWriteBeforeReadForgotten)) wait_for(earlier_writes);
  } else {
    if (options.write_before_annotated_read) wait_for(kPosted);
    if (options.release_before_acquire && label == Label::kAcquire) wait_for(kRelease);
  }
  if (is_mutated(Mutation::kEarlyCommit) && is_speculative(design) && !request.is_posted()) needs.waits = 0;
  return needs;
}

}  // namespace wharf::ordering
