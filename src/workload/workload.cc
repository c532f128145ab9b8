// SPDX-License-Identifier: Apache-2.0
#include "workload/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"

namespace wharf::workload {
namespace {

constexpr std::array<std::string_view, kWorkloadKindCount> kNames{
    "pointer_chase", "bulk_read",       "bulk_write", "ping_pong", "barrier",         "cas_lock",
    "key_value",     "sequential_scan", "verb_loop",  "item_gets", "ring_collective", "rdmo"};

constexpr std::array<std::string_view, kWorkloadKindCount> kDescriptions{
    "follows pointers along a random cycle of lines: nothing can be prefetched",
    "reads blocks of a region, in order or at random",
    "replaces blocks of a region by newer versions",
    "sends messages to the other party, which sends each one back",
    "passes barriers built on fetch-and-add, all participants together",
    "takes a lock by compare-and-swap and increments a shared counter inside",
    "gets and puts values of Zipf-distributed keys",
    "walks a table in order and sums a column",
    "repeats one verb",
    "gets items under one of four protocols beside writers, and finds torn and stale ones",
    "all-reduce and its halves in a ring of ranks that compute between steps",
    "appends records of many clients to one log, by a worker near the memory or without one",
};

/// Has the methods of the scenario binder, and only writes down what it is told.
class KeyLister {
 public:
  explicit KeyLister(std::vector<KeyDescription>& out) : out_(out) {}

  void time(std::string_view key, TimePs value, std::string_view doc) {
    add(key, "time", format_time(value), doc);
  }
  void bytes(std::string_view key, std::uint64_t value, std::string_view doc, std::uint64_t least = 0,
             std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    std::string expected = "size";
    if (least > 0) expected += fmt::format(" of at least {}", format_bytes(Bytes{least}));
    if (most < std::numeric_limits<std::uint64_t>::max()) {
      expected += fmt::format("{} at most {}", least > 0 ? " and" : " of", format_bytes(Bytes{most}));
    }
    add(key, std::move(expected), format_bytes(Bytes{value}), doc);
  }
  void probability(std::string_view key, double value, std::string_view doc) {
    add(key, "probability", fmt::format("{}", value), doc);
  }
  void number(std::string_view key, double value, std::string_view doc, double least, double most) {
    add(key, fmt::format("number from {} to {}", least, most), fmt::format("{}", value), doc);
  }
  void flag(std::string_view key, bool value, std::string_view doc) {
    add(key, "true or false", value ? "true" : "false", doc);
  }
  template <std::integral I>
  void integer(std::string_view key, I value, std::string_view doc, std::int64_t least = 0,
               std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    add(key,
        most == std::numeric_limits<std::int64_t>::max() ? fmt::format("integer of at least {}", least)
                                                         : fmt::format("integer from {} to {}", least, most),
        std::to_string(value), doc);
  }
  template <typename E>
  void choice(std::string_view key, E value, std::span<const Choice<E>> choices, std::string_view doc) {
    std::vector<std::string_view> names;
    std::string_view current;
    for (const Choice<E>& each : choices) {
      names.push_back(each.name);
      if (each.value == value) current = each.name;
    }
    add(key, fmt::format("one of {}", fmt::join(names, ", ")), std::string(current), doc);
  }

