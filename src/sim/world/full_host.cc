// SPDX-License-Identifier: Apache-2.0
#include "sim/world/full_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/fabric/port.h"

namespace wharf::sim {

FullHost::FullHost(const FullHostParts& parts)
    : context_(parts.context),
      number_(parts.number),
      seed_(parts.seed),
      end_(parts.end),
      links_(parts.links),
      nics_(parts.nics),
      steady_(std::all_of(links_.begin(), links_.end(), [](const HostLink& link) { return link.steady(); })),
      cores_(parts.cores),
      log_(parts.record_limit, parts.record_reserve),
      records_(tracer_, log_, parts.attribution, parts.number,
               {parts.context.foreign, parts.context.to_close}, simulation_.moment()),
      arena_(std::size_t{4} << 10U) {}

Result<std::unique_ptr<FullHost>> FullHost::create(const HostConfig& config, const FullHostParts& parts) {
  auto full = std::unique_ptr<FullHost>(new FullHost(parts));
  ProgramTally& tally = parts.end.shared != nullptr ? *parts.end.shared : full->own_tally_;
  auto host = Host::create(
      config, static_cast<std::uint16_t>(parts.number),
      {full->simulation_, full->tracer_, parts.context.payloads, full->records_, tally, parts.seed});
  if (!host) return host.error();
  full->host_ = std::move(host).value();
  return full;
}

std::uint32_t HostLink::port_of(const wire::Packet& packet) const {
  const std::uint64_t choice = bond_choice(packet);
  return nics_ != nullptr ? nics_->leaving_port(packet, choice) : static_cast<std::uint32_t>(choice % ports_);
}

Result<void> FullHost::attach() {
  for (std::uint32_t nic = 0; nic < host_->nic_count(); ++nic) {
    ports_.push_back(std::make_unique<NetworkPort>(simulation_, host_->nic(nic), context_.payloads, tracer_,
                                                   links_[nic], steady_));
    simulation_.add(*ports_.back(), nic == 0 ? fmt::format("host{}.port", number_)
                                             : fmt::format("host{}.port{}", number_, nic));
    ports_.back()->attach();
  }
  host_->add_cores(cores_);
  WHARF_TRY(host_->connect_memory());
  note_deadline();
  return {};
}

bool FullHost::begin_run() {
  halted_ = false;
  waited_for_ = programs_running() > 0;
  note_deadline();
  return waited_for_;
}

bool FullHost::transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed,
                        wire::Packet& packet) {
  const auto nics = static_cast<std::uint32_t>(ports_.size());
  const bool given = nics == 1 ? ports_.front()->take(now, port, allowed, packet, whole_at_)
                               : ports_[port % nics]->take(now, port / nics, allowed, packet, whole_at_);
  note_deadline();
  return given;
}

void FullHost::receive(TimePs now, std::uint32_t, const wire::Packet& packet) {
  ports_[nics_ == nullptr ? 0 : nics_->nic_of(packet.destination.number)]->arrive(now, packet);
  note_deadline();
}

void FullHost::expire(TimePs now) {
  for (const std::unique_ptr<NetworkPort>& port : ports_) port->note_asked(now);
  const TimePs end = max(now, allowed_ - picoseconds(1));
  while (simulation_.next_time() <= end && !halted_) {
    if (simulation_.run_until(end).end != RunEnd::kStopped) continue;
    ended_at_ = simulation_.now();
    if (end_.shared != nullptr) {
      halted_ = true;
      *end_.halted = true;
    }
  }
  note_programs();
  note_deadline();
}

void FullHost::note_programs() {
  if (!waited_for_ || programs_running() > 0) return;
  waited_for_ = false;
  ++context_.finished;
}

void FullHost::describe_waiting(std::vector<std::string>& lines) const { host_->describe_waiting(lines); }

}  // namespace wharf::sim
