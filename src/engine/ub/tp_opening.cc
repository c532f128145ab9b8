// SPDX-License-Identifier: Apache-2.0
// The TP layer, control path: a channel to a host begins, anew or in the place of one that has ended.
// [UB-Base 2.0.1 6.3.1]
#include <fmt/format.h>

#include <algorithm>

#include "base/vector_room.h"
#include "engine/ub/engine_parts.h"
#include "engine/ub/tp_channel.h"

namespace wharf::ub {

Result<std::uint32_t> TpLayer::open(TimePs now, const QueueBlob& blob, Lane lane) {
  const UbConfig& config = parts_.config;
  if (blob.encapsulation != config.encapsulation) {
    return input_error(fmt::format("UB connect: host {} uses encapsulation {}, expected {} as here",
                                   blob.host.number, static_cast<int>(blob.encapsulation),
                                   static_cast<int>(config.encapsulation)));
  }
  if (blob.host.number >= hosts_max(config.encapsulation)) {
    return input_error(fmt::format("UB connect: found host {}, expected below {}", blob.host.number,
                                   hosts_max(config.encapsulation)));
  }
  std::uint32_t index = find(blob.host, lane);
  // A life is told apart by what both ends know of: their engines, and how often the channel failed at
  // either.
  std::uint32_t failed = blob.failures_toward(config.host, lane);
  if (index != kNoSlot) failed = std::max(failed, channels_[index]->failures);
  const std::uint32_t incarnation = config.first_incarnation + blob.first_incarnation + failed;
  if (index != kNoSlot) {
    const TpChannel& present = *channels_[index];
    if (blob.first_incarnation < present.peer_first_incarnation) {
      return input_error(fmt::format(
          "UB connect: host {} exported this blob in an earlier life, expected a new one", blob.host.number));
    }
    if (present.state == ChannelState::kReady) {
      if (present.incarnation == incarnation) return index;
      end_lanes(now, index, ChannelEvent::kSupersede);  // The peer has ended its present life.
    }
  }
  const std::uint64_t send_first = reliability::first_logical(first_psn_of(config.first_psn, incarnation));
  const std::uint64_t receive_first = reliability::first_logical(first_psn_of(blob.first_psn, incarnation));
  const std::uint16_t first_tassn = first_tassn_of(config.first_incarnation, blob.first_incarnation);
  const bool known = index != kNoSlot;
  if (!known) channel_of_host_.reserve(channel_of_host_.size() + 1);
  if (!known && first_closed_ != kNoSlot) {
    index = first_closed_;
    first_closed_ = channels_[index]->remote_tpn;
    channel_of_host_.insert(host_key(blob.host, lane), index);
  }
  if (index == kNoSlot) {
    index = count();
    WHARF_TRY(parts_.contexts.reserve({ContextKind::kTpChannel, index}));
    auto made = std::make_unique<TpChannel>();
    const std::uint32_t channels = index + 1;
    make_room_for_one(channels_);
    timers_.reserve(2 * channels);
    dirty_.reserve(channels);
    ack_list_.reserve(channels);
    data_list_.reserve(channels);
    resend_list_.reserve(channels);
    if (config.retransmission.floor != kTimeZero) round_trips_.reserve(channels_.capacity());
    made->send.reset(send_first);
    grow_gently(packets_, packet_room_.fit(channels));
    ahead_.reserve(ahead_room_.fit(channels));
    parts_.load_store.open(index, first_tassn);
    parts_.responder.make_room(channels);
    parts_.accesses.make_room(channels);
    made->receive = reliability::ReceiveWindow(parts_.arena, config.receive_window, receive_first);
    channels_.push_back(std::move(made));  // What finds no memory until here leaves no channel.
    channel_of_host_.insert(host_key(blob.host, lane), index);
  } else {
    parts_.contexts.remove(now, {ContextKind::kTpChannel, index});
    channels_[index]->send.reset(send_first);
    channels_[index]->receive.reset(receive_first);
    if (!known || blob.first_incarnation != channels_[index]->peer_first_incarnation) {
      parts_.load_store.reset(index, first_tassn);
    }
  }
  form_channel_ = kNoSlot;
  TpChannel& made = *channels_[index];
  made.remote = blob.host;
  made.lane = lane;
  made.kind = kind_of(lane);
  made.general = made.general || made.kind != ChannelKind::kReliable;
  set_fused(made, receive_first);
  if (made.kind == ChannelKind::kCompact) open_compact(index);
  made.incarnation = incarnation;
  made.failures = failed;
  if (failed > 0) note_failed();
  made.peer_first_incarnation = blob.first_incarnation;
  made.local_tpn = tpn_toward(blob.host, incarnation, lane);
  made.remote_tpn = tpn_toward(config.host, incarnation, lane);
  ++made.generation;
  made.requests_max = blob.inbound_messages;
  if (made.kind == ChannelKind::kCompact)
    made.requests_max = std::min(made.requests_max, CompactPair::kWindow);
  made.mtu = std::min(config.mtu, blob.mtu);
  // UDP source ports from 49152 on (RFC 6335): one per channel, so that a flow keeps its path.
  made.entropy = static_cast<std::uint16_t>(
      49152U + (config.host.number * 31U + blob.host.number + lane * 4099U) % 16384U);
  made.selective = config.recovery == LossRecovery::kSelective && blob.recovery == LossRecovery::kSelective;
  made.send.set_limit(std::min(config.send_window, blob.receive_window));
  made.tpmsn_next = 0;
  made.send_cursor = send_first;
  made.receive_first = receive_first;
  made.messages_delivered = 0;
  made.naked = 0;
  congestion_.open(index, made.mtu, send_first, receive_first);
  step(now, index, ChannelEvent::kOpen);
  parts_.contexts.add({ContextKind::kTpChannel, index});
  return index;
}

/// Gives a fused channel its window, and takes that of another one back: the memory of an arena serves the
/// next.
void TpLayer::set_fused(TpChannel& channel, std::uint64_t first) {
  if (channel.kind != ChannelKind::kFused) {
    if (channel.fused != nullptr) spare_fused_.push_back(std::move(channel.fused));
    return;
  }
  if (channel.fused == nullptr && !spare_fused_.empty()) {
    channel.fused = std::move(spare_fused_.back());
    spare_fused_.pop_back();
  }
  if (channel.fused == nullptr) {
    if (fused_windows_ == spare_fused_.capacity()) spare_fused_.reserve(2 * fused_windows_ + 1);
    channel.fused = std::make_unique<FusedWindow>(parts_.arena, parts_.config.receive_window, first);
    ++fused_windows_;
  } else {
    channel.fused->reset(first);
  }
}

}  // namespace wharf::ub
