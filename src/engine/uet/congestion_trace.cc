// SPDX-License-Identifier: Apache-2.0
// What congestion management looks like from outside: its controller, or the receiver's credit where that
// alone decides.
#include <algorithm>

#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"

namespace wharf::uet {

namespace {

congestion::SenderTrace trace_of(const CongestionContext& context, CongestionControl congestion) {
  congestion::SenderTrace trace;
  trace.in_flight = context.in_flight;
  trace.round_trip = context.round_trip;
  if (congestion == CongestionControl::kReceiver) {
    trace.window = static_cast<std::uint64_t>(std::max<std::int64_t>(0, context.credit.credit()));
  } else if (congestion != CongestionControl::kNone) {
    trace.window = context.controller.window();
    if (const auto* nscc = context.controller.as<congestion::NsccSender>())
      trace.base_round_trip = nscc->base_rtt();
    if (const auto* dcqcn = context.controller.as<congestion::DcqcnSender>()) trace.rate = dcqcn->rate();
  }
  return trace;
}

}  // namespace

congestion::SenderTrace UetEngine::congestion_trace(wire::HostAddress peer) const {
  const Cms& cms = parts_->cms;
  congestion::SenderTrace sum;
  bool found = false;
  for (std::uint32_t ccc = 0; ccc < cms.count(); ++ccc) {
    if (!cms[ccc].used || cms[ccc].peer != peer) continue;
    const congestion::SenderTrace trace = trace_of(cms[ccc], config().congestion);
    if (!found) {
      sum = trace;
      found = true;
      continue;
    }
    sum.in_flight += trace.in_flight;
    sum.rate.value += trace.rate.value;
    if (trace.window != congestion::SenderTrace::kNoWindow) sum.window += trace.window;
    if (trace.round_trip != kNever) sum.round_trip = trace.round_trip;
    sum.base_round_trip = min(sum.base_round_trip, trace.base_round_trip);
  }
  return sum;
}

congestion::SenderTrace UetEngine::congestion_trace(engine::QueueId, engine::PeerId peer) const {
  const Peer* to = parts_->initiator.peer(peer);
  if (to == nullptr) return {};
  const std::uint32_t route = parts_->pds.route_of(to->to.job_id, peer);
  for (const bool ordered : {false, true}) {
    const std::uint32_t pdc = parts_->pds.find_pdc(to->to.host, route, ordered);
    if (pdc != kNoSlot) return trace_of(parts_->cms[parts_->pds.pdc(pdc).ccc], config().congestion);
  }
  return {};
}

}  // namespace wharf::uet
