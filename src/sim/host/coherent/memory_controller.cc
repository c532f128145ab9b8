// SPDX-License-Identifier: Apache-2.0
#include "sim/host/coherent/memory_controller.h"

#include <algorithm>

#include "base/check.h"

namespace wharf::sim {

MemoryController::MemoryController(const DdrConfig& config)
    : ddr_(config),
      front_end_(config.front_end),
      back_end_(config.back_end),
      read_entries_(config.read_entries),
      write_entries_(config.write_entries),
      high_(std::max(config.write_entries * config.write_high_percent / 100, 1U)),
      low_(std::min(config.write_entries * config.write_low_percent / 100, high_ - 1)),
      channels_(config.channels) {
  for (Channel& channel : channels_) {
    channel.reads.reserve(read_entries_);
    channel.writes.reserve(write_entries_);
  }
}

bool MemoryController::has_room(TimePs now, LineNumber line, bool is_write) {
  const std::uint32_t at = channel_of(line);
  Channel& channel = channels_[at];
  if (!channel.writes.empty()) catch_up(now, at);
  if (is_write) return channel.writes.size() < write_entries_ || holds(channel, channel.leaving, line);
  while (!channel.reads.empty() && channel.reads.front() <= now) channel.reads.pop_front();
  return channel.reads.size() < read_entries_;
}

TimePs MemoryController::room_at(std::uint32_t at, bool is_write) const {
  const Channel& channel = channels_[at];
  // A full queue of writes has reached the high mark since its oldest entry came.
  WHARF_CHECK(!is_write || channel.leaving > 0);
  return is_write ? channel.writes.front().done : channel.reads.front();
}

TimePs MemoryController::read(TimePs now, LineNumber line) {
  Channel& channel = channels_[channel_of(line)];
  const TimePs ready = now + front_end_;
  if (!channel.writes.empty() && holds(channel, 0, line)) {
    ++counters_.forwarded_reads;
    return ready + back_end_;
  }
  const TimePs done = ddr_.serve(ready, line * kLineBytes, false) + back_end_;
  channel.reads.push_back(done);
  return done;
}

void MemoryController::write(TimePs now, LineNumber line) {
  Channel& channel = channels_[channel_of(line)];
  if (holds(channel, channel.leaving, line)) {
    ++counters_.merged_writes;
    return;
  }
  const TimePs ready = now + front_end_;
  channel.writes.push_back({line, kNever});
  if (waiting(channel) == low_ + 1) channel.above_low_from = ready;
  if (waiting(channel) < high_) return;
  ++counters_.drains;
  while (waiting(channel) > low_) {
    ++counters_.drained_writes;
    write_oldest(ready, channel);
  }
}

/// What the channel has done about its writes before somebody arrives at `now`, and whose entries are free.
void MemoryController::catch_up(TimePs now, std::uint32_t at) {
  Channel& channel = channels_[at];
  while (waiting(channel) > low_) {
    const TimePs idle_from = max(channel.above_low_from, ddr_.bus_free(at));
    if (idle_from >= now + front_end_) break;
    ++counters_.idle_writes;
    write_oldest(idle_from, channel);
  }
  while (channel.leaving > 0 && channel.writes.front().done <= now) {
    channel.writes.pop_front();
    --channel.leaving;
  }
}

void MemoryController::write_oldest(TimePs ready, Channel& channel) {
  Write& oldest = channel.writes[channel.leaving];
  oldest.done = ddr_.serve(ready, oldest.line * kLineBytes, true);
  ++channel.leaving;
}

bool MemoryController::holds(const Channel& channel, std::uint32_t first, LineNumber line) const {
  for (std::size_t i = first; i < channel.writes.size(); ++i) {
    if (channel.writes[i].line == line) return true;
  }
  return false;
}

}  // namespace wharf::sim
