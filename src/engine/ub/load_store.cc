// SPDX-License-Identifier: Apache-2.0
// Loads and stores of this host: slots, re-issue, answers. [UB-Base 2.0.1 8.3]
#include "engine/ub/load_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ub/engine_parts.h"
#include "wire/address_plan.h"

namespace wharf::ub {

using engine::PostStatus;
using verbs::CompletionStatus;

LoadStorePath::LoadStorePath(EngineParts& parts)
    : parts_(parts),
      slots_(parts.config.load_store_slots),
      requests_(parts.config.load_store_slots),
      results_(parts.config.load_store_slots) {
  timers_.reserve(parts.config.load_store_slots);
}

void LoadStorePath::open(std::uint32_t channel) {
  if (paths_.size() <= channel) paths_.resize(channel + 1);
  paths_[channel] = std::make_unique<Path>();
}

void LoadStorePath::reset(TimePs, std::uint32_t channel) {
  for (std::uint32_t index = 0; index < slots_.capacity(); ++index) {
    if (slots_.is_used(index) && slots_[index].channel == channel) {
      finish_slot(index, CompletionStatus::kRetryExhausted, {});
    }
  }
  *paths_[channel] = Path{};
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
  Path& path = *paths_[target->channel];
  if (slots_.in_use() + results_.size() >= parts_.config.load_store_slots ||
      path.tassn_next - path.tassn_oldest >= kTassnSpan) {
    return PostStatus::kQueueFull;
  }
  const std::uint32_t index = slots_.acquire();
  Slot& slot = slots_[index];
  slot.access = access;
  slot.channel = target->channel;
  slot.tassn = path.tassn_next++;
  slot.timer = {};
  slot.sent_at = kNever;
  slot.queued = false;
  path.slot_of[slot.tassn % kTassnSpan] = static_cast<std::uint16_t>(index + 1);
  if (store) {
    parts_.payloads.retain(access.data.buffer);
  } else {
    slot.access.data = {};
  }
  ++parts_.counters.load_store_issued;
  queue_request(index);
  static_cast<void>(now);
  return PostStatus::kOk;
}

bool LoadStorePath::whole(const verbs::LoadStore& access) { return access.byte_mask == ~std::uint64_t{0}; }

void LoadStorePath::queue_request(std::uint32_t index) {
  if (slots_[index].queued) return;
  slots_[index].queued = true;
  requests_.push_back(index);
}

void LoadStorePath::finish_slot(std::uint32_t index, CompletionStatus status, const wire::Payload& data) {
  Slot& slot = slots_[index];
  timers_.set(index, kNever);
  Path& path = *paths_[slot.channel];
  path.slot_of[slot.tassn % kTassnSpan] = 0;
  while (path.tassn_oldest < path.tassn_next && path.slot_of[path.tassn_oldest % kTassnSpan] == 0) {
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
      header.opcode = wire::TaOpcode::kWrite;
      out.payload = slot.access.data;
      parts_.payloads.retain(out.payload.buffer);
    } else {
      header.opcode = wire::TaOpcode::kWriteByteEnable;
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
  slot.timer.start(parts_.config.load_store_reissue, now);
  timers_.set(index, slot.timer.deadline());
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
    receive_response(channel, packet);
  } else {
    ++parts_.counters.dropped_malformed;
  }
}

void LoadStorePath::receive_response(std::uint32_t channel, const wire::Packet& packet) {
  const wire::Atah& response = packet.ub.response;
  const Path& path = *paths_[channel];
  const std::uint16_t place = path.slot_of[response.tassn % kTassnSpan];
  const std::uint32_t index = place == 0 ? kNoSlot : place - 1U;
  if (index == kNoSlot || static_cast<std::uint16_t>(slots_[index].tassn) != response.tassn ||
      slots_[index].sent_at == kNever) {
    ++parts_.counters.load_store_late_answers;
    return;
  }
  const Slot& slot = slots_[index];
  const bool load = slot.access.verb == verbs::Verb::kLoad;
  if (response.poison) {
    finish_slot(index, CompletionStatus::kRemotePoison, {});
  } else if (response.status == wire::UbResponseStatus::kError) {
    // Choice: the compact status has no RSPINFO; 3 is a refused access.
    finish_slot(index, CompletionStatus::kRemoteAccess, {});
  } else if (response.status != wire::UbResponseStatus::kSuccess) {
    finish_slot(index, CompletionStatus::kRemoteOperation, {});
  } else if (response.opcode != (load ? wire::TaOpcode::kReadResponse : wire::TaOpcode::kTaack)) {
    ++parts_.counters.dropped_response;
  } else if (load && packet.payload.length != slot.access.length) {
    finish_slot(index, CompletionStatus::kResponseLength, {});
  } else {
    finish_slot(index, CompletionStatus::kSuccess, load ? packet.payload : wire::Payload{});
  }
}

void LoadStorePath::expire(TimePs now) {
  while (timers_.earliest() <= now) {
    const std::uint32_t index = timers_.earliest_owner();
    Slot& slot = slots_[index];
    switch (slot.timer.expire(parts_.config.load_store_reissue, now)) {
      case reliability::RetransmissionTimer::Expiry::kNotDue:
        break;
      case reliability::RetransmissionTimer::Expiry::kRetransmit:
        queue_request(index);
        break;
      case reliability::RetransmissionTimer::Expiry::kExhausted:
        ++parts_.counters.load_store_expired;
        finish_slot(index, CompletionStatus::kRetryExhausted, {});
        continue;
    }
    timers_.set(index, slot.timer.deadline());
  }
}

void LoadStorePath::describe_waiting(std::vector<std::string>& out) const {
  for (std::uint32_t index = 0; index < slots_.capacity(); ++index) {
    if (!slots_.is_used(index)) continue;
    const Slot& slot = slots_[index];
    out.push_back(fmt::format("{} {} to host {} (TASSN {}): waits for {}", verbs::name(slot.access.verb),
                              slot.access.tag, parts_.tp.channel(slot.channel).remote.number,
                              slot.tassn & 0xffffU, slot.queued ? "the link" : "its answer"));
  }
}

}  // namespace wharf::ub
