// SPDX-License-Identifier: Apache-2.0
// The engine contract: what every protocol engine takes and gives, as one C++20 concept. An engine is one
// network interface, the transport and transaction state of one host. It knows no clock, socket, thread or
// simulator: time and packets come in, packets and deadlines come out.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/capabilities.h"
#include "engine/queues.h"
#include "verbs/access_order.h"
#include "verbs/completion.h"
#include "verbs/segment.h"
#include "verbs/verb.h"
#include "verbs/work_request.h"
#include "wire/packet.h"
#include "wire/payload.h"
#include "wire/payload_pool.h"

namespace wharf::engine {

/// Names one access at the memory port until access_done() answers it; chosen by the engine, reused
/// afterwards.
using AccessId = std::uint32_t;

// --- Memory side
// ---------------------------------------------------------------------------------------------------

/// What an access is for. The first three touch registered memory, the rest is the NIC's own traffic.
enum class AccessKind : std::uint8_t {
  kRead,               ///< Payload of a request or of a read response.
  kWrite,              ///< Payload placed in memory.
  kAtomic,             ///< Read-modify-write of `width` bytes.
  kFetchWorkRequest,   ///< Work-queue entries that were announced by a doorbell.
  kFetchReceiveEntry,  ///< Receive entries.
  kWriteCompletion,    ///< A completion record; poll() shows it only after access_done().
  kFetchContext,       ///< A hardware context record that is not in the context cache.
  kWriteContext,       ///< An evicted context record.
};

/// One access that the engine asks its host for. Plain data.
struct Access {
  AccessId id = 0;
  AccessKind kind = AccessKind::kRead;
  verbs::AccessOrder order = verbs::AccessOrder::kRelaxed;
  verbs::Verb atomic = verbs::Verb::kFetchAdd;  ///< kAtomic only.
  std::uint8_t width = 8;                       ///< kAtomic only: 4, 8 or 16 bytes.
  std::uint8_t count = 1;                       ///< Fetches: how many entries, back to back.
  bool at_target = false;                       ///< True when it serves a request of another host.
  QueueId queue = 0;                            ///< The local queue it belongs to.
  std::uint32_t length = 0;                     ///< Bytes.
  AddressSpaceId space = 0;                     ///< Whose address it is.
  std::uint64_t stream = 0;  ///< Accesses of one stream are ordered by `order`; streams are not.
  std::uint64_t address = 0;
  wire::Payload data;  ///< Writes: `length` bytes, valid until access_done().
  std::array<std::uint64_t, 2> operand{};
  std::array<std::uint64_t, 2> compare{};
  wire::OperationTag operation;
};

enum class AccessStatus : std::uint8_t {
  kDone,
  kFault,   ///< The address is not mapped or the page is missing.
  kPoison,  ///< The data is known to be bad.
};

/// The host's answer to one access. A peer or the program sees each failure (any status but kDone, or data of
/// another length than was asked for) as what it was asked for:
/// - kRead, kWrite, kAtomic: the request, or the peer's request, ends with an error.
/// - kFetchWorkRequest: the request ends with kLocalOperation and is never sent.
/// - kFetchReceiveEntry: the message that needs the entry is refused for good, and the entry is completed
///   with an error.
/// - kWriteCompletion: poll() gives the completion with kLocalOperation if it was a success, after the event
///   kCompletionError.
/// - kFetchContext, kWriteContext: the record is lost. A queue or channel that it described fails
///   (kQueueError, kPeerUnreachable); a segment refuses every access.
struct AccessResult {
  AccessStatus status = AccessStatus::kDone;
  /// Reads and context fetches: `length` bytes. The engine retains `data.buffer` if it keeps it; memory that
  /// no pool owns stays valid until the packet that carries it has been handed on by transmit() and
  /// delivered.
  wire::Payload data;
  std::array<std::uint64_t, 2> old_value{};  ///< kAtomic.
};

// --- Application side
// ----------------------------------------------------------------------------------------------

/// How a work request reaches the engine.
enum class Submission : std::uint8_t {
  kInHand,    ///< Its entry came with the submission: BlueFlame, a store to the NIC, or live software.
  kDoorbell,  ///< Only announced: the engine fetches the entry (kFetchWorkRequest) before it acts on it.
};

enum class PostStatus : std::uint8_t {
  kOk,
  kQueueFull,    ///< Post again after a completion.
  kBadQueue,     ///< No such queue, or not in a state that accepts requests.
  kUnsupported,  ///< This protocol, or this transport mode, has no such verb.
  kBadRequest,   ///< Malformed: no peer, bad width, more scatter entries or bytes than allowed.
};

std::string_view name(PostStatus status);

// --- The concept, side by side
// ---------------------------------------------------------------------------------------------------

/// Making, connecting and ending what requests go through; what happens unasked; observation. Control calls
/// may take memory.
///
/// Numbers of completion queues, receive queues and groups are QueueIds: poll() and next_completed_queue()
/// take and give those of completion queues, post_receive(), cancel_receive() and export_queue() take those
/// of receive queues, export_queue() those of groups, destroy_queue() all. An engine without the kind refuses
/// by saying so (engine/without_shared_objects.h).
template <typename E>
concept ControlSide = requires(E& engine, const E& observed, TimePs now, QueueId queue, PeerId peer,
                               const QueueConfig& config, const CompletionQueueConfig& completion_queue,
                               const ReceiveQueueConfig& receive_queue, const GroupConfig& group,
                               const Arming& arming, std::uint32_t count, wire::HostAddress host,
                               verbs::SegmentToken token, const verbs::SegmentConfig& segment,
                               std::span<const std::byte> blob, AsyncEvent& event,
                               std::vector<std::string>& lines) {
  /// What it can do, and its limits. The same for its whole life.
  { observed.capabilities() } -> std::same_as<Capabilities>;

  { engine.create_queue(now, config) } -> std::same_as<Result<QueueId>>;
  { engine.create_completion_queue(now, completion_queue) } -> std::same_as<Result<QueueId>>;
  { engine.create_receive_queue(now, receive_queue) } -> std::same_as<Result<QueueId>>;
  { engine.create_group(now, group) } -> std::same_as<Result<QueueId>>;
  /// Flushes what is outstanding, then the queue is gone; late answers do nothing. The flushed completions
  /// can be read from a completion queue that outlives it; those inside the queue go with it. A completion
  /// queue, receive queue or group is refused while a queue uses it.
  { engine.destroy_queue(now, queue) } -> std::same_as<Result<void>>;

  // Life of a queue; the table is in queues.h.
  { observed.queue_state(queue) } -> std::same_as<QueueState>;
  { engine.fail_queue(now, queue) } -> std::same_as<Result<void>>;
  { engine.reset_queue(now, queue) } -> std::same_as<Result<void>>;

  { engine.register_segment(now, segment) } -> std::same_as<Result<verbs::SegmentToken>>;
  { engine.deregister_segment(now, token) } -> std::same_as<Result<void>>;

  // Peers.
  /// What a peer needs to reach this queue. Queue pairs: one blob serves one peer queue.
  { engine.export_queue(queue) } -> std::same_as<Result<ExchangeBlob>>;
  /// Makes the peer's queue reachable from `queue`; requests name it by the PeerId.
  { engine.connect(now, queue, blob) } -> std::same_as<Result<PeerId>>;
  { engine.disconnect(now, queue, peer) } -> std::same_as<Result<void>>;
  /// The host is gone for good: requests to it end with an error, no queue has it as a peer any more, and
  /// what was kept for it serves the next host. Does nothing for a host that nobody knows.
  { engine.forget_host(now, host) } -> std::same_as<Result<void>>;

  // What happens unasked.
  /// kReceiveLimit once, when fewer than `count` entries of the receive queue are free; 0: never.
  { engine.set_receive_limit(now, queue, count) } -> std::same_as<Result<void>>;
  /// kCompletionReady once. Completions that were visible before do not count: arm, poll once more, sleep.
  { engine.arm(now, queue, arming) } -> std::same_as<Result<void>>;
  { engine.poll_event(event) } -> std::same_as<bool>;

  /// Who waits for what, one line each, for stall reports.
  observed.describe_waiting(lines);
};

/// Requests and receives in, completions out.
template <typename E>
concept ApplicationSide = requires(E& engine, TimePs now, QueueId queue, QueueId& completed_queue,
                                   std::uint64_t id, std::uint32_t count, RingSide side,
                                   const verbs::WorkRequest& request, const verbs::ReceiveRequest& receive,
                                   const verbs::LoadStore& load_store, verbs::Completion& completion,
                                   verbs::LoadStoreResult& loaded, verbs::Verb verb) {
  /// Whether post() (or issue(), for loads and stores) accepts the verb at all, known before there is an
  /// engine; capabilities() says the same, with widths.
  { E::supports(verb) } -> std::same_as<bool>;
  { engine.post(now, queue, request, Submission::kInHand) } -> std::same_as<PostStatus>;
  { engine.post_receive(now, queue, receive) } -> std::same_as<PostStatus>;
  /// Takes the first posted receive of that id back; it completes with kCancelled. Refused when no such
  /// entry is free (a message has it, or had), and for entries that lie in host memory.
  { engine.cancel_receive(now, queue, id) } -> std::same_as<Result<void>>;
  /// Of rings whose entries are bytes.
  { engine.doorbell(now, queue, side, count) } -> std::same_as<PostStatus>;
  /// The load/store path; kUnsupported where the protocol has none.
  { engine.issue(now, load_store) } -> std::same_as<PostStatus>;
  { engine.poll(queue, completion) } -> std::same_as<bool>;
  /// The next queue that has something for poll(), so that a host need not scan them all; false when none
  /// has.
  { engine.next_completed_queue(completed_queue) } -> std::same_as<bool>;
  { engine.poll_load_store(loaded) } -> std::same_as<bool>;
};

/// Packets in, packets that may leave out.
template <typename E>
concept NetworkSide = requires(E& engine, TimePs now, std::uint32_t port, const wire::Packet& packet,
                               wire::Packet& out) {
  engine.receive(now, port, packet);
  { engine.transmit(now, port, wire::kAllTrafficClasses, out) } -> std::same_as<bool>;
};

/// Accesses out, the host's answers in.
template <typename E>
concept MemorySide = requires(E& engine, TimePs now, Access& access, AccessId id,
                              const AccessResult& result) {
  { engine.next_access(access) } -> std::same_as<bool>;
  engine.access_done(now, id, result);
};

/// When it needs to be woken.
template <typename E>
concept TimeSide = requires(E& engine, const E& observed, TimePs now) {
  engine.expire(now);
  { observed.deadline() } -> std::same_as<TimePs>;
};

/// One protocol engine. Every input runs to completion; afterwards the caller drains next_access(),
/// transmit(), poll(), poll_load_store() and poll_event() until each is empty, then asks deadline(). `now`
/// never decreases. Events that nobody polls may be dropped, the oldest first; an engine that does counts
/// them.
///
/// An engine is made by E::create(config, payload pool, arena), which refuses a config by naming the key;
/// pool and arena outlive it.
///
/// access_done() with an id that next_access() has not given, or that was answered already, does nothing: a
/// host may answer an access of a queue or connection that is gone.
///
/// Payload buffers belong to a wire::PayloadPool given at creation. receive() and access_done() lend a
/// reference: the engine retains what it keeps and releases it itself, and bytes stay where they landed.
/// transmit() and poll_load_store() hand a reference over: the caller releases it. No input allocates except
/// the control side, with one exception: the table of accesses that the host has not answered has no bound
/// but the host's own slowness, and grows when more are open than ever before.
///
/// One thread at a time calls an engine, and the engines that share its pool and arena: one engine per thread
/// is the rule. Other threads hand over through a HandoverQueue. docs/engine-contract.md says the whole of
/// it.
template <typename E>
concept Engine = ControlSide<E> && ApplicationSide<E> && NetworkSide<E> && MemorySide<E> && TimeSide<E>;

}  // namespace wharf::engine
