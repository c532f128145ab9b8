// SPDX-License-Identifier: Apache-2.0
// Collectives in a ring whose ranks compute between steps: reduce-scatter, all-gather, or both (all-reduce),
// the algorithm that training jobs use (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009).
//
// Every rank has a buffer of 64-bit words, cut into as many chunks as there are ranks. In each step a rank
// writes one chunk into the memory of the next rank and tells it by a message, while the previous rank does
// the same to it. A reduce-scatter adds what arrived to the own chunk, which takes the core time; an
// all-gather keeps it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "verbs/gate.h"
#include "workload/crew.h"
#include "workload/pattern.h"
#include "workload/peers.h"

namespace wharf::workload {

enum class RingCollective : std::uint8_t { kAllReduce, kReduceScatter, kAllGather };
inline constexpr std::array<Choice<RingCollective>, 3> kRingCollectives{
    {{"all_reduce", RingCollective::kAllReduce},
     {"reduce_scatter", RingCollective::kReduceScatter},
     {"all_gather", RingCollective::kAllGather}}};

struct RingCollectiveConfig {
  static constexpr bool kPeers = true;  ///< Its parties reach each other's memory.
  LoopConfig loop{.operations = 1};     ///< Collectives, one after the other.
  std::uint64_t region_offset = 0;
  RingCollective collective = RingCollective::kAllReduce;
  std::uint64_t buffer_bytes = std::uint64_t{1} << 20U;
  TimePs step_time = kTimeZero;             ///< Core time of each step, whatever its size.
  TimePs time_per_mib = microseconds(100);  ///< Core time to add 1 MiB that arrived.
};

template <typename Keys>
void bind_keys(RingCollectiveConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.choice("collective", config.collective, std::span<const Choice<RingCollective>>(kRingCollectives),
              "what the ranks do together");
  keys.bytes("buffer_bytes", config.buffer_bytes, "of each rank; each step moves its share of one rank", 16,
             std::uint64_t{1} << 36U);
  keys.time("step_time", config.step_time, "core time of each step, whatever its size");
  keys.time("time_per_mib", config.time_per_mib, "core time to add 1 MiB that arrived");
}

struct RingCollectiveResult {
  LoopResult loop;          ///< One operation: one rank ends one collective.
  std::uint64_t steps = 0;  ///< Chunks that arrived and were used.
  TimePs computed;          ///< Core time spent on them.
};

namespace ring_detail {

inline bool reduces(const RingCollectiveConfig& config) {
  return config.collective != RingCollective::kAllGather;
}
inline bool gathers(const RingCollectiveConfig& config) {
  return config.collective != RingCollective::kReduceScatter;
}
inline std::uint64_t words(const RingCollectiveConfig& config) { return config.buffer_bytes / 8; }

/// A chunk, as offset and length in bytes within the buffer.
struct Chunk {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};
inline Chunk chunk_of(const RingCollectiveConfig& config, std::uint32_t index, std::uint32_t ranks) {
  const std::uint64_t first = words(config) * index / ranks;
  const std::uint64_t end = words(config) * (index + 1) / ranks;
  return {8 * first, static_cast<std::uint32_t>(8 * (end - first))};
}
inline std::uint32_t longest_chunk(const RingCollectiveConfig& config, std::uint32_t ranks) {
  return static_cast<std::uint32_t>(8 * ((words(config) + ranks - 1) / ranks));
}
/// The previous rank may be one collective ahead where no chunk goes all the way round twice: such
/// collectives use two places in turn. It is never two ahead, since it needs what this rank sends first in
/// each.
inline std::uint64_t turn(const RingCollectiveConfig& config, std::uint64_t round) {
  return config.collective == RingCollective::kAllReduce ? 0 : round % 2;
}
inline std::uint64_t turns(const RingCollectiveConfig& config) {
  return config.collective == RingCollective::kAllReduce ? 1 : 2;
}
/// The buffers of gathers take turns, and the places of reductions.
inline std::uint64_t buffer_of(const RingCollectiveConfig& config, std::uint64_t round) {
  return reduces(config) ? 0 : turn(config, round) * 8 * words(config);
}
/// Where the chunk that arrives in step `step` waits to be added, behind the buffer. Each step has a place of
/// its own: the previous rank may be steps ahead.
inline std::uint64_t staging_of(const RingCollectiveConfig& config, std::uint64_t round, std::uint32_t step,
                                std::uint32_t ranks) {
  const std::uint64_t place = turn(config, round) * (ranks - 1) + step;
  return 8 * words(config) + place * longest_chunk(config, ranks);
}

/// What rank `rank` brings to collective number `round` at word `index`: sums over the ranks are multiples of
/// the word of rank 0, so that checking one costs no loop over the ranks.
inline std::uint64_t contribution(std::uint64_t seed, std::uint64_t round, std::uint64_t index,
                                  std::uint32_t rank) {
  return mix(seed, index, round) * (std::uint64_t{rank} + 1);
}
/// What the word must be after the collective, or, before an all-gather alone, in the rank's own chunk.
inline std::uint64_t outcome(std::uint64_t seed, std::uint64_t round, std::uint64_t index,
                             std::uint32_t ranks) {
  return mix(seed, index, round) * (std::uint64_t{ranks} * (ranks + 1) / 2);
}

/// The chunk that rank `rank` has whole after a reduce-scatter, and begins an all-gather with.
inline std::uint32_t home_chunk(std::uint32_t rank, std::uint32_t ranks) { return (rank + 1) % ranks; }

/// Chunks that hold the outcome at `rank` in the end.
inline bool is_final(const RingCollectiveConfig& config, std::uint32_t chunk, Party party) {
  return gathers(config) || chunk == home_chunk(party.index, party.count);
}

/// What rank `party.index` brings to collective number `round`.
inline void fill(const RingCollectiveConfig& config, Party party, std::span<std::byte> buffer,
                 std::uint64_t seed, std::uint64_t round) {
  if (reduces(config)) {
    for (std::uint64_t index = 0; index < words(config); ++index)
      store_le64(buffer.data() + 8 * index, contribution(seed, round, index, party.index));
    return;
  }
  // The others' chunks may have arrived.
  const Chunk own = chunk_of(config, home_chunk(party.index, party.count), party.count);
  for (std::uint64_t at = own.offset; at < own.offset + own.length; at += 8)
    store_le64(buffer.data() + at, outcome(seed, round, at / 8, party.count));
}

inline void add(std::span<std::byte> sum, std::span<const std::byte> more) {
  for (std::size_t at = 0; at < sum.size(); at += 8)
    store_le64(sum.data() + at, load_le64(sum.data() + at) + load_le64(more.data() + at));
}

/// Whether every word of a chunk is the sum of all ranks' words.
inline void check_chunk(const RingCollectiveConfig& config, std::uint32_t chunk, Party party,
                        std::span<const std::byte> memory, std::uint64_t seed, std::uint64_t round,
                        Verdict& verdict) {
  const Chunk place = chunk_of(config, chunk, party.count);
  const std::span<const std::byte> buffer = memory.subspan(buffer_of(config, round));
  for (std::uint64_t at = place.offset; at < place.offset + place.length; at += 8) {
    const std::uint64_t found = load_le64(buffer.data() + at);
    const std::uint64_t expected = outcome(seed, round, at / 8, party.count);
    verdict.expect(found == expected, {"wrong sum", at / 8, expected, found});
  }
}

}  // namespace ring_detail

inline std::uint64_t memory_needed(const RingCollectiveConfig& config, Party party) {
  const std::uint64_t buffer = 8 * ring_detail::words(config);
  const std::uint64_t turns = ring_detail::turns(config);
  if (!ring_detail::reduces(config)) return turns * buffer;
  return buffer + turns * (party.count - 1) * ring_detail::longest_chunk(config, party.count);
}

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const RingCollectiveConfig& config, Party party) {
  WHARF_TRY(check(config.loop));
  if (config.loop.operations == 0) return refuse("operations", 0, "at least 1, the same for every rank");
  if (config.loop.duration != kTimeZero) {
    return refuse("duration", static_cast<std::uint64_t>(config.loop.duration.ps),
                  "0ns: ranks that stop after different collectives would wait for ever");
  }
  if (config.loop.concurrency != 1)
    return refuse("concurrency", config.loop.concurrency, "1: a rank takes part once");
  if (config.buffer_bytes % 8 != 0)
    return refuse("buffer_bytes", config.buffer_bytes, "a multiple of 8 bytes, whole words");
  if (party.count >= 2 && ring_detail::words(config) < party.count)
    return refuse("buffer_bytes", config.buffer_bytes, "at least 8 bytes for each rank");
  constexpr std::uint64_t kLongestWrite = std::uint64_t{1} << 30U;
  if (party.count >= 2 && config.buffer_bytes / party.count > kLongestWrite)
    return refuse("buffer_bytes", config.buffer_bytes, "at most 1 GiB for each rank: a chunk is one write");
  return {};
}

