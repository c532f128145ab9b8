// SPDX-License-Identifier: Apache-2.0
// One-sided key-value store: gets and puts of Zipf-distributed keys. A value carries its version and a
// checksum over its bytes, and each key has one writer, so a torn, misplaced or stale value is told from a
// good one. A read may meet half a value while a put is under way, and then only: the verdict knows the
// times.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/zipf.h"
#include "verbs/gate.h"
#include "workload/crew.h"
#include "workload/put_times.h"
#include "workload/value_format.h"

namespace wharf::workload {

/// Where popular keys lie in the table.
enum class KeyPlacement : std::uint8_t {
  kScattered,  ///< Spread evenly, as a hash table does.
  kSorted,     ///< Side by side, the most popular first.
};
inline constexpr std::array<Choice<KeyPlacement>, 2> kKeyPlacementChoices{
    {{"scattered", KeyPlacement::kScattered}, {"sorted", KeyPlacement::kSorted}}};

struct KeyValueConfig {
  LoopConfig loop;
  AccessPath access = AccessPath::kAuto;
  std::uint64_t region_offset = 0;   ///< Bytes from the start of the segment.
  std::uint32_t keys = 65536;        ///< Entries of the table.
  std::uint32_t value_bytes = 64;    ///< Size of an entry, version and checksum included. A multiple of 8.
  double zipf_exponent = 0.99;       ///< Skew of the popularity; 0: every key equally often.
  double put_fraction = 0.05;        ///< Operations that are puts.
  std::uint32_t torn_retries = 100;  ///< How often a get that met a put half done is tried again.
  KeyPlacement placement = KeyPlacement::kScattered;
};

template <typename Keys>
void bind_keys(KeyValueConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  bind_keys(config.access, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.integer("keys", config.keys, "entries of the table", 1, std::int64_t{1} << 31);
  keys.bytes("value_bytes", config.value_bytes, "size of an entry, version and checksum included", 8,
             std::uint64_t{1} << 20U);
  keys.number("zipf_exponent", config.zipf_exponent, "skew of the popularity; 0: every key equally often",
              0.0, 4.0);
  keys.probability("put_fraction", config.put_fraction, "operations that are puts; the others are gets");
  keys.integer("torn_retries", config.torn_retries,
               "how often a get that met a put half done is tried again");
  keys.choice("placement", config.placement, std::span<const Choice<KeyPlacement>>(kKeyPlacementChoices),
              "where popular keys lie in the table");
}

struct KeyValueResult {
  LoopResult loop;
  std::uint64_t gets = 0;
  std::uint64_t puts = 0;
  std::uint64_t torn_gets = 0;        ///< Reads that met a put half done and were tried again.
  std::uint64_t unreadable_gets = 0;  ///< Gets that gave up: each of their reads met a put half done.
  std::vector<std::uint32_t>
      seen;  ///< By key: the newest version that a get returned or a put had acknowledged.
  std::vector<std::uint32_t> issued;  ///< By key: the newest version that this party put; 0: none.
  std::vector<std::uint32_t> failed;  ///< By key: the newest version whose put ended in an error; 0: none.
  std::vector<KeyTime> put_times;     ///< Every put, in the order in which they began.
  std::vector<KeyTime> torn_reads;  ///< Every read that gave half a value, whether it was tried again or not.
};

/// Target memory that the program needs from `region_offset` on.
inline std::uint64_t memory_needed(const KeyValueConfig& config, Party) {
  return std::uint64_t{config.keys} * config.value_bytes;
}

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const KeyValueConfig& config, Party party) {
  WHARF_TRY(check(config.loop));
  if (config.value_bytes % 8 != 0) return refuse("value_bytes", config.value_bytes, "a multiple of 8 bytes");
  if (config.keys < party.count) return refuse("keys", config.keys, "at least one key per party");
  return {};
}

inline void prepare(const KeyValueConfig& config, Party, std::span<std::byte> region, std::uint64_t seed) {
  for (std::uint64_t key = 0; key < config.keys; ++key) {
    write_value(region.subspan(key * config.value_bytes, config.value_bytes), seed, key, 0);
  }
}

/// Every entry is whole and holds a version between the newest one that anybody saw and the newest one that
/// was put. Only a put that failed may leave half a value, until the next one. A read gave half a value only
/// beside a put of its key. `results` holds one entry per party.
inline Verdict verify(const KeyValueConfig& config, Party, std::span<const std::byte> region,
                      std::uint64_t seed, std::span<const KeyValueResult> results) {
  Verdict verdict;
  for (std::uint64_t key = 0; key < config.keys; ++key) {
    std::uint32_t least = 0;
    std::uint32_t most = 0;
    std::uint32_t failed = 0;
    for (const KeyValueResult& result : results) {
      least = std::max(least, result.seen[key]);
      most = std::max(most, result.issued[key]);
      failed = std::max(failed, result.failed[key]);
    }
    verdict.expect(least <= most, {"value that no put wrote", key, most, least});
    const auto value = region.subspan(key * config.value_bytes, config.value_bytes);
    const std::optional<std::uint32_t> version = read_value(value, seed, key);
    verdict.expect(version.has_value() || failed > least,
                   {"torn value", key, least, load_le64(value.data())});
    if (!version) continue;
    verdict.expect(*version >= least && *version <= most, {"lost put", key, least, *version});
  }
  PutTimes puts;
  for (const KeyValueResult& result : results) puts.add(result.put_times);
  puts.sort();
  for (const KeyValueResult& result : results) {
    for (const KeyTime& read : result.torn_reads)
      verdict.expect(puts.beside(read), {"torn reads without a put", read.key, 0, 1});
  }
  return verdict;
}

/// Draws keys: popularity by rank, place by a fixed one-to-one map of ranks to keys.
class KeyChooser {
 public:
  KeyChooser(const KeyValueConfig& config)  // NOLINT(*-explicit-*)
      : keys_(config.keys), scattered_(config.placement == KeyPlacement::kScattered) {
    if (config.zipf_exponent > 0.0) zipf_.emplace(config.keys, config.zipf_exponent);
    // Near the golden section neighbours in rank land far apart; coprime with the number of keys the map is
    // one-to-one.
    step_ = static_cast<std::uint64_t>(keys_ * 618 / 1000) + 1;
    while (std::gcd(step_, keys_) != 1) ++step_;
  }
  std::uint64_t operator()(RandomStream& random) const {
    return key_of_rank(zipf_ ? (*zipf_)(random) : random.below(keys_));
  }
  std::uint64_t key_of_rank(std::uint64_t rank) const { return scattered_ ? rank * step_ % keys_ : rank; }

