// SPDX-License-Identifier: Apache-2.0
// Gets of a one-sided key-value store under four protocols, beside writers that follow the rules of the same
// protocol. Every word of an item tells its version, so that a get that passes its protocol's check although
// it is torn or stale is found.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/line.h"
#include "workload/crew.h"
#include "workload/item_layout.h"
#include "workload/item_ledger.h"
#include "workload/second_request.h"

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
  std::uint32_t writers = 1;              ///< Per party that writes.
  TimePs write_gap = microseconds(5);     ///< Mean of the pause between a writer's puts.
  TimePs start_delay = microseconds(10);  ///< Writer core: what the readers leave it to get ready.
  ItemLedger* shared_ledger = nullptr;    ///< Of parties in one process; no key.
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

namespace item_gets_detail {

/// Two's complement of 1 and of the writer's bit, for fetch-and-add.
inline constexpr std::uint64_t kMinusOne = ~std::uint64_t{0};
inline constexpr std::uint64_t kGiveBack = ~kExclusiveLock + 1;

template <typename R, typename C>
struct Clients : Crew<ItemGetsConfig, ItemGetsResult, R, C> {
  Clients(const ItemGetsConfig& config_in, Party party_in, std::uint64_t seed_in, R& remote_in, C& core_in,
          ItemGetsResult& result_in)
      : Crew<ItemGetsConfig, ItemGetsResult, R, C>(config_in, party_in, seed_in, remote_in, core_in,
                                                   result_in),
        layout(layout_of(config_in)),
        stride(item_stride(config_in)),
        ledger(config_in.shared_ledger != nullptr ? *config_in.shared_ledger : own_ledger) {
    ledger.reserve(config_in.items);
    result_in.completed.assign(config_in.items, 0);
    result_in.issued.assign(config_in.items, 0);
    result_in.damaged.assign(config_in.items, false);
  }

  std::uint32_t draw_item(RandomStream& draws) const {
    return static_cast<std::uint32_t>(draws.below(this->config.items));
  }
  verbs::RemoteAddress address_of(std::uint32_t item, std::uint32_t offset = 0) const {
    return this->at(item * stride + offset);
  }
  void knows(std::uint32_t item, std::uint64_t version) {
    this->result.completed[item] = std::max(this->result.completed[item], version);
  }
  void failed(verbs::CompletionStatus status) {
    LoopResult& counts = this->result.loop;
    if (counts.errors++ == 0) counts.first_error = status;
  }