/// The memory of rank `party.index`.
inline void prepare(const RingCollectiveConfig& config, Party party, std::span<std::byte> region,
                    std::uint64_t seed) {
  ring_detail::fill(config, party, region, seed, 0);
}

/// The memory of rank `party.index`: after the last collective every final chunk holds the sums, unless a
/// rank gave up.
inline Verdict verify(const RingCollectiveConfig& config, Party party, std::span<const std::byte> region,
                      std::uint64_t seed, std::span<const RingCollectiveResult> results) {
  Verdict verdict;
  for (const RingCollectiveResult& result : results) {
    if (result.loop.errors != 0) return verdict;
  }
  const std::uint64_t last = config.loop.operations + config.loop.warmup_operations - 1;
  for (std::uint32_t chunk = 0; chunk < party.count; ++chunk) {
    if (!ring_detail::is_final(config, chunk, party)) continue;
    ring_detail::check_chunk(config, chunk, party, region, seed, last, verdict);
  }
  return verdict;
}

/// The ranks that rank `party.index` has a queue with.
inline std::vector<std::uint32_t> neighbours(const RingCollectiveConfig&, Party party) {
  if (party.count < 2) return {};
  const std::uint32_t next = (party.index + 1) % party.count;
  const std::uint32_t previous = (party.index + party.count - 1) % party.count;
  return next == previous ? std::vector{next} : std::vector{next, previous};
}

