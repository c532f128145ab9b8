// SPDX-License-Identifier: Apache-2.0
// The memory side of the engine: accesses that wait for the host to take them, and what to do when it
// answers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/slot_pool.h"
#include "engine/contract.h"
#include "engine/ub/fresh.h"

namespace wharf::ub {

/// Which part of the engine an access serves, and so who gets the answer.
enum class AccessOwner : std::uint8_t {
  kPacketData,     ///< Data of a packet of a TP channel. object: channel, detail: TxRef, offset: into the
                   ///< packet.
  kInboundWrite,   ///< Places data of a request. object: inbound message.
  kInboundAtomic,  ///< object: inbound message.
  kInboundEntry,   ///< Receive entry of an inbound message. object: inbound message.
  kResponseWrite,  ///< Places data of a response at the initiator. object: transaction.
  kWorkRequest,  ///< Fetch of work-queue entries. object: jetty, detail: first posting number, offset: count.
  kCompletion,   ///< object: jetty, detail: completion number.
  kContext,      ///< Fetch or write of a record. detail: context key.
  kLoadStore,    ///< Serves a load or store of another host. object: service.
  kSharedCompletion,  ///< object: completion queue, detail: number of its record.
  kSharedReceive,     ///< object: receive queue, detail: first entry, offset: count.
  kFusedWrite,        ///< kInboundWrite of a plain Write on a fused channel.
};

struct PendingAccess {
  AccessOwner owner = AccessOwner::kPacketData;
  std::uint32_t object = 0;
  std::uint32_t generation = 0;  ///< Of `object`, where it can be reused before the answer comes.
  std::uint32_t offset = 0;
  std::uint64_t detail = 0;
  wire::BufferId buffer = wire::kNoBuffer;  ///< Held until the answer comes.
};

/// What an access of the short ways says; every field is written once, where it stays. Operands, which it has
/// none of, may be those of an earlier atomic.
struct AccessTerms {
  engine::AccessKind kind = engine::AccessKind::kRead;
  verbs::AccessOrder order = verbs::AccessOrder::kRelaxed;
  bool at_target = false;
  engine::QueueId queue = 0;
  std::uint32_t length = 0;
  engine::AddressSpaceId space = 0;
  std::uint64_t stream = 0;
  std::uint64_t address = 0;
  wire::OperationTag operation;
};

/// Unanswered accesses, and which of them the host has not taken yet. There is room for kAccesses from the
/// beginning, and for more with each channel as far as kAccessesReserved; a host whose memory leaves more
/// unanswered than ever before makes it grow (engine/contract.h). The data of inbound messages, which may be
/// long and are acknowledged before it is placed, is bounded by kUnansweredAccessesMax: see
/// Responder::has_room().
class AccessPort {
  enum class State : std::uint8_t { kFree, kWaiting, kTaken };

 public:
  /// An access from request() until it ends.
  class Slot {
    friend class AccessPort;

   public:
    const PendingAccess& owner() const { return owner_; }
    engine::AccessId id() const { return access_.id; }
    engine::Access& access() { return access_; }

   private:
    PendingAccess owner_;
    engine::Access access_;
    std::uint32_t next_ =
        kNoSlot;  ///< The one behind it: among those that wait, or among those that are free.
    State state_ = State::kFree;
  };

  AccessPort() { reserve(kAccesses); }
  AccessPort(const AccessPort&) = delete;
  AccessPort& operator=(const AccessPort&) = delete;

  /// There are `channels` channels.
  void make_room(std::uint32_t channels) {
    const std::uint32_t wanted = std::min(kAccesses + channels * kChannelAccesses, kAccessesReserved);
    if (wanted > capacity_) reserve(std::max(wanted, capacity_ * 2));
  }

  /// Queues an access of `kind` with an id of its own on behalf of `owner`, which is written where it stays;
  /// the caller fills in the rest before it calls again.
  [[gnu::always_inline]] engine::Access& request(engine::AccessKind kind, const PendingAccess& owner) {
    Slot& slot = open(owner);
    const engine::AccessId id = slot.access_.id;
    copy_whole(slot.access_, kBlank);
    slot.access_.id = id;
    slot.access_.kind = kind;
    return slot.access_;
  }
  /// The same with all that is to be said about it, for one without data: no write. `kUsed`: has_used() is
  /// true.
  template <bool kUsed = false>
  [[gnu::always_inline]] engine::Access& request(const PendingAccess& owner, const AccessTerms& terms) {
    return request<kUsed>(owner, terms, kNoData);
  }
  /// The same for a write of `data`.
  template <bool kUsed = false>
  [[gnu::always_inline]] engine::Access& request(const PendingAccess& owner, const AccessTerms& terms,
                                                 const wire::Payload& data) {
    engine::Access& access = open<kUsed>(owner).access_;
    access.kind = terms.kind;
    access.order = terms.order;
    access.atomic = verbs::Verb::kFetchAdd;
    access.width = 8;
    access.count = 1;
    access.at_target = terms.at_target;
    access.queue = terms.queue;
    access.length = terms.length;
    access.space = terms.space;
    access.stream = terms.stream;
    access.address = terms.address;
    copy_whole(access.data, data);
    access.operation = terms.operation;
    return access;
  }

