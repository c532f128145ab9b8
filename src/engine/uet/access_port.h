// SPDX-License-Identifier: Apache-2.0
// The memory side of the engine: accesses that wait for the host to take them, and whose answer they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/prefetch.h"
#include "base/slot_pool.h"
#include "engine/contract.h"
#include "wire/host_address.h"

namespace wharf::uet {

/// Which part of the engine an access serves, and so who gets the answer.
enum class AccessOwner : std::uint8_t {
  kPacketData,   ///< Payload of a packet that is about to leave. object: staged packet, detail: piece.
  kInbound,      ///< Places data of a request or of returned data. object: inbound packet.
  kInboundRead,  ///< Reads what an ACK or a RUDI response will carry. object: inbound packet.
  kAtomic,       ///< One step of an atomic. object: atomic job.
  kHeld,         ///< Places held payload in a receive buffer that was posted later. object: inbound message.
  kAnswerData,   ///< Places data that came on an ACK or a RUDI response. object: outbound message.
  kWorkRequest,  ///< Fetch of a work-queue entry. object: endpoint, detail: posting number.
  kCompletion,   ///< object: endpoint, detail: completion number.
  kSharedCompletion,  ///< object: completion queue, detail: number of its record.
};

/// Stream of what a queue has done for its own program.
constexpr std::uint64_t local_stream(engine::QueueId queue) { return std::uint64_t{queue} * 2; }
/// Stream of what an endpoint does for one peer. `resource_index`: 12 bits, as the request has it.
constexpr std::uint64_t target_stream(wire::HostAddress source, std::uint16_t resource_index) {
  return (std::uint64_t{source.number} << 12U | resource_index) * 2 + 1;
}

struct PendingAccess {
  std::uint64_t detail = 0;
  std::uint32_t object = 0;
  std::uint32_t generation = 0;             ///< Of `object`, where it can be reused before the answer comes.
  wire::BufferId buffer = wire::kNoBuffer;  ///< Held until the answer comes.
  std::uint32_t asked = 0;                  ///< Bytes that the answer to a read must bring.
  AccessOwner owner = AccessOwner::kPacketData;
};

/// FIFO toward the host and the table of unanswered accesses. Both grow while a run warms up; what they hold
/// is bounded by the bounds of the owners.
class AccessPort {
 public:
  AccessPort() { grow(kFirst); }

  /// Queues an access of `kind` for `length` bytes on behalf of `owner`. The caller fills in the rest before
  /// it asks for another: always the data of a write. Operands mean nothing but for atomics.
  [[gnu::always_inline]] engine::Access& request(engine::AccessKind kind, std::uint32_t length,
                                                 const PendingAccess& owner) {
    make_place();
    return request_in_place(kind, length, owner);
  }
  /// The same for owners whose objects need no generation. `operation` is the caller's to fill in.
  [[gnu::always_inline]] engine::Access& request(engine::AccessKind kind, std::uint32_t length,
                                                 AccessOwner owner, std::uint32_t object,
                                                 std::uint64_t detail) {
    make_place();
    return request_in_place(kind, length, owner, object, detail, wire::kNoBuffer);
  }
  /// Whether request() finds its places: then it is request_in_place().
  [[gnu::always_inline]] bool has_place() const { return first_free_ != kNoSlot; }
  [[gnu::always_inline]] engine::Access& request_in_place(engine::AccessKind kind, std::uint32_t length,
                                                          const PendingAccess& owner) {
    slots_[first_free_].generation = owner.generation;
    engine::Access& access =
        request_in_place(kind, length, owner.owner, owner.object, owner.detail, owner.buffer);
    access.operation = {};
    return access;
  }
  /// The same for owners whose objects need no generation. `operation` is the caller's to fill in.
  [[gnu::always_inline]] engine::Access& request_in_place(engine::AccessKind kind, std::uint32_t length,
                                                          AccessOwner owner, std::uint32_t object,
                                                          std::uint64_t detail, wire::BufferId buffer) {
    const std::uint32_t id = first_free_;
    Slot& slot = slots_[id];
    first_free_ = slot.next_free;
    slot.state = State::kQueued;
    slot.detail = detail;
    slot.object = object;
    slot.buffer = buffer;
    slot.asked = kind == engine::AccessKind::kRead ? length : 0;
    slot.owner = owner;
    engine::Access& access = queue_[tail_++ & mask_];
    // Each member by itself: what the caller sets in turn is then not written twice.
    access.id = id;
    access.kind = kind;
    access.order = verbs::AccessOrder::kRelaxed;
    access.atomic = verbs::Verb::kFetchAdd;
    access.width = 8;
    access.count = 1;
    access.at_target = false;
    access.queue = 0;
    access.length = length;
    access.space = 0;
    access.stream = 0;
    access.address = 0;
    if (kind != engine::AccessKind::kWrite) {
      access.data.kind = wire::PayloadKind::kNone;
      access.data.length = 0;
      access.data.buffer = wire::kNoBuffer;
    }
    if (kind == engine::AccessKind::kAtomic) {
      access.operand = {};
      access.compare = {};
    }
    return access;
  }

