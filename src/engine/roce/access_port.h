// SPDX-License-Identifier: Apache-2.0
// The memory side of the interface: accesses that wait for next_access(), are under way, or are held back,
// and what each of them is for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/slot_pool.h"
#include "engine/contract.h"
#include "engine/roce/lazy_places.h"
#include "engine/roce/position_ring.h"
#include "wire/payload_pool.h"

namespace wharf::roce {

/// What the engine does with the answer to an access. From kFetchQueueContext on: what belongs to
/// no queue pair, traffic of the context cache and shared receives.
enum class AccessPurpose : std::uint8_t {
  kRequestPayload,  ///< position: in the transmit ring; detail: offset in the packet (gathered payloads).
  kResendPayload,   ///< The same in the ring of packets to be sent again (selective repeat).
  kResponseData,    ///< position: work request whose result is placed.
  kPlacement,       ///< position: answer that waits for it; detail: PSN of the packet.
  kReadPayload,     ///< position: in the read-ahead ring.
  kFetchWork,       ///< position, detail: first entry and count.
  kFetchReceive,    ///< position: one past the last entry.
  kSendCompletion,  ///< position: in the ring of send completions.
  kReceiveCompletion,
  kSharedCompletion,  ///< position: in a completion ring of the queue pair; for_receive: which; see
                      ///< add_ticket().
  kAtomic,            ///< position: answer.
  kFetchQueueContext,
  kWriteQueueContext,
  kFetchKeyRecord,  ///< position: record number.
  kWriteKeyRecord,
  kSharedReceive,  ///< position, detail: first entry and count of receive queue `access.queue`.
};

/// One access, and what the engine does with its answer.
struct AccessSlot {
  engine::Access access;
  Position position = 0;
  std::uint32_t detail = 0;      ///< See AccessPurpose.
  Position entry = 0;            ///< Placement with `for_receive`: its receive entry.
  std::uint32_t remote_key = 0;  ///< Placement of a WRITE: the key that allows it.
  std::uint32_t next =
      kNoSlot;  ///< In the list of accesses to hand out, to hold back, to process later; free.
  AccessPurpose purpose = AccessPurpose::kPlacement;
  bool for_receive = false;  ///< Placement: lands in a receive entry.
  bool needs_entry = false;  ///< Placement: waits for receive entry `entry`.
  bool asked = false;        ///< The host has it and has not answered.
  bool open = false;
  /// Accesses that will be made of it, see AccessPort::extend(); 0: it is one. While it is held back: how
  /// many atomics of its queue pair come before it.
  std::uint32_t run = 0;
};
static_assert(std::is_trivially_copyable_v<AccessSlot>);

/// Slots that each queue pair adds to those of RoceConfig::access_slots.
inline constexpr std::uint32_t kAccessSlotsPerQueue = 32;
/// Those among them that nobody else can take, however many accesses of others the host has not answered:
/// room for one packet that arrives (kAccessesPerPacket) and two more. All the others are first come, first
/// served.
inline constexpr std::uint32_t kAccessShare = 8;

/// What a queue pair has taken.
struct AccessShare {
  std::uint32_t open = 0;
};

/// Slots for accesses, and the list of those that the host has not taken yet. Room is promised by reserve()
/// alone, and memory is taken when more accesses are open than ever before. An access with data owns one
/// reference of its buffer until close(). A free slot has no data, and keeps the fields that seldom change.
class AccessPort {
 public:
  explicit AccessPort(wire::PayloadPool& pool) : pool_(&pool) {}

  void reserve(std::uint32_t slots) {
    if (slots > capacity_) {
      common_ += slots - capacity_;
      capacity_ = slots;
    }
    make_room(capacity_ + kept_for_shared_);
  }
  std::uint32_t capacity() const { return capacity_; }
  /// One more queue pair has a share. Control side.
  void add_share() {
    shares_ += kAccessShare;
    common_ -= kAccessShare;
  }
  /// Slots for everything but context records, which have some of their own.
  std::uint32_t available() const { return common_ + shares_; }
  /// Those that its owner may take: its own share, and what is not the share of another.
  std::uint32_t available(const AccessShare& share) const {
    return common_ + (share.open < kAccessShare ? kAccessShare - share.open : 0);
  }
  /// Whether anyone may open `count` accesses: the usual case.
  bool has(std::uint32_t count) const { return common() >= static_cast<std::int32_t>(count); }
  /// Whether anyone may take `count` slots, the first of them one that was used before: the usual case,
  /// without a way to fresh ones.
  [[gnu::always_inline]] bool has_used(std::uint32_t count) const {
    return has(count) && first_free_ != kNoSlot;
  }
  /// The same with two that were used before.
  [[gnu::always_inline]] bool has_two_used(std::uint32_t count) const {
    return has_used(count) && slots_[first_free_].next != kNoSlot;
  }
  /// Those that are nobody's share.
  std::int32_t common() const { return static_cast<std::int32_t>(common_); }
  /// Slots of all shares that their owners have not taken.
  std::uint32_t shares() const { return shares_; }
  /// Takes `count` slots out of the capacity, for context records alone.
  void keep_for_context(std::uint32_t count) {
    common_ -= count - kept_for_context_;
    kept_for_context_ = count;
  }
  /// Makes sure that `count` accesses to context records can be opened beside all others.
  void reserve_for_context(std::uint32_t count) {
    make_room(capacity_ - kept_for_context_ + context_in_use_ + kept_for_shared_ + count);
  }
  /// One more receive queue is shared: room for `count` fetches of its entries beside all else.
  void keep_for_shared(std::uint32_t count) {
    kept_for_shared_ += count;
    make_room(capacity_ + context_in_use_ + kept_for_shared_);
  }
  std::uint32_t kept_for_shared() const { return kept_for_shared_; }
  /// Slots that exist, those that were ever used, and the memory of these.
  std::uint32_t places() const { return places_; }
  std::uint32_t places_touched() const { return extent_; }
  std::size_t bytes_touched() const { return std::size_t{extent_} * sizeof(AccessSlot); }

