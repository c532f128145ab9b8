// SPDX-License-Identifier: Apache-2.0
// One jetty: its send, receive and completion queues, and the ordering state of its requests.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/index_list.h"
#include "base/ring.h"
#include "base/time.h"
#include "engine/contract.h"
#include "engine/ub/context_records.h"
#include "engine/ub/jetty_patience.h"
#include "engine/ub/jetty_state.h"
#include "engine/ub/numbered_ring.h"
#include "engine/ub/senders.h"
#include "verbs/completion.h"
#include "verbs/work_request.h"
#include "wire/host_address.h"

namespace wharf::ub {

/// "No request": posting numbers count up from zero and never reach it.
inline constexpr std::uint64_t kNoRequest = ~std::uint64_t{0};

/// Up to four pieces of local memory; those beyond the count that is kept with them mean nothing.
struct LocalPieces {
  LocalPieces() = default;
  LocalPieces(const std::array<verbs::ScatterEntry, verbs::kMaxScatterEntries>& from, std::uint8_t count) {
    for (std::uint8_t i = 0; i < count; ++i) {
      address[i] = from[i].address;
      length[i] = from[i].length;
    }
  }
  std::array<std::uint64_t, verbs::kMaxScatterEntries> address;
  std::array<std::uint32_t, verbs::kMaxScatterEntries> length;
};

/// Calls act(address, length, done) for each part of the pieces that the `length` bytes from byte `from` on
/// cover; `done` counts the bytes before it. Gives the bytes that lie in the pieces.
template <typename Act>
std::uint32_t for_each_part(const LocalPieces& pieces, std::uint8_t count, std::uint64_t from,
                            std::uint32_t length, Act&& act) {
  std::uint32_t done = 0;
  for (std::uint8_t i = 0; i < count && done < length; ++i) {
    if (from >= pieces.length[i]) {
      from -= pieces.length[i];
      continue;
    }
    const auto part =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces.length[i] - from, length - done));
    act(pieces.address[i] + from, part, done);
    from = 0;
    done += part;
  }
  return done;
}

/// A work request from post() until its turn to be reported has passed: what the engine needs of it, in the
/// fewest bytes, because every queue holds as many as it is deep.
struct PostedRequest {
  PostedRequest() {}
  PostedRequest(const verbs::WorkRequest& posted, bool in_hand)
      : id(posted.id),
        operation(posted.operation),
        remote(posted.remote),
        length(posted.length),
        peer(posted.peer),
        local_count(posted.local_count),
        width(posted.width),
        hint(posted.hint),
        verb(posted.verb),
        order(posted.order),
        signaled(posted.signaled),
        fence(posted.fence),
        solicited(posted.solicited),
        completion_in_order(posted.completion_in_order),
        inlined(posted.inline_data.kind != wire::PayloadKind::kNone && !verbs::is_atomic(posted.verb)),
        entry_present(in_hand) {
    if (inlined) {
      inline_data = posted.inline_data;
    } else {
      std::construct_at(&local, posted.local, posted.local_count);
      if (local_count > 0) key = short_key(posted.local[0].key);
      for (std::uint8_t i = 1; i < local_count; ++i) {
        if (short_key(posted.local[i].key) != key) key = kManyKeys;
      }
    }
    switch (posted.verb) {
      case verbs::Verb::kWriteImm:
      case verbs::Verb::kSendImm:
        immediate = posted.immediate;
        break;
      case verbs::Verb::kWriteNotify:
        notify = {posted.notify, posted.immediate};
        break;
      case verbs::Verb::kSendInvalidate:
        invalidate = posted.invalidate;
        break;
      case verbs::Verb::kRead:
      case verbs::Verb::kWrite:
      case verbs::Verb::kSend:
      case verbs::Verb::kLoad:
      case verbs::Verb::kStore:
        break;
      case verbs::Verb::kCompareSwap:
      case verbs::Verb::kSwap:
      case verbs::Verb::kAtomicStore:
      case verbs::Verb::kAtomicLoad:
      case verbs::Verb::kFetchAdd:
      case verbs::Verb::kFetchSub:
      case verbs::Verb::kFetchAnd:
      case verbs::Verb::kFetchOr:
      case verbs::Verb::kFetchXor:
        operands = {posted.operand, posted.compare};
        set_atomic_result({});
        break;
    }
  }