  const ItemLayout layout;
  const std::uint64_t stride;
  ItemLedger own_ledger;
  ItemLedger& ledger;
  std::uint32_t readers_left = 0;
  bool stopped = false;  ///< Writers end when they see it.
};

/// What a reader shares with its assistant.
struct FirstRequest {
  SecondRequest pair;
  verbs::RemoteAddress item;
  std::uint64_t local = 0;
  verbs::Completion completion;
  bool stop = false;
};

/// Posts the first of a get's two requests, when they go together.
template <typename R, typename C>
verbs::Task<void> post_first(Clients<R, C>& crew, FirstRequest& first) {
  for (;;) {
    co_await first.pair.next();
    if (first.stop) break;
    if (crew.config.protocol == GetProtocol::kPessimistic) {
      first.completion = co_await crew.remote.fetch_add(first.item, 1);
    } else {
      first.completion = co_await crew.remote.read(first.local, first.item, crew.layout.bytes());
    }
  }
  crew.join.leave();
}

/// The gets of one worker.
template <typename R, typename C>
verbs::Task<void> get_items(Clients<R, C>& crew, FirstRequest& first, std::uint32_t worker) {
  const ItemGetsConfig& config = crew.config;
  ItemGetsResult& result = crew.result;
  Verdict& verdict = crew.loop.verdict();
  const ItemLayout& layout = crew.layout;
  const bool locks = config.protocol == GetProtocol::kPessimistic;
  const bool rereads = config.protocol == GetProtocol::kValidation;
  const bool together = config.posting == GetPosting::kTogether && (locks || rereads);
  const std::uint64_t local = crew.core.allocate(Bytes{layout.bytes()});
  const std::uint64_t header = crew.core.allocate(Bytes{8});
  first.local = local;
  RandomStream random = crew.random.substream(worker);
  Loop::Ticket ticket;
  co_await first.pair.done();
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    const std::uint32_t item = crew.draw_item(random);
    const verbs::RemoteAddress target = crew.address_of(item);
    crew.loop.start(crew.core.now(), ticket);
    const ItemLedger::Glance glance = crew.ledger.glance(item);
    verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
    ItemLayout::Judgement judgement;
    for (std::uint32_t attempt = 0; !judgement.accepted && attempt <= config.retries; ++attempt) {
      if (attempt > 0) {
        ++result.retries;
        if (config.retry_wait > kTimeZero) co_await crew.core.sleep(config.retry_wait);
      }
      verbs::Completion lock;
      verbs::Completion read;
      verbs::Completion again;
      first.item = target;
      if (together) first.pair.go();
      if (locks) {
        if (!together) lock = co_await crew.remote.fetch_add(target, 1);
        const bool is_free = lock.ok() && (lock.atomic_result[0] & kExclusiveLock) == 0;
        if (together || is_free) read = co_await crew.remote.read(local, target, layout.bytes());
      } else if (!together) {
        read = co_await crew.remote.read(local, target, layout.bytes());
      }
      if (rereads && read.ok()) again = co_await crew.remote.read(header, target, 8);
      if (together) {
        co_await first.pair.done();
        (locks ? lock : read) = first.completion;
      }
      if (!lock.ok() || !read.ok() || !again.ok()) {
        status = !lock.ok() ? lock.status : !read.ok() ? read.status : again.status;
        // Whether a reader that heard of an error is counted, nobody knows.
        if (locks && !lock.ok()) result.damaged[item] = true;
      } else if (!locks || (lock.atomic_result[0] & kExclusiveLock) == 0) {
        const std::span<const std::byte> bytes = crew.core.bytes(local, Bytes{layout.bytes()});
        judgement = layout.judge(bytes, load_le64(crew.core.bytes(header, Bytes{8}).data()));
      }
      if (locks && lock.ok() && !judgement.accepted) {
        const verbs::Completion unlocked = co_await crew.remote.fetch_add(target, kMinusOne);
        if (!unlocked.ok()) {
          result.damaged[item] = true;
          status = unlocked.status;
        }
      }
      if (status != verbs::CompletionStatus::kSuccess) break;
    }
    if (config.protocol == GetProtocol::kFarm && judgement.accepted && config.copy_line > kTimeZero)
      co_await crew.core.compute(config.copy_line * layout.lines());
    crew.loop.finish(crew.core, "get", worker, ticket, layout.payload_bytes(), status);
    if (crew.ledger.overlapped(item, glance)) ++result.overlaps;
    if (judgement.accepted) {
      verdict.expect(!judgement.torn, {"torn item", item, judgement.version, judgement.version});
      const bool stale = !judgement.torn && judgement.version < glance.completed;
      verdict.expect(!stale, {"stale item", item, glance.completed, judgement.version});
      result.torn += judgement.torn ? 1 : 0;
      result.stale += stale ? 1 : 0;
      if (!judgement.torn) {
        crew.ledger.saw(item, judgement.version);
        crew.knows(item, judgement.version);
      }
    } else if (status == verbs::CompletionStatus::kSuccess) {
      ++result.given_up;  // verify() knows whether anybody's put failed.
    }
    if (locks && judgement.accepted) {
      // The get is over; its reader is not counted any more.
      const verbs::Completion unlocked = co_await crew.remote.fetch_add(target, kMinusOne);
      if (!unlocked.ok()) result.damaged[item] = true;
    }
  }
  first.stop = true;
  first.pair.go();
  if (--crew.readers_left == 0) crew.stopped = true;
  crew.join.leave();
}

/// What a writer needs to know of the item that it is about to take.
struct Taken {
  std::uint64_t version = 0;  ///< That it will have.
  bool is_taken = false;
};
/// What the first word must hold, and will hold, for a writer that believes in `version`.
inline std::uint64_t free_word(const ItemLayout& layout, std::uint64_t version) {
  return layout.protocol() == GetProtocol::kPessimistic ? 0 : version;
}
inline std::uint64_t taken_word(const ItemLayout& layout, std::uint64_t version) {
  return layout.protocol() == GetProtocol::kPessimistic ? kExclusiveLock : version + 1;
}

