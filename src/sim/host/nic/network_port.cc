// SPDX-License-Identifier: Apache-2.0
#include "sim/host/nic/network_port.h"

#include <fmt/format.h>

#include <algorithm>

namespace wharf::sim {
namespace {

constexpr std::uint32_t kUsualPackets = 16;

}  // namespace

NetworkPort::NetworkPort(Simulation& simulation, Nic& nic, wire::PayloadPool& payloads, trace::Tracer& tracer,
                         const LinkPace& pace, bool steady)
    : simulation_(simulation),
      nic_(nic),
      payloads_(payloads),
      tracer_(tracer),
      pace_(pace),
      port_free_(pace.ports()),
      leaving_(kUsualPackets),
      spare_(leaving_.acquire()),
      queue_(kUsualPackets),
      arrived_(kUsualPackets) {
  WHARF_CHECK(pace.ports() == 1 || !steady);
  steady_ = steady;
}

void NetworkPort::attach() {
  arriving_.emplace(simulation_, id(), id(), 0);
  nic_.connect_wire(*this);
}

void NetworkPort::send(TimePs head, TimePs tail) {
  Leaving& entry = leaving_[spare_];
  entry.head = head;
  entry.tail = tail;
  entry.sending = pace_.sending_time(entry.packet);
  if (port_free_.size() > 1) entry.port = pace_.port_of(entry.packet);
  if (steady_) {
    free_at_ = max(max(free_at_, head) + entry.sending, tail);
  } else {
    queued_[static_cast<std::size_t>(entry.packet.traffic_class)] += share_of(entry.sending);
  }
  if (queue_.full()) queue_.reserve(2 * queue_.capacity());
  queue_.push_back(spare_);
  spare_ = take_slot(leaving_);
}

bool NetworkPort::take(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed, wire::Packet& out,
                       TimePs& whole_at) {
  asked_at_ = now;
  const std::size_t count = queue_.size();
  for (std::size_t at = 0; at < count; ++at) {
    const std::uint32_t slot = queue_[at];
    const Leaving& entry = leaving_[slot];
    if (entry.head > now) return false;
    if (entry.port != port || (wire::mask_of(entry.packet.traffic_class) & allowed) == 0) continue;
    out = entry.packet;
    whole_at = entry.tail;
    if (tracer_.wants(trace::EventKind::kPacketSent)) [[unlikely]]
      report(trace::EventKind::kPacketSent, out, now);
    if (!steady_) {
      queued_[static_cast<std::size_t>(entry.packet.traffic_class)] -= share_of(entry.sending);
      port_free_[port] = max(now + entry.sending, entry.tail);
      free_at_ = *std::min_element(port_free_.begin(), port_free_.end());
      nic_.link_moved(now);
    }
    // Those in front of it, which the link may not carry now, keep their order.
    for (std::size_t behind = at; behind > 0; --behind) queue_[behind] = queue_[behind - 1];
    queue_.pop_front();
    leaving_.release(slot);
    return true;
  }
  return false;
}

void NetworkPort::arrive(TimePs now, const wire::Packet& packet) {
  nic_.prefetch(packet);
  const std::uint32_t slot = take_slot(arrived_);
  Arrived& entry = arrived_[slot];
  entry.packet = packet;
  entry.at = now;
  payloads_.retain(packet.payload.buffer);
  // An arrival costs one event: the NIC is told when the packet has passed its pipeline, if that is free.
  TimePs due = now + nic_.receive_latency(packet);
  if (!arriving_->empty()) due = max(due, arriving_->last_time());
  arriving_->push(max(due, simulation_.now()), slot);
}

void NetworkPort::handle(const Event&) {
  const std::uint32_t slot = arriving_->take();
  const Arrived& entry = arrived_[slot];
  if (tracer_.wants(trace::EventKind::kPacketReceived)) [[unlikely]]
    report(trace::EventKind::kPacketReceived, entry.packet, entry.at);
  const wire::BufferId buffer = entry.packet.payload.buffer;
  nic_.receive(entry.packet, entry.at);
  payloads_.release(buffer);
  arrived_.release(slot);
}

void NetworkPort::report(trace::EventKind kind, const wire::Packet& packet, TimePs at) {
  tracer_.emit({.kind = kind,
                .host = packet.source.number,
                .component = kComponent,
                .begin = at,
                .end = at,
                .operation = packet.operation,
                .packet = &packet});
}

void NetworkPort::describe_waiting(std::vector<std::string>& lines) const {
  if (!queue_.empty()) lines.push_back(fmt::format("{} packets wait for the link", queue_.size()));
  if (!arriving_->empty()) lines.push_back(fmt::format("{} packets are being received", arriving_->size()));
}

}  // namespace wharf::sim
