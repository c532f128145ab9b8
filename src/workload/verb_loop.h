// SPDX-License-Identifier: Apache-2.0
// Verb loop: the same verb again and again. The plainest program there is, for latency tables and sweeps of
// one verb.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/line.h"
#include "verbs/verb.h"
#include "workload/block_order.h"
#include "workload/crew.h"
#include "workload/pattern.h"

namespace wharf::workload {

struct VerbLoopConfig {
  LoopConfig loop;
  verbs::Verb verb = verbs::Verb::kRead;
  std::uint64_t region_offset = 0;
  std::uint64_t region_bytes = 1U << 20U;
  std::uint32_t payload = 64;  ///< Bytes per operation. Loads and stores: 1, 2, 4 or 8. Atomics: 4, 8 or 16.
  BlockOrder order = BlockOrder::kSequential;
  verbs::OrderTag order_tag = verbs::OrderTag::kNone;
  bool fence = false;
  bool completion_in_order = true;
  double hot_fraction = 0;          ///< Share of the operations that fall on the hot blocks, drawn for each.
  std::uint32_t hot_blocks = 32;    ///< The first blocks of the region; the others are then cold. At least 1.
  std::uint32_t tags = 0;           ///< Sends are matched by so many tags, in turn; 0: by none.
  std::uint64_t publish_every = 0;  ///< Stores of a worker after which it publishes them; 0: never.
  TimePs start_delay = microseconds(10);
};

/// Bytes of a range that is published at once.
inline constexpr std::uint64_t kMostPublished = std::uint64_t{1} << 30U;

/// Receive entries that party 1 keeps posted per worker of party 0, so that no message waits for one.
inline constexpr std::uint32_t kEntriesPerWorker = 4;

/// Whether messages have tags.
constexpr bool is_tagged(const VerbLoopConfig& config) {
  return config.tags != 0 && verbs::is_send(config.verb);
}

/// Whether party 1 has to keep receive entries posted.
constexpr bool needs_receiver(const VerbLoopConfig& config) {
  return verbs::consumes_receive_entry(config.verb);
}

template <typename Keys>
void bind_keys(VerbLoopConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  std::array<Choice<verbs::Verb>, verbs::kVerbCount> verbs_by_name;
  for (std::size_t index = 0; index < verbs_by_name.size(); ++index) {
    const auto verb = static_cast<verbs::Verb>(index);
    verbs_by_name[index] = {verbs::name(verb), verb};
  }
  keys.choice("verb", config.verb, std::span<const Choice<verbs::Verb>>(verbs_by_name), "the verb to repeat");
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.bytes("region_bytes", config.region_bytes, "size of the region that is touched", 64);
  keys.bytes("payload", config.payload,
             "bytes per operation; loads and stores 1, 2, 4 or 8; atomics 4, 8 or 16", 1,
             std::uint64_t{1} << 30U);
  bind_keys(config.order, keys);
  static constexpr std::array<Choice<verbs::OrderTag>, 3> kTags{{
      {"none", verbs::OrderTag::kNone},
      {"relaxed", verbs::OrderTag::kRelaxed},
      {"strong", verbs::OrderTag::kStrong},
  }};
  keys.choice("order_tag", config.order_tag, std::span<const Choice<verbs::OrderTag>>(kTags),
              "Unified Bus: a strong request is executed after earlier relaxed and strong ones of its queue");
  keys.flag("fence", config.fence, "each request waits for earlier reads and atomics of its queue");
  keys.flag("completion_in_order", config.completion_in_order,
            "Unified Bus: completions are reported in posting order");
  keys.probability("hot_fraction", config.hot_fraction,
                   "share of the operations that fall on a few hot blocks");
  keys.integer("hot_blocks", config.hot_blocks, "hot blocks, with a hot_fraction above 0", 1,
               std::int64_t{1} << 31);
  keys.integer(
      "tags", config.tags,
      "Ultra Ethernet: sends take so many tags in turn, and only a receive of the same tag takes one; 0: "
      "no tags",
      0, 4096);
  keys.integer(
      "publish_every", config.publish_every,
      "stores: after so many a program waits until the remote has them (write-back caches keep them); 0: "
      "never",
      0, std::int64_t{1} << 31);
  keys.time("start_delay", config.start_delay,
            "send verbs: how long party 0 waits for party 1's receive entries");
}

/// What is known of one block that a write or store touches. Every one puts the same bytes there.
struct BlockTouches {
  bool issued = false;        ///< The new bytes may be there.
  bool acknowledged = false;  ///< The new bytes must be there.
};

struct VerbLoopResult {
  LoopResult loop;
  std::uint64_t received = 0;        ///< Party 1: messages.
  std::vector<BlockTouches> blocks;  ///< Writes and stores: by number in the region.
};

/// Distance of the places that operations touch: loads, stores and atomics have a line each.
inline std::uint64_t block_bytes(const VerbLoopConfig& config) {
  return verbs::is_load_store(config.verb) || verbs::is_atomic(config.verb) ? std::uint64_t{kLineBytes}
                                                                            : std::uint64_t{config.payload};
}

inline std::uint64_t memory_needed(const VerbLoopConfig& config, Party) { return config.region_bytes; }

inline Result<void> check(const VerbLoopConfig& config, Party party) {
  WHARF_TRY(check(config.loop));
  const std::uint32_t payload = config.payload;
  if (verbs::is_load_store(config.verb) && payload != 1 && payload != 2 && payload != 4 && payload != 8) {
    return refuse("payload", payload,
                  "1, 2, 4 or 8 bytes: a single load or store moves no more than a register");
  }
  if (verbs::is_atomic(config.verb) && payload != 4 && payload != 8 && payload != 16) {
    return refuse("payload", payload, "4, 8 or 16 bytes for an atomic");
  }
  // What is published at once is one range.
  const bool ranges = config.verb == verbs::Verb::kStore && config.publish_every > 1;
  if (ranges && (config.order != BlockOrder::kSequential || config.hot_fraction > 0))
    return refuse("publish_every", config.publish_every, "0 or 1 where blocks are not touched in sequence");
  if (ranges && config.region_bytes > kMostPublished)
    return refuse("region_bytes", config.region_bytes, "at most 1GiB with publish_every above 1");
  if (config.region_bytes < block_bytes(config))
    return refuse("region_bytes", config.region_bytes, "at least `payload`");
  if (config.hot_fraction > 0 && config.region_bytes / block_bytes(config) <= config.hot_blocks) {
    return refuse("hot_blocks", config.hot_blocks, "fewer than the region has blocks");
  }
  if (needs_receiver(config) && party.count != 2)
    return refuse("parties", party.count, "2: one sends, one receives");
  // Each tag has a receiver.
  const std::uint32_t receivers = kEntriesPerWorker * config.loop.concurrency;
  if (is_tagged(config) && config.tags > receivers)
    return refuse("tags", config.tags, fmt::format("at most {}, the receives that are posted", receivers));
  return {};
}

/// Seeds of the bytes that writes and sends carry, apart from those of the prepared region.
constexpr std::uint64_t written_seed(std::uint64_t seed) { return ~seed; }
constexpr std::uint64_t message_seed(std::uint64_t seed) { return seed ^ 0x6d65'7373'6167'6573U; }
/// The value that a store puts at `offset`.
constexpr std::uint64_t stored_word(std::uint64_t seed, std::uint64_t offset) {
  return mix(seed, offset / 8, 1);
}

inline void prepare(const VerbLoopConfig& config, Party, std::span<std::byte> region, std::uint64_t seed) {
  if (verbs::is_atomic(config.verb)) {
    for (std::byte& byte : region) byte = std::byte{0};
  } else {
    fill_words(region, seed, 0);
  }
}

namespace verb_loop_detail {

/// Whether `bytes`, the first of a block that writes or stores touch, hold what was put there, or (with
/// `before`) what was there before. The notify word of a write-and-notify overwrites the first 8 bytes.
inline bool block_holds(const VerbLoopConfig& config, std::uint64_t seed, std::uint64_t offset,
                        std::span<const std::byte> bytes, bool before) {
  const std::size_t skip =
      config.verb == verbs::Verb::kWriteNotify && !before ? std::min<std::size_t>(8, bytes.size()) : 0;
  if (config.verb == verbs::Verb::kStore && !before) {
    std::byte word[8];
    store_le64(word, stored_word(seed, offset));
    return std::equal(bytes.begin(), bytes.end(), word);
  }
  const std::span<const std::byte> rest = bytes.subspan(skip);
  return first_wrong_byte_at(rest, before ? seed : written_seed(seed), offset + skip) == rest.size();
}

/// Every block holds, whole, what was written to it, by whichever party; one that no write reached is as
/// prepared. A block whose writes all failed may hold any part of either.
inline void verify_blocks(const VerbLoopConfig& config, std::span<const std::byte> region, std::uint64_t seed,
                          std::span<const VerbLoopResult> results, Verdict& verdict) {
  const std::uint64_t distance = block_bytes(config);
  for (std::uint64_t block = 0; block < results[0].blocks.size(); ++block) {
    BlockTouches touches;
    for (const VerbLoopResult& result : results) {
      if (block >= result.blocks.size()) continue;  // That party receives.
      touches.issued = touches.issued || result.blocks[block].issued;
      touches.acknowledged = touches.acknowledged || result.blocks[block].acknowledged;
    }
    if (touches.issued && !touches.acknowledged) continue;
    const std::uint64_t offset = block * distance;
    const bool holds =
        block_holds(config, seed, offset, region.subspan(offset, config.payload), !touches.acknowledged);
    verdict.expect(holds, {touches.acknowledged ? "lost or torn write" : "byte overwritten", offset, 0, 0});
  }
}

}  // namespace verb_loop_detail

/// Every fetch-and-add of one must have been executed exactly once; what is only read must be as prepared;
/// what was written or stored must be there. Messages and the values that reads return are checked on the
/// way.
inline Verdict verify(const VerbLoopConfig& config, Party, std::span<const std::byte> region,
                      std::uint64_t seed, std::span<const VerbLoopResult> results) {
  Verdict verdict;
  if (results.empty()) return verdict;
  std::uint64_t operations = 0;
  std::uint64_t errors = 0;
  for (const VerbLoopResult& result : results) {
    operations += result.loop.operations + result.loop.warmup_operations;
    errors += result.loop.errors;
  }
  if (config.verb == verbs::Verb::kFetchAdd && config.payload == 8) {
    std::uint64_t sum = 0;
    for (std::uint64_t at = 0; at + block_bytes(config) <= region.size(); at += block_bytes(config)) {
      sum += load_le64(region.data() + at);
    }
    verdict.expect(errors != 0 || sum == operations, {"additions lost or doubled", 0, operations, sum});
  } else if (config.verb == verbs::Verb::kRead || config.verb == verbs::Verb::kLoad) {
    const std::size_t wrong = first_wrong_byte(region, seed, 0);
    verdict.expect(wrong == region.size(), {"byte overwritten", wrong, 0, 0});
  } else {
    verb_loop_detail::verify_blocks(config, region, seed, results, verdict);
    if (needs_receiver(config) && results.size() == 2) {
      verdict.expect(errors != 0 || operations == results[1].received,
                     {"messages lost or doubled", 0, operations, results[1].received});
    }
  }
  return verdict;
}

namespace verb_loop_detail {

template <typename R, typename C>
using Users = Crew<VerbLoopConfig, VerbLoopResult, R, C>;

/// The block that operation `number` touches: hot ones at random, cold ones in the order of the config.
inline std::uint64_t block_of(const VerbLoopConfig& config, Probability hot, std::uint64_t number,
                              RandomStream& random) {
  const std::uint64_t blocks = config.region_bytes / block_bytes(config);
  if (hot.never()) return choose_block(config.order, number, blocks, random);
  if (random.chance(hot)) return random.below(config.hot_blocks);
  return config.hot_blocks + choose_block(config.order, number, blocks - config.hot_blocks, random);
}

/// What ends one receiver: an empty message. Of another verb than the one that is repeated, so that results
/// keep them apart.
inline verbs::WorkRequest stop_request(const VerbLoopConfig& config, std::uint32_t receiver) {
  verbs::WorkRequest request;
  request.verb = config.verb == verbs::Verb::kSend ? verbs::Verb::kSendImm : verbs::Verb::kSend;
  request.tagged = is_tagged(config);
  if (request.tagged) request.tag = receiver % config.tags;
  return request;
}
/// What receiver number `receiver` posts, for messages to `local`.
inline verbs::ReceiveRequest receive_request(const VerbLoopConfig& config, std::uint32_t receiver,
                                             std::uint64_t local) {
  verbs::ReceiveRequest request;
  request.local_count = 1;
  request.local[0] = {local, config.payload};
  request.tagged = is_tagged(config);
  if (request.tagged) request.tag = receiver % config.tags;
  return request;
}
inline bool is_stop(const verbs::Completion& received) {
  return received.length == 0 && received.verb != verbs::Verb::kWriteImm;
}

/// Puts into local memory what a write brings to the block at `offset`.
template <typename R, typename C>
void fill_block(Users<R, C>& crew, std::uint64_t local, std::uint64_t offset) {
  const std::span<std::byte> bytes = crew.core.bytes(local, Bytes{crew.config.payload});
  const std::size_t lead = std::min<std::size_t>((8 - offset % 8) % 8, bytes.size());
  const std::uint64_t seed = written_seed(crew.seed);
  for (std::size_t at = 0; at < lead; ++at) {
    bytes[at] = static_cast<std::byte>(mix(seed, offset / 8, 0) >> (8 * ((offset + at) % 8)));
  }
  fill_words(bytes.subspan(lead), seed, (offset + lead) / 8);
}

/// What a worker has stored and not yet published.
class Unpublished {
 public:
  void add(std::uint64_t offset, std::uint64_t bytes) {
    first_ = stores_ == 0 ? offset : std::min(first_, offset);
    end_ = stores_ == 0 ? offset + bytes : std::max(end_, offset + bytes);
    ++stores_;
  }
  std::uint64_t stores() const { return stores_; }
  std::uint64_t first() const { return first_; }
  std::uint32_t bytes() const { return static_cast<std::uint32_t>(end_ - first_); }
  void clear() { stores_ = 0; }

 private:
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t stores_ = 0;
};

template <typename R, typename C>
verbs::Task<void> repeat(Users<R, C>& crew, std::uint32_t worker) {
  const VerbLoopConfig& config = crew.config;
  const std::uint64_t local = crew.core.allocate(Bytes{std::max<std::uint32_t>(config.payload, 16)});
  const Probability hot = Probability::from(config.hot_fraction);
  RandomStream random = crew.random.substream(worker);
  Verdict& verdict = crew.loop.verdict();
  if (verbs::is_send(config.verb)) {
    fill_words(crew.core.bytes(local, Bytes{config.payload}), message_seed(crew.seed), 0);
  }
  Unpublished unpublished;
  Loop::Ticket ticket;
  while (crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    const std::uint64_t block = block_of(config, hot, ticket.number, random);
    const std::uint64_t offset = block * block_bytes(config);
    if (verbs::is_write(config.verb)) fill_block(crew, local, offset);
    if (!crew.result.blocks.empty()) crew.result.blocks[block].issued = true;
    crew.loop.start(crew.core.now(), ticket);
    verbs::CompletionStatus status;
    if (config.verb == verbs::Verb::kLoad) {
      const verbs::LoadedValue loaded = co_await crew.remote.load(crew.at(offset), config.payload);
      status = loaded.status;
      if (status == verbs::CompletionStatus::kSuccess) {
        const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * config.payload);
        const std::uint64_t expected = mix(crew.seed, offset / 8, 0) & mask;
        verdict.expect((loaded.value & mask) == expected,
                       {"wrong value", offset, expected, loaded.value & mask});
      }
    } else if (config.verb == verbs::Verb::kStore) {
      status = co_await crew.remote.store(crew.at(offset), config.payload, stored_word(crew.seed, offset));
      unpublished.add(offset, config.payload);
      if (unpublished.stores() == config.publish_every) {
        const verbs::CompletionStatus published =
            co_await crew.remote.publish(crew.at(unpublished.first()), unpublished.bytes());
        if (status == verbs::CompletionStatus::kSuccess) status = published;
        unpublished.clear();
      }
    } else {
      verbs::WorkRequest request;
      request.verb = config.verb;
      request.order = config.order_tag;
      request.fence = config.fence;
      request.completion_in_order = config.completion_in_order;
      request.remote = crew.at(offset);
      request.notify = crew.at(offset);
      request.immediate = ticket.number;
      request.length = config.payload;
      request.tagged = is_tagged(config);
      if (request.tagged) request.tag = ticket.number % config.tags;
      if (verbs::is_atomic(config.verb)) {
        request.width = static_cast<std::uint8_t>(config.payload);
        request.operand[0] = 1;
      } else {
        request.local_count = 1;  // Where the old value of an atomic goes is the runtime's choice.
      }
      request.local[0] = {local, config.payload};
      const verbs::Completion completion = co_await crew.remote.execute(request);
      status = completion.status;
      if (config.verb == verbs::Verb::kRead && completion.ok()) {
        const std::span<const std::byte> bytes = crew.core.bytes(local, Bytes{config.payload});
        const std::size_t wrong = first_wrong_byte_at(bytes, crew.seed, offset);
        verdict.expect(wrong == bytes.size(), {"wrong byte read", offset + wrong, 0, 0});
      }
    }
    if (!crew.result.blocks.empty() && status == verbs::CompletionStatus::kSuccess) {
      crew.result.blocks[block].acknowledged = true;
    }
    crew.loop.finish(crew.core, verbs::name(config.verb), worker, ticket, config.payload, status);
  }
  crew.join.leave();
}

/// Party 1: takes messages until an empty one says that it is over.
template <typename R, typename C>
verbs::Task<void> take_messages(Users<R, C>& crew, std::uint32_t receiver) {
  const std::uint64_t local = crew.core.allocate(Bytes{crew.config.payload});
  for (;;) {
    const verbs::Completion received =
        co_await crew.remote.receive(receive_request(crew.config, receiver, local));
    if (!received.ok()) break;
    if (is_stop(received)) break;
    ++crew.result.received;
    if (!verbs::is_send(crew.config.verb)) continue;
    const std::span<const std::byte> message = crew.core.bytes(local, Bytes{crew.config.payload});
    const std::size_t wrong = first_wrong_byte(message, message_seed(crew.seed), 0);
    crew.loop.verdict().expect(received.length == message.size() && wrong == message.size(),
                               {"damaged message", wrong, message.size(), received.length});
  }
  crew.join.leave();
}

}  // namespace verb_loop_detail

/// Runs the program on `core`: every party repeats the verb; of send verbs party 0 sends and party 1
/// receives.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const VerbLoopConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      VerbLoopResult& result) {
  WHARF_CHECK(check(config, party).ok());
  verb_loop_detail::Users<R, C> crew(config, party, seed, remote, core, result);
  const std::uint32_t receivers = kEntriesPerWorker * config.loop.concurrency;
  if (needs_receiver(config) && party.index == 1) {
    crew.join.spawn(core, receivers,
                    [&crew](std::uint32_t worker) { return verb_loop_detail::take_messages(crew, worker); });
    co_await crew.join.all();
    // Where a write with immediate data takes no receive entry, the runtime counts it.
    if constexpr (requires { remote.unasked_arrivals(); }) result.received += remote.unasked_arrivals();
    co_return;
  }
  if (verbs::is_write(config.verb) || config.verb == verbs::Verb::kStore) {
    result.blocks.resize(config.region_bytes / block_bytes(config));
  }
  if (needs_receiver(config) && config.start_delay > kTimeZero) co_await core.sleep(config.start_delay);
  crew.join.spawn(core, config.loop.concurrency,
                  [&crew](std::uint32_t worker) { return verb_loop_detail::repeat(crew, worker); });
  co_await crew.join.all();
  if (!needs_receiver(config)) co_return;
  for (std::uint32_t i = 0; i < receivers; ++i) {
    const verbs::Completion sent = co_await remote.execute(verb_loop_detail::stop_request(config, i));
    if (!sent.ok()) break;  // Then the receive entries are flushed.
  }
}

}  // namespace wharf::workload
