// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/fabric.h"

namespace wharf::sim {
namespace {

using ordering::Label;

bool may_pass_today(ordering::RlsqDesign design, const ordering::Request& earlier,
                    const ordering::Request& later) {
  if (!earlier.is_posted()) return later.is_posted() || !is_strict(design);
  const Label label = effective_label(design, later.kind, later.label);
  if (label == Label::kIdBased && !(earlier.domain.requester == later.domain.requester)) return true;
  return later.is_posted() && label == Label::kRelaxedOrdering;
}

}  // namespace

bool may_pass(LitmusDesign design, const LitmusSettings& settings, const ordering::Request& earlier,
              const ordering::Request& later) {
  if (settings.on_chip_bus) return false;
  const ordering::RlsqDesign queue = rlsq_design(design);
  if (!obeys_labels(queue)) return may_pass_today(queue, earlier, later);
  if (earlier.domain == later.domain && earlier.line == later.line) return false;
  return !keeps_order(queue, settings.order, earlier, later);
}

}  // namespace wharf::sim
