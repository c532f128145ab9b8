// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/link.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "wire/packet_role.h"

namespace wharf::sim {

using trace::Stage;

namespace {

Result<void> require_probability(const char* key, double found) {
  if (found >= 0.0 && found <= 1.0) return {};
  return input_error(fmt::format("{} is {}, expected 0 to 1", key, found));
}

}  // namespace

Result<void> validate(const LinkConfig& config) {
  if (config.delay < kTimeZero || config.delay > seconds(1))
    return input_error(fmt::format("link.delay is {}, expected 0 to 1s", format_time(config.delay)));
  const LinkFaults& faults = config.faults;
  WHARF_TRY(require_probability("faults.loss", faults.loss));
  WHARF_TRY(require_probability("faults.corruption", faults.corruption));
  WHARF_TRY(require_probability("faults.duplication", faults.duplication));
  WHARF_TRY(require_probability("faults.reordering", faults.reordering));
  WHARF_TRY(require_probability("faults.corruption_past_check", faults.corruption_past_check));
  if (faults.reordering > 0 && (faults.reorder_delay < picoseconds(1) || faults.reorder_delay > seconds(1)))
    return input_error(
        fmt::format("faults.reorder_delay is {}, expected 1ps to 1s", format_time(faults.reorder_delay)));
  if (faults.jitter < kTimeZero || faults.jitter > seconds(1))
    return input_error(fmt::format("faults.jitter is {}, expected 0 to 1s", format_time(faults.jitter)));
  if (faults.corruption_past_check > 0 && config.wire != WireMode::kBytes)
    return input_error(
        "faults.corruption_past_check needs real frames to damage: expected run.wire = \"bytes\", found "
        "\"structs\"");
  return {};
}

LinkDirection::Draws::Draws(const RandomStream& random)
    : loss(random.substream(0)),
      corruption(random.substream(1)),
      duplication(random.substream(2)),
      reordering(random.substream(3)),
      jitter(random.substream(4)),
      past_check(random.substream(5)),
      position(random.substream(6)) {}

LinkDirection::Chances::Chances(const LinkFaults& faults)
    : loss(Probability::from(faults.loss)),
      corruption(Probability::from(faults.corruption)),
      duplication(Probability::from(faults.duplication)),
      reordering(Probability::from(faults.reordering)),
      past_check(Probability::from(faults.corruption_past_check)),
      any(faults.loss > 0 || faults.corruption > 0 || faults.duplication > 0 || faults.reordering > 0 ||
          faults.corruption_past_check > 0 || faults.jitter > kTimeZero) {}

LinkDirection::LinkDirection(Simulation& simulation, const LinkConfig& config, RandomStream random,
                             wire::PayloadPool& payloads, trace::Tracer& tracer, std::uint32_t source_host)
    : simulation_(simulation),
      config_(config),
      payloads_(payloads),
      tracer_(tracer),
      source_host_(source_host),
      in_flight_(64),
      spare_(in_flight_.acquire()),
      in_order_(64),
      draws_(random),
      chances_(config.faults) {}

std::uint32_t LinkDirection::charge(const wire::Packet& packet) const {
  if (config_.charged_bytes == ChargeRule::kPacket) return wire::link_bytes(packet);
  return payload_charge(wire::data_bytes(packet), wire::is_response(packet), config_.nominal_request_bytes,
                        config_.nominal_response_bytes);
}

TimePs LinkDirection::carry(const wire::Packet& packet, TimePs head, TimePs tail) {
  const std::uint32_t bytes = charge(packet);
  if (bytes != last_charge_) {
    last_charge_ = bytes;
    last_serialisation_ = transfer_time(Bytes{bytes}, config_.rate);
  }
  const TimePs serialisation = last_serialisation_;
  counters_.charged_bytes += bytes;
  // Transmission follows the flits out of the pipeline, but the last byte cannot leave before it is there.
  const TimePs begin = max(head, free_);
  const TimePs sent = max(begin + serialisation, tail == head ? kTimeZero : tail);
  free_ = sent;
  const TimePs carried = max(tail, sent - serialisation);
  const TimePs arrival = carried + stage_time(sent - carried + config_.delay, config_.rounding);
  tracer_.span(packet.operation, Stage::kLinkQueue, tail, carried, source_host_);
  tracer_.span(packet.operation, wire::is_response(packet) ? Stage::kWireBack : Stage::kWireForward, carried,
               arrival, source_host_);
  return arrival;
}

void LinkDirection::send(TimePs head, TimePs tail, ComponentId source) {
  ++counters_.packets;
  if (tracer_.wants(trace::EventKind::kPacketSent)) [[unlikely]]
    report(trace::EventKind::kPacketSent, next_packet(), tail, 0);
  if (chances_.any) {
    send_with_faults(head, tail, source);
    return;
  }
  const std::uint32_t slot = spare_;
  wire::Packet& packet = in_flight_[slot].packet;
  const TimePs arrival = carry(packet, head, tail);
  if (config_.wire == WireMode::kBytes && !encode_decode(packet, tail, kNoDamage)) return;
  spare_ = take_slot();
  enqueue(slot, arrival, source);
}

void LinkDirection::send_with_faults(TimePs head, TimePs tail, ComponentId source) {
  const std::uint32_t slot = spare_;
  wire::Packet& packet = in_flight_[slot].packet;
  TimePs arrival = carry(packet, head, tail);
  if (draws_.loss.chance(chances_.loss)) {
    ++counters_.lost;
    drop(packet, LinkDrop::kLost, tail);
    return;
  }
  if (draws_.corruption.chance(chances_.corruption)) {
    // Drawn in both wire modes, so that they stay alike.
    const std::uint64_t bit = draws_.position.next_u64();
    if (config_.wire == WireMode::kBytes)
      WHARF_CHECK(frame_check_notices(packet, payloads_, config_.wire_options, bit));
    ++counters_.corrupted;
    drop(packet, LinkDrop::kFrameCheck, arrival);
    return;
  }
  if (config_.wire == WireMode::kBytes) {
    const bool damaged = draws_.past_check.chance(chances_.past_check);
    if (!encode_decode(packet, arrival, damaged ? draws_.position.next_u64() >> 1U : kNoDamage)) return;
  }
  if (config_.faults.jitter > kTimeZero) {
    const auto most = static_cast<std::uint64_t>(config_.faults.jitter.ps);
    const TimePs late =
        max(arrival + picoseconds(static_cast<std::int64_t>(draws_.jitter.below(most + 1))), last_arrival_);
    tracer_.span(packet.operation, wire::is_response(packet) ? Stage::kWireBack : Stage::kWireForward,
                 arrival, late, source_host_);
    arrival = late;
  }
  const bool twice = draws_.duplication.chance(chances_.duplication);
  const bool held = draws_.reordering.chance(chances_.reordering);
  TimePs late = arrival;
  if (held) {
    ++counters_.reordered;
    const auto most = static_cast<std::uint64_t>(config_.faults.reorder_delay.ps);
    late += picoseconds(static_cast<std::int64_t>(1 + draws_.reordering.below(most)));
    tracer_.span(packet.operation, wire::is_response(packet) ? Stage::kWireBack : Stage::kWireForward,
                 arrival, late, source_host_);
  }
  // From here on `packet` may have moved: slots are taken.
  std::uint32_t copy = kNoSlot;
  if (twice) {
    ++counters_.duplicated;
    payloads_.retain(packet.payload.buffer);
    copy = take_slot();
    in_flight_[copy].packet = in_flight_[slot].packet;
  }
  spare_ = take_slot();
  if (held) {
    hold_back(slot, late, source);
  } else {
    enqueue(slot, arrival, source);
  }
  // The copy follows its original's place in the stream at once.
  if (copy != kNoSlot) enqueue(copy, arrival + last_serialisation_, source);
}

bool LinkDirection::encode_decode(wire::Packet& packet, TimePs at, std::uint64_t damage_bit) {
  const wire::DropReason reason = pass_as_bytes(packet, payloads_, config_.wire_options, damage_bit);
  if (reason == wire::DropReason::kNone) return true;
  // Only damage can make our own frames unreadable.
  WHARF_CHECK(damage_bit != kNoDamage);
  ++counters_.refused[static_cast<std::size_t>(reason)];
  packet.payload = {};
  drop(packet, LinkDrop::kDecoder, at);
  return false;
}

void LinkDirection::drop(const wire::Packet& packet, LinkDrop reason, TimePs at) {
  if (tracer_.wants(trace::EventKind::kPacketDropped)) [[unlikely]]
    report(trace::EventKind::kPacketDropped, packet, at, static_cast<std::uint64_t>(reason));
  payloads_.release(packet.payload.buffer);
}

std::uint32_t LinkDirection::take_slot() {
  std::uint32_t slot = in_flight_.acquire();
  if (slot == kNoSlot) {
    in_flight_.reserve(2 * in_flight_.capacity());
    slot = in_flight_.acquire();
  }
  return slot;
}

void LinkDirection::enqueue(std::uint32_t slot, TimePs arrival, ComponentId source) {
  InFlight& entry = in_flight_[slot];
  entry.arrival = last_arrival_ = max(arrival, last_arrival_);
  entry.due = last_due_ = max(entry.arrival + receiver_->announce(entry.packet), last_due_);
  if (in_order_.full()) in_order_.reserve(2 * in_order_.capacity());
  in_order_.push_back(slot);
  if (in_order_.size() == 1) simulation_.schedule(entry.due, id(), source, kArrival, 0);
}

void LinkDirection::hold_back(std::uint32_t slot, TimePs arrival, ComponentId source) {
  InFlight& entry = in_flight_[slot];
  entry.arrival = arrival;
  entry.due = arrival + receiver_->announce(entry.packet);
  ++held_;
  simulation_.schedule(entry.due, id(), source, kHeldArrival, slot);
}

void LinkDirection::deliver(std::uint32_t slot) {
  ++counters_.delivered;
  const InFlight& entry = in_flight_[slot];
  if (tracer_.wants(trace::EventKind::kPacketReceived)) [[unlikely]]
    report(trace::EventKind::kPacketReceived, entry.packet, entry.arrival, 0);
  const wire::BufferId buffer = entry.packet.payload.buffer;
  receiver_->receive(entry.packet, entry.arrival);
  payloads_.release(buffer);
  in_flight_.release(slot);
}

void LinkDirection::handle(const Event& event) {
  if (event.kind == kHeldArrival) {
    --held_;
    deliver(event.argument);
    return;
  }
  const std::uint32_t slot = in_order_.front();
  in_order_.pop_front();
  if (!in_order_.empty()) simulation_.schedule(in_flight_[in_order_.front()].due, id(), id(), kArrival, 0);
  deliver(slot);
}

void LinkDirection::report(trace::EventKind kind, const wire::Packet& packet, TimePs at,
                           std::uint64_t reason) {
  tracer_.emit({.kind = kind,
                .host = source_host_,
                .component = id().value,
                .begin = at,
                .end = at,
                .operation = packet.operation,
                .a = reason,
                .packet = &packet});
}

void LinkDirection::describe_waiting(std::vector<std::string>& lines) const {
  const std::size_t flying = in_order_.size() + held_;
  if (flying > 0) lines.push_back(fmt::format("{} packets from host{} are under way", flying, source_host_));
}

}  // namespace wharf::sim
