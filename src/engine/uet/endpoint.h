// SPDX-License-Identifier: Apache-2.0
// Endpoints (queues): their address in the resource index spaces, posted receives with their matching rules,
// and completions. [UE 1.0 3.4]
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/flat_map.h"
#include "base/index_list.h"
#include "base/memory_use.h"
#include "base/result.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "engine/completion_queues.h"
#include "engine/contract.h"
#include "engine/uet/access_port.h"
#include "engine/uet/config.h"
#include "engine/uet/message.h"
#include "verbs/completion.h"
#include "wire/uet_packet.h"

namespace wharf::uet {

struct EngineParts;

/// Bytes of one work-queue entry, receive entry and completion record in host memory.
inline constexpr std::uint32_t kWorkRequestBytes = 64;
inline constexpr std::uint32_t kCompletionBytes = 64;
/// The number of a destroyed queue is not given again before this many others have been destroyed, so that
/// what still comes for it finds nobody. Choice: as for the other engines' queues.
inline constexpr std::uint32_t kRestingEndpoints = 64;

/// A posted receive.
struct ReceiveEntry {
  verbs::ReceiveRequest request;
  std::uint32_t capacity = 0;  ///< Bytes of its buffer.
  std::uint32_t next = kNoSlot;
};

/// A work request between post() and its message.
struct PostedRequest {
  verbs::WorkRequest request;
  bool entry_present = false;
  /// Otherwise it ends so, without being sent.
  verbs::CompletionStatus end = verbs::CompletionStatus::kSuccess;
};

struct PendingCompletion {
  verbs::Completion completion;
  bool visible = false;
  bool made_plain = false;  ///< Of a request that was made plain: the next one sets few members.
};

/// A remote endpoint that a queue may name.
struct Peer {
  bool used = false;
  engine::QueueId queue = 0;
  Destination to;
  std::uint32_t outstanding = 0;
  std::uint32_t waiting = 0;  ///< Ordered messages that wait to start again.
};

struct Endpoint {
  bool used = false;
  engine::QueueConfig config;
  EndpointAddress address;
  std::uint32_t initiator_id = 0;
  bool generations = false;
  std::uint8_t generation = 0;
  bool enabled = true;      ///< [UE 1.0 3.4] A disabled RI refuses everything until it is enabled again.
  bool failed = false;      ///< engine::QueueState::kError.
  bool shares = false;      ///< Some of its completions go to a completion queue of the engine.
  bool overrun = false;     ///< That was full: the queue is to fail.
  bool refuses = false;     ///< It is the engine that has disabled it.
  bool lacks_room = false;  ///< For want of room, not of a receive.

  // Requests.
  Ring<PostedRequest> posted;     ///< Those without a message yet. Grows up to the depth.
  std::uint64_t posted_head = 0;  ///< Posting number of posted[0].
  std::uint32_t outstanding = 0;  ///< Messages of the queue that have not ended.
  std::uint32_t reads = 0;        ///< Of them reads and atomics (fence).

  // Receives and messages that found none.
  IndexList receives;
  IndexList unexpected;  ///< Inbound messages, oldest first.
  IndexList deferred;    ///< Deferred sends, oldest first.
  std::uint32_t receive_count = 0;

  // Completions: written in this order, shown in this order. The ring grows with what is unread.
  Ring<PendingCompletion> completions;
  std::uint64_t completion_next = 0;  ///< Number of the next one.
  std::uint32_t reserved = 0;         ///< Completions that may still come, and unread ones.
  std::uint64_t record_places = 1;    ///< records() rounded up to a power of two.
  bool listed = false;
  bool starved = false;  ///< On the list of Initiator.
  std::uint32_t next_starved = kNoSlot;

  /// Places of the completion ring.
  std::uint32_t records() const { return config.send_depth + config.receive_depth; }
};

class EndpointTable {
 public:
  explicit EndpointTable(EngineParts& parts) : parts_(parts) {}

