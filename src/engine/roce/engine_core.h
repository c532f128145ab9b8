// SPDX-License-Identifier: Apache-2.0
// What requester, responder and retransmission share: the queue pairs, the memory port, the transmit lists,
// timers, counters. It makes no protocol decision.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/arena.h"
#include "base/ring.h"
#include "base/time.h"
#include "engine/completion_queues.h"
#include "engine/contract.h"
#include "engine/receive_queues.h"
#include "engine/reliability/deadline_heap.h"
#include "engine/roce/access_port.h"
#include "engine/roce/config.h"
#include "engine/roce/counters.h"
#include "engine/roce/memory_key_table.h"
#include "engine/roce/queue_pair.h"
#include "trace/tracer.h"
#include "wire/payload_pool.h"

namespace wharf::roce {

/// The two streams of packets of a queue pair.
enum class Flow : std::uint8_t { kRequests, kAnswers };

/// Urgency lists of flows that have a packet ready, most urgent first. They follow wire::TrafficClass.
inline constexpr std::array<wire::TrafficClass, 3> kSendClasses{
    wire::TrafficClass::kAcknowledgement, wire::TrafficClass::kRetransmission, wire::TrafficClass::kData};
inline constexpr std::size_t kSendClassCount = kSendClasses.size();
/// The list of a traffic class; kSendClassCount for those that no flow has.
inline constexpr std::array<std::uint8_t, wire::kTrafficClassCount> kListOfClass = [] {
  std::array<std::uint8_t, wire::kTrafficClassCount> lists{};
  lists.fill(static_cast<std::uint8_t>(kSendClassCount));
  for (std::size_t at = 0; at < kSendClassCount; ++at) {
    lists[static_cast<std::size_t>(kSendClasses[at])] = static_cast<std::uint8_t>(at);
  }
  return lists;
}();
inline constexpr std::size_t kDataList = kListOfClass[static_cast<std::size_t>(wire::TrafficClass::kData)];
static_assert(std::is_sorted(kSendClasses.begin(), kSendClasses.end()), "the lowest bit is the most urgent");

/// First wire number of a queue pair; smaller ones are reserved (0 and 1 are management).
inline constexpr std::uint32_t kFirstQueueNumber = 17;

/// What every packet of a queue pair has in common; sets each field once, because this is the hottest copy of
/// all. The caller makes the extension that the opcode names.
[[gnu::always_inline]] inline void begin_packet(const QueuePairContext& context, wire::OperationTag operation,
                                                const wire::Payload& payload, wire::Packet& out) {
  context.start.copy_to(out);
  out.operation = operation;
  out.payload = payload;
}

struct EngineCore {
  EngineCore(const RoceConfig& config_in, wire::PayloadPool& pool_in, Arena& arena_in)
      : config(config_in), pool(&pool_in), arena(&arena_in), tracer(config_in.tracer), port(pool_in) {
    port.reserve(config.access_slots);
  }

  RoceConfig config;
  /// Ethernet 14, IP 20 or 40, UDP 8, BTH 12, ICRC 4, FCS 4.
  const std::uint32_t fixed_header_bytes = config.ip_version == wire::IpVersion::kV4 ? 62 : 82;
  wire::PayloadPool* pool;
  Arena* arena;
  trace::Tracer* tracer;
  AccessPort port;
  MemoryKeyTable keys;
  Counters counters;
  std::vector<std::unique_ptr<QueuePair>> queues;
  std::uint32_t queue_count = 0;                                 ///< Of `queues`.
  std::uint32_t first_free = 0;                                  ///< Queue pairs before it are all in use.
  reliability::DeadlineHeap timers;                              ///< By queue.
  std::array<Ring<std::uint32_t>, kSendClassCount> ready_flows;  ///< queue * 2 + flow.
  wire::TrafficClassMask classes_listed = 0;                     ///< Those whose list is not empty.
  QueuePair* lone_requests = nullptr;  ///< Whose new requests are all that is listed, if that is so.
  Ring<QueueId> completed;             ///< Queues with something for poll().
  Ring<QueueId> kicked;                ///< Queues to run again at the end of the current input.
  Ring<QueueId> starved;               ///< Queues that found no access slot; run again when slots are free.
  /// An input may have to run other queue pairs before it ends: some are kicked or starved, or the context
  /// cache is finite. While it is false, the short ways through the engine may be taken.
  bool attention = false;
  /// Whose last requests are stored, and prepared before anything else happens, see
  /// RoceEngine::prepare_posted(). `attention` is true for that alone while there is one.
  QueuePair* unprepared = nullptr;
  TimePs unprepared_since;
  bool is_paced = false;  ///< Congestion control is on: who may send, and who is told of congestion.
  Ring<engine::AsyncEvent> events;
  engine::CompletionQueues completion_queues;
  engine::ReceiveQueues receive_queues;
  std::uint32_t shared_fetches = 0;  ///< Fetches of their entries under way.