/// A writer beside the readers. It ends at the first request that fails: nobody knows what came of it.
template <typename R, typename C>
verbs::Task<void> put_remotely(Clients<R, C>& crew, std::uint32_t worker) {
  const ItemGetsConfig& config = crew.config;
  ItemGetsResult& result = crew.result;
  const ItemLayout& layout = crew.layout;
  const bool locks = config.protocol == GetProtocol::kPessimistic;
  const std::uint64_t local = crew.core.allocate(Bytes{layout.bytes()});
  RandomStream random = crew.random.substream(config.loop.concurrency + worker);
  while (!crew.stopped) {
    const TimePs gap = random.exponential(config.write_gap);
    if (gap > kTimeZero) co_await crew.core.sleep(gap);
    if (crew.stopped) break;
    const std::uint32_t item = crew.draw_item(random);
    const verbs::RemoteAddress target = crew.address_of(item);
    std::uint64_t before = result.completed[item];
    const verbs::Completion swapped =
        co_await crew.remote.compare_swap(target, free_word(layout, before), taken_word(layout, before));
    verbs::CompletionStatus status = swapped.status;
    const std::uint64_t found = swapped.atomic_result[0];
    if (swapped.ok() && found != free_word(layout, before)) {
      ++result.lock_conflicts;
      if (!locks) crew.knows(item, found & ~std::uint64_t{1});
      continue;
    }
    if (swapped.ok() && locks) {
      // The lock does not say which version it guards.
      const verbs::Completion read = co_await crew.remote.read(local, crew.address_of(item, 8), 8);
      status = read.status;
      before = ItemLayout::version_of(load_le64(crew.core.bytes(local, Bytes{8}).data()));
    }
    const TimePs begun = crew.core.now();
    const std::uint64_t version = before + 2;
    crew.ledger.put_begins(item);
    if (status == verbs::CompletionStatus::kSuccess) {
      result.issued[item] = std::max(result.issued[item], version);
      layout.fill(crew.core.bytes(local, Bytes{layout.bytes()}), version);
      for (std::uint32_t number = 0;
           status == verbs::CompletionStatus::kSuccess && number < layout.put_parts(); ++number) {
        const ItemLayout::Part part = layout.put_part(number);
        const verbs::Completion written =
            co_await crew.remote.write(local + part.offset, crew.address_of(item, part.offset), part.length);
        status = written.status;
      }
    }
    if (status == verbs::CompletionStatus::kSuccess && locks) {
      const verbs::Completion unlocked = co_await crew.remote.fetch_add(target, kGiveBack);
      status = unlocked.status;
    }
    verbs::record_operation(crew.core, {"put", begun, begun, crew.core.now(), layout.payload_bytes(),
                                        config.loop.concurrency + worker, status});
    if (status != verbs::CompletionStatus::kSuccess) {
      result.damaged[item] = true;
      break;
    }
    crew.ledger.put_ends(item, version);
    crew.knows(item, version);
    ++result.puts;
  }
  crew.join.leave();
}

