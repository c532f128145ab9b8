// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/tp_congestion.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/ub/tp_channel.h"

namespace wharf::ub {
namespace {

using congestion::CaqmConfig;
using congestion::DcqcnConfig;
using congestion::LdcpConfig;

/// CC of data packets under the configured controller.
wire::CongestionField tag_for(const UbConfig& config) {
  wire::CongestionField tag;
  if (!config.congestion) return tag;
  if (std::holds_alternative<CaqmConfig>(*config.congestion)) tag.enabled = true;
  if (std::holds_alternative<LdcpConfig>(*config.congestion)) tag.mode = wire::CongestionMode::kFecnRtt;
  if (std::holds_alternative<DcqcnConfig>(*config.congestion)) tag.mode = wire::CongestionMode::kFecn;
  return tag;
}

/// Whether a switch marked the packet, in CC or in IP.
bool is_marked(const wire::Packet& packet) {
  const wire::CongestionField& cc = packet.ub.cc;
  return packet.mark == wire::CongestionMark::kExperienced ||
         (cc.mode == wire::CongestionMode::kCaqm ? cc.congested : cc.fecn != 0);
}

}  // namespace

TpCongestion::TpCongestion(const UbConfig& config, Arena& arena)
    : config_(config),
      arena_(arena),
      controls_(config.congestion.has_value()),
      answers_(config.min_time_between_cnps > kTimeZero),
      tag_(tag_for(config)),
      tagged_(tag_.enabled || tag_.mode != wire::CongestionMode::kCaqm) {}

void TpCongestion::open(std::uint32_t index, std::uint32_t mtu, std::uint64_t send_first,
                        std::uint64_t receive_first) {
  if (!controls_ && !answers_) return;
  const std::size_t count = std::max<std::size_t>(echoes_.size(), index + 1);
  echoes_.resize(count);
  notify_.reserve(count);
  CongestionEcho& echo = echoes_[index];
  CongestionEcho fresh;
  fresh.mtu = mtu;
  fresh.told_end = receive_first;
  fresh.notify_listed = echo.notify_listed;
  fresh.waiting = echo.waiting;
  if (controls_ && fresh.waiting.empty()) {
    fresh.waiting = arena_.make_span<PacketEcho>(config_.receive_window);
  }
  echo = fresh;
  if (!controls_) return;
  senders_.resize(count);
  timers_.reserve(static_cast<std::uint32_t>(count));
  senders_[index] = std::make_unique<CongestionSender>(controller_for(config_, mtu), mtu, send_first);
  set_timer(index);
}

void TpCongestion::close(std::uint32_t index) {
  if (index < echoes_.size()) echoes_[index].notify = false;
  if (!controls_) return;
  // What was outstanding has been let go, whether it had been sent or not.
  CongestionSender& sender = *senders_[index];
  sender.heard = {};
  sender.in_flight = 0;
  sender.wake = kNever;
  timers_.set(index, kNever);
}

void TpCongestion::set_timer(std::uint32_t index) {
  const CongestionSender& sender = *senders_[index];
  timers_.set(index, min(sender.controller.deadline(), sender.wake));
}

bool TpCongestion::permitted(TimePs now, std::uint32_t index, const TxPacket& packet) {
  CongestionSender& sender = *senders_[index];
  // What gives room again is an acknowledgement or a loss, after which the channel is looked at anyway.
  if (!sender.controller.permits(packet.length)) return false;
  const TimePs next = sender.controller.next_send();
  if (next <= now) return true;
  if (sender.wake != next) {
    sender.wake = next;
    set_timer(index);
  }
  return false;
}

bool TpCongestion::holds_back(TimePs now, std::uint32_t index) const {
  return controls_ && senders_[index]->in_flight == 0 && senders_[index]->controller.next_send() > now;
}

void TpCongestion::note_departure(TimePs now, std::uint32_t index, TxPacket& packet, bool again,
                                  wire::Packet& out) {
  CongestionSender& sender = *senders_[index];
  if (tagged_) {
    out.ub.cc = tag_;
    // Choice: UB over Ethernet carries CC in an OPtag, which is sent for nothing else.
    if (out.ub.encapsulation == wire::UbEncapsulation::kUdp) {
      out.ub.operator_tag = true;
      out.header_bytes = wire::wire_header_bytes(out);
    }
  }
  const congestion::PacketRequest request = sender.controller.on_send(
      now, {.window_bytes = packet.length, .wire_bytes = wire::link_bytes(out), .retransmission = again});
  if (tag_.enabled) {
    // Choice: a packet without payload asks for no growth.
    out.ub.cc.increase = request.grant;
    out.ub.cc.hint = packet.length == 0
                         ? 0
                         : static_cast<std::uint8_t>(congestion::caqm_hint(request.grant_bytes, sender.mtu));
  }
  packet.lost = false;
  ++sender.in_flight;
  if (!again) sender.sent_bytes += packet.length;
  sender.wake = kNever;
  set_timer(index);
}

void TpCongestion::note_confirmed(std::uint32_t index, const TxPacket& packet) {
  CongestionSender& sender = *senders_[index];
  ++sender.heard.confirmed.packets;
  sender.heard.confirmed.bytes += packet.length;
  if (packet.lost) {
    ++sender.heard.restored.packets;
    sender.heard.restored.bytes += packet.length;
  } else {
    --sender.in_flight;
  }
  // Which copy was answered is known only of packets that were sent once. (Karn)
  if (packet.resend_mark != 0) {
    sender.repeated = true;
  } else {
    sender.newest_sent =
        sender.newest_sent == kNever ? packet.sent_at : max(sender.newest_sent, packet.sent_at);
  }
}

void TpCongestion::note_lost(std::uint32_t index, TxPacket& packet) {
  CongestionSender& sender = *senders_[index];
  packet.lost = true;
  --sender.in_flight;
  ++sender.lost.lost.packets;
  sender.lost.lost.bytes += packet.length;
}

void TpCongestion::note_echo(std::uint32_t index, std::uint64_t end, const wire::Cetph& cetph) {
  if (!tag_.enabled && tag_.mode != wire::CongestionMode::kFecnRtt) return;
  CongestionSender& sender = *senders_[index];
  // A copy, an acknowledgement that was overtaken, or one that covers nothing new, and so has no counts.
  if (end <= sender.echoed_end) return;
  const std::uint64_t bytes =
      sender.echoed_bytes +
      static_cast<std::uint32_t>(cetph.acknowledged_bytes - static_cast<std::uint32_t>(sender.echoed_bytes));
  if (bytes > sender.sent_bytes) {
    ++counters_.echoes_refused;
    return;
  }
  sender.echoed_bytes = bytes;
  sender.echoed_end = end;
  sender.echoed = true;
  sender.heard.marked = cetph.congested_packets;
  sender.heard.granted = cetph.increase;
  sender.heard.granted_bytes = cetph.increase ? cetph.hint : 0;
}

void TpCongestion::pass_losses(TimePs now, std::uint32_t index, congestion::LossCause cause) {
  CongestionSender& sender = *senders_[index];
  if (sender.lost.lost.packets == 0) return;
  congestion::Loss loss = std::exchange(sender.lost, {});
  loss.cause = cause;
  sender.controller.on_loss(now, loss);
  set_timer(index);
}

bool TpCongestion::pass_acknowledgement(TimePs now, std::uint32_t index, bool answered) {
  CongestionSender& sender = *senders_[index];
  congestion::Acknowledgement heard = std::exchange(sender.heard, {});
  const bool echoed = std::exchange(sender.echoed, false);
  const bool repeated = std::exchange(sender.repeated, false);
  const TimePs sent = std::exchange(sender.newest_sent, kNever);
  if (!echoed && heard.confirmed.packets == 0) return false;
  // Choice: an acknowledgement without news from the switches is no refusal.
  if (!echoed) heard.granted = true;
  if (answered && !repeated && sent != kNever) {
    heard.round_trip = now - sent;
    sender.round_trip = heard.round_trip;
  }
  sender.controller.on_acknowledgement(now, heard);
  set_timer(index);
  return true;
}

bool TpCongestion::notified(TimePs now, std::uint32_t index) {
  if (!controls_ || tag_.mode != wire::CongestionMode::kFecn) return false;
  ++counters_.notifications_received;
  senders_[index]->controller.on_acknowledgement(now, {.marked = 1});
  set_timer(index);
  return true;
}

void TpCongestion::notice(TimePs now, std::uint32_t index, const wire::Packet& packet) {
  CongestionEcho& echo = echoes_[index];
  if (packet.ub.cc.mode != wire::CongestionMode::kFecn || !is_marked(packet) ||
      !echo.pacer.on_marked(now, config_.min_time_between_cnps)) {
    return;
  }
  echo.notify = true;
  if (echo.notify_listed) return;
  echo.notify_listed = true;
  notify_.push_back(index);
}

bool TpCongestion::next_notification(std::uint32_t& index) {
  while (!notify_.empty()) {
    index = notify_.front();
    notify_.pop_front();
    echoes_[index].notify_listed = false;
    if (!std::exchange(echoes_[index].notify, false)) continue;
    ++counters_.notifications_sent;
    return true;
  }
  return false;
}

PacketEcho TpCongestion::echo_of(std::uint32_t index, const wire::Packet& packet) {
  const wire::CongestionField& cc = packet.ub.cc;
  CongestionEcho& echo = echoes_[index];
  PacketEcho own{.bytes = static_cast<std::uint16_t>(packet.payload.length)};
  const bool caqm = cc.mode == wire::CongestionMode::kCaqm;
  if (caqm ? !cc.enabled : cc.mode != wire::CongestionMode::kFecnRtt) return own;
  echo.wanted = true;
  own.marked = is_marked(packet);
  own.increase = caqm && cc.increase && !own.marked;
  if (own.increase) {
    own.hint_bytes = static_cast<std::uint16_t>(congestion::caqm_hint_bytes(cc.hint, echo.mtu));
  }
  return own;
}

void TpCongestion::count(std::uint32_t index, const PacketEcho& own) {
  CongestionEcho& echo = echoes_[index];
  echo.bytes += own.bytes;
  echo.marked += own.marked ? 1U : 0U;
  echo.increase |= own.increase;
  echo.hint_bytes += own.hint_bytes;
}

void TpCongestion::put_echo(CongestionEcho& echo, std::uint64_t end, wire::Packet& out) {
  wire::Cetph cetph{.acknowledged_bytes = echo.bytes};
  // Counts go out once, with the number that they belong to: the sender takes them for a copy otherwise.
  // What a field cannot hold goes with the next one.
  if (end > echo.told_end) {
    echo.told_end = end;
    cetph.congested_packets = static_cast<std::uint8_t>(
        std::min<std::uint64_t>(echo.marked, std::numeric_limits<std::uint8_t>::max()));
    cetph.hint = static_cast<std::uint16_t>(
        std::min<std::uint64_t>(echo.hint_bytes, std::numeric_limits<std::uint16_t>::max()));
    cetph.increase = echo.increase;
    echo.marked -= cetph.congested_packets;
    echo.hint_bytes -= cetph.hint;
    echo.increase = echo.hint_bytes > 0;
  }
  wire::Rtph& rtph = out.ub.rtph;
  if (rtph.opcode == wire::TpOpcode::kSack) {
    rtph.opcode = wire::TpOpcode::kSackCetph;
    out.ub.ack.cetph = cetph;
  } else {
    rtph.opcode = wire::TpOpcode::kAckCetph;
    wire::use_ack(out.ub).cetph = cetph;
  }
}

std::uint32_t TpCongestion::expire(TimePs now) {
  const std::uint32_t index = timers_.earliest_owner();
  CongestionSender& sender = *senders_[index];
  sender.controller.expire(now);
  if (sender.wake <= now) sender.wake = kNever;
  set_timer(index);
  return index;
}

congestion::SenderTrace TpCongestion::trace(std::uint32_t index) const {
  if (!controls_) return {};
  const CongestionSender& sender = *senders_[index];
  congestion::SenderTrace trace;
  trace.window = sender.controller.window();
  if (const auto* dcqcn = sender.controller.as<congestion::DcqcnSender>()) trace.rate = dcqcn->rate();
  trace.in_flight = sender.in_flight;
  trace.round_trip = sender.round_trip;
  return trace;
}

std::size_t TpCongestion::bytes_held() const {
  std::size_t bytes = senders_.capacity() * sizeof(senders_[0]) +
                      echoes_.capacity() * sizeof(CongestionEcho) + timers_.bytes_held() +
                      notify_.bytes_held();
  for (const auto& sender : senders_) bytes += sender == nullptr ? 0 : sizeof(CongestionSender);
  for (const CongestionEcho& echo : echoes_) bytes += echo.waiting.size_bytes();
  return bytes;
}

}  // namespace wharf::ub
