// SPDX-License-Identifier: Apache-2.0
// What may pass what between a device and the root complex under a design of the explorer.
#pragma once

#include "engine/ordering/link_rules.h"
#include "sim/litmus/design.h"
#include "sim/litmus/litmus_mutation.h"

namespace wharf::sim {

/// Whether the fabric may deliver `later` before `earlier`, which was sent before it on the same link. The
/// rules are those that the timed link has; on the on-chip bus nothing passes.
constexpr bool may_pass(LitmusDesign design, const LitmusSettings& settings, const ordering::Request& earlier,
                        const ordering::Request& later) {
  return !settings.on_chip_bus &&
         ordering::may_pass_on_link(rlsq_design(design, settings), settings.order, earlier, later);
}

/// Whether a completion, which has the label of its request, may pass a posted write that travels before it,
/// either way: rule D2a. Both come from the root complex, or both from functions of one device whose
/// completions have IDO=0, so that id-based ordering frees none. A bus has no such rule.
inline bool completion_may_pass_writes(LitmusDesign design, const LitmusSettings& settings,
                                       ordering::Label label) {
  if (settings.on_chip_bus || is_mutated(LitmusMutation::kCompletionsPassWrites)) return true;
  const ordering::PacketOrder write;
  ordering::PacketOrder completion;
  completion.packet_class = ordering::PacketClass::kCompletion;
  completion.label = label;
  return ordering::may_pass(ordering::fabric_of(rlsq_design(design, settings)), settings.order, completion,
                            write);
}

}  // namespace wharf::sim