/// A writer at the host that has the memory, whose region begins at the local address `region`.
template <typename R, typename C>
verbs::Task<void> put_locally(Clients<R, C>& crew, std::uint64_t region, std::uint32_t worker) {
  const ItemGetsConfig& config = crew.config;
  ItemGetsResult& result = crew.result;
  const ItemLayout& layout = crew.layout;
  const bool locks = config.protocol == GetProtocol::kPessimistic;
  RandomStream random = crew.random.substream(config.loop.concurrency + worker);
  while (!crew.stopped) {
    const TimePs gap = random.exponential(config.write_gap);
    if (gap > kTimeZero) co_await crew.core.sleep(gap);
    if (crew.stopped) break;
    const std::uint32_t item = crew.draw_item(random);
    const std::uint64_t target = region + item * crew.stride;
    std::uint64_t before = result.completed[item];
    const std::uint64_t found =
        co_await crew.core.compare_swap(target, free_word(layout, before), taken_word(layout, before));
    if (found != free_word(layout, before)) {
      ++result.lock_conflicts;
      if (!locks) crew.knows(item, found & ~std::uint64_t{1});
      continue;
    }
    const TimePs begun = crew.core.now();
    crew.ledger.put_begins(item);
    if (locks) before = ItemLayout::version_of(co_await crew.core.load(target + layout.offset_of(0), 8));
    const std::uint64_t version = before + 2;
    result.issued[item] = std::max(result.issued[item], version);
    for (std::uint32_t number = 0; number < layout.put_steps(); ++number) {
      const ItemLayout::Step step = layout.put_step(number, version);
      co_await crew.core.store(target + step.offset, 8, step.value);
      co_await crew.core.fence();
    }
    if (locks) co_await crew.core.fetch_add(target, kGiveBack);
    verbs::record_operation(crew.core, {"put", begun, begun, crew.core.now(), layout.payload_bytes(),
                                        config.loop.concurrency + worker, verbs::CompletionStatus::kSuccess});
    crew.ledger.put_ends(item, version);
    crew.knows(item, version);
    ++result.puts;
  }
  crew.join.leave();
}

/// Hears from the readers that they are done.
template <typename R, typename C>
verbs::Task<void> hear_the_end(Clients<R, C>& crew, std::uint64_t local) {
  const verbs::Completion heard = co_await crew.remote.receive(local, 8);
  if (!heard.ok()) crew.failed(heard.status);
  crew.stopped = true;
  crew.join.leave();
}

}  // namespace item_gets_detail

/// Runs one party on `core`: readers, with writers beside them or, for writer core, as party 1 at the host
/// whose memory it is. That one hears from party 0 where the region is, and when to stop. All parties share
/// one region and use the same config. `config`, `remote`, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const ItemGetsConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      ItemGetsResult& result) {
  WHARF_CHECK(check(config, party).ok());
  item_gets_detail::Clients<R, C> crew(config, party, seed, remote, core, result);
  const bool by_core = config.writer == ItemWriter::kCore;
  const std::uint64_t message = core.allocate(Bytes{8});
  if (by_core && party.index == 1) {
    const std::uint64_t end = core.allocate(Bytes{8});
    const verbs::Completion heard = co_await remote.receive(message, 8);
    if (!heard.ok()) {
      crew.failed(heard.status);
      co_return;
    }
    crew.join.spawn(core, 1,
                    [&crew, end](std::uint32_t) { return item_gets_detail::hear_the_end(crew, end); });
    const std::uint64_t region = load_le64(core.bytes(message, Bytes{8}).data());
    crew.join.spawn(core, config.writers, [&crew, region](std::uint32_t worker) {
      return item_gets_detail::put_locally(crew, region, worker);
    });
    co_await crew.join.all();
    co_return;
  }
  const bool leads = by_core && party.index == 0;
  if (leads) {
    if (config.start_delay > kTimeZero) co_await core.sleep(config.start_delay);
    store_le64(core.bytes(message, Bytes{8}).data(), crew.at(0).address);
    const verbs::Completion told = co_await remote.send(message, 8);
    if (!told.ok()) {
      crew.failed(told.status);
      co_return;
    }
  }
  std::vector<std::unique_ptr<item_gets_detail::FirstRequest>> firsts;
  for (std::uint32_t i = 0; i < config.loop.concurrency; ++i)
    firsts.push_back(std::make_unique<item_gets_detail::FirstRequest>());
  crew.readers_left = config.loop.concurrency;
  crew.join.spawn(core, config.loop.concurrency,
                  [&](std::uint32_t worker) { return item_gets_detail::post_first(crew, *firsts[worker]); });
  crew.join.spawn(core, config.loop.concurrency, [&](std::uint32_t worker) {
    return item_gets_detail::get_items(crew, *firsts[worker], worker);
  });
  if (config.writer == ItemWriter::kRemote)
    crew.join.spawn(core, config.writers,
                    [&crew](std::uint32_t worker) { return item_gets_detail::put_remotely(crew, worker); });
  co_await crew.join.all();
  if (leads) {
    const verbs::Completion told = co_await remote.send(message, 8);
    if (!told.ok()) crew.failed(told.status);
  }
}

}  // namespace wharf::workload
