// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/line_writer.h"

#include <array>
#include <cstring>
#include <string>

#include "base/line.h"

namespace wharf::sim {

LineWriter::LineWriter(Simulation& simulation, CoreCache& cache, std::uint64_t base, std::uint32_t item_bytes,
                       std::uint32_t items, TimePs interval, std::uint64_t seed)
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

void LineWriter::handle(const Event& event) {
  begun_ = event.time;
  std::array<std::byte, 8> value;
  std::memcpy(value.data(), &writes_, sizeof writes_);
  const std::uint64_t item = random_.below(items_);
  const std::uint64_t line = 1 + random_.below(item_bytes_ / kLineBytes - 1);
  cache_.store(event.time, 0, base_ + item * item_bytes_ + line * kLineBytes, value);
}

void LineWriter::cache_done(TimePs now, const CacheAnswer&) {
  ++writes_;
  simulation_.schedule(max(now, begun_ + interval_), id(), id(), 0, 0);
}

void warm_lines(Simulation& simulation, CoherentHost& host, std::uint32_t core, std::uint64_t base,
                std::uint64_t bytes) {
  const std::array<std::byte, 8> zero{};
  for (std::uint64_t at = 0; at < bytes; at += kLineBytes)
    host.core_cache(core).store(simulation.now(), 0, base + at, zero);
  simulation.run_until(simulation.now() + microseconds(200));
}

}  // namespace wharf::sim