namespace ring_detail {

template <typename R, typename C>
struct Rank : Crew<RingCollectiveConfig, RingCollectiveResult, R, C> {
  Rank(const RingCollectiveConfig& config_in, Party party_in, std::uint64_t seed_in, const Peers<R>& peers,
       C& core_in, RingCollectiveResult& result_in)
      : Crew<RingCollectiveConfig, RingCollectiveResult, R, C>(
            config_in, party_in, seed_in, peers[(party_in.index + 1) % party_in.count], core_in, result_in),
        previous(peers[(party_in.index + party_in.count - 1) % party_in.count]),
        memory(core_in.bytes(peers.own + config_in.region_offset, Bytes{memory_needed(config_in, party_in)})),
        own(peers.own + config_in.region_offset),
        steps((reduces(config_in) ? party_in.count - 1 : 0) + (gathers(config_in) ? party_in.count - 1 : 0)),
        to_receive(steps * (config_in.loop.operations + config_in.loop.warmup_operations)) {}

  R& previous;
  std::span<std::byte> memory;  ///< The buffer, and behind it what waits to be added.
  std::uint64_t own;            ///< Its address.
  std::uint32_t steps = 0;      ///< Of one collective.
  std::uint64_t to_receive = 0;
  // What the sender is to do.
  Chunk leaving;
  std::uint64_t target = 0;
  bool ending = false;
  verbs::Gate go;
  verbs::Gate sent;
  verbs::Gate arrived;  ///< Opened for each message of the previous rank.
  verbs::CompletionStatus failure = verbs::CompletionStatus::kSuccess;  ///< Of any request of this rank.
};

/// Receive entries that are posted at a time: the previous rank may be ahead by the steps of one phase, and
/// waits for an entry then.
inline constexpr std::uint32_t kReceivers = 4;
inline constexpr std::uint32_t kMessageBytes = 8;

template <typename R, typename C>
verbs::Task<void> take_messages(Rank<R, C>& rank, std::uint32_t) {
  const std::uint64_t local = rank.core.allocate(Bytes{kMessageBytes});
  while (rank.to_receive > 0 && rank.failure == verbs::CompletionStatus::kSuccess) {
    --rank.to_receive;
    const verbs::Completion received = co_await rank.previous.receive(local, kMessageBytes);
    if (!received.ok()) rank.failure = received.status;
    rank.arrived.open();
  }
  rank.join.leave();
}

/// Writes chunks into the memory of the next rank, and says so: one for each time that `go` opens.
template <typename R, typename C>
verbs::Task<void> pass_on(Rank<R, C>& rank, std::uint32_t) {
  const std::uint64_t message = rank.core.allocate(Bytes{kMessageBytes});
  for (;;) {
    co_await rank.go.wait();
    if (rank.ending) break;
    const verbs::Completion written =
        co_await rank.remote.write(rank.own + rank.leaving.offset, rank.at(rank.target), rank.leaving.length);
    verbs::CompletionStatus status = written.status;
    if (written.ok()) {
      const verbs::Completion told = co_await rank.remote.send(message, kMessageBytes);
      status = told.status;
    }
    if (status != verbs::CompletionStatus::kSuccess) {
      rank.failure = status;
      rank.arrived.open();  // Nothing may come any more.
    }
    rank.sent.open();
  }
  rank.join.leave();
}

/// One step: what leaves and what comes, as chunk numbers, and where it goes.
struct Step {
  bool reduce = false;
  std::uint32_t out = 0;
  std::uint32_t in = 0;
  std::uint64_t staged = 0;
};

/// Step `number` of collective `round`: reductions begin with the chunk of the own number, gathers with the
/// one that is whole.
inline Step step_of(const RingCollectiveConfig& config, Party party, std::uint64_t round,
                    std::uint32_t number) {
  const std::uint32_t ranks = party.count;
  Step step;
  step.reduce = reduces(config) && number + 1 < ranks;
  const std::uint32_t within = step.reduce || !reduces(config) ? number : number - (ranks - 1);
  const std::uint32_t first = step.reduce ? party.index : home_chunk(party.index, ranks);
  step.out = (first + ranks - within) % ranks;
  step.in = (step.out + ranks - 1) % ranks;
  if (step.reduce) step.staged = staging_of(config, round, within, ranks);
  return step;
}

/// Adds what arrived to the own chunk; returns the core time that takes.
template <typename R, typename C>
TimePs reduce(Rank<R, C>& rank, const Step& step) {
  const Chunk coming = chunk_of(rank.config, step.in, rank.party.count);
  add(rank.memory.subspan(coming.offset, coming.length), rank.memory.subspan(step.staged, coming.length));
  const auto adding = static_cast<__int128>(rank.config.time_per_mib.ps) * coming.length >> 20U;
  return rank.config.step_time + picoseconds(static_cast<std::int64_t>(adding));
}

}  // namespace ring_detail

