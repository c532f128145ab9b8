// SPDX-License-Identifier: Apache-2.0
// The interface's cache of context records: which queue-pair contexts and memory keys are on the interface,
// who waits for a record, and the traffic that evicts and refills them. An evicted record is written to host
// memory byte for byte and wiped here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/lru_index.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "engine/roce/engine_core.h"
#include "wire/packet.h"

namespace wharf::roce {

/// With unlimited caches (the default) everything is resident and each call costs one branch.
///
/// A queue pair whose record is absent waits in line. A few queue pairs are served at a time: their record is
/// fetched and pinned until everything that waited for it is processed, so that two of them can never keep
/// each other waiting, not even with one entry. The engine processes a served queue pair when next_ready()
/// names it.
class ContextStore {
 public:
  explicit ContextStore(EngineCore& core);

  bool is_unlimited() const { return is_unlimited_; }

  /// Whether `pair` may be worked on now; otherwise what is to be done must be deferred. Marks the record as
  /// used.
  bool usable(QueuePair& pair) {
    if (is_unlimited()) return true;
    if (!pair.cache.resident || pair.cache.waiting) return false;
    if (queues_) queues_->touch(pair.id);
    return true;
  }
  /// Whether the record of memory key `index` is on the interface; MemoryKeyTable::kNoRecord always is.
  bool has_key(std::uint32_t index) {
    return !keys_ || index == MemoryKeyTable::kNoRecord || keys_->touch(index) != kNoSlot;
  }

  // --- Deferral: the queue pair gets in line. ---

  /// False when there is no room; the packet is then lost.
  bool defer_packet(TimePs now, QueuePair& pair, const wire::Packet& packet);
  void defer_access(TimePs now, QueuePair& pair, AccessSlot& slot, const engine::AccessResult& result);
  void defer_kick(TimePs now, QueuePair& pair);
  void defer_expiry(TimePs now, QueuePair& pair);
  void defer_flow(TimePs now, QueuePair& pair, Flow flow);

  // --- Service. ---

  /// A served queue pair whose records have arrived, or null.
  QueuePair* next_ready(TimePs now);
  /// The access whose answer waits longest, taken out; null when none does.
  AccessSlot* pop_access(QueuePair& pair);
  /// What the host answered to an access from pop_access().
  const engine::AccessResult& answer(const AccessSlot& slot) const { return results_[slot.access.id]; }
  /// The packet that waits longest, or null; it stays until pop_packet().
  const wire::Packet* front_packet(const QueuePair& pair) const;
  void pop_packet(TimePs now, QueuePair& pair);
  /// The packet in front of `pair`, which is being served, needs memory key `index`; next_ready() names it
  /// again when the record is there.
  void need_key(TimePs now, QueuePair& pair, std::uint32_t index);
  /// Everything that waited has been processed.
  void finish(TimePs now, QueuePair& pair);

  /// Places for packets that wait.
  std::uint32_t packet_places() const { return packets_.capacity(); }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const;

  /// A context access was answered.
  void access_done(TimePs now, AccessSlot& slot, const engine::AccessResult& result);

  // --- Control side. ---

  /// The record of `pair` was made anew: it is resident whatever was before.
  void adopt(TimePs now, QueuePair& pair);
  /// The same for memory key `index`.
  void adopt_key(TimePs now, std::uint32_t index);
  /// The queue pair is gone; what waited is dropped.
  void forget(TimePs now, QueuePair& pair);

 private:
  /// Queue pairs served at a time.
  static constexpr std::size_t kServedLimit = 4;
  /// Evictions under way before further fetches wait.
  static constexpr std::uint32_t kWritesLimit = 8;
  /// Access slots for context records. What packets can start fits: a fetch for each queue pair that is
  /// served, kWritesLimit evictions, and an eviction for each fetch that was under way when these were
  /// reached.
  static constexpr std::uint32_t kAccessSlots = 2 * kServedLimit + 2 * kWritesLimit;
  /// Stream of context traffic, apart from all queues.
  static constexpr std::uint32_t kContextStream = 0xffff'ffff;
  static constexpr std::uint32_t kQueueRecordBytes = sizeof(QueuePairContext);
  static constexpr std::uint32_t kKeyRecordBytes = sizeof(MemoryKeyRecord);
  static_assert(kContextRegionBytes / 2 >= (std::uint64_t{1} << 24U) * kKeyRecordBytes);

  struct DeferredPacket {
    wire::Packet packet;
    TimePs since;
    std::uint32_t next = kNoSlot;
  };
  /// A key record that is on its way.
  struct KeyTransfer {
    std::uint32_t index = MemoryKeyTable::kNoRecord;
    bool discard = false;
  };

  std::uint64_t queue_address(engine::QueueId id) const {
    return core_.config.context_base + std::uint64_t{id} * kQueueRecordBytes;
  }
  std::uint64_t key_address(std::uint32_t index) const {
    return core_.config.context_base + kContextRegionBytes / 2 + std::uint64_t{index} * kKeyRecordBytes;
  }
  void line_up(TimePs now, QueuePair& pair);
  /// Room for everything that packets may start from here on. Control side only.
  void keep_room();
  void serve(TimePs now);
  void start(TimePs now, QueuePair& pair);
  void insert_queue(TimePs now, QueuePair& pair);
  void insert_key(TimePs now, std::uint32_t index);
  void fetch_queue(TimePs now, QueuePair& pair);
  void fetch_key(TimePs now, const QueuePair& pair);
  void write_record(TimePs now, AccessPurpose purpose, engine::QueueId queue, std::uint32_t index,
                    std::uint64_t address, void* record, std::uint32_t bytes);
  AccessSlot& open(AccessPurpose purpose, engine::AccessKind kind, engine::QueueId queue, std::uint32_t index,
                   std::uint64_t address, std::uint32_t bytes);
  /// The entry of a key record that is on its way, a free one for kNoRecord, or null.
  KeyTransfer* find_transfer(std::uint32_t index);
  bool key_write_under_way(std::uint32_t index) const;

  EngineCore& core_;
  const bool is_unlimited_;
  std::optional<LruIndex> queues_;
  std::optional<LruIndex> keys_;
  std::size_t served_limit_ = 1;
  std::array<QueuePair*, kServedLimit> served_{};
  std::array<KeyTransfer, kServedLimit> key_fetches_{};
  Ring<std::uint32_t> key_writes_;  ///< Records whose eviction is under way.
  Ring<engine::QueueId> waiting_;   ///< Those with ContextState::lined_up; some no longer wait.
  Ring<engine::QueueId> ready_;     ///< Those with ContextState::ready; some are no longer served.
  SlotPool<DeferredPacket> packets_;
  std::vector<engine::AccessResult> results_;  ///< By access slot: answers that wait.
  std::uint32_t writes_under_way_ = 0;
};

}  // namespace wharf::roce
