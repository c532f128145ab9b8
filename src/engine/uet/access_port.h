// SPDX-License-Identifier: Apache-2.0
// The memory side of the engine: accesses that wait for the host to take them, and whose answer they are.
#pragma once

#include <cstdint>

#include "base/ring.h"
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
};

/// Stream of what a queue has done for its own program.
constexpr std::uint64_t local_stream(engine::QueueId queue) { return std::uint64_t{queue} * 2; }
/// Stream of what an endpoint does for one peer. `resource_index`: 12 bits, as the request has it.
constexpr std::uint64_t target_stream(wire::HostAddress source, std::uint16_t resource_index) {
  return (std::uint64_t{source.number} << 12U | resource_index) * 2 + 1;
}

struct PendingAccess {
  AccessOwner owner = AccessOwner::kPacketData;
  std::uint32_t object = 0;
  std::uint32_t generation = 0;             ///< Of `object`, where it can be reused before the answer comes.
  wire::BufferId buffer = wire::kNoBuffer;  ///< Held until the answer comes.
  std::uint64_t detail = 0;
  std::uint32_t asked = 0;  ///< Bytes that the answer to a read must bring.
  bool taken = false;       ///< The host has it.
};

/// FIFO toward the host and the table of unanswered accesses. Both grow while a run warms up; what they hold
/// is bounded by the bounds of the owners.
class AccessPort {
 public:
  AccessPort() : pending_(16), queue_(16) {}

  /// Queues `access` (with an id of its own) on behalf of `owner`.
  void request(const engine::Access& access, const PendingAccess& owner) {
    std::uint32_t id = pending_.acquire();
    if (id == kNoSlot) {
      pending_.reserve(pending_.capacity() * 2);
      id = pending_.acquire();
    }
    pending_[id] = owner;
    if (access.kind == engine::AccessKind::kRead) pending_[id].asked = access.length;
    if (queue_.full()) queue_.reserve(queue_.capacity() * 2);
    queue_.emplace_back(access).id = id;
  }

  bool next(engine::Access& out) {
    if (queue_.empty()) return false;
    out = queue_.front();
    queue_.pop_front();
    pending_[out.id].taken = true;
    return true;
  }

  /// Whether the host has taken `id` and not answered it.
  bool is_pending(engine::AccessId id) const { return pending_.is_used(id) && pending_[id].taken; }
  /// Ends an unanswered access and gives its owner.
  PendingAccess take(engine::AccessId id) {
    const PendingAccess owner = pending_[id];
    pending_.release(id);
    return owner;
  }
  /// The engine ends: what unanswered accesses hold goes back.
  void release_buffers(wire::PayloadPool& payloads) const {
    for (std::uint32_t id = 0; id < pending_.capacity(); ++id) {
      if (pending_.is_used(id)) payloads.release(pending_[id].buffer);
    }
  }
  [[gnu::always_inline]] void prefetch() const {
    pending_.prefetch();
    queue_.prefetch();
  }
  std::uint32_t unanswered() const { return pending_.in_use(); }

 private:
  SlotPool<PendingAccess> pending_;
  Ring<engine::Access> queue_;
};

}  // namespace wharf::uet
