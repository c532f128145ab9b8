// SPDX-License-Identifier: Apache-2.0
// The objects that requests, receives and completions go through, and what happens to them unasked: queues,
// completion queues, shared receive queues, groups. One number space names them all, so that poll(),
// post_receive() and destroy_queue() take any of them that can answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "verbs/segment.h"
#include "verbs/work_request.h"

namespace wharf::engine {

using verbs::AddressSpaceId;
using verbs::PeerId;
using verbs::QueueId;

// --- Numbers
// ---------------------------------------------------------------------------------------------------

/// What a QueueId names. Numbers of plain queues have no bit of kKindMask.
inline constexpr QueueId kCompletionQueueBit = 1U << 31U;
inline constexpr QueueId kReceiveQueueBit = 1U << 30U;
inline constexpr QueueId kGroupBit = 1U << 29U;
inline constexpr QueueId kKindMask = kCompletionQueueBit | kReceiveQueueBit | kGroupBit;

/// In a QueueConfig: the queue has its own; or, for `group`, is in none.
inline constexpr QueueId kOwn = 0xffff'ffffU;

constexpr bool is_completion_queue(QueueId id) {
  return id != kOwn && (id & kKindMask) == kCompletionQueueBit;
}
constexpr bool is_receive_queue(QueueId id) { return (id & kKindMask) == kReceiveQueueBit; }
constexpr bool is_group(QueueId id) { return (id & kKindMask) == kGroupBit; }
/// Where the object stands in its engine's table of its kind.
constexpr std::uint32_t table_index(QueueId id) { return id & ~kKindMask; }

// --- What they are made with
// ---------------------------------------------------------------------------------------------------

/// What the entries of a ring in host memory are to the engine.
enum class EntryFormat : std::uint8_t {
  kObjects,  ///< post() brings them as values; an access to the ring costs time and moves nothing.
  kBytes,    ///< The bytes of wire/ring_entry.h: fetched, decoded, encoded, written.
};

/// A completion queue. [IBTA vol 1 10.2.6; URMA JFC; libfabric fi_cq]
struct CompletionQueueConfig {
  std::uint32_t depth = 256;  ///< Entries, a power of two from 1 to 65536.
  std::uint64_t ring = 0;     ///< Address of the entries.
  EntryFormat entries = EntryFormat::kObjects;
  AddressSpaceId space = 0;  ///< The address space of `ring`.
};

/// A shared receive queue. [IBTA vol 1 10.2.9; URMA JFR; libfabric shared rx context]
struct ReceiveQueueConfig {
  std::uint32_t depth = 128;  ///< Entries, a power of two from 1 to 65536.
  std::uint64_t ring = 0;     ///< Address of the entries; zero: they come with post_receive().
  EntryFormat entries = EntryFormat::kObjects;
  AddressSpaceId space = 0;  ///< The address space of `ring`, and of entries without a local key.
  /// Queue pairs: the protection domain of its local keys.
  std::uint32_t domain = 0;
  /// Jetties: the secret that must accompany Sends to it when a peer names it itself; 0: none.
  std::uint32_t token = 0;
};

/// Who of a group takes a message. [URMA jetty group policies]
enum class GroupPolicy : std::uint8_t {
  kRoundRobin,
  kHint,        ///< The request's `hint` modulo the number of members.
  kShallowest,  ///< The member with the fewest messages in work, the first of several.
};

/// Receive ends behind one number. A queue joins when it is made, and leaves when it is destroyed.
struct GroupConfig {
  GroupPolicy policy = GroupPolicy::kRoundRobin;
  std::uint32_t token = 0;  ///< The secret that must accompany Sends to it; 0: none.
};

/// Who keeps the order of a queue's requests and how they are answered. [UB-Base 2.0.1 7.4; URMA order types;
/// IBTA vol 1 9.8] Capabilities::serves() says which of them an engine has.
enum class ServiceMode : std::uint8_t {
  kDefault,             ///< What the protocol or its configuration takes; the only one of Ultra Ethernet.
  kOrderedByInitiator,  ///< ROI: the initiator holds strong requests back.
  kOrderedByTarget,     ///< ROT: the target holds them back. One peer at a time.
  kOrderedByTransport,  ///< ROL: a channel in order, whose acknowledgements are the answers. One peer at a
                        ///< time.
  kUnordered,           ///< UNO, UD: one packet each, unreliable, complete when it has left. Any peer.
  kUnreliable,  ///< UC: as it was posted or not at all, complete when it has left. One peer at a time.
};
inline constexpr int kServiceModeCount = static_cast<int>(ServiceMode::kUnreliable) + 1;

/// "default", "roi", "rot", "rol", "uno", "uc".
std::string_view name(ServiceMode mode);

/// What carries a queue's requests. [UB-Base 2.0.1 6.1]
enum class TransportMode : std::uint8_t {
  kDefault,   ///< What the protocol or its configuration takes; the only one of all but Unified Bus.
  kReliable,  ///< RTP, or UTP with service mode UNO.
  kCompact,   ///< CTP: nothing is numbered or repeated, on a link that loses nothing. Service mode ROI.
};

/// "default", "rtp", "ctp".
std::string_view name(TransportMode mode);

/// What a fault of the transport (retries exhausted, receiver not ready for too long) means to a queue beside
/// the requests that it ends. [URMA exception modes]
enum class FaultMode : std::uint8_t {
  kRequestAlone,  ///< Nothing.
  kSuspend,       ///< It is suspended, and goes on when the program has looked at it.
  kError,         ///< It goes to kError, as after any other fault.
};

/// Where the rings of a queue lie in host memory, how deep they are, and what the queue shares with others.
/// Addresses are zero for live engines.
struct QueueConfig {
  std::uint32_t send_depth = 128;     ///< Work requests that may be outstanding, a power of two.
  std::uint32_t receive_depth = 128;  ///< Receive entries, a power of two.
  std::uint64_t send_ring = 0;        ///< Address of the work-queue entries.
  std::uint64_t receive_ring = 0;
  std::uint64_t completion_ring = 0;
  /// Queue pairs: the protection domain; requests of its peer use segments of the same domain alone.
  std::uint32_t domain = 0;
  /// Jetties: the secret that must accompany Sends, which export_queue() hands to peers; 0: none. Queue
  /// pairs of datagrams: the Q_Key, the same way.
  std::uint32_t token = 0;
  ServiceMode service = ServiceMode::kDefault;
  TransportMode transport = TransportMode::kDefault;
  /// Jetties: a number from 1 to 31 that peers know beforehand, beside its own; export_queue() names it. 0:
  /// none.
  std::uint32_t public_id = 0;
  FaultMode on_fault = FaultMode::kRequestAlone;  ///< Jetties.
  /// Jetties: the last completion before a queue stands still says so (Completion::drain); one of its own
  /// does where there is none.
  bool drain_marks = false;
  /// The address space of the rings, and of scatter entries without a local key.
  AddressSpaceId space = 0;
  /// Where completions go. kOwn: into the queue, which poll() then takes them from; they go with the queue.
  QueueId send_completions = kOwn;
  QueueId receive_completions = kOwn;
  /// Where arriving messages take their entries from. A queue that shares one names `receive_completions`.
  QueueId receive_queue = kOwn;
  /// The group that it joins; kOwn: none.
  QueueId group = kOwn;
  /// Of send and receive ring. With kBytes, doorbell() takes the place of post() and post_receive().
  EntryFormat entries = EntryFormat::kObjects;
  /// kBytes: distance of work-queue entries, 64 or 128 bytes; the second half holds what the first cannot.
  std::uint32_t send_entry_bytes = 64;
};

/// The name of what `config` sets although only Unified Bus has it, or nothing.
std::string_view beyond_common(const QueueConfig& config);

/// The rings that doorbell() is about.
enum class RingSide : std::uint8_t {
  kSend,        ///< Of a queue: entries were written behind those before.
  kReceive,     ///< Of a queue or shared receive queue: the same.
  kCompletion,  ///< Of a completion queue: entries were read, their places are free.
};

/// When an armed completion queue reports kCompletionReady, once.
struct Arming {
  /// The next completions that count: all, or only those of solicited messages and of errors.
  bool solicited_only = false;
  std::uint32_t count = 1;  ///< How many of them must have become visible since arm().
};

// --- Life
// ---------------------------------------------------------------------------------------------------

/// What a queue is ready for, the same words for every protocol.
enum class QueueState : std::uint8_t {
  kIdle,       ///< It serves one peer and has none: takes receives, refuses requests.
  kReady,      ///< Takes requests and receives.
  kSuspended,  ///< Finishes what it has begun and keeps the rest, until resume_queue(). A jetty refuses both,
               ///< a queue pair takes both and keeps requests. Where engines can suspend
               ///< (Capabilities::suspends).
  kError,      ///< Everything outstanding was flushed; refuses both.
  kGone,       ///< Never made, or destroyed.
};
inline constexpr int kQueueStateCount = static_cast<int>(QueueState::kGone) + 1;

enum class QueueEvent : std::uint8_t {
  kCreate,
  kConnect,     ///< connect() of a queue that serves one peer.
  kDisconnect,  ///< disconnect() of such a queue: flushes first.
  kFault,    ///< Retries exhausted, a fatal answer, memory that failed: flushes, and kQueueError is reported.
  kFail,     ///< fail_queue(): the same because the program wants it.
  kSuspend,  ///< suspend_queue(), or a fault of a queue that is made so (FaultMode::kSuspend).
  kResume,   ///< resume_queue(): goes on with what it kept.
  kReset,    ///< reset_queue(): ready for a new life, with nothing outstanding.
  kDestroy,  ///< destroy_queue(): flushes first.
};
inline constexpr int kQueueEventCount = static_cast<int>(QueueEvent::kDestroy) + 1;

/// The state after `event`, or nothing when the event is refused or cannot happen in this state.
/// `one_peer`: Capabilities::queue_per_peer.
std::optional<QueueState> next_state(QueueState state, QueueEvent event, bool one_peer);

/// "idle", "ready", "error", "gone".
std::string_view name(QueueState state);
std::string_view name(QueueEvent event);

// --- What happens unasked
// ---------------------------------------------------------------------------------------------------

enum class AsyncEventKind : std::uint8_t {
  kQueueError,       ///< The queue left the ready state; outstanding requests complete with kFlushed.
  kPeerUnreachable,  ///< Retries toward a peer are exhausted, or the record of its channel is lost.
  kCompletionError,  ///< A completion record could not be written; see AccessResult.
  /// A completion queue was full: `queue` is its number, the completion is lost, and the queue that it was of
  /// is in kError.
  kCompletionQueueFull,
  kCompletionReady,  ///< What arm() asked for has happened; `queue` is the completion queue.
  kReceiveLimit,     ///< Fewer free entries than set_receive_limit() named; `queue` is the receive queue.
  kQueueSuspended,   ///< A fault suspended the queue.
  kQueueDrained,  ///< A suspended queue stands still: what it had begun has ended. Jetties: with drain marks.
};

std::string_view name(AsyncEventKind kind);

struct AsyncEvent {
  AsyncEventKind kind = AsyncEventKind::kQueueError;
  QueueId queue = 0;
  PeerId peer = verbs::kNoPeer;
};

/// Bytes that two control planes exchange out of band to connect their queues.
using ExchangeBlob = std::vector<std::byte>;

}  // namespace wharf::engine