  /// A slot for a new access of `queue`, relaxed and without data; one must be available. `share`: of the
  /// queue pair; null where is_apart(). The caller sets address, length and operation, and what its kind and
  /// purpose need beyond.
  template <bool kUsed = false>
  [[gnu::always_inline]] AccessSlot& open(AccessPurpose purpose, engine::AccessKind kind,
                                          engine::QueueId queue, AccessShare* share, Position position,
                                          std::uint32_t stream, bool at_target) {
    const std::uint32_t index = kUsed ? acquire_used() : acquire();
    AccessSlot& slot = slots_[index];
    // Neighbours in memory, which one or two stores write.
    slot.access.kind = kind;
    slot.access.order = verbs::AccessOrder::kRelaxed;
    slot.access.atomic = verbs::Verb::kFetchAdd;
    slot.access.width = 8;
    slot.access.count = 1;
    slot.access.at_target = at_target;
    slot.access.queue = queue;
    slot.access.stream = stream;
    slot.position = position;
    slot.purpose = purpose;
    slot.for_receive = false;
    slot.needs_entry = false;
    slot.asked = false;
    slot.open = true;
    if (is_apart(purpose)) {
      ++context_in_use_;
    } else {
      charge(*share);
    }
    return slot;
  }
  AccessSlot& slot(std::uint32_t index) { return slots_[index]; }
  bool is_open(std::uint32_t index) const { return index < extent_ && slots_[index].open; }
  /// Slots for `count` accesses are available. Control path.
  void make_available(std::uint32_t count) {
    if (available() < shares_ + count) reserve(capacity_ + shares_ + count - available());
  }
  /// Whether the host has taken `index` and not answered it.
  bool is_asked(std::uint32_t index) const { return index < extent_ && slots_[index].asked; }

  /// Hands the access out behind all that were issued before.
  void issue(AccessSlot& slot) {
    const std::uint32_t index = slot.access.id;
    slot.next = kNoSlot;
    if (first_ == kNoSlot) {
      first_ = index;
    } else {
      slots_[last_].next = index;
    }
    last_ = index;
    run_ring_ = nullptr;
  }
  bool has_next() const { return first_ != kNoSlot; }
  /// The access or run that was issued first; there is one.
  AccessSlot& front() { return slots_[first_]; }
  void pop_front() { first_ = slots_[first_].next; }

  // A run is accesses of one queue pair that differ by their position in one ring, issued one after the
  // other. It takes one slot, whose position and address are those of its first; an address that is not
  // filled in lies behind the one before. All of its accesses count as open.

  /// Issues `slot` as a run of one so far, the element at slot.position of `ring`.
  void issue_run(AccessSlot& slot, const void* ring) {
    slot.run = 1;
    issue(slot);
    run_ring_ = ring;
    run_end_ = slot.position + 1;
  }
  /// Makes the `count` elements from `position` of `ring` on part of the run that was issued last, if they
  /// are the next of it.
  [[gnu::always_inline]] bool extend(const void* ring, Position position, AccessShare& share,
                                     std::uint32_t count = 1) {
    if (run_ring_ != ring || run_end_ != position) return false;
    run_end_ += count;
    slots_[last_].run += count;
    if (count == 1) {
      charge(share);
    } else {
      charge(share, count);
    }
    return true;
  }
  /// Whatever is issued next is no part of the run that was issued last.
  void end_run() { run_ring_ = nullptr; }
  /// Ends the first `count` accesses of the run in front, which hold no data; its address is that of what is
  /// left.
  void close_front(std::uint32_t count, AccessShare& share) {
    charge(share, 0 - count);
    AccessSlot& slot = slots_[first_];
    slot.position += count;
    slot.run -= count;
    if (slot.run > 0) return;
    leave_front();
    free(slot);
  }
  /// Takes the first access out of the run in front, with the slot: what is left has another.
  void split_front() {
    AccessSlot& slot = slots_[first_];
    if (slot.run == 1) {
      leave_front();
    } else {
      const std::uint32_t index = acquire();
      AccessSlot& rest = slots_[index];
      rest = slot;
      rest.access.id = index;
      ++rest.position;
      rest.access.address += rest.access.length;
      --rest.run;
      if (first_ == last_) last_ = index;
      first_ = index;
    }
    slot.run = 0;
  }