  QueuePair& queue(QueueId id) { return *queues[id]; }

  // --- Memory ---

  /// `kUsed`: the port has a slot that was used before, see AccessPort::has_used().
  template <bool kUsed = false>
  [[gnu::always_inline]] AccessSlot& open_access(AccessPurpose purpose, engine::AccessKind kind,
                                                 QueuePair& pair, Position position, bool at_target,
                                                 verbs::AddressSpaceId space) {
    // One stream for what a queue pair does for its own program, one for what it does for its peer.
    AccessSlot& slot = port.open<kUsed>(purpose, kind, pair.id, &pair.share, position,
                                        pair.id * 2 + (at_target ? 1U : 0U), at_target);
    slot.access.space = space;
    return slot;
  }
  /// Ends an access that has been answered.
  void close_access(AccessSlot& slot) {
    port.close(slot, AccessPort::is_apart(slot.purpose) ? nullptr : &queue(slot.access.queue).share);
  }
  /// Slots that payload fetches leave for everything else, so that answers and completions never wait for
  /// requests. The shares of queue pairs lie in it.
  std::uint32_t access_reserve() const { return port.capacity() / 4; }
  [[gnu::always_inline]] bool may_fetch_payload() const {
    return port.common() > verbs::kMaxScatterEntries && port.available() > access_reserve();
  }
  /// Runs `pair` again when access slots are free.
  void starve(QueuePair& pair) {
    if (pair.starved) return;
    pair.starved = true;
    starved.push_back(pair.id);
    attention = true;
  }
  /// To be called when accesses were closed.
  void feed_starved() {
    while (!starved.empty() && may_fetch_payload()) {
      QueuePair& pair = queue(starved.front());
      starved.pop_front();
      pair.starved = false;
      kick(pair);
      if (port.available() < 2 * access_reserve()) return;
    }
  }

  /// Puts an access behind those of `pair` that wait for a receive entry or an atomic; `atomics` of the
  /// peer's come before it.
  void hold(QueuePair& pair, AccessSlot& slot, std::uint32_t atomics) {
    port.end_run();  // It may have a place between two completions.
    slot.next = kNoSlot;
    slot.run = atomics;
    if (pair.held_last == kNoSlot) {
      pair.held_first = slot.access.id;
    } else {
      port.slot(pair.held_last).next = slot.access.id;
    }
    pair.held_last = slot.access.id;
  }

  // --- Runs of accesses ---

  /// Asks for the payload of the `count` packets from `at` of the transmit ring on, each in one piece of
  /// memory; the port has() slots.
  void ask_payloads(QueuePair& pair, Position at, std::uint32_t count);
  /// The next access to hand out, or null. Those of runs whose packet or record is gone are not needed.
  AccessSlot* take_access();
  /// Fills in the access for the payload of `packet`, one of a run.
  [[gnu::always_inline]] static void fill_payload(const QueuePair& pair, const TransmitEntry& packet,
                                                  engine::Access& access) {
    const SendEntry& entry = pair.send[packet.work];
    access.address = entry.local.address[0];
    access.length = entry.length;
    access.space = static_cast<std::uint32_t>(entry.operand);  // No atomic: see space().
    access.operation = entry.operation;
  }

  // --- Scheduling ---

