// SPDX-License-Identifier: Apache-2.0
// What may pass what between a device and the root complex. Apart from the world, because it is the contract
// between the fabric and each ordering design.
#pragma once

#include "engine/ordering/request.h"
#include "sim/litmus/design.h"

namespace wharf::sim {

/// Whether the fabric may deliver `later` before `earlier`, which was sent before it on the same link.
///
/// Today's rules (PCI Express Base Specification, 2.4.1) serve the source-side designs and the baseline: a
/// posted write passes everything but an earlier posted write, and that one too with RO=1, or with IDO=1 and
/// another requester; reads pass reads, and writes of another requester with IDO=1. The strict designs keep
/// reads in order besides: a queue cannot make an order that it does not see. For the same reason the designs
/// that obey labels need a fabric that swaps nothing which the queue has to keep in order, nor requests of a
/// domain on one line. On the on-chip bus nothing passes.
bool may_pass(LitmusDesign design, const LitmusSettings& settings, const ordering::Request& earlier,
              const ordering::Request& later);

}  // namespace wharf::sim