 private:
  void add(std::string_view key, std::string expected, std::string value, std::string_view doc) {
    out_.push_back({std::string(key), std::move(expected), std::move(value), std::string(doc)});
  }
  std::vector<KeyDescription>& out_;
};

template <typename Variant, std::size_t... kIndex>
Variant alternative(std::size_t index, std::index_sequence<kIndex...>) {
  Variant value;
  ((index == kIndex ? void(value.template emplace<kIndex>()) : void()), ...);
  return value;
}

template <std::size_t... kIndex>
Verdict verify_chosen(const WorkloadConfig& config, Party party, std::span<const std::byte> region,
                      std::uint64_t seed, std::span<const WorkloadResult> results,
                      std::index_sequence<kIndex...>) {
  Verdict verdict;
  const auto verify_as = [&]<std::size_t kChosen>() {
    std::vector<std::variant_alternative_t<kChosen, WorkloadResult>> own;
    for (const WorkloadResult& result : results) own.push_back(std::get<kChosen>(result));
    const std::span<const std::variant_alternative_t<kChosen, WorkloadResult>> all(own);
    verdict = verify(std::get<kChosen>(config), party, region, seed, all);
  };
  ((config.index() == kIndex ? verify_as.template operator()<kIndex>() : void()), ...);
  return verdict;
}

std::vector<NamedCount> counts_of(const PointerChaseResult& result) {
  return {{"cycles_closed", result.cycles_closed}};
}
std::vector<NamedCount> counts_of(const BulkReadResult&) { return {}; }
std::vector<NamedCount> counts_of(const BulkWriteResult&) { return {}; }
std::vector<NamedCount> counts_of(const PingPongResult& result) { return {{"echoed", result.echoed}}; }
std::vector<NamedCount> counts_of(const BarrierResult& result) { return {{"polls", result.polls}}; }
std::vector<NamedCount> counts_of(const CasLockResult& result) {
  return {{"attempts", result.attempts}, {"increments", result.increments}, {"uncertain", result.uncertain}};
}
std::vector<NamedCount> counts_of(const KeyValueResult& result) {
  return {{"gets", result.gets},
          {"puts", result.puts},
          {"torn_gets", result.torn_gets},
          {"unreadable_gets", result.unreadable_gets}};
}
std::vector<NamedCount> counts_of(const SequentialScanResult& result) { return {{"passes", result.passes}}; }
std::vector<NamedCount> counts_of(const VerbLoopResult& result) { return {{"received", result.received}}; }
std::vector<NamedCount> counts_of(const ItemGetsResult& result) {
  return {{"retries", result.retries},
          {"overlaps", result.overlaps},
          {"torn", result.torn},
          {"stale", result.stale},
          {"given_up", result.given_up},
          {"puts", result.puts},
          {"lock_conflicts", result.lock_conflicts}};
}
std::vector<NamedCount> counts_of(const RingCollectiveResult& result) {
  return {{"steps", result.steps}, {"computed_ns", static_cast<std::uint64_t>(result.computed.ps / 1000)}};
}

std::vector<NamedCount> counts_of(const RdmoResult& result) {
  return {{"records", result.records},
          {"flushes", result.flushes},
          {"retries", result.retries},
          {"read_records", result.read_records},
          {"worker_messages", result.messages},
          {"worker_data_writes", result.data_writes},
          {"worker_cell_reads", result.cell_reads}};
}

}  // namespace

std::string_view name(WorkloadKind kind) { return kNames[static_cast<std::size_t>(kind)]; }
std::string_view describe(WorkloadKind kind) { return kDescriptions[static_cast<std::size_t>(kind)]; }
std::span<const std::string_view> workload_names() { return kNames; }

std::optional<WorkloadKind> parse_workload(std::string_view text) {
  const auto at = std::find(kNames.begin(), kNames.end(), text);
  if (at == kNames.end()) return std::nullopt;
  return static_cast<WorkloadKind>(at - kNames.begin());
}

WorkloadConfig default_config(WorkloadKind kind) {
  return alternative<WorkloadConfig>(static_cast<std::size_t>(kind),
                                     std::make_index_sequence<kWorkloadKindCount>{});
}
WorkloadResult empty_result(const WorkloadConfig& config) {
  return alternative<WorkloadResult>(config.index(), std::make_index_sequence<kWorkloadKindCount>{});
}

std::vector<KeyDescription> describe_keys(WorkloadKind kind) {
  std::vector<KeyDescription> keys;
  KeyLister lister(keys);
  WorkloadConfig config = default_config(kind);
  bind_keys(config, lister);
  return keys;
}

std::uint64_t own_memory_needed(const WorkloadConfig& config) {
  const auto* appends = std::get_if<RdmoConfig>(&config);
  return appends == nullptr ? 0 : own_memory_needed(*appends);
}

const LoopConfig& loop_config(const WorkloadConfig& config) {
  return std::visit([](const auto& chosen) -> const LoopConfig& { return chosen.loop; }, config);
}
LoopConfig& loop_config(WorkloadConfig& config) {
  return std::visit([](auto& chosen) -> LoopConfig& { return chosen.loop; }, config);
}
std::uint64_t region_offset(const WorkloadConfig& config) {
  return std::visit([](const auto& chosen) { return chosen.region_offset; }, config);
}

PartyRange party_range(WorkloadKind kind) {
  constexpr std::uint32_t kManyParties = 65536;
  switch (kind) {
    case WorkloadKind::kPingPong:
      return {2, 2};
    case WorkloadKind::kRingCollective:
      return {2, kManyParties};
    case WorkloadKind::kVerbLoop:
    case WorkloadKind::kPointerChase:
    case WorkloadKind::kBulkRead:
    case WorkloadKind::kBulkWrite:
    case WorkloadKind::kBarrier:
    case WorkloadKind::kCasLock:
    case WorkloadKind::kKeyValue:
    case WorkloadKind::kSequentialScan:
    case WorkloadKind::kItemGets:
    case WorkloadKind::kRdmo:
      return {1, kManyParties};
  }
  WHARF_UNREACHABLE();
}

std::uint32_t parties_needed(const WorkloadConfig& config) {
  if (const auto* loop = std::get_if<VerbLoopConfig>(&config)) return needs_receiver(*loop) ? 2 : 1;
  if (const auto* gets = std::get_if<ItemGetsConfig>(&config))
    return gets->writer == ItemWriter::kCore ? 2 : 1;
  if (const auto* appends = std::get_if<RdmoConfig>(&config))
    return 1 + readers_of(*appends) + (is_attended(*appends) ? 1 : 0);
  return party_range(kind_of(config)).least;
}

Arrangement arrangement(const WorkloadConfig& config) {
  const bool peers = std::visit(
      [](const auto& chosen) {
        return requires { chosen.kPeers; };
      },
      config);
  if (peers) return Arrangement::kPeers;
  if (const auto* gets = std::get_if<ItemGetsConfig>(&config))
    return gets->writer == ItemWriter::kCore ? Arrangement::kAttended : Arrangement::kShared;
  if (const auto* appends = std::get_if<RdmoConfig>(&config)) {
    if (appends->worker_at == RdmoWorkerPlace::kBeside) return Arrangement::kBeside;
    return is_attended(*appends) ? Arrangement::kAttended : Arrangement::kShared;
  }
  return parties_needed(config) == 2 ? Arrangement::kPair : Arrangement::kShared;
}

std::vector<std::uint32_t> neighbours(const WorkloadConfig& config, Party party) {
  const auto* ring = std::get_if<RingCollectiveConfig>(&config);
  return ring == nullptr ? std::vector<std::uint32_t>{} : neighbours(*ring, party);
}

std::vector<verbs::Verb> verbs_needed(const WorkloadConfig& config, bool remote_has_load_store) {
  using verbs::Verb;
  const auto takes_load_store = [remote_has_load_store](AccessPath path) {
    return path == AccessPath::kLoadStore || (path == AccessPath::kAuto && remote_has_load_store);
  };
  struct Needs {
    decltype(takes_load_store)& load_store;
    std::vector<Verb> reading(AccessPath path) const {
      return {load_store(path) ? Verb::kLoad : Verb::kRead};
    }
    std::vector<Verb> operator()(const PointerChaseConfig& c) const { return reading(c.access); }
    std::vector<Verb> operator()(const BulkReadConfig& c) const { return reading(c.access); }
    std::vector<Verb> operator()(const SequentialScanConfig& c) const { return reading(c.access); }
    std::vector<Verb> operator()(const BulkWriteConfig& c) const {
      return {load_store(c.access) ? Verb::kStore : Verb::kWrite};
    }
    std::vector<Verb> operator()(const KeyValueConfig& c) const {
      std::vector<Verb> needed = reading(c.access);
      if (c.put_fraction > 0.0) needed.push_back(load_store(c.access) ? Verb::kStore : Verb::kWrite);
      return needed;
    }
    std::vector<Verb> operator()(const VerbLoopConfig& c) const {
      if (c.verb == Verb::kSend) return {Verb::kSend, Verb::kSendImm};
      if (needs_receiver(c)) return {c.verb, Verb::kSend};
      return {c.verb};
    }
    std::vector<Verb> operator()(const PingPongConfig&) const { return {Verb::kSend}; }
    std::vector<Verb> operator()(const BarrierConfig&) const {
      return {Verb::kWrite, Verb::kFetchAdd, Verb::kRead};
    }
    std::vector<Verb> operator()(const CasLockConfig&) const {
      return {Verb::kCompareSwap, Verb::kRead, Verb::kWrite};
    }
    std::vector<Verb> operator()(const RingCollectiveConfig&) const { return {Verb::kWrite, Verb::kSend}; }
    std::vector<Verb> operator()(const ItemGetsConfig& c) const {
      std::vector<Verb> needed{Verb::kRead};
      if (c.protocol == GetProtocol::kPessimistic) needed.push_back(Verb::kFetchAdd);
      if (c.writer == ItemWriter::kRemote) needed.insert(needed.end(), {Verb::kCompareSwap, Verb::kWrite});
      if (c.writer == ItemWriter::kCore) needed.push_back(Verb::kSend);
      return needed;
    }
    std::vector<Verb> operator()(const RdmoConfig& c) const {
      if (c.protocol == RdmoProtocol::kTwoStep) return {Verb::kFetchAdd, Verb::kWrite};
      if (c.protocol == RdmoProtocol::kClientLock) return {Verb::kCompareSwap, Verb::kRead, Verb::kWrite};
      return {Verb::kSend, Verb::kRead, Verb::kWrite};
    }
  };
  return std::visit(Needs{takes_load_store}, config);
}

Result<void> check(const WorkloadConfig& config, Party party) {
  if (region_offset(config) % 8 != 0)
    return refuse("region_offset", region_offset(config), "a multiple of 8 bytes");
  return std::visit([party](const auto& chosen) { return check(chosen, party); }, config);
}

std::uint64_t memory_needed(const WorkloadConfig& config, Party party) {
  return std::visit([party](const auto& chosen) { return memory_needed(chosen, party); }, config);
}

void prepare(const WorkloadConfig& config, Party party, std::span<std::byte> region, std::uint64_t seed) {
  WHARF_CHECK(region.size() == memory_needed(config, party));
  std::visit([&](const auto& chosen) { prepare(chosen, party, region, seed); }, config);
}

Verdict verify(const WorkloadConfig& config, Party party, std::span<const std::byte> region,
               std::uint64_t seed, std::span<const WorkloadResult> results) {
  WHARF_CHECK(region.size() == memory_needed(config, party));
  Verdict verdict =
      verify_chosen(config, party, region, seed, results, std::make_index_sequence<kWorkloadKindCount>{});
  for (const WorkloadResult& result : results) verdict += loop_result(result).verdict;
  return verdict;
}

const LoopResult& loop_result(const WorkloadResult& result) {
  return std::visit([](const auto& chosen) -> const LoopResult& { return chosen.loop; }, result);
}

std::vector<NamedCount> own_counts(const WorkloadResult& result) {
  return std::visit([](const auto& chosen) { return counts_of(chosen); }, result);
}

}  // namespace wharf::workload