  Result<engine::QueueId> create(const engine::QueueConfig& config, const EndpointAddress& address,
                                 std::uint32_t initiator_id);
  /// Flushes what is outstanding first.
  Result<void> destroy(TimePs now, engine::QueueId queue);
  Endpoint* find(engine::QueueId queue) {
    return queue < count_ && endpoints_[queue]->used ? endpoints_[queue].get() : nullptr;
  }
  const Endpoint* find(engine::QueueId queue) const {
    return queue < count_ && endpoints_[queue]->used ? endpoints_[queue].get() : nullptr;
  }
  Endpoint& operator[](engine::QueueId queue) { return *endpoints_[queue]; }
  engine::QueueId count() const { return count_; }
  /// The number that create() gives next.
  engine::QueueId next() const { return resting_.size() > kRestingEndpoints ? resting_.front() : count(); }

  /// The endpoint that a request is for, and kOk; or the code that refuses it. [UE 1.0 3.4, lookup order]
  [[gnu::always_inline]] wire::UetReturnCode look_up(const wire::UetSesRequest& request,
                                                     engine::QueueId& queue) {
    if (!last_.is_for(request)) {
      const wire::UetReturnCode code = find_other(request);
      if (code != wire::UetReturnCode::kOk) return code;
    }
    queue = last_.queue;
    const Endpoint& endpoint = *last_.endpoint;
    if (!endpoint.generations && endpoint.enabled) return wire::UetReturnCode::kOk;
    return refused_by(endpoint, request);
  }

  engine::PostStatus post_receive(TimePs now, engine::QueueId queue, const verbs::ReceiveRequest& request);
  /// Takes the first posted receive that matches; kNoSlot when none does.
  std::uint32_t match(engine::QueueId queue, const wire::UetSesRequest& request);
  /// The same; one whose buffer is too short for the request stays where it is, and is kNoSlot.
  std::uint32_t match_whole(engine::QueueId queue, const wire::UetSesRequest& request);
  ReceiveEntry& receive(std::uint32_t slot) { return receives_[slot]; }
  /// Messages are taken again.
  static void enable(Endpoint& endpoint);
  /// Puts a taken receive back before all others.
  void give_back(engine::QueueId queue, std::uint32_t slot);
  void release_receive(std::uint32_t slot) { receives_.release(slot); }
  SlotPool<ReceiveEntry>& pool() { return receives_; }

  /// Reports the end of a request or receive, which has a place reserved. `stream`: where its data was
  /// placed. `fill(completion)` says what happened.
  template <typename Fill>
  void complete(engine::QueueId queue, std::uint64_t stream, Fill&& fill);  // completion_writing.h
  /// The same for a request that was made plain and has succeeded.
  static void complete_plain(EngineParts& parts, engine::QueueId queue, Endpoint& endpoint,
                             const OutboundMessage& message);  // likewise
  [[gnu::noinline]] void completion_error(engine::QueueId queue, Endpoint& endpoint,
                                          PendingCompletion& record);
  void completion_done(std::uint32_t queue, std::uint64_t number, engine::AccessStatus status);  // likewise
  /// A record of a shared completion queue was written.
  void shared_completion_done(const PendingAccess& owner, engine::AccessStatus status);
  /// A receive that `queue` has given up: it completes with `status`, and its entry is free.
  void end_receive(engine::QueueId queue, std::uint32_t slot, verbs::CompletionStatus status);
  /// Ends every request and receive of `queue` with kFlushed.
  void flush(TimePs now, engine::QueueId queue);
  void fail(TimePs now, engine::QueueId queue);
  /// The same for queues whose completion queue was full.
  void fail_overrun(TimePs now);
  Result<void> cancel_receive(engine::QueueId queue, std::uint64_t id);
  engine::CompletionQueues& completion_queues() { return completion_queues_; }
  bool has_overrun() const { return overruns_ > 0; }
  bool next_completed(engine::QueueId& queue);
  bool poll(engine::QueueId queue, verbs::Completion& out);
  void add_memory_use(std::vector<MemoryUse>& out) const;

