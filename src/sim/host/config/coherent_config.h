// SPDX-License-Identifier: Apache-2.0
// Every parameter of a host whose memory is coherent down to the line. Defaults are the systems of
// "Efficient Remote Memory Ordering for Non-Coherent Interconnects" (ASPLOS '26), Table 2, and where the
// table has one figure for several steps, those of its published simulator configuration.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "engine/ordering/rlsq.h"
#include "sim/coherence/cache_lines.h"
#include "sim/coherence/io_agent.h"
#include "sim/coherence/private_cache.h"

namespace wharf::sim {

/// Keys ddr.*: DDR3-1600, 8 devices of 8 bits per rank. Timing names are those of JEDEC JESD79-3.
struct DdrConfig {
  std::uint32_t channels = 8;             ///< A power of two, 1 to 64.
  std::uint32_t ranks = 2;                ///< Per channel; a power of two, 1 to 8.
  std::uint32_t banks = 8;                ///< Per rank; a power of two, 1 to 64.
  std::uint32_t row_bytes = 8192;         ///< Of a rank; a power of two, 64 to 65536.
  std::uint32_t interleave_bytes = 128;   ///< Neighbours that share a channel; a power of two, from 64 on.
  TimePs rcd = picoseconds(13'750);       ///< Activate to read or write.
  TimePs cl = picoseconds(13'750);        ///< Read to its first data; writes take the same.
  TimePs rp = picoseconds(13'750);        ///< Precharge to activate.
  TimePs ras = nanoseconds(35);           ///< Activate to precharge.
  TimePs burst = nanoseconds(5);          ///< 64 bytes on the data bus.
  TimePs rrd = nanoseconds(6);            ///< Activate to activate, different banks of a rank.
  TimePs faw = nanoseconds(30);           ///< Four activates of a rank, at least.
  TimePs rtp = picoseconds(7'500);        ///< Read to precharge.
  TimePs wr = nanoseconds(15);            ///< End of write data to precharge.
  TimePs wtr = picoseconds(7'500);        ///< End of write data to the next read of the rank.
  TimePs rtw = picoseconds(2'500);        ///< End of read data to the next write data.
  TimePs rfc = nanoseconds(260);          ///< A refresh; all banks of the rank are closed.
  TimePs refi = nanoseconds(7'800);       ///< Between refreshes of a rank; 0: never.
  TimePs front_end = nanoseconds(10);     ///< Controller, before the first command.
  TimePs back_end = nanoseconds(10);      ///< Controller, after the last data.
  std::uint32_t read_entries = 32;        ///< Lines in a channel's queue of reads.
  std::uint32_t write_entries = 64;       ///< Lines in its queue of writes.
  std::uint32_t write_high_percent = 85;  ///< Of write_entries: so many that wait are written at once, ...
  std::uint32_t write_low_percent = 50;   ///< ... until so many are left; below the high mark.
};

/// Keys coherence.*: the bus between caches, root complexes, home and memory. Every lane of it (requests to
/// the home, snoops, their answers, the answers to each agent, and to and from each memory channel) carries
/// one message at a time.
struct CoherenceConfig {
  TimePs cycle = picoseconds(333);   ///< 3 GHz, as the published configuration rounds it.
  std::uint32_t width_bytes = 16;    ///< Data that cross in one cycle; a power of two.
  std::uint32_t header_cycles = 1;   ///< What every message occupies of its lane.
  std::uint32_t request_cycles = 0;  ///< Agent to home: where the order is made. A snoop leaves from there.
  std::uint32_t snoop_cycles = 0;    ///< Home to the caches.
  std::uint32_t snoop_response_cycles = 4;   ///< Cache to home.
  std::uint32_t grant_cycles = 0;            ///< Home to the agent that asked.
  std::uint32_t memory_request_cycles = 8;   ///< Home to memory: front end 3, forward 4, snoop filter 1.
  std::uint32_t memory_response_cycles = 2;  ///< Memory to home.
  std::uint32_t directory_sets = 8192;       ///< A power of two.
  std::uint32_t directory_ways = 16;
  /// Probability that a device's access which no private cache answers is answered by the last-level cache.
  double ddio_hit_ratio = 0;
  TimePs last_level = nanoseconds(12);  ///< What such an answer takes instead of DRAM.
};

/// Keys core_cache.*: private caches of a core.
struct CoreCacheConfig {
  PrivateCacheConfig cache;
  TimePs cycle = picoseconds(333);
  std::uint32_t level1_cycles = 2;   ///< Table 2.
  std::uint32_t between_cycles = 1;  ///< The bus between the levels.
  std::uint32_t level2_cycles = 20;  ///< Table 2.
  std::uint32_t width_bytes = 32;    ///< Of the bus between them, per cycle and direction; a power of two.
  std::uint32_t header_cycles = 1;   ///< What every crossing occupies of its direction, beside its data.
};

/// Keys io_link.*: the way between a device and its root complex.
struct IoLinkConfig {
  TimePs cycle = picoseconds(333);
  std::uint32_t width_bytes = 16;  ///< Per cycle and direction; a power of two.
  std::uint32_t header_bytes =
      16;  ///< Of every packet, framing included. 16 is one cycle of the paper's bus.
  /// Packets take the bytes of their TLPs, framing and prefixes included, instead of header_bytes and data.
  bool tlp_sizes = false;
  TimePs up = picoseconds(200'466);    ///< Device to root complex: 2 + 600 cycles.
  TimePs down = picoseconds(199'800);  ///< Root complex to device: 600 cycles.
  /// Requests that the device may have on the link and before the queue; 0 is unlimited. A credit is back one
  /// way after the queue has taken the request.
  std::uint32_t posted_credits = 256;
  std::uint32_t non_posted_credits = 256;
};

/// Whether requests of a device pass each other where the rules allow it.
enum class LegalPassing : std::uint8_t {
  kWhereJudged,  ///< As kOn in runs that judge the order of accesses, else as kOff.
  kOff,          ///< The ways are queues.
  kOn,           ///< Some are held up, on the link and on the way to the home, and others pass them.
};

/// Keys root_complex.*.
struct RootComplexConfig {
  TimePs lookup = picoseconds(16'650);      ///< From the link to the queue: 50 cycles.
  TimePs answer = picoseconds(16'650);      ///< From the queue to the link: 50 cycles.
  TimePs spacing = picoseconds(333);        ///< Between two answers.
  DropNotice drops = DropNotice::kPassing;  ///< How the home hears that a line read ahead is tracked no more.
  LegalPassing passing = LegalPassing::kWhereJudged;
  double passing_share = 0.25;  ///< Of the requests, and of the messages to the home, that are held up,
  /// evenly up to so long. Choice: a few times what memory takes beyond a cache, as between a line that is on
  /// its way and one that is there, and less than the link's own round trip.
  TimePs passing_delay = nanoseconds(300);
  bool on_bus = false;  ///< The device is an agent of the bus: nothing passes before the queue.
  ordering::RlsqConfig queue;
};

/// All of one host but its cores' programs and its devices.
struct CoherentConfig {
  DdrConfig ddr;
  CoherenceConfig coherence;
  CoreCacheConfig core_cache;
  IoLinkConfig io_link;
  RootComplexConfig root_complex;
};

/// Refuses what cannot be built, naming the key.
Result<void> validate(const CoherentConfig& config);

}  // namespace wharf::sim
