// SPDX-License-Identifier: Apache-2.0
// Gets of a one-sided key-value store under four protocols, beside writers that follow the rules of the same
// protocol. Every word of an item tells its version, so that a get that passes its protocol's check although
// it is torn or stale is found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "workload/crew.h"
#include "workload/item_gets_config.h"
#include "workload/item_judge.h"
#include "workload/peers.h"
#include "workload/second_request.h"

namespace wharf::workload {

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
        own_judge(config_in.judging == GetJudging::kAlone ? config_in.items : 0) {
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
  /// To be called when it happens, now.
  void note(ItemRecord record) {
    record.at = this->core.now();
    if (this->config.judging == GetJudging::kAlone) {
      own_judge.take(0, record, this->result);
    } else {
      this->result.records.push_back(record);
    }
  }
  void failed(verbs::CompletionStatus status) {
    LoopResult& counts = this->result.loop;
    if (counts.errors++ == 0) counts.first_error = status;
  }

  const ItemLayout layout;
  const std::uint64_t stride;
  ItemJudge own_judge;  ///< GetJudging::kAlone.
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
    crew.note({.item = item, .worker = worker, .what = ItemRecord::What::kGetBegins});
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
    crew.note({.version = judgement.version,
               .item = item,
               .worker = worker,
               .what = ItemRecord::What::kGetEnds,
               .accepted = judgement.accepted,
               .torn = judgement.torn,
               .other = judgement.other});
    if (judgement.accepted) {
      if (!judgement.torn) crew.knows(item, judgement.version);
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
    crew.note({.item = item, .worker = worker, .what = ItemRecord::What::kPutBegins});
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
    crew.note({.version = version, .item = item, .worker = worker, .what = ItemRecord::What::kPutEnds});
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
    crew.note({.item = item, .worker = worker, .what = ItemRecord::What::kPutBegins});
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
    crew.note({.version = version, .item = item, .worker = worker, .what = ItemRecord::What::kPutEnds});
    crew.knows(item, version);
    ++result.puts;
  }
  crew.join.leave();
}

/// Hears from one party of readers that its gets are over.
template <typename R, typename C>
verbs::Task<void> hear_the_end(Clients<R, C>& crew, R& from) {
  const std::uint64_t local = crew.core.allocate(Bytes{8});
  const verbs::Completion heard = co_await from.receive(local, 8);
  if (!heard.ok()) crew.failed(heard.status);
  if (--crew.readers_left == 0 || !heard.ok()) crew.stopped = true;
  crew.join.leave();
}

/// Party 1 of writer core: writes until the last reader is done.
template <typename R, typename C>
verbs::Task<void> write_for_readers(Clients<R, C>& crew, const Peers<R>& peers, std::uint64_t message) {
  crew.readers_left = peers.by_rank.empty() ? 1 : crew.party.count - 1;
  const auto hear = [&crew](R& from) {
    crew.join.spawn(crew.core, 1, [&crew, &from](std::uint32_t) { return hear_the_end(crew, from); });
  };
  for (std::size_t other = 2; other < peers.by_rank.size(); ++other) hear(*peers.by_rank[other]);
  const verbs::Completion heard = co_await crew.remote.receive(message, 8);
  if (heard.ok()) {
    hear(crew.remote);
    const std::uint64_t region = load_le64(crew.core.bytes(message, Bytes{8}).data());
    crew.join.spawn(crew.core, crew.config.writers,
                    [&crew, region](std::uint32_t worker) { return put_locally(crew, region, worker); });
  } else {
    crew.failed(heard.status);
  }
  co_await crew.join.all();
}

/// Starts the readers of a party, and remote writers beside them.
template <typename R, typename C>
void start_readers(Clients<R, C>& crew, std::vector<std::unique_ptr<FirstRequest>>& firsts) {
  const std::uint32_t workers = crew.config.loop.concurrency;
  for (std::uint32_t i = 0; i < workers; ++i) firsts.push_back(std::make_unique<FirstRequest>());
  crew.readers_left = workers;
  crew.join.spawn(crew.core, workers,
                  [&](std::uint32_t worker) { return post_first(crew, *firsts[worker]); });
  crew.join.spawn(crew.core, workers,
                  [&](std::uint32_t worker) { return get_items(crew, *firsts[worker], worker); });
  if (crew.config.writer == ItemWriter::kRemote)
    crew.join.spawn(crew.core, crew.config.writers,
                    [&crew](std::uint32_t worker) { return put_remotely(crew, worker); });
}

}  // namespace item_gets_detail

/// Runs one party on `core`: readers, with writers beside them or, for writer core, as party 1 at the host
/// whose memory it is. That one hears from party 0 where the region is, and from it when to stop; with
/// `peers`, its remotes by party, it stops when the last party has told it. All parties share one region and
/// use the same config. `config`, `remote`, what `peers` names, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const ItemGetsConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      ItemGetsResult& result, Peers<R> peers = {}) {
  WHARF_CHECK(check(config, party).ok());
  item_gets_detail::Clients<R, C> crew(config, party, seed, remote, core, result);
  const bool by_core = config.writer == ItemWriter::kCore;
  const std::uint64_t message = core.allocate(Bytes{8});
  if (by_core && party.index == 1) {
    co_await item_gets_detail::write_for_readers(crew, peers, message);
    co_return;
  }
  const bool leads = by_core && party.index == 0;
  const bool tells = leads || (by_core && !peers.by_rank.empty());
  if (tells && config.start_delay > kTimeZero) co_await core.sleep(config.start_delay);
  if (leads) {
    store_le64(core.bytes(message, Bytes{8}).data(), crew.at(0).address);
    const verbs::Completion told = co_await remote.send(message, 8);
    if (!told.ok()) {
      crew.failed(told.status);
      co_return;
    }
  }
  std::vector<std::unique_ptr<item_gets_detail::FirstRequest>> firsts;
  item_gets_detail::start_readers(crew, firsts);
  co_await crew.join.all();
  if (tells) {
    const verbs::Completion told = co_await remote.send(message, 8);
    if (!told.ok()) crew.failed(told.status);
  }
}

}  // namespace wharf::workload
