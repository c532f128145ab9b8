// SPDX-License-Identifier: Apache-2.0
// The memory side of the interface: accesses that wait for next_access(), are under way, or are held back,
// and what each of them is for.
#pragma once

#include <cstdint>

#include "base/slot_pool.h"
#include "engine/contract.h"
#include "engine/roce/position_ring.h"
#include "wire/payload_pool.h"

namespace wharf::roce {

/// What the engine does with the answer to an access. From kFetchQueueContext on: traffic of the context
/// cache.
enum class AccessPurpose : std::uint8_t {
  kRequestPayload,  ///< position: in the transmit ring; detail: offset in the packet (gathered payloads).
  kResponseData,    ///< position: work request whose result is placed.
  kPlacement,       ///< position: answer that waits for it; detail: PSN of the packet.
  kReadPayload,     ///< position: in the read-ahead ring.
  kAtomic,          ///< position: answer.
  kFetchWork,       ///< position, detail: first entry and count.
  kFetchReceive,    ///< position: one past the last entry.
  kSendCompletion,  ///< position: in the ring of send completions.
  kReceiveCompletion,
  kFetchQueueContext,
  kWriteQueueContext,
  kFetchKeyRecord,  ///< position: record number.
  kWriteKeyRecord,
};

struct AccessSlot {
  engine::Access access;
  engine::AccessResult result;  ///< Kept while the answer waits for a context record.
  AccessPurpose purpose = AccessPurpose::kPlacement;
  engine::QueueId queue = 0;
  Position position = 0;
  std::uint32_t detail = 0;
  bool for_receive = false;  ///< Placement: lands in a receive entry.
  bool needs_entry = false;  ///< Placement: waits for receive entry `entry`.
  bool asked = false;        ///< The host has it and has not answered.
  Position entry = 0;
  std::uint32_t remote_key = 0;  ///< Placement of a WRITE: the key that allows it.
  std::uint32_t next = kNoSlot;  ///< In the list of accesses to hand out, to hold back, or to process later.
};

/// Slots for accesses, and the list of those that the host has not taken yet. Memory is taken only by
/// reserve(). An access with data owns one reference of its buffer until close().
class AccessPort {
 public:
  explicit AccessPort(wire::PayloadPool& pool) : pool_(&pool) {}

  void reserve(std::uint32_t slots) {
    capacity_ = slots > capacity_ ? slots : capacity_;
    slots_.reserve(capacity_);
  }
  std::uint32_t capacity() const { return capacity_; }
  /// Slots for everything but context records, which have some of their own.
  std::uint32_t available() const {
    return capacity_ - kept_for_context_ - (slots_.in_use() - context_in_use_);
  }
  /// Takes `count` slots out of the capacity, for context records alone.
  void keep_for_context(std::uint32_t count) { kept_for_context_ = count; }
  /// Makes sure that `count` accesses to context records can be opened beside all others.
  void reserve_for_context(std::uint32_t count) {
    slots_.reserve(capacity_ - kept_for_context_ + context_in_use_ + count);
  }
  /// Slots that exist, and the memory of all.
  std::uint32_t places() const { return slots_.capacity(); }
  std::size_t bytes_held() const { return slots_.bytes_held(); }

  /// A slot for a new access of `queue`; one must be available.
  AccessSlot& open(AccessPurpose purpose, engine::AccessKind kind, engine::QueueId queue, Position position) {
    const std::uint32_t index = slots_.acquire();
    WHARF_CHECK(index != kNoSlot);
    AccessSlot& slot = slots_[index];
    slot.access = engine::Access{};
    slot.access.id = index;
    slot.access.kind = kind;
    slot.access.queue = queue;
    slot.purpose = purpose;
    slot.queue = queue;
    slot.position = position;
    slot.detail = 0;
    slot.for_receive = false;
    slot.needs_entry = false;
    slot.asked = false;
    slot.remote_key = 0;
    slot.next = kNoSlot;
    if (is_context(purpose)) ++context_in_use_;
    return slot;
  }
  AccessSlot& slot(std::uint32_t index) { return slots_[index]; }
  bool is_open(std::uint32_t index) const { return slots_.is_used(index); }
  /// Whether the host has taken `index` and not answered it.
  bool is_asked(std::uint32_t index) const { return slots_.is_used(index) && slots_[index].asked; }

  /// Hands the access out with the next next_access().
  void issue(AccessSlot& slot) {
    const std::uint32_t index = slot.access.id;
    slot.next = kNoSlot;
    if (last_ == kNoSlot) {
      first_ = index;
    } else {
      slots_[last_].next = index;
    }
    last_ = index;
  }
  bool next(engine::Access& out) {
    if (first_ == kNoSlot) return false;
    AccessSlot& slot = slots_[first_];
    out = slot.access;
    slot.asked = true;
    first_ = slot.next;
    if (first_ == kNoSlot) last_ = kNoSlot;
    slot.next = kNoSlot;
    return true;
  }

  /// Ends an access that has been answered.
  void close(AccessSlot& slot) {
    if (is_context(slot.purpose)) --context_in_use_;
    pool_->release(slot.access.data.buffer);
    slots_.release(slot.access.id);
  }
  /// Ends every access; nobody will answer any more.
  void close_all() {
    for (std::uint32_t index = 0; index < slots_.capacity(); ++index) {
      if (is_open(index)) close(slots_[index]);
    }
  }

 private:
  static constexpr bool is_context(AccessPurpose purpose) {
    return purpose >= AccessPurpose::kFetchQueueContext;
  }

  wire::PayloadPool* pool_;
  SlotPool<AccessSlot> slots_;
  std::uint32_t capacity_ = 0;  ///< Slots in all, but for what context records may need beyond their own.
  std::uint32_t kept_for_context_ = 0;
  std::uint32_t context_in_use_ = 0;
  std::uint32_t first_ = kNoSlot;
  std::uint32_t last_ = kNoSlot;
};

}  // namespace wharf::roce
