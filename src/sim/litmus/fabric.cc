// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/fabric.h"

#include "engine/ordering/pcie_rules.h"

namespace wharf::sim {
namespace {

ordering::PacketOrder packet_of(const ordering::Request& request) {
  ordering::PacketOrder packet;
  packet.packet_class = request.kind == ordering::Kind::kWrite  ? ordering::PacketClass::kPosted
                        : request.kind == ordering::Kind::kRead ? ordering::PacketClass::kRead
                                                                : ordering::PacketClass::kNonPostedData;
  packet.label = request.label;
  packet.domain = request.domain;
  packet.transaction = request.number;
  return packet;
}

}  // namespace

bool may_pass(LitmusDesign design, const LitmusSettings& settings, const ordering::Request& earlier,
              const ordering::Request& later) {
  if (settings.on_chip_bus) return false;
  const ordering::RlsqDesign queue = rlsq_design(design);
  if (is_strict(queue) && !earlier.is_posted() && !later.is_posted()) return false;
  if (obeys_labels(queue) && earlier.domain == later.domain && earlier.line == later.line) return false;
  return ordering::may_pass(
      obeys_labels(queue) ? ordering::FabricOrder::kDomains : ordering::FabricOrder::kLegacy, settings.order,
      packet_of(later), packet_of(earlier));
}

}  // namespace wharf::sim
