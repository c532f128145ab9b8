// SPDX-License-Identifier: Apache-2.0
#include "sim/host/nic/nic.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "wire/protocol_traits.h"

namespace wharf::sim {

using trace::Stage;

Nic::Nic(Simulation& simulation, const HostConfig& config, Attachment attachment, const HostParts& parts,
         std::uint16_t host)
    : simulation_(simulation),
      config_(config),
      attachment_(attachment),
      host_parts_(parts),
      host_(host),
      port_(config, attachment, parts, host),
      flit_count_(config.nic.bytes_per_cycle),
      transmit_(config.nic, config.time.rounding),
      transmit_queue_(config.nic.transmit_queue),
      transmit_depth_(stage_time(config.nic.cycle * static_cast<std::int64_t>(std::max(
                                                        config.nic.load_store_cycles,
                                                        *std::max_element(config.nic.queue_cycles.begin(),
                                                                          config.nic.queue_cycles.end()))),
                                 config.time.rounding)),
      accesses_(64) {
  spare_access_ = accesses_.acquire();
}

std::uint16_t Nic::attach(engine::QueueId queue, QueueClient& client) {
  clients_.push_back({&client, queue});
  return static_cast<std::uint16_t>(clients_.size() - 1);
}

void Nic::note(TimePs now, const engine::AsyncEvent& event) {
  switch (event.kind) {
    case engine::AsyncEventKind::kQueueError:
    case engine::AsyncEventKind::kQueueSuspended:
      ++counters_.queue_errors;
      break;
    case engine::AsyncEventKind::kPeerUnreachable:
      ++counters_.peers_unreachable;
      break;
    case engine::AsyncEventKind::kCompletionError:
    case engine::AsyncEventKind::kCompletionQueueFull:
      ++counters_.completion_errors;
      break;
    case engine::AsyncEventKind::kCompletionReady:
    case engine::AsyncEventKind::kReceiveLimit:
    case engine::AsyncEventKind::kQueueDrained:
      break;  // Asked for by whoever armed them: no fault.
  }
  if (!host_parts_.tracer.wants(trace::EventKind::kAsyncEvent)) return;
  host_parts_.tracer.emit({.kind = trace::EventKind::kAsyncEvent,
                           .host = host_,
                           .component = id().value,
                           .begin = now,
                           .end = now,
                           .a = static_cast<std::uint64_t>(event.kind),
                           .b = event.queue});
}

QueueClient* Nic::client_of(engine::QueueId queue) {
  for (const Client& known : clients_) {
    if (known.queue == queue) return known.client;
  }
  return nullptr;
}

std::uint32_t Nic::pipeline_depth(const wire::Packet& packet) const {
  return wire::is_load_store(packet) ? config_.nic.load_store_cycles
                                     : config_.nic.queue_cycles[wire::index_of(packet.protocol)];
}

std::uint32_t Nic::flits(const wire::Packet& packet) const {
  const NicConfig& nic = config_.nic;
  const std::uint32_t charged = nic.charged_bytes == ChargeRule::kPacket
                                    ? packet.header_bytes + packet.payload.length
                                    : payload_charge(wire::data_bytes(packet), wire::is_response(packet),
                                                     nic.nominal_request_bytes, nic.nominal_response_bytes);
  return flit_count_(charged);
}

wire::TrafficClassMask Nic::open_classes(TimePs now) {
  if (transmit_wake_ > now) return 0;
  if (!transmit_queue_.has_room(now)) [[unlikely]] {
    ++counters_.transmit_stalls;
    transmit_wake_ = transmit_queue_.room_at();
    simulation_.schedule(transmit_wake_, id(), id(), kTransmitRoom, 0);
    return 0;
  }
  // A packet that comes out of the pipeline before the link can take it would have to stand in the way of
  // what the engine finds more urgent meanwhile.
  const TimePs ready = transmit_.next_head(now, transmit_depth_) + streamed_ + buffered_;
  const wire::TrafficClassMask open = wire_->open(now, ready);
  if (open == wire::kAllTrafficClasses) [[likely]]
    return open;
  if (!waits_for_link_) ++counters_.link_stalls;
  const TimePs free = wire_->free_at();
  if (free == kNever) {
    waits_for_link_ = true;
    return open;
  }
  transmit_wake_ = free - transmit_depth_ - streamed_ - buffered_;
  simulation_.schedule(transmit_wake_, id(), id(), kTransmitRoom, 0);
  return open;
}

void Nic::transmit_packet(TimePs now, wire::Packet& packet) {
  PipelineVisit visit = transmit_.visit(now, pipeline_depth(packet), flits(packet));
  transmit_queue_.add(now, visit.enter);
  ++counters_.packets_sent;
  trace::Tracer& tracer = host_parts_.tracer;
  tracer.span(packet.operation, Stage::kNicQueue, now, visit.enter, host_);
  tracer.span(packet.operation, wire::is_response(packet) ? Stage::kNicTransmitResponse : Stage::kNicTransmit,
              visit.enter, visit.tail, host_);
  // Should it get lost, what follows is the time until somebody notices.
  tracer.rest(packet.operation, Stage::kRetransmissionWait, now);
  if (!config_.nic.cut_through) {
    streamed_ = max(streamed_, visit.tail - visit.head);
    visit.head = visit.tail;
  }
  wire_->send(visit.head, visit.tail);
}

TimePs Nic::receive_latency(const wire::Packet& packet) const {
  if (!config_.nic.request_receive_stage && !wire::is_response(packet)) return kTimeZero;
  const std::uint32_t streamed = config_.nic.cut_through ? 1 : flits(packet);
  return pipeline_latency(config_.nic, pipeline_depth(packet), streamed, config_.time.rounding);
}

TimePs Nic::admit(TimePs now, const wire::Packet& packet, TimePs arrival) {
  const TimePs occupied = config_.nic.cycle * static_cast<std::int64_t>(flits(packet));
  TimePs enter;
  if (config_.nic.cut_through) {
    // The flits entered while the packet arrived; `enter` is when the last one did.
    enter = max(arrival, receive_free_ + occupied);
    receive_free_ = enter;
  } else {
    enter = max(arrival, receive_free_);
    receive_free_ = enter + occupied;
  }
  const TimePs done = max(max(enter + receive_latency(packet), receive_last_), now);
  receive_last_ = done;
  ++counters_.packets_received;
  trace::Tracer& tracer = host_parts_.tracer;
  tracer.span(packet.operation, Stage::kNicQueue, arrival, enter, host_);
  tracer.span(packet.operation, wire::is_response(packet) ? Stage::kNicReceiveResponse : Stage::kNicReceive,
              enter, done, host_);
  tracer.rest(packet.operation, Stage::kReorderWait, now);
  return done;
}

std::uint32_t Nic::take_access_slot() {
  std::uint32_t slot = accesses_.acquire();
  if (slot == kNoSlot) {
    accesses_.reserve(2 * accesses_.capacity());
    slot = accesses_.acquire();
  }
  return slot;
}

void Nic::keep_payload(engine::Access& access) {
  wire::Payload& data = access.data;
  if (data.kind != wire::PayloadKind::kBytes) return;
  if (data.buffer != wire::kNoBuffer) {
    host_parts_.payloads.retain(data.buffer);
    return;
  }
  // Bytes that nobody counts are only lent until access_done(): copy them.
  const wire::BufferId buffer = host_parts_.payloads.acquire(data.length);
  std::byte* copy = host_parts_.payloads.data(buffer);
  wire::fill(data, {copy, data.length});
  data = wire::bytes_payload(copy, data.length, buffer);
}

bool Nic::is_posted(const engine::Access& access) const {
  const bool writes =
      access.kind == engine::AccessKind::kWrite || access.kind == engine::AccessKind::kWriteContext;
  if (!writes) return false;
  // The bus acknowledges a target's write when memory has it.
  if (attachment_ == Attachment::kOnChipBus)
    return !access.at_target || access.kind == engine::AccessKind::kWriteContext;
  return config_.pcie.posted_writes == PostedWriteRule::kPosted;
}

Nic::Begun Nic::begin_on_lines(TimePs now, std::uint32_t slot) {
  PendingAccess& pending = accesses_[slot];
  const engine::Access& access = pending.access;
  pending.answered = false;
  pending.on_lines = false;
  if (access.kind == engine::AccessKind::kRead && !access.at_target &&
      config_.nic.payload_fetch == PayloadFetchRule::kWithEntry) {
    return Begun::kDone;
  }
  if (access.kind == engine::AccessKind::kFetchReceiveEntry &&
      config_.nic.receive_entries == ReceiveEntryRule::kPrefetched) {
    const TimePs matched = now + port_.receive_match();
    host_parts_.tracer.span(access.operation, Stage::kReceiveMatch, now, matched, host_);
    simulation_.schedule(matched, id(), id(), kAccessDone, slot);
    return Begun::kUnderWay;
  }
  if (!lines_->is_mapped(access)) return Begun::kFault;
  pending.on_lines = true;
  pending.answered = is_posted(access);
  lines_->begin(now, slot, access);
  return Begun::kUnderWay;
}

void Nic::line_access_sent(TimePs now, std::uint32_t slot) {
  if (!accesses_[slot].answered) return;
  account_lines(now, slot);
  simulation_.schedule(now, id(), id(), kWriteAccepted, slot);
}

void Nic::line_access_done(TimePs now, std::uint32_t slot) {
  const PendingAccess& pending = accesses_[slot];
  if (pending.answered) {
    simulation_.schedule(now, id(), id(), kWriteVisible, slot);
    return;
  }
  account_lines(now, slot);
  TimePs done = now;
  if (pending.access.kind == engine::AccessKind::kFetchReceiveEntry) {
    done += port_.receive_match();
    host_parts_.tracer.span(pending.access.operation, Stage::kReceiveMatch, now, done, host_);
  }
  simulation_.schedule(done, id(), id(), kAccessDone, slot);
}

void Nic::account_lines(TimePs now, std::uint32_t slot) {
  const PendingAccess& pending = accesses_[slot];
  const engine::Access& access = pending.access;
  const bool on_bus = attachment_ == Attachment::kOnChipBus;
  Stage stage = Stage::kTargetBus;
  switch (access.kind) {
    case engine::AccessKind::kRead:
      stage = !access.at_target ? Stage::kPayloadFetch : on_bus ? Stage::kTargetBus : Stage::kTargetPcieRead;
      break;
    case engine::AccessKind::kWrite:
      stage = !access.at_target ? Stage::kResponseWrite
              : on_bus          ? Stage::kTargetBus
                                : Stage::kTargetPcieWrite;
      break;
    case engine::AccessKind::kAtomic:
      stage = on_bus ? Stage::kTargetBus : Stage::kTargetPcieRead;
      break;
    case engine::AccessKind::kFetchWorkRequest:
      stage = Stage::kWorkRequestFetch;
      break;
    case engine::AccessKind::kFetchReceiveEntry:
      stage = Stage::kReceiveEntryFetch;
      break;
    case engine::AccessKind::kWriteCompletion:
      stage = on_bus ? Stage::kCompleteBus : Stage::kCompletionWrite;
      break;
    case engine::AccessKind::kFetchContext:
      stage = access.at_target ? Stage::kContextFetchTarget : Stage::kContextFetch;
      break;
    case engine::AccessKind::kWriteContext:
      return;  // An evicted record leaves in the background.
  }
  const TimePs begun = lines_->begun(slot);
  host_parts_.tracer.span(access.operation, Stage::kOrderWait, pending.since, begun, host_);
  host_parts_.tracer.span(access.operation, stage, begun, now, host_);
}

void Nic::describe_common(std::vector<std::string>& lines) const {
  if (!waiting_posts_.empty())
    lines.push_back(
        fmt::format("{} work requests wait for room in a full send queue", waiting_posts_.size()));
  if (!waiting_issues_.empty())
    lines.push_back(
        fmt::format("{} loads or stores wait for a free slot of the engine", waiting_issues_.size()));
  const std::uint32_t busy = accesses_.in_use() - 1;  // One is the spare.
  if (busy > 0) lines.push_back(fmt::format("{} memory accesses are under way", busy));
  if (transmit_queue_.waiting() > 0)
    lines.push_back(fmt::format("{} packets wait for the transmit pipeline", transmit_queue_.waiting()));
}

}  // namespace wharf::sim