  /// Runs `pair` again at the end of the current input, once.
  void kick(QueuePair& pair) {
    if (pair.kicked) return;
    pair.kicked = true;
    kicked.push_back(pair.id);
    attention = true;
  }

  /// Puts a flow whose first packet is ready into the list of its class; a flow is in one list at most.
  void list_flow(QueuePair& pair, Flow flow, std::size_t send_class) {
    bool& listed = pair.flow_listed[static_cast<std::size_t>(flow)];
    if (listed) return;
    listed = true;
    ready_flows[send_class].push_back(pair.id * 2 + static_cast<std::uint32_t>(flow));
    const bool is_first = classes_listed == 0;
    classes_listed |= wire::mask_of(kSendClasses[send_class]);
    lone_requests = is_first && flow == Flow::kRequests && send_class == kDataList ? &pair : nullptr;
  }
  /// Takes the first flow out of a list, which is not empty.
  void unlist_flow(QueuePair& pair, Flow flow, std::size_t send_class) {
    ready_flows[send_class].pop_front();
    if (ready_flows[send_class].empty()) {
      classes_listed &= static_cast<wire::TrafficClassMask>(~wire::mask_of(kSendClasses[send_class]));
    }
    pair.flow_listed[static_cast<std::size_t>(flow)] = false;
    find_lone_requests();
  }
  /// The most urgent list that is not empty and whose class is in `classes`, or kSendClassCount.
  std::size_t first_list(wire::TrafficClassMask classes) const {
    const auto listed = static_cast<unsigned>(classes_listed & classes);
    return listed == 0 ? kSendClassCount : kListOfClass[static_cast<std::size_t>(std::countr_zero(listed))];
  }

  void find_lone_requests() {
    lone_requests = nullptr;
    const Ring<std::uint32_t>& data = ready_flows[kDataList];
    if (classes_listed != wire::mask_of(wire::TrafficClass::kData) || data.size() != 1) return;
    if (data.front() % 2 == static_cast<std::uint32_t>(Flow::kRequests))
      lone_requests = &queue(data.front() / 2);
  }

  /// The next instant at which `pair` needs expire().
  void update_timer(QueuePair& pair) {
    const RequesterContext& requester = pair.context.requester;
    timers.set(pair.id, min(requester.timeout_at, requester.rnr_until));
  }

  // --- Completions ---

  /// Announces that poll() has something for `pair`.
  void note_completed(QueuePair& pair) {
    if (pair.completed_listed) return;
    pair.completed_listed = true;
    completed.push_back(pair.id);
  }

  [[gnu::always_inline]] void issue_completions(QueuePair& pair) {
    if (pair.send_completions_issued != pair.send_completions.tail()) {
      issue_completions<AccessPurpose::kSendCompletion>(pair, pair.send_completions,
                                                        pair.send_completions_issued);
    }
    if (pair.receive_completions_issued != pair.receive_completions.tail()) {
      issue_completions<AccessPurpose::kReceiveCompletion>(pair, pair.receive_completions,
                                                           pair.receive_completions_issued);
    }
  }

  /// issue_completions() of the last records of send completions, `count` that alone wait, of a queue pair
  /// that is plain and not starved; the port has() slots for them.
  void issue_send_completions(QueuePair& pair, std::uint32_t count);
  /// The same of one that has another access in front of it.
  [[gnu::always_inline]] void issue_send_completion(QueuePair& pair, const CompletionEntry& record) {
    port.issue(open_completion<AccessPurpose::kSendCompletion, false>(pair, pair.send_completions_issued++,
                                                                      record.operation));
  }
  /// The same of a receive completion; the slot is one that was used before.
  [[gnu::always_inline]] void issue_receive_completion(QueuePair& pair, const CompletionEntry& record) {
    AccessSlot& slot = open_completion<AccessPurpose::kReceiveCompletion, true>(
        pair, pair.receive_completions_issued++, record.operation);
    if (pair.held_first != kNoSlot) {
      hold(pair, slot, record.atomics());
    } else {
      port.issue(slot);
    }
  }

