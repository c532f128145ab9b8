// SPDX-License-Identifier: Apache-2.0
// The shared receive queues of one engine, whatever the protocol: entries that any of several queues takes
// when a message comes for it. Entries that lie in host memory are fetched when they are announced; a message
// can take what has come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/ring.h"
#include "engine/contract.h"
#include "engine/queues.h"
#include "verbs/work_request.h"

namespace wharf::engine {

/// Entries on their way from host memory: what the engine keeps with the access that fetches them.
struct ReceiveTicket {
  std::uint32_t table_index = 0;
  std::uint32_t number = 0;  ///< Of the first entry; never the same for two fetches that are open.
  std::uint32_t count = 0;   ///< Entries.
};

class ReceiveQueues {
 public:
  static constexpr std::uint32_t kMost = 1U << 16U;
  static constexpr std::uint32_t kDepthMax = 65536;
  /// Entries that one access fetches at most.
  static constexpr std::uint32_t kFetchMost = 8;

  // --- Control. Takes memory.
  Result<QueueId> create(const ReceiveQueueConfig& config);
  /// Refused while a queue takes from it. Entries that nobody took are gone.
  Result<void> destroy(QueueId id);
  bool exists(QueueId id) const { return find(id) != nullptr; }
  const ReceiveQueueConfig& config(QueueId id) const { return queues_[table_index(id)]->config; }
  void attach(QueueId id) { ++queues_[table_index(id)]->users; }
  void detach(QueueId id) { --queues_[table_index(id)]->users; }
  /// Forgets the entries of `id`, which exists.
  void clear(QueueId id);
  Result<void> set_limit(QueueId id, std::uint32_t limit);
  /// Takes the first free entry with this id out; refused when there is none, or entries lie in host memory.
  Result<verbs::ReceiveRequest> cancel(QueueId id, std::uint64_t receive);

  // --- Entries.
  /// kUnsupported for byte rings, which take doorbell().
  PostStatus post(QueueId id, const verbs::ReceiveRequest& receive);
  /// `count` entries of a byte ring were written.
  PostStatus announce(QueueId id, std::uint32_t count);
  /// Fills the next fetch that is due, until there is none.
  std::optional<ReceiveTicket> next_fetch(QueueId id, Access& access);
  /// The host has answered. Entries that failed, or are no entries, are dropped: how many.
  std::uint32_t fetched(ReceiveTicket ticket, const AccessResult& result);

  /// Entries of `id`, which exists, that a message can take now.
  std::uint32_t available(QueueId id) const;
  /// Takes the oldest of them; there is one. True: the limit was passed, kReceiveLimit is due.
  bool take(QueueId id, verbs::ReceiveRequest& out);

  std::size_t bytes_held() const;
  std::uint32_t count() const { return static_cast<std::uint32_t>(queues_.size()); }
  /// Whether another one can be made.
  bool has_room() const;

 private:
  struct Entry {
    verbs::ReceiveRequest request;
    bool usable = false;  ///< Here; else under way, or dropped when `dropped`.
    bool dropped = false;
  };
  struct Queue {
    bool used = false;
    std::uint32_t users = 0;
    std::uint32_t limit = 0;
    ReceiveQueueConfig config;
    std::uint32_t head = 0;      ///< The next to take.
    std::uint32_t ready = 0;     ///< One past the last that can be taken.
    std::uint32_t asked = 0;     ///< One past the last whose fetch was issued.
    std::uint32_t tail = 0;      ///< One past the last that was posted.
    std::vector<Entry> entries;  ///< By number & mask.

    std::uint32_t mask() const { return config.depth - 1; }
    bool in_memory() const { return config.ring != 0 || config.entries == EntryFormat::kBytes; }
    Entry& entry(std::uint32_t number) { return entries[number & mask()]; }
    void settle();
  };

  Queue* find(QueueId id);
  const Queue* find(QueueId id) const;

  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace wharf::engine
