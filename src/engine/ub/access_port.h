// SPDX-License-Identifier: Apache-2.0
// The memory side of the engine: accesses that wait for the host to take them, and what to do when it
// answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/index_list.h"
#include "base/slot_pool.h"
#include "engine/contract.h"
#include "engine/ub/fresh.h"

namespace wharf::ub {

/// Which part of the engine an access serves, and so who gets the answer.
enum class AccessOwner : std::uint8_t {
  kPacketData,        ///< Data of a packet of a TP channel. object: channel, detail: TxRef, offset: into the
                      ///< packet.
  kInboundWrite,      ///< Places data of a request. object: inbound message.
  kInboundAtomic,     ///< object: inbound message.
  kInboundEntry,      ///< Receive entry of an inbound message. object: inbound message.
  kResponseWrite,     ///< Places data of a response at the initiator. object: transaction.
  kWorkRequest,       ///< Fetch of a work-queue entry. object: jetty, detail: posting number.
  kCompletion,        ///< object: jetty, detail: completion number.
  kContext,           ///< Fetch or write of a record. detail: context key.
  kLoadStore,         ///< Serves a load or store of another host. object: service.
  kSharedCompletion,  ///< object: completion queue, detail: number of its record.
  kSharedReceive,     ///< object: receive queue, detail: first entry, offset: count.
};

struct PendingAccess {
  AccessOwner owner = AccessOwner::kPacketData;
  std::uint32_t object = 0;
  std::uint32_t generation = 0;  ///< Of `object`, where it can be reused before the answer comes.
  std::uint32_t offset = 0;
  std::uint64_t detail = 0;
  wire::BufferId buffer = wire::kNoBuffer;  ///< Held until the answer comes.
};

/// Unanswered accesses, and which of them the host has not taken yet. There is room for kAccesses from the
/// beginning, and for more with each channel as far as kAccessesReserved; a host whose memory leaves more
/// unanswered than ever before makes it grow (engine/contract.h). The data of inbound messages, which may be
/// long and are acknowledged before it is placed, is bounded by kUnansweredAccessesMax: see
/// Responder::has_room().
class AccessPort {
 public:
  AccessPort() { pending_.reserve(kAccesses); }

  /// There are `channels` channels.
  void make_room(std::uint32_t channels) {
    pending_.grow(std::min(kAccesses + channels * kChannelAccesses, kAccessesReserved));
  }

  /// Queues an access of `kind` with an id of its own on behalf of `owner`, which is written where it stays;
  /// the caller fills in the rest before it calls again.
  [[gnu::always_inline]] engine::Access& request(engine::AccessKind kind, const PendingAccess& owner) {
    std::uint32_t id = pending_.acquire();
    if (id == kNoSlot) [[unlikely]]
      id = acquire_more();
    Slot& slot = pending_[id];
    slot.owner = owner;
    slot.taken = false;
    copy_whole(slot.access, kBlank);
    slot.access.id = id;
    slot.access.kind = kind;
    queue_.push(pending_, id, &Slot::next);
    return slot.access;
  }

  bool next(engine::Access& out) {
    if (queue_.empty()) return false;
    Slot& slot = pending_[queue_.pop(pending_, &Slot::next)];
    slot.taken = true;
    copy_whole(out, slot.access);
    return true;
  }

  /// Whether the host has taken `id` and not answered it.
  bool is_pending(engine::AccessId id) const { return pending_.is_used(id) && pending_[id].taken; }
  /// Bytes that the answer to `id` must bring: those of a read or of a context fetch; otherwise 0.
  std::uint32_t asked(engine::AccessId id) const {
    const engine::Access& access = pending_[id].access;
    const bool reads =
        access.kind == engine::AccessKind::kRead || access.kind == engine::AccessKind::kFetchContext;
    return reads ? access.length : 0;
  }
  const PendingAccess& owner(engine::AccessId id) const { return pending_[id].owner; }
  /// Ends an unanswered access.
  void end(engine::AccessId id) { pending_.release(id); }
  /// The same; gives its owner.
  PendingAccess take(engine::AccessId id) {
    const PendingAccess owner = pending_[id].owner;
    pending_.release(id);
    return owner;
  }
  /// The engine ends: what unanswered accesses hold goes back.
  void release_buffers(wire::PayloadPool& payloads) const {
    for (std::uint32_t id = 0; id < pending_.extent(); ++id) {
      if (pending_.is_used(id)) payloads.release(pending_[id].owner.buffer);
    }
  }
  std::uint32_t unanswered() const { return pending_.in_use(); }
  /// Places for unanswered accesses, and the memory of all.
  std::uint32_t capacity() const { return pending_.capacity(); }
  std::size_t bytes_held() const { return pending_.bytes_held(); }

 private:
  /// Copied, because building one in its place takes twice the instructions.
  static constexpr engine::Access kBlank{};
  static constexpr std::uint32_t kAccesses = 1024;
  static constexpr std::uint32_t kChannelAccesses = 256;
  static constexpr std::uint32_t kAccessesReserved = 16384;

  struct Slot {
    PendingAccess owner;
    engine::Access access;
    std::uint32_t next = kNoSlot;  ///< In queue_.
    bool taken = false;
  };

  [[gnu::noinline]] std::uint32_t acquire_more() {
    pending_.reserve(pending_.capacity() * 2);
    return pending_.acquire();
  }

  SlotPool<Slot> pending_;
  IndexList queue_;  ///< Not taken yet.
};

}  // namespace wharf::ub