  /// Chooses the constructor for a plain request, see `plain`.
  struct Plain {};
  PostedRequest(const verbs::WorkRequest& posted, verbs::AddressSpaceId its_space, std::uint32_t bytes, Plain)
      : id(posted.id),
        operation(posted.operation),
        remote(posted.remote),
        length(posted.length),
        peer(posted.peer),
        issued(bytes),
        space(its_space),
        segments_open(1),
        local_count(1),
        width(posted.width),
        verb(posted.verb),
        entry_present(true),
        admitted(true),
        issued_all(true),
        plain(true) {
    ::new (&local) LocalPieces;
    local.address[0] = posted.local[0].address;
    local.length[0] = posted.local[0].length;
  }

  struct Notify {
    verbs::RemoteAddress at;
    std::uint64_t data = 0;
  };
  struct Operands {
    std::array<std::uint64_t, 2> operand{};
    std::array<std::uint64_t, 2> compare{};
  };

  std::uint64_t id = 0;
  wire::OperationTag operation;
  verbs::RemoteAddress remote;
  union {
    LocalPieces local;
    wire::Payload inline_data;  ///< `inlined`; holds a reference until the request ends.
  };
  union {
    std::uint64_t immediate;  ///< Write_imm and Send_imm.
    Notify notify;            ///< Write_notify.
    verbs::SegmentToken invalidate;
    Operands operands;  ///< Atomics.
  };
  TimePs waiting_since = kNever;
  std::uint32_t length = 0;
  verbs::PeerId peer = verbs::kNoPeer;
  std::uint32_t issued = 0;          ///< Message bytes that have been cut into segments.
  verbs::AddressSpaceId space = 0;   ///< Of its local memory.
  std::uint16_t segments_open = 0;   ///< Transactions without an outcome.
  std::uint16_t ordered_before = 0;  ///< How far back the previous unfinished relaxed or strong request is,
  std::uint16_t ordered_behind = 0;  ///< and how far on the next; 0: there is none.
  std::uint8_t local_count = 0;
  std::uint8_t width = 0;
  std::uint8_t hint = 0;  ///< Of a group's members; a plain request has none.
  verbs::Verb verb = verbs::Verb::kRead;
  verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
  verbs::OrderTag order : 2 = verbs::OrderTag::kNone;
  bool signaled : 1 = true;
  bool fence : 1 = false;
  bool solicited : 1 = false;
  bool completion_in_order : 1 = true;
  bool inlined : 1 = false;
  bool entry_present : 1 = false;  ///< The engine has its work-queue entry.
  bool admitted : 1 = false;       ///< Its turn has come; ordering state counts it.
  bool parked : 1 = false;         ///< Strong order: waits for earlier requests, later ones may pass it.
  bool done : 1 = false;
  bool reported : 1 = false;      ///< Its completion was written, or none was wanted.
  bool failed : 1 = false;        ///< No further segments are issued.
  bool in_numbering : 1 = false;  ///< One of its segments waits for packet numbers.
  bool issued_all : 1 = false;
  bool muted : 1 = false;  ///< Reported as flushed: its local memory is not touched, and its end not told.
  /// Posted by the short way (Express::post): signaled, in order, one segment, one piece of local memory, not
  /// inlined, its queue keeps its completion; nothing has happened to it since. Jetty::others counts the
  /// rest.
  bool plain = false;
  /// The segment that its local pieces name, a short_key(); 0: none, kManyKeys: not all the same.
  std::uint16_t key = 0;

  static constexpr std::uint16_t kManyKeys = 1;
  /// As much of a TokenID as there is room for.
  static constexpr std::uint16_t short_key(std::uint32_t token_id) {
    return token_id == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(token_id | 0x8000U);
  }

  /// A part of it has been cut, or it has ended.
  bool begun() const { return done || issued_all || issued > 0 || segments_open > 0; }

  /// An atomic's result lies where other requests have further pieces: it has one at most.
  std::array<std::uint64_t, 2> atomic_result() const { return {local.address[2], local.address[3]}; }
  void set_atomic_result(const std::array<std::uint64_t, 2>& value) {
    local.address[2] = value[0];
    local.address[3] = value[1];
  }
};
static_assert(sizeof(PostedRequest) <= 152);

