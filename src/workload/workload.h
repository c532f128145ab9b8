// SPDX-License-Identifier: Apache-2.0
// The list of programs: names, descriptions, keys, and one entry point that runs whichever was chosen.
// Scenarios and the live commands look here; each program lives in a file of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "verbs/verb.h"
#include "workload/barrier.h"
#include "workload/bulk_read.h"
#include "workload/bulk_write.h"
#include "workload/cas_lock.h"
#include "workload/item_gets.h"
#include "workload/key_value.h"
#include "workload/peers.h"
#include "workload/ping_pong.h"
#include "workload/pointer_chase.h"
#include "workload/rdmo.h"
#include "workload/ring_collective.h"
#include "workload/sequential_scan.h"
#include "workload/verb_loop.h"

namespace wharf::workload {

/// In the order of the alternatives of WorkloadConfig and WorkloadResult.
enum class WorkloadKind : std::uint8_t {
  kPointerChase,
  kBulkRead,
  kBulkWrite,
  kPingPong,
  kBarrier,
  kCasLock,
  kKeyValue,
  kSequentialScan,
  kVerbLoop,
  kItemGets,
  kRingCollective,
  kRdmo,
};
inline constexpr int kWorkloadKindCount = static_cast<int>(WorkloadKind::kRdmo) + 1;

using WorkloadConfig = std::variant<PointerChaseConfig, BulkReadConfig, BulkWriteConfig, PingPongConfig,
                                    BarrierConfig, CasLockConfig, KeyValueConfig, SequentialScanConfig,
                                    VerbLoopConfig, ItemGetsConfig, RingCollectiveConfig, RdmoConfig>;
using WorkloadResult = std::variant<PointerChaseResult, BulkReadResult, BulkWriteResult, PingPongResult,
                                    BarrierResult, CasLockResult, KeyValueResult, SequentialScanResult,
                                    VerbLoopResult, ItemGetsResult, RingCollectiveResult, RdmoResult>;
static_assert(std::variant_size_v<WorkloadConfig> == kWorkloadKindCount);
static_assert(std::variant_size_v<WorkloadResult> == kWorkloadKindCount);

/// "pointer_chase", "bulk_read", ...
std::string_view name(WorkloadKind kind);
/// One sentence.
std::string_view describe(WorkloadKind kind);
std::optional<WorkloadKind> parse_workload(std::string_view text);
/// Every name, in enumerator order.
std::span<const std::string_view> workload_names();

/// The configuration of `kind` with every key at its default.
WorkloadConfig default_config(WorkloadKind kind);
inline WorkloadKind kind_of(const WorkloadConfig& config) {
  return static_cast<WorkloadKind>(config.index());
}

/// Lists the keys of the chosen program to `keys`, which has the methods of the scenario binder.
template <typename Keys>
void bind_keys(WorkloadConfig& config, Keys& keys) {
  std::visit([&keys](auto& chosen) { bind_keys(chosen, keys); }, config);
}

/// One key, for references and help texts.
struct KeyDescription {
  std::string name;
  std::string expected;       ///< "time", "size", "integer from 1 to 65536", "one of closed, open".
  std::string default_value;  ///< Text that reads back to the default.
  std::string doc;
};
/// The keys of `kind`, in the order in which bind_keys() lists them.
std::vector<KeyDescription> describe_keys(WorkloadKind kind);

/// The part of every configuration that says how many operations, and when.
const LoopConfig& loop_config(const WorkloadConfig& config);
LoopConfig& loop_config(WorkloadConfig& config);
/// Where the program's memory begins in the target's segment, in bytes; a multiple of 8.
std::uint64_t region_offset(const WorkloadConfig& config);

/// How many parties the program runs at: at least and at most.
struct PartyRange {
  std::uint32_t least = 1;
  std::uint32_t most = 1;
};
PartyRange party_range(WorkloadKind kind);
/// The fewest parties that `config` can run with.
std::uint32_t parties_needed(const WorkloadConfig& config);

/// Who reaches whose memory.
enum class Arrangement : std::uint8_t {
  kShared,    ///< All parties use one memory, that of a server, which runs nothing.
  kAttended,  ///< The same, but the second party runs at the server, and has a remote toward each other one.
  kBeside,    ///< The same, but it runs at a host of its own, and has a remote toward the server, too.
  kPair,      ///< Two parties: the second runs where the memory is.
  kPeers,     ///< Each party has memory that its neighbours use.
};
Arrangement arrangement(const WorkloadConfig& config);
/// The ranks that party `party.index` has a queue with, each once. None but for kPeers.
std::vector<std::uint32_t> neighbours(const WorkloadConfig& config, Party party);

/// The verbs that `config` uses when the remote has loads and stores, or when it has not.
std::vector<verbs::Verb> verbs_needed(const WorkloadConfig& config, bool remote_has_load_store);
/// Refuses keys that contradict each other. The sentence names the key, not the place it was read from.
Result<void> check(const WorkloadConfig& config, Party party);
/// Memory in bytes, from region_offset() on: at the target, or of each party (kPeers).
std::uint64_t memory_needed(const WorkloadConfig& config, Party party);

/// Memory of each client's own that the second party reads (kAttended, kBeside).
std::uint64_t own_memory_needed(const WorkloadConfig& config);

/// Fills `region`, the memory_needed() bytes at the target or of party `party.index` (kPeers), before the
/// run. `seed` is that of the run.
void prepare(const WorkloadConfig& config, Party party, std::span<std::byte> region, std::uint64_t seed);
/// Checks `region` after the run, together with what the parties noted (one result each, in order).
Verdict verify(const WorkloadConfig& config, Party party, std::span<const std::byte> region,
               std::uint64_t seed, std::span<const WorkloadResult> results);

/// An empty result for the program of `config`.
WorkloadResult empty_result(const WorkloadConfig& config);
/// The part that all results share.
const LoopResult& loop_result(const WorkloadResult& result);
/// A program's own counts, by name.
struct NamedCount {
  std::string_view name;
  std::uint64_t value;
};
std::vector<NamedCount> own_counts(const WorkloadResult& result);

/// Refuses a remote that lacks a verb, or whose segment is too small. One sentence, without a place.
template <verbs::RemoteMemory R>
Result<void> check_remote(const WorkloadConfig& config, Party party, R& remote) {
  for (const verbs::Verb verb : verbs_needed(config, remote.supports(verbs::Verb::kLoad))) {
    if (!remote.supports(verb)) {
      return input_error("workload " + std::string(name(kind_of(config))) + " needs " +
                         std::string(name(verb)) + ", which this stack does not have");
    }
  }
  const verbs::RemoteSegment segment = remote.segment();
  const std::uint64_t needed = memory_needed(config, party);
  if (needed != 0 &&
      (region_offset(config) > segment.length || needed > segment.length - region_offset(config))) {
    return input_error("workload " + std::string(name(kind_of(config))) + " needs " +
                       format_bytes(Bytes{needed}) + " of target memory at offset " +
                       format_bytes(Bytes{region_offset(config)}) + ", the segment has " +
                       format_bytes(Bytes{segment.length}));
  }
  return {};
}

/// Runs one party of the chosen program on `core` to its end. All arguments outlive the task. `remote` is the
/// party's first, `peers` has those of programs that reach their neighbours, and of attended ones.
/// `result` is that of empty_result() and may be read at any time while the program runs.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const WorkloadConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      WorkloadResult& result, const Peers<R>& peers = {}) {
  WHARF_CHECK(config.index() == result.index());
  const auto start = [&](const auto& chosen, auto& own) {
    if constexpr (requires { chosen.kPeers; }) {
      return run(chosen, party, seed, peers, core, own);
    } else if constexpr (
        requires { chosen.judging; } || requires { chosen.worker_at; }) {
      return run(chosen, party, seed, remote, core, own, peers);
    } else {
      return run(chosen, party, seed, remote, core, own);
    }
  };
  return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    verbs::Task<void> task;
    ((config.index() == kIndex ? void(task = start(std::get<kIndex>(config), std::get<kIndex>(result)))
                               : void()),
     ...);
    return task;
  }
  (std::make_index_sequence<kWorkloadKindCount>{});
}

}  // namespace wharf::workload
