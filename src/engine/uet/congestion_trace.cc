// SPDX-License-Identifier: Apache-2.0
// What congestion management looks like from outside: its controller, or the receiver's credit where that
// alone decides.
#include <algorithm>

#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"

namespace wharf::uet {

congestion::SenderTrace UetEngine::congestion_trace(wire::HostAddress peer) const {
  congestion::SenderTrace trace;
  const Cms& cms = parts_->cms;
  const std::uint32_t ccc = cms.find(peer);
  if (ccc == kNoSlot) return trace;
  const CongestionContext& context = cms[ccc];
  trace.in_flight = context.in_flight;
  trace.round_trip = context.round_trip;
  if (config().congestion == CongestionControl::kReceiver) {
    trace.window = static_cast<std::uint64_t>(std::max<std::int64_t>(0, context.credit.credit()));
  } else if (config().congestion != CongestionControl::kNone) {
    trace.window = context.controller.window();
    if (const auto* nscc = context.controller.as<congestion::NsccSender>())
      trace.base_round_trip = nscc->base_rtt();
  }
  return trace;
}

}  // namespace wharf::uet
