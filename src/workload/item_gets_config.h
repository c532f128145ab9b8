// SPDX-License-Identifier: Apache-2.0
// The program of item gets as its callers see it: keys, results, the memory it needs and what must hold of
// that at the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/line.h"
#include "base/result.h"
#include "verbs/work_request.h"
#include "workload/choice.h"
#include "workload/item_layout.h"
#include "workload/item_records.h"
#include "workload/loop.h"
#include "workload/party.h"

namespace wharf::workload {

/// How the two requests of a get are posted: lock and item (Pessimistic), item and version (Validation).
enum class GetPosting : std::uint8_t {
  kWait,      ///< The second when the first is complete.
  kTogether,  ///< Back to back; correct only where the target keeps them in order.
};
inline constexpr std::array<Choice<GetPosting>, 2> kGetPostingChoices{
    {{"wait", GetPosting::kWait}, {"together", GetPosting::kTogether}}};

enum class ItemWriter : std::uint8_t {
  kNone,
  kRemote,  ///< At the readers' host, over the same remote memory.
  kCore,    ///< At the host whose memory it is, with that host's core.
};
inline constexpr std::array<Choice<ItemWriter>, 3> kItemWriterChoices{
    {{"none", ItemWriter::kNone}, {"remote", ItemWriter::kRemote}, {"core", ItemWriter::kCore}}};

inline constexpr std::array<Choice<verbs::AccessOrder>, 2> kReadOrderChoices{
    {{"relaxed", verbs::AccessOrder::kRelaxed}, {"ascending", verbs::AccessOrder::kAscending}}};

/// Who says which gets were stale, and which ran beside a put.
enum class GetJudging : std::uint8_t {
  kAlone,     ///< Each party at once, by what it knows itself.
  kTogether,  ///< An ItemJudge, from the records of all parties, which whoever runs them gives it.
};

struct ItemGetsConfig {
  LoopConfig loop;                  ///< One operation: a get, repeated until its check passes.
  std::uint64_t region_offset = 0;  ///< Bytes from the start of the segment.
  GetProtocol protocol = GetProtocol::kValidation;
  std::uint32_t items = 16;
  std::uint32_t payload = 64;  ///< Bytes, a multiple of 8.
  GetPosting posting = GetPosting::kWait;
  std::uint32_t retries = 1000;  ///< How often a get is tried again before it is given up.
  TimePs retry_wait = kTimeZero;
  /// How the target's root complex is asked to order the lines of a READ, where its memory is one of lines.
  verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed;
  /// FaRM: core time for one line of an item whose payload is copied out. ASPLOS '26, Figure 7: at 512 B a
  /// thread loses 1.27 us per get of 10 lines.
  TimePs copy_line = nanoseconds(127);
  ItemWriter writer = ItemWriter::kRemote;
  std::uint32_t writers = 1;                ///< Per party that writes.
  TimePs write_gap = microseconds(5);       ///< Mean of the pause between a writer's puts.
  TimePs start_delay = microseconds(10);    ///< Writer core: what the readers leave it to get ready.
  GetJudging judging = GetJudging::kAlone;  ///< No key.
};

template <typename Keys>
void bind_keys(ItemGetsConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.choice("protocol", config.protocol, std::span<const Choice<GetProtocol>>(kGetProtocolChoices),
              "how readers and writers of an item agree");
  keys.integer("items", config.items, "items of the store, each at the start of a line", 1, 1 << 24);
  keys.bytes("payload", config.payload, "payload of an item", 8, 65536);
  keys.choice("posting", config.posting, std::span<const Choice<GetPosting>>(kGetPostingChoices),
              "how the two requests of a pessimistic or validation get follow each other; together needs a "
              "target that keeps them in order");
  keys.choice(
      "read_order", config.read_order, std::span<const Choice<verbs::AccessOrder>>(kReadOrderChoices),
      "memory.system coherent: order of the lines of a READ that the target's root complex is asked for");
  keys.integer("retries", config.retries, "how often a get is tried again before it is given up", 0,
               1'000'000'000);
  keys.time("retry_wait", config.retry_wait, "pause before a get is tried again");
  keys.time("copy_line", config.copy_line, "farm: core time to copy the payload out of one line");
  keys.choice("writer", config.writer, std::span<const Choice<ItemWriter>>(kItemWriterChoices),
              "who writes: nobody, the readers' host over the network, or a core of the memory's host");
  keys.integer("writers", config.writers, "writers (coroutines) of each host that writes", 1, 65536);
  keys.time("write_gap", config.write_gap, "mean pause between the puts of a writer");
  keys.time("start_delay", config.start_delay, "writer core: how long readers wait for it to get ready");
}

struct ItemGetsResult {
  LoopResult loop;
  std::uint64_t retries = 0;   ///< Attempts of gets that found a put, or a lock.
  std::uint64_t overlaps = 0;  ///< Gets during which a put to the item was under way, as far as known.
  std::uint64_t torn = 0;      ///< Gets that were accepted with words of two versions.
  std::uint64_t stale = 0;     ///< Accepted ones of a version older than one complete before they began.
  std::uint64_t given_up = 0;  ///< Gets that ran out of retries.
  std::uint64_t puts = 0;
  std::uint64_t lock_conflicts = 0;      ///< Attempts of writers to take an item that another had.
  std::vector<std::uint64_t> completed;  ///< By item: the newest version of which this party knows.
  std::vector<std::uint64_t> issued;     ///< By item: the newest version that this party began to put.
  std::vector<bool> damaged;             ///< By item: a request of a put, or one that unlocks, failed.
  ItemRecords records;                   ///< GetJudging::kTogether: what no judge has seen yet.
};

inline ItemLayout layout_of(const ItemGetsConfig& config) { return {config.protocol, config.payload}; }
inline std::uint64_t item_stride(const ItemGetsConfig& config) {
  return std::uint64_t{layout_of(config).lines()} * kLineBytes;
}

/// Target memory that the program needs from `region_offset` on.
inline std::uint64_t memory_needed(const ItemGetsConfig& config, Party) {
  return config.items * item_stride(config);
}

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const ItemGetsConfig& config, Party party) {
  WHARF_TRY(check(config.loop));
  if (config.payload % 8 != 0) return refuse("payload", config.payload, "a multiple of 8 bytes");
  if (config.region_offset % kLineBytes != 0)
    return refuse("region_offset", config.region_offset, "a multiple of 64 bytes, as lines are read at once");
  if (config.writer == ItemWriter::kCore && party.count < 2)
    return refuse("parties", party.count, "at least 2 for writer core: readers, and the memory's host");
  return {};
}

inline void prepare(const ItemGetsConfig& config, Party, std::span<std::byte> region, std::uint64_t) {
  const ItemLayout layout = layout_of(config);
  std::fill(region.begin(), region.end(), std::byte{0});
  for (std::uint64_t item = 0; item < config.items; ++item)
    layout.fill(region.subspan(item * item_stride(config), layout.bytes()), 0);
}

/// Every item is whole, unlocked and of a version between the newest one that anybody knew of and the newest
/// one that was put, unless a request of a writer failed on it. `results` holds one entry per party.
inline Verdict verify(const ItemGetsConfig& config, Party, std::span<const std::byte> region, std::uint64_t,
                      std::span<const ItemGetsResult> results) {
  Verdict verdict;
  const ItemLayout layout = layout_of(config);
  std::uint64_t given_up = 0;
  bool any_damaged = false;
  for (const ItemGetsResult& result : results) given_up += result.given_up;
  for (std::uint32_t item = 0; item < config.items; ++item) {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    bool damaged = false;
    for (const ItemGetsResult& result : results) {
      if (result.completed.empty()) continue;  // The party did not begin.
      least = std::max(least, result.completed[item]);
      most = std::max(most, result.issued[item]);
      damaged = damaged || result.damaged[item];
    }
    any_damaged = any_damaged || damaged;
    if (damaged) continue;
    const auto bytes = region.subspan(item * item_stride(config), layout.bytes());
    const std::uint64_t first = load_le64(bytes.data());
    const ItemLayout::Judgement found = layout.judge(bytes, first);
    verdict.expect(found.accepted && !found.torn, {"torn item", item, least, first});
    verdict.expect(config.protocol != GetProtocol::kPessimistic || first == 0,
                   {"lock never given back", item, 0, first});
    verdict.expect(found.version >= least && found.version <= most, {"lost put", item, least, found.version});
  }
  verdict.expect(given_up == 0 || any_damaged, {"get ran out of retries", 0, 0, given_up});
  return verdict;
}

}  // namespace wharf::workload
