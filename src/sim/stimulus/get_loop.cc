// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/get_loop.h"

namespace wharf::sim {

GetLoop::GetLoop(Simulation& simulation, const std::vector<RequestSink*>& sinks, const DmaConfig& dma,
                 const GetLoopConfig& config, std::uint64_t base)
    : simulation_(simulation),
      config_(config),
      base_(base),
      ports_(static_cast<std::uint32_t>(sinks.size())),
      engine_(simulation, *sinks.front(), dma, "nic"),
      gets_(config.outstanding) {
  engine_.connect(*this);
  for (std::uint32_t pair = 0; pair < config.queue_pairs; ++pair) {
    for (RequestSink* const sink : sinks) engine_.add_stream({0, pair + 1}, config.source, sink);
  }
}

void GetLoop::start() {
  begin_ = simulation_.now();
  for (std::uint32_t slot = 0; slot < config_.outstanding; ++slot) begin_get(begin_, slot);
}

void GetLoop::begin_get(TimePs now, std::uint32_t slot) {
  if (begun_ == config_.gets) return;
  gets_[slot] = {begun_++ % config_.items, 0, 0};
  send_phase(now, slot);
}

void GetLoop::send_phase(TimePs now, std::uint32_t slot) {
  Get& get = gets_[slot];
  const std::uint32_t phase = config_.parts[get.next].phase;
  const std::uint32_t first = get.next;
  while (get.next < config_.parts.size() && config_.parts[get.next].phase == phase) {
    const GetPart& part = config_.parts[get.next];
    DmaAccess access;
    access.kind = part.is_atomic ? wharf::ordering::Kind::kAtomic : wharf::ordering::Kind::kRead;
    access.label = access.first_label = access.last_label = part.label;
    // One issue slot per get: it is one descriptor for its device.
    access.with_previous = get.next > first && part.port == config_.parts[first].port;
    access.ticket = slot;
    access.address = base_ + get.item * config_.item_bytes + part.offset;
    access.length = part.length;
    ++get.pending;
    ++get.next;
    engine_.start(now, slot % config_.queue_pairs * ports_ + part.port, access);
  }
}

void GetLoop::dma_done(TimePs now, std::uint32_t, std::uint64_t ticket, const std::array<std::uint64_t, 2>&) {
  const auto slot = static_cast<std::uint32_t>(ticket);
  Get& get = gets_[slot];
  if (--get.pending > 0) return;
  if (get.next < config_.parts.size()) {
    send_phase(now, slot);
    return;
  }
  last_ = now;
  if (++done_ == config_.gets) {
    simulation_.stop();
  } else {
    begin_get(now, slot);
  }
}

double GetLoop::million_gets_per_second() const {
  return static_cast<double>(done_) / (static_cast<double>(elapsed().ps) * 1e-6);
}

}  // namespace wharf::sim
