// SPDX-License-Identifier: Apache-2.0
// What the program `rdmo` can be told: records that many clients append to one log, by a worker near the
// memory or by what one does without it, and what the log is used for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "workload/loop.h"
#include "workload/party.h"

namespace wharf::workload {

enum class RdmoProtocol : std::uint8_t {
  kWorker,        ///< A message to the RDMO worker: engine/rdmo.
  kTwoStep,       ///< Fetch-and-add on the cell, wait, write.
  kClientLock,    ///< A lock that clients take by compare-and-swap, then read the tail, write, move it.
  kServerThread,  ///< A message to a thread of the target's program, which copies and answers.
};
inline constexpr std::array<Choice<RdmoProtocol>, 4> kRdmoProtocols{
    {{"worker", RdmoProtocol::kWorker},
     {"two_step", RdmoProtocol::kTwoStep},
     {"client_lock", RdmoProtocol::kClientLock},
     {"server_thread", RdmoProtocol::kServerThread}}};

/// What clients do with the worker.
enum class RdmoUse : std::uint8_t {
  kAppend,      ///< Records to a log.
  kLog,         ///< The same, while readers follow the log and check it.
  kQueue,       ///< Records to a queue whose consumer moves on.
  kScatter,     ///< New values of rows of a table, several with one message.
  kWriteAhead,  ///< An append and a flush: the answer leaves when the record is visible.
};
inline constexpr std::array<Choice<RdmoUse>, 5> kRdmoUses{{{"append", RdmoUse::kAppend},
                                                           {"log", RdmoUse::kLog},
                                                           {"queue", RdmoUse::kQueue},
                                                           {"scatter", RdmoUse::kScatter},
                                                           {"write_ahead", RdmoUse::kWriteAhead}}};

enum class RdmoMessages : std::uint8_t { kExtended, kPublished };
inline constexpr std::array<Choice<RdmoMessages>, 2> kRdmoMessages{
    {{"extended", RdmoMessages::kExtended}, {"published", RdmoMessages::kPublished}}};

enum class RdmoWorkerPlace : std::uint8_t {
  kTarget,  ///< A core of the target.
  kBeside,  ///< A host of its own, which reaches the target over the network: a card's processor, or a
            ///< machine.
};
inline constexpr std::array<Choice<RdmoWorkerPlace>, 2> kRdmoWorkerPlaces{
    {{"target", RdmoWorkerPlace::kTarget}, {"beside", RdmoWorkerPlace::kBeside}}};

struct RdmoConfig {
  LoopConfig loop;                  ///< One operation: `batch` records, or rows, to their end.
  std::uint64_t region_offset = 0;  ///< Bytes from the start of the segment.
  RdmoProtocol protocol = RdmoProtocol::kWorker;
  RdmoUse use = RdmoUse::kAppend;
  RdmoWorkerPlace worker_at = RdmoWorkerPlace::kTarget;
  RdmoMessages messages = RdmoMessages::kExtended;
  std::uint32_t payload = 64;  ///< Bytes of a record or row, a multiple of 8.
  std::uint32_t batch = 1;     ///< Records of one message.
  std::uint32_t flush_every = 0;
  std::uint64_t log_bytes = 0;  ///< 0: room for all operations.
  std::uint64_t queue_bytes = 1U << 16U;
  std::uint32_t readers = 1;
  std::uint32_t rows = 1024;
  std::uint32_t eager_most = 8192;
  TimePs publish_delay = microseconds(10);
  TimePs retry_wait = microseconds(1);
  TimePs start_delay = microseconds(20);
  std::uint32_t load_percent = 0;
  TimePs load_burst = microseconds(5);
  // No keys of the program: rdmo.request and rdmo.line of the host that the worker or thread runs on.
  TimePs request_time = nanoseconds(130);
  TimePs line_time = nanoseconds(2);
};

template <typename Keys>
void bind_keys(RdmoConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  keys.bytes("region_offset", config.region_offset, "where the program's memory begins in the segment");
  keys.choice("protocol", config.protocol, std::span<const Choice<RdmoProtocol>>(kRdmoProtocols),
              "who reserves the place of a record, and how");
  keys.choice("use", config.use, std::span<const Choice<RdmoUse>>(kRdmoUses),
              "what clients do: append, or with a worker also follow a log, feed a queue, scatter, or append "
              "and flush");
  keys.choice("worker_at", config.worker_at, std::span<const Choice<RdmoWorkerPlace>>(kRdmoWorkerPlaces),
              "the worker's host: the target, or the one before it in a list of servers taken in pairs");
  keys.choice("messages", config.messages, std::span<const Choice<RdmoMessages>>(kRdmoMessages),
              "form of the worker's messages");
  keys.bytes("payload", config.payload, "a record, or a row", 16, std::uint64_t{1} << 20U);
  keys.integer("batch", config.batch, "records, or rows, that go together in one operation", 1, 1024);
  keys.integer("flush_every", config.flush_every,
               "worker: operations of a client after which one waits for a flush; 0: only at the end", 0,
               1'000'000);
  keys.bytes("log_bytes", config.log_bytes, "room of the log; 0B: as much as all operations need");
  keys.bytes("queue_bytes", config.queue_bytes, "use queue: bytes of the queue", 64, std::uint64_t{1} << 30U);
  keys.integer("readers", config.readers, "use log: clients that read, the last ones", 1, 65536);
  keys.integer("rows", config.rows, "use scatter: rows of the table", 1, 1 << 24);
  keys.bytes("eager_most", config.eager_most,
             "longest data that travels in its message; longer data is fetched from the client", 64, 1 << 20);
  keys.time("publish_delay", config.publish_delay,
            "use log, queue: the worker writes a tail back so long after it moved, also without a flush");
  keys.time("retry_wait", config.retry_wait, "pause before a lock, a full queue or a tail is tried again");
  keys.time("start_delay", config.start_delay,
            "how long the worker or thread waits for clients to post their receive entries");
  keys.integer("load_percent", config.load_percent,
               "share of the target's core that other work takes, in bursts", 0, 95);
  keys.time("load_burst", config.load_burst, "length of one burst of that work");
}

/// Whether a party runs at the worker's host.
inline bool is_attended(const RdmoConfig& config) {
  return config.protocol == RdmoProtocol::kWorker || config.protocol == RdmoProtocol::kServerThread;
}
inline std::uint32_t clients_of(const RdmoConfig& config, Party party) {
  return party.count - (is_attended(config) ? 1 : 0);
}
/// Party 1 is the worker; all others are clients, from 0 on.
inline std::uint32_t client_number(const RdmoConfig& config, std::uint32_t party) {
  return is_attended(config) && party > 1 ? party - 1 : party;
}
/// Clients that read instead of writing: the last ones.
inline std::uint32_t readers_of(const RdmoConfig& config) {
  if (config.use == RdmoUse::kLog) return config.readers;
  return config.use == RdmoUse::kQueue ? 1 : 0;
}
inline std::uint32_t writers_of(const RdmoConfig& config, Party party) {
  const std::uint32_t clients = clients_of(config, party);
  return clients - std::min(clients, readers_of(config));
}
/// Records of one writer. 0: as many as its time allows.
inline std::uint64_t records_of_writer(const RdmoConfig& config) {
  if (config.loop.operations == 0) return 0;
  return (config.loop.operations + config.loop.warmup_operations) * config.batch;
}
/// Messages of one client that may be under way: an append and a flush of each worker, and the last flush.
inline std::uint32_t rdmo_window(const RdmoConfig& config) { return 2 * config.loop.concurrency + 2; }

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const RdmoConfig& config, Party party) {
  WHARF_TRY(check(config.loop));
  const std::uint64_t together = std::uint64_t{config.batch} * config.payload;
  const auto refuse_word = [](std::string_view key, std::string_view found, std::string_view expected) {
    return input_error(std::string(key) + " is " + std::string(found) + ", expected " +
                       std::string(expected));
  };
  const bool worker = config.protocol == RdmoProtocol::kWorker;
  if (config.payload % 8 != 0) return refuse("payload", config.payload, "a multiple of 8 bytes");
  if (!worker && config.use != RdmoUse::kAppend)
    return refuse_word("use", kRdmoUses[static_cast<std::size_t>(config.use)].name,
                       "append, all that one does without protocol worker");
  if (!worker && config.worker_at != RdmoWorkerPlace::kTarget)
    return refuse_word("worker_at", "beside", "target, or protocol worker");
  if (!worker && config.messages != RdmoMessages::kExtended)
    return refuse_word("messages", "published", "extended, or protocol worker");
  if (!worker && config.flush_every != 0)
    return refuse("flush_every", config.flush_every, "0, or protocol worker");
  if (config.load_percent != 0 && (!is_attended(config) || config.worker_at == RdmoWorkerPlace::kBeside))
    return refuse("load_percent", config.load_percent,
                  "0: no party of the program runs on the target's cores");
  if (config.load_percent != 0 && config.load_burst == kTimeZero)
    return refuse("load_burst", 0, "a time above 0");
  const bool needs_eager =
      config.use == RdmoUse::kScatter || config.use == RdmoUse::kQueue || (worker && config.batch > 1);
  const std::uint64_t message =
      config.use == RdmoUse::kScatter ? config.batch * (std::uint64_t{config.payload} + 24) : together;
  if (needs_eager && message > config.eager_most)
    return refuse("eager_most", config.eager_most,
                  "at least what one message holds: batches, queues and scatters travel in their messages");
  if (config.messages == RdmoMessages::kPublished) {
    if (config.batch != 1 && config.use != RdmoUse::kScatter)
      return refuse("batch", config.batch, "1, as published messages have no batches");
    if (config.use == RdmoUse::kQueue)
      return refuse_word("messages", "published", "extended, as the published form has no queues");
  }
  if (config.use == RdmoUse::kScatter && config.payload > 65528)
    return refuse("payload", config.payload, "at most 65528 bytes, as an entry of a scatter has 16 bits");
  if (config.use == RdmoUse::kQueue &&
      (config.queue_bytes % config.payload != 0 || config.queue_bytes < together))
    return refuse("queue_bytes", config.queue_bytes, "a multiple of payload, and at least one batch");
  if ((config.use == RdmoUse::kLog || config.use == RdmoUse::kQueue) && config.loop.operations == 0)
    return refuse("operations", 0, "at least 1, as readers end when they have seen all of them");
  if (config.loop.operations == 0 && config.log_bytes == 0 && config.use != RdmoUse::kScatter)
    return refuse("log_bytes", 0, "the room of the log, when there is a duration alone");
  if (party.count < (is_attended(config) ? 2U : 1U))
    return refuse("parties", party.count, "at least 2: clients and the worker");
  if (writers_of(config, party) == 0)
    return refuse("readers", readers_of(config),
                  "fewer than the clients of a server, so that somebody writes");
  if (config.use == RdmoUse::kScatter &&
      config.rows < std::uint64_t{config.batch} * config.loop.concurrency * writers_of(config, party))
    return refuse("rows", config.rows, "at least batch for each worker of each client, as rows have owners");
  return {};
}

}  // namespace wharf::workload