/// A receive entry, from post_receive() until its completion.
struct ReceiveEntry {
  ReceiveEntry() = default;
  ReceiveEntry(const verbs::ReceiveRequest& posted, verbs::AddressSpaceId its_space)
      : id(posted.id),
        local_count(posted.local_count),
        key(posted.local_count == 0 ? 0U : posted.local[0].key & kManyKeys),
        space(its_space),
        local(posted.local, posted.local_count) {
    for (std::uint8_t i = 1; i < local_count; ++i) {
      if (posted.local[i].key != key) key = kManyKeys;
    }
  }
  /// Bytes that it has room for.
  std::uint32_t capacity() const {
    std::uint64_t total = 0;
    for (std::uint8_t i = 0; i < local_count; ++i) total += local.length[i];
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(total, 0xffff'ffffU));
  }
  std::uint64_t id = 0;
  std::uint8_t local_count = 0;
  /// The segment that its pieces name, a TokenID of 20 bits; 0: none, kManyKeys: not all the same.
  std::uint32_t key : 24 = 0;
  verbs::AddressSpaceId space = 0;
  LocalPieces local;

  static constexpr std::uint32_t kManyKeys = 0xff'ffff;
};
static_assert(sizeof(ReceiveEntry) == 64);

/// A completion record that the host is writing or that waits for poll(): a verbs::Completion in fewer bytes.
struct PendingCompletion {
  // As a verbs::Completion begins.
  std::uint64_t id = 0;
  verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
  verbs::CompletionKind kind = verbs::CompletionKind::kSend;
  verbs::Verb verb = verbs::Verb::kRead;
  bool has_immediate = false;
  std::uint32_t length = 0;

  std::array<std::uint64_t, 2> value{};  ///< Result of an atomic, or the immediate alone.
  wire::OperationTag operation;
  std::uint32_t remote_host = 0;
  std::uint32_t remote_queue : 24 = 0;
  bool solicited : 1 = false;
  bool visible : 1 = false;
  verbs::DrainMark drain : 2 = verbs::DrainMark::kNone;

  /// Gives it to the program that owns jetty `queue`.
  void show(engine::QueueId queue, verbs::Completion& out) const {
    // All of it once: what is cleared first is written twice.
    std::memcpy(static_cast<void*>(&out), this, offsetof(verbs::Completion, queue));
    out.queue = queue;
    out.remote_host = remote_host;
    out.remote_queue = remote_queue;
    out.solicited = solicited;
    out.drain = drain;
    out.immediate = 0;
    out.tag = 0;
    out.operation = operation;
    out.atomic_result = value;
    if (!has_immediate) return;
    out.immediate = value[0];
    out.atomic_result = {};
  }
};
static_assert(sizeof(PendingCompletion) == 48);
static_assert(offsetof(PendingCompletion, status) == offsetof(verbs::Completion, status) &&
              offsetof(PendingCompletion, kind) == offsetof(verbs::Completion, kind) &&
              offsetof(PendingCompletion, verb) == offsetof(verbs::Completion, verb) &&
              offsetof(PendingCompletion, has_immediate) == offsetof(verbs::Completion, has_immediate) &&
              offsetof(PendingCompletion, length) == offsetof(verbs::Completion, length) &&
              offsetof(PendingCompletion, value) == offsetof(verbs::Completion, queue));

/// A completion on its way to a shared completion queue; it gets there when the input ends.
struct SharedRecord {
  PendingCompletion completion;
  std::uint64_t stream = 0;
  bool at_target = false;
};

struct Jetty {
  JettyRecord record;  ///< In the context cache.
  bool used = false;
  JettyState state = JettyState::kReset;
  bool failed = false;  ///< Not ready, or its record is lost: nothing is posted, begun or received.
  bool draining =
      false;  ///< It stands still when what it has begun has ended, and a completion says so then.
  bool fault_pending =
      false;           ///< A request ended with a fault; the queue's turn to fail comes when this input ends.
  bool dying = false;  ///< Destroyed; what had left is being confirmed.
  JettyPatience patience;
  std::unique_ptr<Senders> senders;  ///< Null: whoever knows its token.
  std::uint32_t generation = 0;
  engine::QueueConfig config;  ///< Its service mode is never kDefault.
  bool holds_strong_back() const { return config.service == engine::ServiceMode::kOrderedByInitiator; }

