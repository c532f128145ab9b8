// SPDX-License-Identifier: Apache-2.0
// The memory controllers of a host: for each channel a queue of reads and a queue of writes in front of its
// DRAM. Apart from the DRAM's command timing, which knows no queues.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "base/time.h"
#include "sim/coherence/message.h"
#include "sim/host/coherent/ddr_memory.h"
#include "sim/host/config/coherent_config.h"

namespace wharf::sim {

struct MemoryControllerCounters {
  std::uint64_t drains = 0;           ///< Times that the writes reached the high mark.
  std::uint64_t drained_writes = 0;   ///< Written in those.
  std::uint64_t idle_writes = 0;      ///< Written while there was nothing else to do.
  std::uint64_t merged_writes = 0;    ///< Took the place of a write of the same line that still waited.
  std::uint64_t forwarded_reads = 0;  ///< Answered from the queue of writes.
};

/// Calls of a channel come with non-decreasing times, those of arrival at the controller.
///
/// A read has an entry from its arrival until its data leave. A write is over for whoever sent it when it has
/// an entry, which it keeps until its data are in the row; a read of its line meanwhile is answered by the
/// entry, after front and back end alone, and keeps no entry of its own.
///
/// Choice: first come, first served. Writes wait for as long as nobody needs their entries: when the high
/// mark is reached, those above the low mark are written one after another, behind the reads that are there
/// and before those that come later; and those above the low mark while the data bus has nothing else to do.
/// (The structure, with marks at 85 and 50 percent, is that of "Simulating DRAM controllers for future system
/// architecture exploration", ISPASS '14, 2, whose scheduler may be first come, first served.)
class MemoryController {
 public:
  /// `config` must pass validate().
  explicit MemoryController(const DdrConfig& config);

  std::uint32_t channel_of(LineNumber line) const { return ddr_.channel_of(line * kLineBytes); }
  /// Whether the queue has room for an access of `line` that arrives at `now`.
  bool has_room(TimePs now, LineNumber line, bool is_write);
  /// When the full queue of a channel has room again, if nothing else comes.
  TimePs room_at(std::uint32_t channel, bool is_write) const;
  /// A read that has room. Returns when its data leave the controller.
  TimePs read(TimePs now, LineNumber line);
  /// A write that has room.
  void write(TimePs now, LineNumber line);

  const DdrCounters& ddr_counters() const { return ddr_.counters(); }
  const MemoryControllerCounters& counters() const { return counters_; }

 private:
  struct Write {
    LineNumber line = 0;
    TimePs done = kNever;  ///< When it is in the row; kNever while it waits.
  };
  struct Channel {
    Ring<TimePs> reads;         ///< When each entry is free, in order.
    Ring<Write> writes;         ///< Oldest first.
    std::uint32_t leaving = 0;  ///< Of those, the first ones, which wait no more.
    TimePs above_low_from;      ///< Since when more wait than the low mark allows.
  };

  std::uint32_t waiting(const Channel& channel) const {
    return static_cast<std::uint32_t>(channel.writes.size()) - channel.leaving;
  }
  void catch_up(TimePs now, std::uint32_t channel);
  void write_oldest(TimePs ready, Channel& channel);
  /// Whether one of the writes from the `first`-th on is to `line`.
  bool holds(const Channel& channel, std::uint32_t first, LineNumber line) const;

  DdrMemory ddr_;
  TimePs front_end_;
  TimePs back_end_;
  std::uint32_t read_entries_;
  std::uint32_t write_entries_;
  std::uint32_t high_;
  std::uint32_t low_;
  std::vector<Channel> channels_;
  MemoryControllerCounters counters_;
};

}  // namespace wharf::sim
