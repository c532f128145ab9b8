// SPDX-License-Identifier: Apache-2.0
// Loads and stores of this host: slots, re-issue, answers. [UB-Base 2.0.1 8.3]
#include "engine/ub/load_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/line.h"
#include "engine/ub/engine_parts.h"
#include "wire/address_plan.h"

namespace wharf::ub {

using engine::PostStatus;
using verbs::CompletionStatus;

LoadStorePath::LoadStorePath(EngineParts& parts)
    : parts_(parts),
      slots_(parts.config.load_store_slots),
      slot_of_(parts.config.load_store_slots),
      services_(parts.config.load_store_services),
      requests_(parts.config.load_store_slots),
      responses_(parts.config.load_store_services),
      results_(parts.config.load_store_slots) {
  timers_.reserve(parts.config.load_store_slots);
}

void LoadStorePath::open(std::uint32_t channel, std::uint16_t first) {
  if (paths_.size() <= channel) paths_.resize(channel + 1);
  paths_[channel] = std::make_unique<Path>(first);
  timers_.reserve(path_timer(channel) + 1);
  probes_.reserve(paths_.size());
}

void LoadStorePath::reset(std::uint32_t channel, std::uint16_t first) {
  timers_.set(path_timer(channel), kNever);
  for (std::uint32_t index = 0; index < slots_.capacity(); ++index) {
    if (slots_.is_used(index) && slots_[index].channel == channel) {
      finish_slot(index, CompletionStatus::kRetryExhausted, {});
    }
  }
  const bool queued = paths_[channel]->probe_queued;
  *paths_[channel] = Path(first);
  paths_[channel]->probe_queued = queued;
}

bool LoadStorePath::serves(std::uint32_t channel) const {
  for (std::uint32_t index = 0; index < services_.capacity(); ++index) {
    if (services_.is_used(index) && services_[index].channel == channel) return true;
  }
  return false;
}

PostStatus LoadStorePath::issue(TimePs now, const verbs::LoadStore& access) {
  if (!verbs::is_load_store(access.verb)) return PostStatus::kUnsupported;
  const Peer* target = parts_.initiator.peer(access.peer);
  if (target == nullptr || access.remote.token.id >= (1U << 20U) ||
      !wire::compact_access(access.remote.address, access.length)) {
    return PostStatus::kBadRequest;
  }
  // CNA16 addresses 4096 hosts.
  if (target->host.number >= wire::kCna16Hosts || parts_.config.host.number >= wire::kCna16Hosts) {
    return PostStatus::kUnsupported;
  }
  const bool store = access.verb == verbs::Verb::kStore;
  if (store && (access.data.length != access.length || (access.length != kLineBytes && !whole(access)))) {
    return PostStatus::kBadRequest;
  }
  if (slots_.in_use() + results_.size() >= parts_.config.load_store_slots) return PostStatus::kQueueFull;
  const std::uint32_t index = slots_.acquire();
  Slot& slot = slots_[index];
  slot.access = access;
  slot.channel = target->home;
  slot.timer = {};
  slot.sent_at = kNever;
  slot.numbered = false;
  slot.given_up = false;
  slot.queued = false;
  if (store) {
    parts_.payloads.retain(access.data.buffer);
  } else {
    slot.access.data = {};
  }
  ++parts_.counters.load_store_issued;
  Path& path = *paths_[target->home];
  if (path.waiting.empty() && may_number(now, path)) {
    number(index);
    return PostStatus::kOk;
  }
  // It waits as long as it would wait for an answer.
  path.waiting.push(slots_, index, &Slot::next);
  slot.timer.start(parts_.config.load_store_reissue, now);
  timers_.set(index, slot.timer.deadline());
  serve_waiting(now, target->home);
  return PostStatus::kOk;
}

bool LoadStorePath::may_number(TimePs now, const Path& path) const {
  if (path.tassn_next - path.tassn_oldest >= kTassnSpan || silent(path)) return false;
  if (path.tassn_next % kReplayWindow != 0) return true;
  // The numbers come round: the target takes them for new from here on, and those of the next block soon.
  return comes_round_at(path) <= now;
}

TimePs LoadStorePath::comes_round_at(const Path& path) {
  const std::size_t block = path.tassn_next / kReplayWindow % path.usable_at.size();
  return max(path.usable_at[block], path.usable_at[(block + 1) % path.usable_at.size()]);
}

void LoadStorePath::number(std::uint32_t index) {
  Slot& slot = slots_[index];
  Path& path = *paths_[slot.channel];
  slot.tassn = path.tassn_next++;
  slot.numbered = true;
  slot_of_.insert(outstanding_key(slot.channel, slot.tassn), index);
  queue_request(index);
}

// Gives TASSNs to those that wait, as far as there are any. If there is none because the target has been
// silent for so long that its record may be a whole span behind, a probe finds out: a load of its own,
// repeated under one TASSN until it is answered, whose data nobody wants.
void LoadStorePath::serve_waiting(TimePs now, std::uint32_t channel) {
  Path& path = *paths_[channel];
  while (!path.waiting.empty() && may_number(now, path)) {
    const std::uint32_t index = path.waiting.pop(slots_, &Slot::next);
    slots_[index].timer.stop();
    timers_.set(index, kNever);
    number(index);
  }
  if (path.waiting.empty()) {
    if (!path.probe_queued) timers_.set(path_timer(channel), kNever);
    return;
  }
  if (timers_.get(path_timer(channel)) != kNever || path.probe_queued) return;
  if (!silent(path)) {
    if (path.tassn_next - path.tassn_oldest >= kTassnSpan) return;  // An answer, or its absence, will tell.
    timers_.set(path_timer(channel), comes_round_at(path));
    return;
  }
  if (path.tassn_oldest != path.tassn_next) return;  // Requests that are still repeated do the probing.
  if (!path.probing) {
    path.probing = true;
    path.probe_attempts = 0;
    ++path.tassn_next;
    path.tassn_oldest = path.tassn_next;
  }
  queue_probe(channel);
}

void LoadStorePath::queue_probe(std::uint32_t channel) {
  paths_[channel]->probe_queued = true;
  probes_.push_back(channel);
  parts_.attention |= kUrgent;
}

bool LoadStorePath::transmit_probe(TimePs now, wire::Packet& out) {
  while (!probes_.empty()) {
    const std::uint32_t channel = probes_.front();
    probes_.pop_front();
    Path& path = *paths_[channel];
    path.probe_queued = false;
    if (!path.probing || path.waiting.empty()) continue;
    const verbs::LoadStore& wanted = slots_[path.waiting.head].access;
    address_packet(parts_.tp.channel(channel).remote, out);
    wire::Btah& header = wire::use_request(out.ub);
    header.opcode = wire::TaOpcode::kRead;
    header.tassn = static_cast<std::uint16_t>(path.tassn_next - 1);
    header.retry = path.probe_attempts > 0;
    out.ub.extension.maetah = {wanted.remote.address, wanted.remote.token.id, kLineBytes};
    out.ub.extension.token_value = wanted.remote.token.value;
    header.token_value_present = out.ub.extension.token_value != 0;
    set_header_bytes(header.opcode, header.token_value_present, out);
    path.usable_at[header.tassn / kReplayWindow] = now + parts_.config.load_store_quarantine;
    const reliability::RetransmissionRule& rule = parts_.config.load_store_reissue;
    timers_.set(path_timer(channel), now + min(rule.timeout(path.probe_attempts), seconds(1)));
    path.probe_attempts = std::min(path.probe_attempts + 1, rule.attempts_max);
    ++parts_.counters.load_store_probes;
    ++parts_.counters.packets_sent;
    return true;
  }
  return false;
}

void LoadStorePath::answered(TimePs now, std::uint32_t channel, std::uint64_t tassn) {
  Path& path = *paths_[channel];
  path.answered_end = std::max(path.answered_end, tassn + 1);
  if (!path.waiting.empty()) {
    timers_.set(path_timer(channel), kNever);
    serve_waiting(now, channel);
  }
}

bool LoadStorePath::whole(const verbs::LoadStore& access) { return access.byte_mask == ~std::uint64_t{0}; }

void LoadStorePath::queue_request(std::uint32_t index) {
  if (slots_[index].queued) return;
  slots_[index].queued = true;
  requests_.push_back(index);
  parts_.attention |= kUrgent;
}

void LoadStorePath::finish_slot(std::uint32_t index, CompletionStatus status, const wire::Payload& data) {
  Slot& slot = slots_[index];
  timers_.set(index, kNever);
  Path& path = *paths_[slot.channel];
  if (slot.numbered) {
    slot_of_.erase(outstanding_key(slot.channel, slot.tassn));
  } else {
    path.waiting.remove(slots_, index, &Slot::next);
  }
  while (path.tassn_oldest < path.tassn_next &&
         !slot_of_.contains(outstanding_key(slot.channel, path.tassn_oldest))) {
    ++path.tassn_oldest;
  }
  parts_.payloads.release(slot.access.data.buffer);
  parts_.payloads.retain(data.buffer);
  results_.push_back({slot.access.tag, status, data, slot.access.operation});
  if (slot.queued) {
    // It waits to be sent (again): take it out of the queue.
    for (std::size_t left = requests_.size(); left > 0; --left) {
      const std::uint32_t other = requests_.front();
      requests_.pop_front();
      if (other != index) requests_.push_back(other);
    }
  }
  slots_.release(index);
}

void LoadStorePath::address_packet(wire::HostAddress remote, wire::Packet& out) const {
  std::construct_at(&out);  // In place: an assignment builds it elsewhere and copies.
  out.traffic_class = wire::TrafficClass::kLoadStore;
  out.entropy = static_cast<std::uint16_t>(remote.number);
  out.source = parts_.config.host;
  out.destination = remote;
  out.ub.encapsulation = wire::UbEncapsulation::kMemoryOnLink;
  out.ub.transport = wire::UbTransport::kBypass;
}

void LoadStorePath::set_header_bytes(wire::TaOpcode opcode, bool has_token_value, wire::Packet& out) {
  std::uint16_t& known = header_bytes_[2 * static_cast<std::size_t>(opcode) + (has_token_value ? 1 : 0)];
  if (known == 0) known = static_cast<std::uint16_t>(wire::wire_header_bytes(out));
  out.header_bytes = known;
}

bool LoadStorePath::transmit_request(TimePs now, wire::Packet& out) {
  if (requests_.empty()) return false;
  const std::uint32_t index = requests_.front();
  requests_.pop_front();
  Slot& slot = slots_[index];
  slot.queued = false;
  address_packet(parts_.tp.channel(slot.channel).remote, out);
  out.operation = slot.access.operation;
  wire::Btah& header = wire::use_request(out.ub);
  header.tassn = static_cast<std::uint16_t>(slot.tassn);
  header.retry = slot.sent_at != kNever;
  wire::UbPacket::RequestExtension& extension = out.ub.extension;
  extension.maetah = {slot.access.remote.address, slot.access.remote.token.id, slot.access.length};
  extension.token_value = slot.access.remote.token.value;
  header.token_value_present = extension.token_value != 0;
  header.opcode = wire::TaOpcode::kRead;
  if (slot.access.verb == verbs::Verb::kStore) {
    if (whole(slot.access)) {
      header.opcode = slot.access.write_back ? wire::TaOpcode::kWriteback : wire::TaOpcode::kWrite;
      out.payload = slot.access.data;
      parts_.payloads.retain(out.payload.buffer);
    } else {
      header.opcode =
          slot.access.write_back ? wire::TaOpcode::kWritebackByteEnable : wire::TaOpcode::kWriteByteEnable;
      const std::uint32_t mask_bytes = wire::byte_enable_bytes(kLineBytes);
      const wire::BufferId buffer = parts_.payloads.acquire(mask_bytes + kLineBytes);
      std::byte* bytes = parts_.payloads.data(buffer);
      store_le64(bytes, slot.access.byte_mask);
      wire::fill(slot.access.data, std::span(bytes + mask_bytes, kLineBytes));
      out.payload = wire::bytes_payload(bytes, mask_bytes + kLineBytes, buffer);
    }
  }
  if (slot.sent_at != kNever) {
    ++parts_.counters.load_store_reissued;
    parts_.span(slot.access.operation, trace::Stage::kRetransmissionWait, slot.sent_at, now);
  }
  set_header_bytes(header.opcode, header.token_value_present, out);
  slot.sent_at = now;
  paths_[slot.channel]->usable_at[header.tassn / kReplayWindow] = now + parts_.config.load_store_quarantine;
  if (!slot.given_up) {
    slot.timer.start(parts_.config.load_store_reissue, now);
    timers_.set(index, slot.timer.deadline());
  }
  ++parts_.counters.packets_sent;
  return true;
}

void LoadStorePath::receive(TimePs now, const wire::Packet& packet) {
  const std::uint32_t channel = parts_.tp.find(packet.source);
  if (channel == kNoSlot) {
    ++parts_.counters.dropped_unknown_channel;
  } else if (packet.ub.encapsulation != wire::UbEncapsulation::kMemoryOnLink) {
    ++parts_.counters.dropped_encapsulation;
  } else if (packet.ub.transaction == wire::UbTransaction::kRequest) {
    receive_request(now, channel, packet);
  } else if (packet.ub.transaction == wire::UbTransaction::kResponse) {
    receive_response(now, channel, packet);
  } else {
    ++parts_.counters.dropped_malformed;
  }
}

void LoadStorePath::receive_response(TimePs now, std::uint32_t channel, const wire::Packet& packet) {
  const wire::Atah& response = packet.ub.response;
  Path& path = *paths_[channel];
  if (path.probing && static_cast<std::uint16_t>(path.tassn_next - 1) == response.tassn) {
    path.probing = false;
    answered(now, channel, path.tassn_next - 1);
    return;
  }
  const std::uint32_t* const found = slot_of_.find(outstanding_key(channel, response.tassn));
  const std::uint32_t index = found == nullptr ? kNoSlot : *found;
  if (index == kNoSlot || static_cast<std::uint16_t>(slots_[index].tassn) != response.tassn ||
      slots_[index].sent_at == kNever) {
    ++parts_.counters.load_store_late_answers;
    return;
  }
  const Slot& slot = slots_[index];
  const bool load = slot.access.verb == verbs::Verb::kLoad;
  const std::uint64_t tassn = slot.tassn;
  if (response.poison) {
    finish_slot(index, CompletionStatus::kRemotePoison, {});
  } else if (response.status == wire::UbResponseStatus::kError) {
    // Choice: the compact status has no RSPINFO; 3 is a refused access.
    finish_slot(index, CompletionStatus::kRemoteAccess, {});
  } else if (response.status != wire::UbResponseStatus::kSuccess) {
    finish_slot(index, CompletionStatus::kRemoteOperation, {});
  } else if (response.opcode != (load ? wire::TaOpcode::kReadResponse : wire::TaOpcode::kTaack)) {
    ++parts_.counters.dropped_response;
    return;
  } else if (load && packet.payload.length != slot.access.length) {
    finish_slot(index, CompletionStatus::kResponseLength, {});
  } else {
    finish_slot(index, CompletionStatus::kSuccess, load ? packet.payload : wire::Payload{});
  }
  answered(now, channel, tassn);
}

void LoadStorePath::expire(TimePs now) {
  while (timers_.earliest() <= now) {
    const std::uint32_t index = timers_.earliest_owner();
    timers_.set(index, kNever);
    if (index >= slots_.capacity()) {
      serve_waiting(now, index - slots_.capacity());
      continue;
    }
    Slot& slot = slots_[index];
    if (slot.given_up) {
      give_up(now, index);
      continue;
    }
    switch (slot.timer.expire(parts_.config.load_store_reissue, now)) {
      case reliability::RetransmissionTimer::Expiry::kNotDue:
        break;
      case reliability::RetransmissionTimer::Expiry::kRetransmit:
        if (slot.numbered) queue_request(index);
        break;
      case reliability::RetransmissionTimer::Expiry::kExhausted:
        if (slot.numbered || silent(*paths_[slot.channel])) {
          give_up(now, index);
          continue;
        }
        // The target lives; it is the numbers that have to come round.
        slot.timer.start(parts_.config.load_store_reissue, now);
        break;
    }
    timers_.set(index, slot.timer.deadline());
  }
}

// A store that its owner believes dead must not come to life behind a newer one.
void LoadStorePath::give_up(TimePs now, std::uint32_t index) {
  Slot& slot = slots_[index];
  const TimePs over = slot.sent_at == kNever ? now : slot.sent_at + parts_.config.load_store_quarantine;
  if (over > now) {
    slot.given_up = true;
    timers_.set(index, over);
    return;
  }
  const std::uint32_t channel = slot.channel;
  ++parts_.counters.load_store_expired;
  finish_slot(index, CompletionStatus::kRetryExhausted, {});
  if (!paths_[channel]->waiting.empty()) serve_waiting(now, channel);
}

void LoadStorePath::describe_waiting(std::vector<std::string>& out) const {
  for (std::uint32_t index = 0; index < slots_.capacity(); ++index) {
    if (!slots_.is_used(index)) continue;
    const Slot& slot = slots_[index];
    out.push_back(fmt::format("{} {} to host {} (TASSN {}): waits for {}", verbs::name(slot.access.verb),
                              slot.access.tag, parts_.tp.channel(slot.channel).remote.number,
                              slot.tassn & 0xffffU,
                              !slot.numbered ? "a TASSN"
                              : slot.queued  ? "the link"
                                             : "its answer"));
  }
}

void LoadStorePath::release_buffers() {
  for (std::uint32_t index = 0; index < slots_.extent(); ++index) {
    if (slots_.is_used(index)) parts_.payloads.release(slots_[index].access.data.buffer);
  }
  for (std::uint32_t index = 0; index < services_.extent(); ++index) {
    if (services_.is_used(index)) parts_.payloads.release(services_[index].data.buffer);
  }
  for (; !results_.empty(); results_.pop_front()) parts_.payloads.release(results_.front().data.buffer);
}

}  // namespace wharf::ub
