// SPDX-License-Identifier: Apache-2.0
// The completion queues of one engine, whatever the protocol: records take their places in the order in which
// they are made, and are shown in that order when the host has written them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/ring.h"
#include "engine/contract.h"
#include "engine/queues.h"
#include "verbs/completion.h"
#include "wire/ring_entry.h"

namespace wharf::engine {

/// One record on its way to the host: what the engine keeps with the access that writes it.
struct CompletionTicket {
  std::uint32_t table_index = 0;
  std::uint32_t number = 0;  ///< Counts the records of the queue; never the same for two that are open.
};

class CompletionQueues {
 public:
  /// Most of them in one engine.
  static constexpr std::uint32_t kMost = 1U << 16U;
  static constexpr std::uint32_t kDepthMax = 65536;

  // --- Control. Takes memory.
  Result<QueueId> create(const CompletionQueueConfig& config);
  /// Refused while a queue reports into it. Unread records are gone.
  Result<void> destroy(QueueId id);
  bool exists(QueueId id) const { return find(id) != nullptr; }
  /// A queue that reports into `id`, which exists, was made or is gone.
  void attach(QueueId id) { ++queues_[table_index(id)]->users; }
  void detach(QueueId id) { --queues_[table_index(id)]->users; }
  Result<void> arm(QueueId id, const Arming& arming);

  /// Whether records of `id`, which exists, are written as bytes: what they say is final when they are made.
  bool writes_bytes(QueueId id) const { return queues_[table_index(id)]->as_bytes(); }

  /// Whether `id`, which exists, has no place for one more record.
  bool is_full(QueueId id) const {
    const Queue& queue = *queues_[table_index(id)];
    return queue.tail - queue.head >= queue.config.depth;
  }

  /// Whether a record that finds `id`, which exists, full waits in the engine. Without it such a record is
  /// lost.
  bool keeps(QueueId id) const { return queues_[table_index(id)]->keeps; }
  void set_keeps(QueueId id) { queues_[table_index(id)]->keeps = true; }

  // --- Records.
  /// Gives `completion` the next place of `id`, which exists, and fills kind, order, address space, address,
  /// length and data of the access that writes it. Nothing: the queue is full, and the record is lost.
  std::optional<CompletionTicket> add(QueueId id, const verbs::Completion& completion, Access& access);
  /// What written() found.
  struct Written {
    bool late = false;   ///< The queue is gone.
    bool ready = false;  ///< What the queue was armed for has happened: kCompletionReady.
    QueueId queue = 0;   ///< The completion queue.
    QueueId of = 0;      ///< The queue that the record is of.
  };
  /// The host has written the record; with `failed` it becomes kLocalOperation if it was a success. `status`:
  /// how the request ended, when that was learned after add().
  Written written(CompletionTicket ticket, bool failed,
                  std::optional<verbs::CompletionStatus> status = std::nullopt);

  bool poll(QueueId id, verbs::Completion& out);
  /// The next queue with something for poll().
  bool next_ready(QueueId& out);
  /// The host has read `count` entries of a byte ring; false when it has no such queue or entries.
  bool release(QueueId id, std::uint32_t count);

  std::size_t bytes_held() const;
  std::uint32_t count() const { return static_cast<std::uint32_t>(queues_.size()); }

 private:
  struct Record {
    verbs::Completion completion;
    bool visible = false;
  };
  struct Queue {
    bool used = false;
    bool listed = false;
    bool armed = false;
    bool keeps = false;
    std::uint32_t users = 0;
    CompletionQueueConfig config;
    Arming arming;
    std::uint32_t counted = 0;  ///< Since it was armed.
    std::uint32_t head = 0;     ///< Oldest record that nobody has read.
    std::uint32_t shown = 0;    ///< One past the last that may be read: all before are visible.
    std::uint32_t tail = 0;
    std::vector<Record> records;   ///< By number & mask.
    std::vector<std::byte> bytes;  ///< kBytes: the entries as they are written.

    std::uint32_t mask() const { return config.depth - 1; }
    bool as_bytes() const { return config.entries == EntryFormat::kBytes; }
  };

  Queue* find(QueueId id);
  const Queue* find(QueueId id) const;
  /// Shows what became visible; true when the arming has come true.
  bool show(Queue& queue);

  std::vector<std::unique_ptr<Queue>> queues_;
  Ring<std::uint32_t> ready_;
};

}  // namespace wharf::engine
