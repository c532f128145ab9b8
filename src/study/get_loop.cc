// SPDX-License-Identifier: Apache-2.0
#include "study/get_loop.h"

#include <cstring>

namespace wharf::study {

GetLoop::GetLoop(sim::Simulation& simulation, const std::vector<sim::RequestSink*>& sinks,
                 const sim::DmaConfig& dma, const GetLoopConfig& config, std::uint64_t base)
    : simulation_(simulation),
      config_(config),
      base_(base),
      ports_(static_cast<std::uint32_t>(sinks.size())),
      engine_(simulation, *sinks.front(), dma, "nic"),
      gets_(config.outstanding) {
  engine_.connect(*this);
  for (std::uint32_t pair = 0; pair < config.queue_pairs; ++pair) {
    for (sim::RequestSink* const sink : sinks) engine_.add_stream({0, pair + 1}, config.source, sink);
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
    sim::DmaAccess access;
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

LineWriter::LineWriter(sim::Simulation& simulation, sim::CoreCache& cache, std::uint64_t base,
                       std::uint32_t item_bytes, std::uint32_t items, TimePs interval, std::uint64_t seed)
    : simulation_(simulation),
      cache_(cache),
      base_(base),
      item_bytes_(item_bytes),
      items_(items),
      interval_(interval),
      random_(seed, "writer") {
  simulation.add(*this, "writer" + std::to_string(seed));
  cache.connect(*this);
}

void LineWriter::handle(const sim::Event& event) {
  begun_ = event.time;
  std::array<std::byte, 8> value;
  std::memcpy(value.data(), &writes_, sizeof writes_);
  const std::uint64_t item = random_.below(items_);
  const std::uint64_t line = 1 + random_.below(item_bytes_ / 64 - 1);
  cache_.store(event.time, 0, base_ + item * item_bytes_ + line * 64, value);
}

void LineWriter::cache_done(TimePs now, const sim::CacheAnswer&) {
  ++writes_;
  simulation_.schedule(max(now, begun_ + interval_), id(), id(), 0, 0);
}

void warm_lines(sim::Simulation& simulation, sim::CoherentHost& host, std::uint32_t core, std::uint64_t base,
                std::uint64_t bytes) {
  const std::array<std::byte, 8> zero{};
  for (std::uint64_t at = 0; at < bytes; at += 64)
    host.core_cache(core).store(simulation.now(), 0, base + at, zero);
  simulation.run_until(simulation.now() + microseconds(200));
}

}  // namespace wharf::study