  /// The host takes the access in front, which lies there until the next request, and answers it at once or
  /// notes that it will; null: there is none.
  [[gnu::always_inline]] engine::Access* take_front() {
    if (head_ == tail_) return nullptr;
    engine::Access& access = queue_[head_++ & mask_];
    // The next access goes where the cache still has the last one.
    if (head_ == tail_) head_ = tail_ = 0;
    return &access;
  }
  bool next(engine::Access& out) {
    const engine::Access* access = take_front();
    if (access == nullptr) return false;
    note_taken(access->id);
    out = *access;
    return true;
  }
  /// The answer to `id` comes later.
  void note_taken(engine::AccessId id) { slots_[id].state = State::kTaken; }

  /// Whether the host has taken `id` and not answered it.
  bool is_pending(engine::AccessId id) const { return id < count_ && slots_[id].state == State::kTaken; }
  /// Ends an unanswered access and gives its owner, which the next request() may overwrite.
  const PendingAccess& take(engine::AccessId id) {
    Slot& slot = slots_[id];
    slot.state = State::kFree;
    slot.next_free = first_free_;
    first_free_ = id;
    return slot;
  }
  /// The engine ends: what unanswered accesses hold goes back.
  void release_buffers(wire::PayloadPool& payloads) const {
    for (const Slot& slot : slots_) {
      if (slot.state != State::kFree) payloads.release(slot.buffer);
    }
  }
  [[gnu::always_inline]] void prefetch() const {
    if (first_free_ != kNoSlot) prefetch_object(slots_.data() + first_free_);
    prefetch_object(queue_.data() + (tail_ & mask_));
  }
  std::uint32_t unanswered() const {
    return static_cast<std::uint32_t>(std::count_if(
        slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.state != State::kFree; }));
  }
  std::uint32_t places() const { return count_; }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const {
    return slots_.capacity() * sizeof(Slot) + queue_.capacity() * sizeof(engine::Access);
  }

 private:
  static constexpr std::uint32_t kFirst = 16;
  enum class State : std::uint8_t { kFree, kQueued, kTaken };
  struct Slot : PendingAccess {
    State state = State::kFree;
    std::uint32_t next_free = kNoSlot;
  };
  static_assert(sizeof(Slot) == 32);

  [[gnu::always_inline]] void make_place() {
    if (first_free_ == kNoSlot) [[unlikely]]
      grow(count_ * 2);
  }
  /// Free places are handed out last-released first, fresh ones ascending. What is queued has a place, so the
  /// queue needs no more than there are.
  [[gnu::noinline]] void grow(std::uint32_t count) {
    slots_.resize(count);
    for (std::uint32_t i = count; i > count_; --i) {
      slots_[i - 1].next_free = first_free_;
      first_free_ = i - 1;
    }
    count_ = count;
    std::vector<engine::Access> larger(count);
    for (std::uint32_t i = 0; head_ + i != tail_; ++i) larger[i] = queue_[(head_ + i) & mask_];
    tail_ -= head_;
    head_ = 0;
    queue_ = std::move(larger);
    mask_ = count - 1;
  }

  std::vector<Slot> slots_;
  std::uint32_t first_free_ = kNoSlot;
  std::uint32_t count_ = 0;
  std::vector<engine::Access> queue_;  ///< A ring, whose elements are made anew as they are asked for.
  std::uint32_t mask_ = 0;             ///< Its places minus one.
  std::uint32_t head_ = 0, tail_ = 0;  ///< Accesses taken, and asked for, since it was last empty.
};

}  // namespace wharf::uet
