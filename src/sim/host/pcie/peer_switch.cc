// SPDX-License-Identifier: Apache-2.0
#include "sim/host/pcie/peer_switch.h"

#include <memory>
#include <utility>

#include "base/check.h"
#include "sim/kernel/keep_slot.h"

namespace wharf::sim {

PeerDevice::PeerDevice(Simulation& simulation, const IoLinkConfig& link, TimePs service,
                       PeerBusyFrom busy_from, std::string name)
    : simulation_(simulation),
      service_(service),
      busy_from_(busy_from),
      link_(link, wire::TlpOrderingForm::kToday),
      responses_(64) {
  simulation.add(*this, std::move(name));
}

bool PeerDevice::can_submit(ordering::Kind) {
  if (!busy_) return true;
  refused_ = true;
  return false;
}

void PeerDevice::submit(TimePs now, const ordering::Request& request) {
  WHARF_CHECK(!busy_ && request.kind == ordering::Kind::kRead);
  busy_ = true;
  const TimePs arrives = link_.send_up(now, request);
  const TimePs done = max(arrives, free_from_) + service_;
  free_from_ = done;
  ordering::Response response;
  response.is_last = request.is_last;
  response.tag = request.tag;
  response.domain = request.domain;
  response.number = request.number;
  response.line = request.line;
  response.mask = request.mask;
  const TimePs answered = link_.send_down(now, done, response);
  simulation_.schedule(answered, id(), id(), kAnswer, keep_slot(responses_, response));
  // At its door, the next request may be on its way while this one is served.
  const TimePs takes_next = busy_from_ == PeerBusyFrom::kArrival ? max(now, done - link_.way_up()) : done;
  simulation_.schedule(takes_next, id(), id(), kFree, 0);
}

void PeerDevice::handle(const Event& event) {
  if (event.kind == kFree) {
    busy_ = false;
    if (std::exchange(refused_, false)) device_->credits_back(event.time);
    return;
  }
  device_->answered(event.time, take_slot(responses_, event.argument));
}

PeerSwitch::PeerSwitch(Simulation& simulation, const PeerSwitchConfig& config,
                       std::vector<RequestSink*> destinations, std::string name)
    : simulation_(simulation),
      config_(config),
      destinations_(std::move(destinations)),
      queues_(config.virtual_output_queues ? destinations_.size() : 1) {
  for (Ring<Waiting>& queue : queues_) queue.reserve(config.entries);
  simulation.add(*this, std::move(name));
  for (RequestSink* destination : destinations_) destination->connect(*this);
}

RequestSink& PeerSwitch::add_port(std::uint32_t destination) {
  ports_.push_back(std::make_unique<Port>(*this, static_cast<std::uint32_t>(ports_.size()), destination));
  return *ports_.back();
}

bool PeerSwitch::has_place(std::uint32_t port, std::uint32_t destination) {
  const Ring<Waiting>& queue = queues_[config_.virtual_output_queues ? destination : 0];
  if (queue.size() < config_.entries) return true;
  ports_[port]->refused_ = true;
  return false;
}

void PeerSwitch::enter(TimePs now, std::uint32_t port, std::uint32_t destination,
                       const ordering::Request& request) {
  Waiting waiting{destination, request};
  // Answers come back by the tag; the port is kept in it.
  waiting.request.tag = request.tag * static_cast<std::uint32_t>(ports_.size()) + port;
  queues_[config_.virtual_output_queues ? destination : 0].push_back(waiting);
  forward(now);
}

void PeerSwitch::forward(TimePs now) {
  if (forwarding_) return;
  forwarding_ = true;
  bool moved = true;
  while (moved) {
    moved = false;
    for (Ring<Waiting>& queue : queues_) {
      if (!queue.empty() && forward_one(now, queue)) {
        moved = true;
        tell_one(now);
      }
    }
  }
  forwarding_ = false;
}

bool PeerSwitch::forward_one(TimePs now, Ring<Waiting>& queue) {
  RequestSink& destination = *destinations_[queue.front().destination];
  if (destination.link_free() > now) {
    wake_at(destination.link_free());
    return false;
  }
  if (!destination.can_submit(queue.front().request.kind)) return false;
  destination.submit(now, queue.front().request);
  queue.pop_front();
  return true;
}

void PeerSwitch::wake_at(TimePs at) {
  if (at >= wake_) return;
  wake_ = at;
  simulation_.schedule(at, id(), id(), 0, 0);
}

void PeerSwitch::handle(const Event& event) {
  if (event.time == wake_) wake_ = kNever;
  forward(event.time);
}

/// A place is free: the next port in turn that was refused may try again.
void PeerSwitch::tell_one(TimePs now) {
  const auto count = static_cast<std::uint32_t>(ports_.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    Port& port = *ports_[(next_told_ + i) % count];
    if (!port.refused_) continue;
    port.refused_ = false;
    next_told_ = (next_told_ + i + 1) % count;
    port.device_->credits_back(now);
    return;
  }
}

void PeerSwitch::answered(TimePs now, const ordering::Response& response) {
  ordering::Response own = response;
  const auto count = static_cast<std::uint32_t>(ports_.size());
  own.tag = response.tag / count;
  ports_[response.tag % count]->device_->answered(now, own);
}

void PeerSwitch::describe_waiting(std::vector<std::string>& lines) const {
  for (const Ring<Waiting>& queue : queues_) {
    if (!queue.empty())
      lines.push_back(std::to_string(queue.size()) + " requests wait, the first for destination " +
                      std::to_string(queue.front().destination));
  }
}

}  // namespace wharf::sim