  /// Fetches ahead what look_up() found last, as far as it compares it.
  [[gnu::always_inline]] void prefetch() const {
    if (last_.endpoint != nullptr) prefetch_lines<sizeof(EndpointAddress) + 8>(&last_.endpoint->address);
  }

  static bool matches(const verbs::ReceiveRequest& receive, const wire::UetSesRequest& request);

 private:
  /// The first receive that matches, off the list if `takes(entry)`.
  template <typename Takes>
  std::uint32_t take_first(engine::QueueId queue, const wire::UetSesRequest& request, Takes&& takes);
  [[gnu::noinline]] void list_completed(engine::QueueId queue, Endpoint& endpoint);
  void complete_shared(Endpoint& endpoint, std::uint64_t stream, const verbs::Completion& completion);
  static PendingCompletion& begin_completion(EngineParts& parts, Endpoint& endpoint);
  static void write_completion(EngineParts& parts, engine::QueueId queue, Endpoint& endpoint,
                               std::uint64_t stream, wire::OperationTag operation);
  /// An endpoint, and how requests name it.
  struct Found {
    std::uint64_t job_id = ~std::uint64_t{0};  ///< No request's: nothing has been found.
    std::uint16_t pid_on_fep = 0;
    std::uint16_t resource_index = 0;
    bool relative = true;
    engine::QueueId queue = 0;
    const Endpoint* endpoint = nullptr;

    [[gnu::always_inline]] bool is_for(const wire::UetSesRequest& request) const {
      return job_id == request.job_id && pid_on_fep == request.pid_on_fep &&
             resource_index == request.resource_index && relative == request.relative();
    }
  };

  /// Makes the endpoint that a request names `last_`.
  wire::UetReturnCode find_other(const wire::UetSesRequest& request);
  static wire::UetReturnCode refused_by(const Endpoint& endpoint, const wire::UetSesRequest& request);
  /// Which part of an address that nobody has is wrong, in the specification's order.
  wire::UetReturnCode what_is_wrong(const wire::UetSesRequest& request) const;
  static std::uint64_t key(std::uint32_t job_id, std::uint16_t pid, std::uint16_t index, bool relative) {
    return (std::uint64_t{relative ? job_id : 0x100'0000U} << 24U) | (std::uint64_t{pid} << 12U) | index;
  }

  friend struct Prefetch;

  EngineParts& parts_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  engine::QueueId count_ = 0;      ///< Of them.
  Ring<engine::QueueId> resting_;  ///< Destroyed, longest ago first.
  FlatMap by_address_;
  SlotPool<ReceiveEntry> receives_;
  Ring<engine::QueueId> completed_;
  engine::CompletionQueues completion_queues_;
  std::uint32_t overruns_ = 0;  ///< Endpoints that are to fail.
  Found last_;                  ///< By look_up().
};

/// Whether `request` is for tagged matching.
constexpr bool is_tagged(wire::UetOpcode opcode) {
  return opcode == wire::UetOpcode::kTaggedSend || opcode == wire::UetOpcode::kRendezvousTaggedSend ||
         opcode == wire::UetOpcode::kDeferrableTaggedSend || opcode == wire::UetOpcode::kTaggedSendAtomic ||
         opcode == wire::UetOpcode::kTaggedSendFetchAtomic;
}
constexpr bool is_deferrable(wire::UetOpcode opcode) {
  return opcode == wire::UetOpcode::kDeferrableSend || opcode == wire::UetOpcode::kDeferrableTaggedSend;
}
constexpr bool is_rendezvous(wire::UetOpcode opcode) {
  return opcode == wire::UetOpcode::kRendezvousSend || opcode == wire::UetOpcode::kRendezvousTaggedSend;
}

}  // namespace wharf::uet
