// SPDX-License-Identifier: Apache-2.0
// What may pass what between a device and the root complex: the contract between the fabric and each ordering
// design. The explorer of litmus programs and the timed link both ask here.
#pragma once

#include "engine/ordering/pcie_rules.h"

namespace wharf::ordering {

constexpr PacketOrder packet_of(const Request& request) {
  PacketOrder packet;
  packet.packet_class = request.kind == Kind::kWrite  ? PacketClass::kPosted
                        : request.kind == Kind::kRead ? PacketClass::kRead
                                                      : PacketClass::kNonPostedData;
  packet.label = request.label;
  packet.domain = request.domain;
  packet.transaction = request.number;
  return packet;
}

/// What the fabric knows where a queue of `design` stands at its end.
constexpr FabricOrder fabric_of(RlsqDesign design) {
  return obeys_labels(design) ? FabricOrder::kDomains : FabricOrder::kLegacy;
}

/// Whether the fabric may deliver `later` to a queue of `design` before `earlier`, which was sent before it
/// on the same link.
///
/// The rules are those of pcie_rules.h: today's for the baseline and the strict designs, those with domains
/// for the designs that obey labels. Choices: the strict designs get their reads in order besides, because a
/// queue cannot make an order that it does not see; for the same reason requests of one domain on one line
/// stay in order where labels are obeyed.
constexpr bool may_pass_on_link(RlsqDesign design, OrderOptions options, const Request& earlier,
                                const Request& later) {
  if (is_strict(design) && !earlier.is_posted() && !later.is_posted()) return false;
  if (obeys_labels(design) && earlier.domain == later.domain && earlier.line == later.line) return false;
  return may_pass(fabric_of(design), options, packet_of(later), packet_of(earlier));
}

}  // namespace wharf::ordering
