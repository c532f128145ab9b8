// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/cms.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/uet/engine_parts.h"
#include "engine/uet/pds_next.h"

namespace wharf::uet {

namespace {

/// The largest rcv_cwnd_pend: about one packet in a round trip is left. [UE 1.0 3.6.13]
constexpr std::uint64_t kMostPenalty = 127;

TimePs spacing_of_marks(const congestion::ControllerConfig& controller) {
  const auto* dcqcn = std::get_if<congestion::DcqcnConfig>(&controller);
  return dcqcn != nullptr ? dcqcn->min_time_between_cnps : kTimeZero;
}

}  // namespace

Cms::Cms(EngineParts& parts, std::uint64_t seed)
    : parts_(parts),
      by_window_(parts.config.congestion == CongestionControl::kSender ||
                 parts.config.congestion == CongestionControl::kBoth),
      by_credit_(parts.config.congestion == CongestionControl::kReceiver ||
                 parts.config.congestion == CongestionControl::kBoth),
      timed_(std::holds_alternative<congestion::DcqcnConfig>(parts.config.controller) ||
             std::holds_alternative<congestion::CaqmConfig>(parts.config.controller) ||
             std::holds_alternative<congestion::SwiftConfig>(parts.config.controller)),
      probing_(by_window_ && parts.config.base_rtt_probe &&
               std::holds_alternative<congestion::NsccConfig>(parts.config.controller)),
      mark_spacing_(spacing_of_marks(parts.config.controller)),
      waits_before_asking_(parts.config.credit.request_patience > kTimeZero),
      asks_for_resends_(by_credit_ && parts.config.credit.request_for_resends),
      random_(RandomStream(seed, "uet.entropy").substream(parts.host.number)),
      issuer_(parts.config.credit) {
  path_config_.choice = parts.config.path_choice;
  path_config_.paths = parts.config.paths;
  path_config_.draw_upper_bits = parts.config.draw_path_bits;
  if (by_credit_ && parts.config.oversubscribed) pace_.emplace(*parts.config.oversubscribed);
}

std::uint32_t Cms::open_context(wire::HostAddress host) {
  // validate() has seen the controller's configuration.
  auto made =
      std::make_unique<CongestionContext>(congestion::AnyController::create(parts_.config.controller).value(),
                                          parts_.config.credit, path_config_, random_);
  made->peer = host;
  if (by_window_) made->room = made->controller.room();
  std::uint32_t ccc = count();
  if (free_.empty()) {
    contexts_.push_back(std::move(made));
    free_.reserve(contexts_.capacity());
  } else {
    ccc = free_.back();
    free_.pop_back();
    recent_ = nullptr;
    contexts_[ccc] = std::move(made);
  }
  timers_.reserve(ccc + 1);
  issuer_.reserve(ccc + 1);
  return ccc;
}

std::uint32_t Cms::context_for(wire::HostAddress host) {
  if (const std::uint32_t* found = by_host_.find(host.number)) return *found;
  const std::uint32_t ccc = open_context(host);
  by_host_.insert(host.number, ccc);
  return ccc;
}

void Cms::release_context(std::uint32_t ccc) {
  CongestionContext& context = *contexts_[ccc];
  leave_ready_list(ccc);
  const CccState before = std::exchange(context.state, CccState::kIdle);
  if (before != CccState::kIdle) change_state(context, before);
  context.used = false;
  timers_.set(ccc, kNever);
  issuer_.restart(ccc);
  free_.push_back(ccc);
}

void Cms::leave_ready_list(std::uint32_t ccc) {
  CongestionContext& context = *contexts_[ccc];
  if (!context.on_ready_list) return;
  context.on_ready_list = false;
  --ready_count_;
  ready_.remove(*this, ccc, &CongestionContext::next_ready);
}

void Cms::update(TimePs now, std::uint32_t ccc) {
  CongestionContext& context = *contexts_[ccc];
  const bool has_data = context.has_data();
  bool can_send = false;
  if (has_data && !context.pdcs.empty()) {
    can_send = may_send(now, context, parts_.pds.room_for_next(parts_.pds.pdc(context.pdcs.head)));
  }
  const CccState before = context.state;
  context.state = updated(before, has_data, context.in_flight > 0, can_send);
  if (context.state != before) change_state(context, before);
  if (by_credit_ && context.state == CccState::kActive && ask_for_credit(now, ccc)) {
    can_send = may_send(now, context, parts_.pds.room_for_next(parts_.pds.pdc(context.pdcs.head)));
    context.state = updated(context.state, has_data, false, can_send);
  }
  if (context.state != before) {
    if (parts_.config.tracer != nullptr) [[unlikely]]
      note_hold(now, context, before);
    if (context.state != CccState::kReady) {
      leave_ready_list(ccc);
    } else if (!context.on_ready_list) {
      context.on_ready_list = true;
      ++ready_count_;
      ready_.push(*this, ccc, &CongestionContext::next_ready);
    }
  }
  // Nothing else has a time to wait for.
  if (timed_ || by_credit_) set_timer(now, ccc);
}

void Cms::change_state(const CongestionContext& context, CccState before) {
  const bool was_active = before == CccState::kActive || before == CccState::kReady;
  const bool is_active = context.state == CccState::kActive || context.state == CccState::kReady;
  if (was_active != is_active) active_ += was_active ? ~0U : 1U;
}

void Cms::note_hold(TimePs now, CongestionContext& context, CccState before) const {
  if (context.state == CccState::kActive) {
    if (context.held_since == kNever) context.held_since = now;
    context.held_until = kNever;
  } else if (context.state == CccState::kReady) {
    if (before == CccState::kActive) context.held_until = now;
  } else {
    context.held_since = kNever;
  }
}

void Cms::end_hold(std::uint32_t ccc, wire::OperationTag operation, TimePs ready_at) {
  CongestionContext& context = *contexts_[ccc];
  // What it waits for before its payload is there is the payload.
  if (parts_.config.tracer != nullptr && context.held_until != kNever) {
    parts_.config.tracer->span(operation, trace::Stage::kWindowWait, max(context.held_since, ready_at),
                               context.held_until, parts_.host.number);
  }
  context.held_since = kNever;
}

void Cms::set_timer(TimePs now, std::uint32_t ccc) {
  const CongestionContext& context = *contexts_[ccc];
  TimePs wake = context.controller.deadline();
  // Answers to what is in flight come back here by themselves.
  if (context.credit_requests > 0 && context.state == CccState::kActive && context.in_flight == 0 &&
      context.credit_request_at > now) {
    wake = min(wake, context.credit_request_at);
  }
  if (context.state == CccState::kActive && !context.pdcs.empty() && context.controller.next_send() > now) {
    wake = min(wake, context.controller.next_send());
  }
  if (wake != timers_.get(ccc)) timers_.set(ccc, wake);
}

void Cms::pdc_ready(TimePs now, std::uint32_t index) {
  Pdc& pdc = parts_.pds.pdc(index);
  if (!pdc.on_ready_list) {
    pdc.on_ready_list = true;
    contexts_[pdc.ccc]->pdcs.push(parts_.pds, index, &Pdc::next_ready);
  }
  update(now, pdc.ccc);
}

void Cms::rotate(std::uint32_t ccc) {
  CongestionContext& context = *contexts_[ccc];
  if (context.pdcs.head != context.pdcs.tail) {
    const std::uint32_t pdc = context.pdcs.pop(parts_.pds, &Pdc::next_ready);
    context.pdcs.push(parts_.pds, pdc, &Pdc::next_ready);
  }
  if (ready_.head == ccc && ready_.tail != ccc) {
    ready_.pop(*this, &CongestionContext::next_ready);
    ready_.push(*this, ccc, &CongestionContext::next_ready);
  }
}

void Cms::bring_forward(std::uint32_t ccc, std::uint32_t pdc) {
  const auto forward = [](IndexList& list, auto& pool, std::uint32_t index, auto link) {
    if (list.head == index) return;
    list.remove(pool, index, link);
    pool[index].*link = list.head;
    list.head = index;
  };
  forward(contexts_[ccc]->pdcs, parts_.pds, pdc, &Pdc::next_ready);
  forward(ready_, *this, ccc, &CongestionContext::next_ready);
}

void Cms::on_acknowledgement(TimePs now, std::uint32_t ccc,
                             const congestion::Acknowledgement& acknowledgement) {
  CongestionContext& context = *contexts_[ccc];
  context.in_flight -= acknowledgement.confirmed.packets - acknowledgement.restored.packets;
  if (acknowledgement.round_trip != kNever) context.round_trip = acknowledgement.round_trip;
  if (by_window_) {
    // Choice: ACKs are the notifications here, and every one may be marked. The notification point of DCQCN
    // (N) therefore stands where they arrive.
    if (mark_spacing_ > kTimeZero && acknowledgement.marked > 0 &&
        !context.notifications.on_marked(now, mark_spacing_)) {
      congestion::Acknowledgement unmarked = acknowledgement;
      unmarked.marked = 0;
      context.controller.on_acknowledgement(now, unmarked);
    } else {
      context.controller.on_acknowledgement(now, acknowledgement);
    }
    context.room = context.controller.room();
  }
  if (by_credit_) {
    context.credit.on_acknowledgement(now, acknowledgement);
    if (context.credit.permits(1)) context.credit_requests = 0;
  }
}

void Cms::tell_backlog(wire::UetAckCongestion& told) const {
  const UetConfig& config = parts_.config;
  if (!config.target_flow_control) return;
  // Choice: what waits for memory is what the interface counts, or else the packets in execution, each for a
  // full one. The penalty rises with it in a straight line; a quarter of the lower limit is caught up.
  const std::uint64_t behind =
      std::max(backlog_, std::uint64_t{parts_.inbound.in_use()} * config.payload_mtu);
  const std::uint64_t low = config.backlog_low_bytes;
  if (behind <= low) {
    told.restore_window = behind <= low / 4;
    return;
  }
  const std::uint64_t above = std::min(behind, config.backlog_high_bytes) - low;
  const std::uint64_t penalty = above * kMostPenalty / (config.backlog_high_bytes - low);
  told.receiver_penalty = static_cast<std::uint8_t>(std::max<std::uint64_t>(penalty, 1));
}

void Cms::on_loss(TimePs now, std::uint32_t ccc, const congestion::Loss& loss, Window window) {
  CongestionContext& context = *contexts_[ccc];
  context.in_flight -= loss.lost.packets;
  if (by_window_) {
    congestion::Loss told = loss;
    if (window == Window::kStays) told.cause = congestion::LossCause::kRefused;
    context.controller.on_loss(now, told);
    context.room = context.controller.room();
  }
  if (by_credit_) context.credit.on_loss(now, loss);
}

congestion::PacketRequest Cms::on_send_with_credit(TimePs now, CongestionContext& context,
                                                   congestion::Departure departure) {
  congestion::PacketRequest request;
  if (by_window_) request = context.controller.on_send(now, departure, context.room);
  departure.demand_limit = demand_limit(context);
  departure.active_contexts = ready_count_;
  request.grant_bytes = context.credit.on_send(now, departure).grant_bytes;
  return request;
}

void Cms::send_probe(TimePs now, std::uint32_t pdc) {
  CongestionContext& context = *contexts_[parts_.pds.pdc(pdc).ccc];
  if (context.probed || !parts_.pds.pdc(pdc).peer_known) return;
  context.probed = true;
  context.probe_pdc = pdc;
  context.probe_opaque = parts_.pds.probe(pdc);
  context.probed_at = now;
}

TimePs Cms::probe_round_trip(TimePs now, std::uint32_t pdc, std::uint16_t opaque) {
  CongestionContext& context = *contexts_[parts_.pds.pdc(pdc).ccc];
  if (context.probe_pdc != pdc || context.probe_opaque != opaque) return kNever;
  context.probe_pdc = kNoSlot;
  return now - context.probed_at;
}

void Cms::expire(TimePs now) {
  if (by_credit_) issue_credit(now);
  while (timers_.earliest() <= now) {
    const std::uint32_t ccc = timers_.earliest_owner();
    timers_.set(ccc, kNever);
    if (by_window_) {
      contexts_[ccc]->controller.expire(now);
      contexts_[ccc]->room = contexts_[ccc]->controller.room();
    }
    update(now, ccc);
  }
}

void Cms::describe_waiting(std::vector<std::string>& out) const {
  for (const auto& context : contexts_) {
    if (!context->has_data() && context->in_flight == 0) continue;
    out.push_back(
        fmt::format("host {}: CCC toward host {} is {}: {} bytes never sent, {} packets to send again, "
                    "{} packets in flight",
                    parts_.host.number, context->peer.number, name(context->state), context->backlog,
                    context->resend_packets, context->in_flight));
  }
}

}  // namespace wharf::uet