  /// Whether an access of this purpose belongs to no queue pair.
  static constexpr bool is_apart(AccessPurpose purpose) {
    return purpose >= AccessPurpose::kFetchQueueContext;
  }
  /// Ends an access that has been answered; `share` as in open().
  void close(AccessSlot& slot, AccessShare* share) {
    WHARF_CHECK(slot.open);
    pool_->release(slot.access.data.buffer);
    slot.access.data.buffer = wire::kNoBuffer;
    forget_data(slot.access);
    if (slot.purpose == AccessPurpose::kAtomic) reset_words(slot.access);
    if (is_apart(slot.purpose)) {
      --context_in_use_;
      free(slot);
    } else {
      close_empty(slot, *share);
    }
  }
  /// Takes data that is nobody's buffer out of an access.
  [[gnu::always_inline]] static void forget_data(engine::Access& access) {
    access.data.length = 0;
    access.data.kind = wire::PayloadKind::kNone;
  }
  /// The same for an open access of a queue pair that has no data and is no atomic.
  [[gnu::always_inline]] void close_empty(AccessSlot& slot, AccessShare& share) {
    ++(--share.open < kAccessShare ? shares_ : common_);
    free(slot);
  }
  /// Ends every access, and with them the port; nobody will answer any more.
  void close_all() {
    AccessShare nobodys;
    for (std::uint32_t index = 0; index < extent_; ++index) {
      if (is_open(index)) close(slots_[index], &nobodys);
    }
  }

 private:
  /// The run in front has no access left.
  void leave_front() {
    if (first_ == last_) end_run();
    pop_front();
  }
  [[gnu::always_inline]] void charge(AccessShare& share) {
    --(share.open++ < kAccessShare ? shares_ : common_);
  }
  /// `count` more, or fewer, modulo 2^32.
  void charge(AccessShare& share, std::uint32_t count) {
    const std::uint32_t kept = std::min(share.open, kAccessShare);
    share.open += count;
    const std::uint32_t of_share = std::min(share.open, kAccessShare) - kept;
    shares_ -= of_share;
    common_ -= count - of_share;
  }
  [[gnu::always_inline]] void free(AccessSlot& slot) {
    slot.asked = false;
    slot.open = false;
    slot.next = first_free_;
    first_free_ = slot.access.id;
  }
  [[gnu::always_inline]] std::uint32_t acquire() {
    return first_free_ == kNoSlot ? acquire_fresh() : acquire_used();
  }
  [[gnu::always_inline]] std::uint32_t acquire_used() {
    const std::uint32_t index = first_free_;
    first_free_ = slots_[index].next;
    return index;
  }
  [[gnu::noinline, gnu::cold]] std::uint32_t acquire_fresh() {
    WHARF_CHECK(extent_ < places_);
    std::construct_at(&slots_[extent_])->access.id = extent_;
    return extent_++;
  }
  /// Only atomics have operands; their slots go back without.
  static void reset_words(engine::Access& access) {
    access.operand = {};
    access.compare = {};
  }
  void make_room(std::uint32_t places) {
    if (places <= places_) return;
    // Many queue pairs are made one after the other: most of them find room.
    places_ = std::max(places, 2 * places_);
    memory_.reserve(places_ * sizeof(AccessSlot), extent_ * sizeof(AccessSlot));
    slots_ = reinterpret_cast<AccessSlot*>(memory_.data());
  }

  AccessSlot* slots_ = nullptr;
  std::uint32_t first_ = kNoSlot;  ///< Accesses to hand out.
  std::uint32_t last_ = kNoSlot;
  const void* run_ring_ = nullptr;  ///< Of the run that was issued last; null when it cannot grow.
  Position run_end_ = 0;            ///< Its next element.
  std::uint32_t first_free_ = kNoSlot;
  std::uint32_t extent_ = 0;    ///< Slots before this one were used.
  std::uint32_t capacity_ = 0;  ///< Slots in all, but for what context records may need beyond their own.
  std::uint32_t kept_for_context_ = 0;
  /// Free slots that are nobody's share, modulo 2^32 while the control side makes room for a queue pair.
  std::uint32_t common_ = 0;
  std::uint32_t kept_for_shared_ = 0;
  std::uint32_t shares_ = 0;
  std::uint32_t context_in_use_ = 0;
  std::uint32_t places_ = 0;
  wire::PayloadPool* pool_;
  LazyPlaces memory_;
};

}  // namespace wharf::roce
