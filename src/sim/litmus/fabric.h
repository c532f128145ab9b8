// SPDX-License-Identifier: Apache-2.0
// What may pass what between a device and the root complex. Apart from the world, because it is the contract
// between the fabric and each ordering design.
#pragma once

#include "engine/ordering/request.h"
#include "sim/litmus/design.h"

namespace wharf::sim {

/// Whether the fabric may deliver `later` before `earlier`, which was sent before it on the same link.
///
/// The rules are those of engine/ordering/pcie_rules.h: today's for the source-side designs, the baseline and
/// the strict ones, those with domains for the designs that obey labels. Choices: the strict designs get
/// their reads in order besides, because a queue cannot make an order that it does not see; for the same
/// reason requests of one domain on one line stay in order where labels are obeyed. On the on-chip bus
/// nothing passes.
bool may_pass(LitmusDesign design, const LitmusSettings& settings, const ordering::Request& earlier,
              const ordering::Request& later);

}  // namespace wharf::sim
