// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/cms.h"

#include <fmt/format.h>

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

Cms::Cms(EngineParts& parts)
    : parts_(parts),
      random_(RandomStream(parts.config.seed, "uet.entropy").substream(parts.config.host.number)) {}

std::uint32_t Cms::context_for(wire::HostAddress host) {
  if (const std::uint32_t* found = by_host_.find(host.number)) return *found;
  const std::uint32_t ccc = count();
  // validate() has seen the controller's configuration.
  contexts_.push_back(std::make_unique<CongestionContext>(
      congestion::AnyController::create(parts_.config.controller).value()));
  contexts_.back()->peer = host;
  contexts_.back()->entropy_base = static_cast<std::uint16_t>(random_.next_u32());
  by_host_.insert(host.number, ccc);
  timers_.reserve(ccc + 1);
  return ccc;
}

void Cms::leave_ready_list(std::uint32_t ccc) {
  CongestionContext& context = *contexts_[ccc];
  if (!context.on_ready_list) return;
  context.on_ready_list = false;
  ready_.remove(*this, ccc, &CongestionContext::next_ready);
}

void Cms::update(TimePs now, std::uint32_t ccc) {
  CongestionContext& context = *contexts_[ccc];
  bool can_send = false;
  if (context.has_data() && !context.pdcs.empty()) {
    if (parts_.config.congestion == CongestionControl::kNone) {
      can_send = true;
    } else {
      const std::uint32_t bytes = parts_.pds.next_window_bytes(context.pdcs.head);
      can_send = context.controller.next_send() <= now && context.controller.permits(bytes);
    }
  }
  context.state = updated(context.state, context.has_data(), context.in_flight > 0, can_send);
  if (context.state == CccState::kReady) {
    if (!context.on_ready_list) {
      context.on_ready_list = true;
      ready_.push(*this, ccc, &CongestionContext::next_ready);
    }
  } else {
    leave_ready_list(ccc);
  }
  set_timer(now, ccc);
}

void Cms::set_timer(TimePs now, std::uint32_t ccc) {
  const CongestionContext& context = *contexts_[ccc];
  TimePs wake = context.controller.deadline();
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

void Cms::on_acknowledgement(TimePs now, std::uint32_t ccc,
                             const congestion::Acknowledgement& acknowledgement) {
  CongestionContext& context = *contexts_[ccc];
  context.in_flight -= acknowledgement.confirmed.packets - acknowledgement.restored.packets;
  context.controller.on_acknowledgement(now, acknowledgement);
}

void Cms::on_loss(TimePs now, std::uint32_t ccc, const congestion::Loss& loss) {
  CongestionContext& context = *contexts_[ccc];
  context.in_flight -= loss.lost.packets;
  context.controller.on_loss(now, loss);
}

std::uint16_t Cms::next_entropy(std::uint32_t ccc) {
  // [UE 1.0 3.6.16] Oblivious: every path once per round, in an order that is drawn anew each round.
  CongestionContext& context = *contexts_[ccc];
  const std::uint32_t mask = parts_.config.paths - 1;
  if ((context.walk & mask) == 0) context.walk_xor = random_.next_u32() & mask;
  const std::uint32_t path = (context.walk++ ^ context.walk_xor) & mask;
  return static_cast<std::uint16_t>((context.entropy_base & ~mask) | path);
}

void Cms::feedback(TimePs, std::uint32_t, std::uint16_t, PathFeedback) {}

void Cms::expire(TimePs now) {
  while (timers_.earliest() <= now) {
    const std::uint32_t ccc = timers_.earliest_owner();
    timers_.set(ccc, kNever);
    contexts_[ccc]->controller.expire(now);
    update(now, ccc);
  }
}

void Cms::describe_waiting(std::vector<std::string>& out) const {
  for (const auto& context : contexts_) {
    if (!context->has_data() && context->in_flight == 0) continue;
    out.push_back(
        fmt::format("host {}: CCC toward host {} is {}: {} bytes never sent, {} packets to send again, "
                    "{} packets in flight",
                    parts_.config.host.number, context->peer.number, name(context->state), context->backlog,
                    context->resend_packets, context->in_flight));
  }
}

}  // namespace wharf::uet