 private:
  std::uint64_t keys_;
  bool scattered_;
  std::uint64_t step_ = 1;
  std::optional<Zipf> zipf_;
};

namespace key_value_detail {

template <typename R, typename C>
struct Clients : Crew<KeyValueConfig, KeyValueResult, R, C> {
  Clients(const KeyValueConfig& config_in, Party party_in, std::uint64_t seed_in, R& remote_in, C& core_in,
          KeyValueResult& result_in)
      : Crew<KeyValueConfig, KeyValueResult, R, C>(config_in, party_in, seed_in, remote_in, core_in,
                                                   result_in),
        choose(config_in),
        put_fraction(Probability::from(config_in.put_fraction)),
        putting(config_in.keys) {}

  /// The key near `key` that this party writes: keys are shared out among the parties by remainder.
  std::uint64_t own_key(std::uint64_t key) const {
    const std::uint64_t own = key - key % this->party.count + this->party.index;
    return own < this->config.keys ? own : own - this->party.count;
  }
  /// Lets every worker that waits for a put look again.
  void put_ended() {
    for (std::uint32_t waiting = put_waiters; waiting > 0; --waiting) put_over.open();
  }

  KeyChooser choose;
  Probability put_fraction;
  std::vector<bool> putting;  ///< By key: a put is under way; a key has one writer at a time.
  verbs::Gate put_over;
  std::uint32_t put_waiters = 0;
};

template <typename R, typename C>
verbs::Task<void> serve_requests(Clients<R, C>& crew, std::uint32_t worker) {
  const KeyValueConfig& config = crew.config;
  KeyValueResult& result = crew.result;
  Verdict& verdict = crew.loop.verdict();
  const std::uint32_t length = config.value_bytes;
  const std::uint64_t local = crew.core.allocate(Bytes{length});
  RandomStream random = crew.random.substream(worker);
  Loop::Ticket ticket;
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    const bool put = random.chance(crew.put_fraction);
    const std::uint64_t drawn = crew.choose(random);
    const std::uint64_t key = put ? crew.own_key(drawn) : drawn;
    const std::uint64_t offset = key * length;
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
    if (put) {
      while (crew.putting[key]) {
        ++crew.put_waiters;
        co_await crew.put_over.wait();
        --crew.put_waiters;
      }
      crew.putting[key] = true;
      const std::uint32_t version = std::max(result.issued[key], result.seen[key]) + 1;
      result.issued[key] = version;
      const std::size_t put_number = result.put_times.size();
      result.put_times.push_back({crew.core.now(), kNever, static_cast<std::uint32_t>(key)});
      write_value(crew.core.bytes(local, Bytes{length}), crew.seed, key, version);
      crew.loop.start(crew.core.now(), ticket);
      if (crew.load_store) {
        for (std::uint32_t at = 0; at < length; at += 8) {
          const verbs::RemoteAddress target = crew.at(offset + at);
          const std::uint64_t word = load_le64(crew.core.bytes(local, Bytes{length}).data() + at);
          status = co_await crew.remote.store(target, 8, word);
          if (status != verbs::CompletionStatus::kSuccess) break;
        }
      } else {
        const verbs::RemoteAddress target = crew.at(offset);
        const verbs::Completion completion = co_await crew.remote.write(local, target, length);
        status = completion.status;
      }
      if (status == verbs::CompletionStatus::kSuccess) {
        result.seen[key] = std::max(result.seen[key], version);
        result.put_times[put_number].end = crew.core.now();
      } else {
        result.failed[key] = version;
      }
      crew.loop.finish(crew.core, "put", worker, ticket, length, status);
      ++result.puts;
      crew.putting[key] = false;
      crew.put_ended();
      continue;
    }
    crew.loop.start(crew.core.now(), ticket);
    const std::uint32_t newest =
        result.seen[key];  // What is acknowledged or seen before a get is visible to it.
    std::optional<std::uint32_t> version;
    for (std::uint32_t attempt = 0; !version && attempt <= config.torn_retries; ++attempt) {
      if (attempt > 0) ++result.torn_gets;
      const TimePs begin = crew.core.now();
      if (crew.load_store) {
        for (std::uint32_t at = 0; at < length; at += 8) {
          const verbs::RemoteAddress target = crew.at(offset + at);
          const verbs::LoadedValue loaded = co_await crew.remote.load(target, 8);
          status = loaded.status;
          if (status != verbs::CompletionStatus::kSuccess) break;
          store_le64(crew.core.bytes(local, Bytes{length}).data() + at, loaded.value);
        }
      } else {
        const verbs::RemoteAddress target = crew.at(offset);
        const verbs::Completion completion = co_await crew.remote.read(local, target, length);
        status = completion.status;
      }
      if (status != verbs::CompletionStatus::kSuccess) break;
      version = read_value(crew.core.bytes(local, Bytes{length}), crew.seed, key);
      if (!version) result.torn_reads.push_back({begin, crew.core.now(), static_cast<std::uint32_t>(key)});
    }
    crew.loop.finish(crew.core, "get", worker, ticket, length, status);
    ++result.gets;
    if (status != verbs::CompletionStatus::kSuccess) continue;
    if (!version) {
      ++result.unreadable_gets;  // verify() knows whether a put was under way each time.
      continue;
    }
    verdict.expect(*version >= newest, {"stale value", key, newest, *version});
    const bool own = key % crew.party.count == crew.party.index;
    verdict.expect(!own || *version <= result.issued[key],
                   {"value from the future", key, result.issued[key], *version});
    result.seen[key] = std::max(result.seen[key], *version);
  }
  crew.join.leave();
}

}  // namespace key_value_detail

/// Runs one party's clients on `core`. All parties share one table and use the same config and `seed`.
/// `config`, `remote`, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const KeyValueConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      KeyValueResult& result) {
  WHARF_CHECK(check(config, party).ok());
  result.seen.assign(config.keys, 0);
  result.issued.assign(config.keys, 0);
  result.failed.assign(config.keys, 0);
  const LoopConfig& loop = config.loop;
  result.put_times.reserve(puts_to_expect(loop.operations + loop.warmup_operations, config.put_fraction));
  result.torn_reads.reserve(config.put_fraction > 0.0 ? 256 : 0);
  key_value_detail::Clients<R, C> crew(config, party, seed, remote, core, result);
  crew.join.spawn(core, config.loop.concurrency,
                  [&crew](std::uint32_t worker) { return key_value_detail::serve_requests(crew, worker); });
  co_await crew.join.all();
}

}  // namespace wharf::workload