  // Where its target keeps order: which numbering of its requests this is, of all of this engine, and toward
  // which host, in which life of the channels to it, it counts.
  std::uint32_t numbering = 0;
  std::uint32_t numbered_incarnation = 0;
  std::optional<wire::HostAddress> numbered_host;
  bool numbers_toward(wire::HostAddress host, std::uint32_t incarnation) const {
    return numbered_host == host && numbered_incarnation == incarnation;
  }

  // Send side: posting numbers requests.first() <= cursor <= requests.end().
  NumberedRing<PostedRequest> requests;
  std::uint64_t cursor = 0;                 ///< The next request whose turn it is.
  std::uint64_t report_next = 0;            ///< The next in-order request to report.
  std::uint64_t ordered_head = kNoRequest;  ///< Oldest unfinished relaxed or strong request.
  std::uint64_t ordered_tail = kNoRequest;
  std::uint32_t messages_in_work = 0;  ///< Of those that a group has dispatched to it.
  std::uint32_t segments_held = 0;     ///< Places in the pool of transactions.
  std::uint32_t reads_unfinished = 0;  ///< Admitted reads and atomics without an outcome (fence).
  bool advance_deferred = false;       ///< A step for it waits for the context cache.
  bool advance_listed = false;         ///< Its next request is to be looked at when the engine settles.
  bool own_receive_queue = false;      ///< config.receive_queue was made for its receive ring of bytes.
  std::uint32_t others = 0;            ///< Requests that are not plain, or not any more.
  /// Plain requests to `route_peer` that may be posted before anybody looks again.
  std::uint32_t credit = 0;
  verbs::PeerId route_peer = verbs::kNoPeer;
  std::uint32_t route = kNoSlot;  ///< The channel to it.

  // Send ring of bytes (byte_rings.cc).
  std::uint64_t fetch_next = 0;    ///< The first request whose entry has not been asked for.
  std::uint32_t fetches_open = 0;  ///< Fetches without an answer.

  // TASSN space: transactions[tassn & (size - 1)] is the pool index of the segment, or kNoSlot.
  std::vector<std::uint32_t> transactions;
  std::uint64_t tassn_mask = 0;  ///< Their number less one.
  std::uint64_t tassn_next = 0;
  std::uint64_t tassn_oldest = 0;  ///< No segment below it is open.

  // Receive side.
  Ring<ReceiveEntry> receives;
  std::uint64_t receive_head = 0;  ///< Entries taken so far.

  // Completions: written in this order, shown in this order.
  NumberedRing<PendingCompletion> completions;
  std::uint64_t completion_place = 0;  ///< Of the next record in the ring in host memory.
  std::uint32_t completions_reserved =
      0;                ///< Requests and entries that may still produce a record, and unread records.
  bool listed = false;  ///< In the engine's list of queues with records to poll.
  std::unique_ptr<Ring<SharedRecord>> shared;  ///< Records for the completion queues that it shares, if any.
  bool shared_listed = false;

  /// Its send and receive ring are bytes in host memory.
  bool has_byte_rings() const { return config.entries == engine::EntryFormat::kBytes; }
  bool suspended() const { return state == JettyState::kSuspended; }
  /// Something waits, or the jetty fails, or a peer is gone.
  void hold_up() { credit = 0; }
  /// Something happens to the request that the short ways do not know of.
  void set_apart(PostedRequest& posted) {
    if (!posted.plain) return;
    posted.plain = false;
    ++others;
  }
  /// The oldest request leaves.
  void pop_request() {
    if (!requests.front().plain) --others;
    requests.pop_front();
  }
  /// Whether its completions of one kind go to a completion queue of the engine.
  bool shares(bool receives_kind) const {
    return (receives_kind ? config.receive_completions : config.send_completions) != engine::kOwn;
  }

  /// Where the segment with that number stands.
  std::uint32_t& place_of(std::uint64_t tassn) { return transactions[tassn & tassn_mask]; }
  /// The segment with that number has ended.
  void forget_segment(std::uint64_t tassn) {
    const std::uint64_t mask = tassn_mask;
    transactions[tassn & mask] = kNoSlot;
    if (tassn != tassn_oldest) return;
    do {
      ++tassn_oldest;
    } while (tassn_oldest < tassn_next && transactions[tassn_oldest & mask] == kNoSlot);
  }
  std::uint64_t head() const { return requests.first(); }
  std::uint64_t posted() const { return requests.end(); }
  PostedRequest& posted_request(std::uint64_t number) { return requests[number]; }
};

}  // namespace wharf::ub