/// Runs one rank on `core`. A rank whose request fails gives up; the others then wait for it for ever.
/// `config`, what `peers` names, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const RingCollectiveConfig& config, Party party, std::uint64_t seed, Peers<R> peers,
                      C& core, RingCollectiveResult& result) {
  WHARF_CHECK(check(config, party).ok() && party.count >= 2);
  ring_detail::Rank<R, C> rank(config, party, seed, peers, core, result);
  rank.join.spawn(core, ring_detail::kReceivers,
                  [&rank](std::uint32_t receiver) { return ring_detail::take_messages(rank, receiver); });
  rank.join.spawn(core, 1, [&rank](std::uint32_t sender) { return ring_detail::pass_on(rank, sender); });
  Loop::Ticket ticket;
  verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
  while (status == verbs::CompletionStatus::kSuccess && rank.loop.take(core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await core.sleep(ticket.wait);
    const std::uint64_t round = ticket.number;
    const std::uint64_t buffer = ring_detail::buffer_of(config, round);
    if (round > 0) ring_detail::fill(config, party, rank.memory.subspan(buffer), seed, round);
    rank.loop.start(core.now(), ticket);
    for (std::uint32_t number = 0; number < rank.steps && status == verbs::CompletionStatus::kSuccess;
         ++number) {
      const ring_detail::Step step = ring_detail::step_of(config, party, round, number);
      rank.leaving = ring_detail::chunk_of(config, step.out, party.count);
      rank.leaving.offset += buffer;
      rank.target = step.reduce ? step.staged : rank.leaving.offset;
      rank.go.open();
      co_await rank.arrived.wait();
      status = rank.failure;
      if (step.reduce && status == verbs::CompletionStatus::kSuccess) {
        const TimePs busy = ring_detail::reduce(rank, step);
        result.computed += busy;
        if (busy > kTimeZero) co_await core.sleep(busy);
      }
      co_await rank.sent.wait();
      status = rank.failure;
      if (status == verbs::CompletionStatus::kSuccess) ++result.steps;
    }
    const std::uint64_t most = ~std::uint32_t{0};
    rank.loop.finish(core, "collective", 0, ticket,
                     static_cast<std::uint32_t>(std::min(config.buffer_bytes, most)), status);
    if (status != verbs::CompletionStatus::kSuccess) break;
    for (std::uint32_t chunk = 0; chunk < party.count; ++chunk) {
      if (ring_detail::is_final(config, chunk, party))
        ring_detail::check_chunk(config, chunk, party, rank.memory, seed, round, rank.loop.verdict());
    }
  }
  rank.ending = true;
  rank.go.open();
  co_await rank.join.all();
}

}  // namespace wharf::workload