  void push_event(engine::AsyncEventKind kind, const QueuePair& pair) {
    push_event({kind, pair.id, pair.id});
  }
  void push_event(const engine::AsyncEvent& event) {
    if (events.full()) {
      events.pop_front();
      ++counters.events_dropped;
    }
    events.push_back(event);
  }
  /// A record of a shared completion queue was written.
  void shared_completion_written(const AccessSlot& slot, const engine::AccessResult& result);

  // --- Shared receives ---

  /// Asks for the entries of `id` that were announced.
  void fetch_shared_receives(QueueId id);
  /// Gives `pair` an entry of the receive queue that it shares; false when none is there.
  bool draw_receive(QueuePair& pair);

  /// `event` means something in the state that the queue pair is in.
  void step(TimePs now, QueuePair& pair, QueueEvent event) {
    const std::optional<QueueState> next = next_state(pair.driver_state, event);
    WHARF_CHECK(next.has_value());
    trace(now, trace::EventKind::kStateChange, pair.id, {}, static_cast<std::uint64_t>(pair.driver_state),
          static_cast<std::uint64_t>(*next));
    pair.usual = {};
    pair.context.state = *next;
    pair.driver_state = *next;
  }

  // --- Telling what happens ---

  void trace(TimePs now, trace::EventKind kind, std::uint32_t component, wire::OperationTag operation,
             std::uint64_t a, std::uint64_t b) const {
    if (tracer == nullptr || !tracer->wants(kind)) return;
    tracer->emit({.kind = kind,
                  .host = config.host.number,
                  .component = component,
                  .begin = now,
                  .end = now,
                  .operation = operation,
                  .a = a,
                  .b = b});
  }

 private:
  /// The same into a completion queue that `pair` shares.
  void issue_shared(QueuePair& pair, PositionRing<CompletionEntry>& ring, Position& issued, QueueId shared,
                    bool at_target);
  template <AccessPurpose kPurpose, bool kUsed>
  [[gnu::always_inline]] AccessSlot& open_completion(QueuePair& pair, Position position,
                                                     wire::OperationTag operation) {
    constexpr bool kAtTarget = kPurpose == AccessPurpose::kReceiveCompletion;
    AccessSlot& slot = open_access<kUsed>(kPurpose, engine::AccessKind::kWriteCompletion, pair, position,
                                          kAtTarget, pair.config.space);
    slot.access.order = verbs::AccessOrder::kRelease;
    slot.access.length = config.completion_bytes;
    slot.access.address =
        pair.config.completion_ring + std::uint64_t{take_completion_place(pair)} * config.completion_bytes;
    slot.access.operation = operation;
    return slot;
  }
  /// Where in the completion ring the next record goes. Runs end where the ring does.
  [[gnu::always_inline]] std::uint32_t take_completion_place(QueuePair& pair) {
    const std::uint32_t place = pair.completion_place;
    ++pair.completions_written;
    if (++pair.completion_place == pair.config.send_depth + pair.config.receive_depth) [[unlikely]] {
      pair.completion_place = 0;
      port.end_run();
    }
    return place;
  }
  /// Fills in the first access of a run; false when what it is for is gone.
  bool fill_access(AccessSlot& slot);
  /// Writes the completion records in order, each after every earlier access of its stream.
  template <AccessPurpose kPurpose>
  void issue_completions(QueuePair& pair, PositionRing<CompletionEntry>& ring, Position& issued) {
    constexpr bool kAtTarget = kPurpose == AccessPurpose::kReceiveCompletion;
    const QueueId shared = kAtTarget ? pair.config.receive_completions : pair.config.send_completions;
    if (shared != engine::kOwn) [[unlikely]]
      return issue_shared(pair, ring, issued, shared, kAtTarget);
    while (issued != ring.tail()) {
      if (port.available(pair.share) == 0) return starve(pair);
      AccessSlot& slot = open_completion<kPurpose, false>(pair, issued, ring[issued].operation);
      // Behind placements that wait for their receive entry, and behind atomics.
      if (kAtTarget && pair.holds_back(ring[issued])) {
        hold(pair, slot, ring[issued].atomics());
      } else {
        port.issue(slot);
      }
      ++issued;
    }
  }
};

}  // namespace wharf::roce
