// SPDX-License-Identifier: Apache-2.0
#include "sim/world/full_host.h"

#include <fmt/format.h>

#include <utility>

#include "sim/fabric/port.h"

namespace wharf::sim {

FullHost::FullHost(const FullHostParts& parts)
    : context_(parts.context),
      number_(parts.number),
      seed_(parts.seed),
      end_(parts.end),
      link_(parts.link),
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
  const std::uint64_t ends = std::uint64_t{packet.source.number} << 32U | packet.destination.number;
  return static_cast<std::uint32_t>(mix_bits(mix_bits(ends) + packet.entropy) % ports_);
}

Result<void> FullHost::attach() {
  port_ = std::make_unique<NetworkPort>(simulation_, host_->nic(), context_.payloads, tracer_, link_,
                                        link_.steady());
  simulation_.add(*port_, fmt::format("host{}.port", number_));
  port_->attach();
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
  const bool given = port_->take(now, port, allowed, packet, whole_at_);
  note_deadline();
  return given;
}

void FullHost::receive(TimePs now, std::uint32_t, const wire::Packet& packet) {
  port_->arrive(now, packet);
  note_deadline();
}

void FullHost::expire(TimePs now) {
  port_->note_asked(now);
  const TimePs end = max(now, allowed_ - picoseconds(1));
  while (simulation_.next_time() <= end && !halted_) {
    if (simulation_.run_until(end).end != RunEnd::kStopped) continue;
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