  /// Whether the next request gets a place that was used before.
  bool has_used() const { return first_free_ != kNoSlot; }

  /// The host takes the access in front, which lies there until the next request; null: there is none.
  [[gnu::always_inline]] Slot* take_front() {
    if (head_ == kNoSlot) return nullptr;
    Slot& slot = slots_[head_];
    head_ = slot.next_;
    if (head_ == kNoSlot) end_ = &head_;
    slot.state_ = State::kTaken;
    return &slot;
  }
  bool next(engine::Access& out) {
    Slot* const slot = take_front();
    if (slot == nullptr) return false;
    copy_whole(out, slot->access_);
    return true;
  }

  /// Whether the host has taken `id` and not answered it.
  bool is_pending(engine::AccessId id) const { return id < extent_ && slots_[id].state_ == State::kTaken; }
  /// Bytes that the answer to `id` must bring: those of a read or of a context fetch; otherwise 0.
  std::uint32_t asked(engine::AccessId id) const {
    const engine::Access& access = slots_[id].access_;
    const bool reads =
        access.kind == engine::AccessKind::kRead || access.kind == engine::AccessKind::kFetchContext;
    return reads ? access.length : 0;
  }
  /// Access `id` if it is pending, or null.
  [[gnu::always_inline]] Slot* pending(engine::AccessId id) {
    if (id >= extent_) return nullptr;
    Slot& slot = slots_[id];
    return slot.state_ == State::kTaken ? &slot : nullptr;
  }
  /// Ends an access that is pending. Its owner stays as it is until the next request.
  [[gnu::always_inline]] void end(Slot& slot) {
    slot.state_ = State::kFree;
    slot.next_ = first_free_;
    first_free_ = slot.access_.id;
    --unanswered_;
  }
  /// The same; gives its owner.
  PendingAccess take(engine::AccessId id) {
    end(slots_[id]);
    return slots_[id].owner_;
  }
  /// The engine ends: what unanswered accesses hold goes back.
  void release_buffers(wire::PayloadPool& payloads) const {
    for (const Slot& slot : slots_) {
      if (slot.state_ != State::kFree) payloads.release(slot.owner_.buffer);
    }
  }
  std::uint32_t unanswered() const { return unanswered_; }
  /// Places for unanswered accesses, and the memory of all.
  std::uint32_t capacity() const { return capacity_; }
  std::size_t bytes_held() const { return slots_.capacity() * sizeof(Slot); }

 private:
  /// Copied, because building one in its place takes twice the instructions.
  static constexpr engine::Access kBlank{};
  static constexpr wire::Payload kNoData{};
  static constexpr std::uint32_t kAccesses = 1024;
  static constexpr std::uint32_t kChannelAccesses = 256;
  static constexpr std::uint32_t kAccessesReserved = 16384;

  /// A place for an access, the last in the queue: it has its id, the rest is the caller's to write.
  template <bool kUsed = false>
  [[gnu::always_inline]] Slot& open(const PendingAccess& owner) {
    std::uint32_t id = first_free_;
    if (!kUsed && id == kNoSlot) [[unlikely]]
      id = make_fresh();
    Slot& slot = slots_[id];
    first_free_ = slot.next_;
    ++unanswered_;
    slot.owner_ = owner;
    slot.state_ = State::kWaiting;
    slot.next_ = kNoSlot;
    *end_ = id;
    end_ = &slot.next_;
    return slot;
  }

  /// A place that was never used is the only free one.
  [[gnu::noinline]] std::uint32_t make_fresh() {
    if (extent_ == capacity_) reserve(capacity_ * 2);
    slots_.emplace_back().access_.id = extent_;
    return extent_++;
  }

  /// Takes memory, and no more pages of it than are used.
  [[gnu::noinline]] void reserve(std::uint32_t capacity) {
    const bool any = head_ != kNoSlot;
    std::uint32_t last = head_;
    while (any && slots_[last].next_ != kNoSlot) last = slots_[last].next_;
    slots_.reserve(capacity);
    capacity_ = capacity;
    if (any) end_ = &slots_[last].next_;
  }

  std::vector<Slot> slots_;
  std::uint32_t first_free_ = kNoSlot;  ///< The one that was given back last.
  std::uint32_t head_ = kNoSlot;        ///< The first that the host has not taken yet.
  std::uint32_t* end_ = &head_;         ///< Where the next one is linked.
  std::uint32_t unanswered_ = 0;
  std::uint32_t extent_ = 0;  ///< One past the highest id that was ever given.
  std::uint32_t capacity_ = 0;
};

}  // namespace wharf::ub
