// SPDX-License-Identifier: Apache-2.0
// Receiver credit between hosts: demand that arrives, credit that leaves, and a source's request when it has
// run dry. [UE 1.0 3.6.14, 3.5.16]
#include <algorithm>

#include "engine/uet/engine_parts.h"
#include "engine/uet/pds_next.h"

namespace wharf::uet {
namespace {

/// Credit Requests without an answer space themselves out up to 2^this base RTTs.
constexpr std::uint8_t kRequestBackOff = 6;

}  // namespace

std::uint64_t Cms::demand_limit(const CongestionContext& context) const {
  const std::uint64_t most = parts_.config.credit.max_window;
  if (!by_window_) return most;
  return std::min(most, context.controller.window()) + parts_.config.credit.mtu_bytes;
}

/// True when a packet may leave instead.
bool Cms::ask_for_credit(TimePs now, std::uint32_t ccc) {
  // [UE 1.0 3.6.14] Nothing under way can bring credit any more: once per base RTT at most.
  // Choice: twice as long each time that nothing comes, so that many waiting sources do not drown the one.
  CongestionContext& context = *contexts_[ccc];
  if (context.pdcs.empty() || context.in_flight > 0 || context.credit.permits(1)) return false;
  // credit_requests is above 0 after a time-out, which nobody waits behind.
  const TimePs patience = parts_.config.credit.request_patience;
  if (context.credit_requests == 0 && patience > kTimeZero)
    context.credit_request_at = max(context.credit_request_at, now + patience);
  if (now < context.credit_request_at) {
    // The timer comes back to it.
    if (context.credit_requests == 0) context.credit_requests = 1;
    return false;
  }
  // A PDC that has nothing to send any more stays listed until its turn comes, which without credit is never:
  // one that waits for credit asks, and it is the one whose tries count when nobody answers.
  while (!context.pdcs.empty() && !parts_.pds.sendable(parts_.pds.pdc(context.pdcs.head))) {
    const std::uint32_t idle = context.pdcs.pop(parts_.pds, &Pdc::next_ready);
    parts_.pds.pdc(idle).on_ready_list = false;
  }
  if (context.pdcs.empty()) return false;
  const std::uint32_t pdc = context.pdcs.head;
  const std::uint8_t tries = std::min(context.credit_requests, kRequestBackOff);
  context.credit_request_at = now + parts_.config.credit.base_rtt * (std::int64_t{1} << tries);
  if (context.credit_requests < kRequestBackOff) ++context.credit_requests;
  if (!parts_.pds.pdc(pdc).peer_known) {
    // Choice: a control packet cannot open a PDC here; one packet of data does, and names the demand.
    context.credit.overdraw();
    return true;
  }
  const std::uint64_t target =
      context.credit.demand(context.backlog + context.resend_backlog, demand_limit(context), ready_count_);
  parts_.pds.request_credit(pdc, wire::uet_byte_units(target));
  parts_.pds.await_credit(now, pdc);
  return false;
}

void Cms::on_resend(TimePs now, std::uint32_t ccc, std::uint32_t pdc) {
  CongestionContext& context = *contexts_[ccc];
  if (context.credit.permits(1)) return;
  if (now < context.resend_request_at) {
    // The timer comes back to it, should nothing else.
    if (context.credit_requests == 0) context.credit_requests = 1;
    context.credit_request_at = context.resend_request_at;
    return;
  }
  context.resend_request_at = now + parts_.config.credit.base_rtt;
  if (!parts_.pds.pdc(pdc).peer_known) {
    // As in ask_for_credit(): a packet of data opens the PDC.
    context.credit.overdraw();
    return;
  }
  const std::uint64_t target =
      context.credit.demand(context.backlog + context.resend_backlog, demand_limit(context), ready_count_);
  parts_.pds.request_credit(pdc, wire::uet_byte_units(target));
}

void Cms::on_credit(TimePs now, std::uint32_t ccc, std::uint32_t units) {
  if (!by_credit_) return;
  CongestionContext& context = *contexts_[ccc];
  congestion::Acknowledgement told;
  told.granted_bytes = std::uint64_t{units} * wire::kUetByteUnit;
  told.credit = true;
  context.credit.on_acknowledgement(now, told);
  if (context.credit.permits(1)) context.credit_requests = 0;
}

void Cms::take_demand(TimePs now, std::uint32_t pdc, const wire::Packet& packet) {
  const Pdc& record = parts_.pds.pdc(pdc);
  const wire::UetPdsType type = packet.uet.prologue.type;
  if (type != wire::UetPdsType::kRudCcRequest && type != wire::UetPdsType::kRodCcRequest) return;
  CongestionContext& context = *contexts_[record.ccc];
  context.credit_pdc = pdc;
  context.credit_generation = record.generation;
  const bool trimmed = packet.trim != wire::TrimState::kWhole;
  if (pace_) {
    pace_->on_packet(packet.mark == wire::CongestionMark::kExperienced, trimmed,
                     packet.trim == wire::TrimState::kTrimmedLastHop);
  }
  issuer_.on_demand(record.ccc, packet.uet.request.credit_target);
  if (trimmed) issuer_.on_trimmed(record.ccc);
  issue_credit(now);
}

void Cms::on_credit_request(TimePs now, std::uint32_t pdc, std::uint32_t target_units) {
  if (!by_credit_) return;
  const Pdc& record = parts_.pds.pdc(pdc);
  CongestionContext& context = *contexts_[record.ccc];
  context.credit_pdc = pdc;
  context.credit_generation = record.generation;
  issuer_.on_demand(record.ccc, target_units);
  // Choice: a source that asks again has not heard of what it was given; say it at once.
  const std::uint32_t granted = issuer_.granted_units(record.ccc);
  if (congestion::credit_difference(issuer_.target_units(record.ccc), granted) <= 0) {
    parts_.pds.send_credit(pdc, granted);
  }
  issue_credit(now);
}

void Cms::issue_credit(TimePs now) {
  if (pace_ && now >= pace_->deadline()) {
    pace_->expire(now, random_.next_u32());
    issuer_.set_rate(pace_->rate_q16());
  }
  while (const auto made = issuer_.next(now)) {
    const CongestionContext& context = *contexts_[made->source];
    const Pdc* record = context.credit_pdc == kNoSlot ? nullptr : &parts_.pds.pdc(context.credit_pdc);
    if (record == nullptr || record->generation != context.credit_generation ||
        record->state == PdcState::kClosed) {
      // Nobody is there; the counter tells when somebody is again.
      issuer_.forget(made->source);
      continue;
    }
    parts_.pds.send_credit(context.credit_pdc, made->total_units);
  }
}

}  // namespace wharf::uet
