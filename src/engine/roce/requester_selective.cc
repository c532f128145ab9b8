// SPDX-License-Identifier: Apache-2.0
// How a requester recovers by selective repeat: what answers and reports say of single PSNs, and what is sent
// again. Everything else is as with Go-Back-N. [decision 0110]
#include <algorithm>

#include "base/check.h"
#include "engine/roce/requester.h"
#include "engine/roce/retransmission.h"

namespace wharf::roce {

using verbs::CompletionStatus;
using verbs::Verb;
using wire::AethClass;
using wire::RoceOpcode;

namespace {

/// Of the requests that have their PSNs: the one that takes `psn`, which one of them does.
Position find_request(const QueuePair& pair, Psn psn) {
  Position first = pair.send.head();
  std::uint32_t count = pair.context.requester.assigned - first;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    if (wire::psn_after(pair.send[first + half].first_psn, psn)) {
      count = half;
    } else {
      first += half;
      count -= half;
    }
  }
  return first;
}

Psn end_of(const SendEntry& entry) { return wire::psn_add(entry.first_psn, entry.packets); }

}  // namespace

void Requester::receive_selective(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  RequesterContext& requester = pair.context.requester;
  const wire::RocePacket& roce = packet.roce;
  const wire::Aeth& aeth = roce.ack.aeth;
  const Psn psn = roce.bth.psn;
  const bool is_acknowledge = roce.bth.opcode == RoceOpcode::kRcAcknowledge;
  const bool has_aeth = (wire::roce_headers(roce.bth.opcode) & wire::kRoceAeth) != 0;
  const AethClass kind = has_aeth ? aeth.syndrome_class() : AethClass::kAck;
  if (is_acknowledge && aeth.syndrome == wire::nak_syndrome(wire::NakCode::kSequenceError)) {
    take_report(now, pair, psn, aeth.msn);
    if (rules_of(pair.context.state).ends_requests) advance(now, pair);
    return;
  }
  if (drop_stale(now, pair, roce)) return;
  if (kind == AethClass::kReserved || (!is_acknowledge && kind != AethClass::kAck)) {
    ++core_.counters.dropped_stale_response;
    return;
  }
  if (!is_acknowledge && !take_selective_data(now, pair, packet)) return;
  const Psn before = requester.unacknowledged;
  // A NAK acknowledges everything before its PSN. [IBTA vol 1 9.7.5.1.1]
  pair.selective->repairs.raise_answered(kind == AethClass::kAck ? wire::psn_add(psn, 1) : psn);
  settle_oldest(pair);
  if (requester.unacknowledged != before) {
    retransmission_.note_progress(
        now, pair, is_acknowledge && kind == AethClass::kAck ? std::optional<Psn>(psn) : std::nullopt);
  }
  if (kind == AethClass::kAck && roce.bth.opcode != RoceOpcode::kRcReadResponseMiddle)
    take_credits(pair, aeth);
  repair_answers(now, pair, psn);
  if (!rules_of(pair.context.state).ends_requests) return;
  if (kind == AethClass::kReceiverNotReady) {
    wait_for_receiver(now, pair, psn, aeth.value());
  } else if (kind == AethClass::kNak) {
    take_refusal(now, pair, psn, aeth);
  }
  if (rules_of(pair.context.state).ends_requests) advance(now, pair);
}

// A NAK that ends the connection, once everything before the request that it names is complete.
void Requester::take_refusal(TimePs now, QueuePair& pair, Psn psn, const wire::Aeth& aeth) {
  if (pair.send.head() == pair.context.requester.assigned) return;
  const SendEntry& oldest = pair.send.front();
  if (!wire::psn_before(psn, end_of(oldest))) return;  // READ data before it is missing, and asked for.
  fail_refused(now, pair, aeth);
}

// Keeps the data of a READ or the value of an atomic; false when the packet was no answer or is dropped.
bool Requester::take_selective_data(TimePs now, QueuePair& pair, const wire::Packet& packet) {
  Repairs& repairs = pair.selective->repairs;
  const RoceOpcode opcode = packet.roce.bth.opcode;
  const Psn psn = packet.roce.bth.psn;
  const Position at = find_request(pair, psn);
  SendEntry& entry = pair.send[at];
  const auto index = static_cast<std::uint32_t>(wire::psn_difference(psn, entry.first_psn));
  if (!expects_answer(entry.verb) || index >= entry.packets) {
    ++core_.counters.dropped_stale_response;
    return false;
  }
  const bool is_value = opcode == RoceOpcode::kRcAtomicAcknowledge;
  const std::uint32_t offset = index << pair.context.mtu_shift;
  const std::uint32_t length = std::min(pair.context.path_mtu, entry.length - offset);
  const bool says_last =
      opcode == RoceOpcode::kRcReadResponseLast || opcode == RoceOpcode::kRcReadResponseOnly;
  const bool fits = verbs::is_atomic(entry.verb) ? is_value
                                                 : !is_value && packet.payload.length == length &&
                                                       (says_last || index + 1 < entry.packets);
  if (!fits) {
    // [IBTA vol 1 9.9.2.4: bad response] Of a part that was asked for again the last packet may be any.
    fail(now, pair, CompletionStatus::kResponseLength);
    return false;
  }
  if (repairs.has_data(psn)) return true;
  const auto placed = [&](Position work, std::uint32_t from) {
    if (is_value) return place_value(pair, work, packet.roce.ack.atomic_original);
    return length == 0 || place(pair, work, from, packet.payload);
  };
  const Psn oldest = pair.context.requester.unacknowledged;
  if (wire::psn_subtract(psn, oldest) >= repairs.window() || !placed(at, offset)) {
    ++core_.counters.dropped_no_resources;
    return false;
  }
  repairs.set_data(psn);
  return true;
}

// Completes what is answered, in order.
void Requester::settle_oldest(QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  Repairs& repairs = pair.selective->repairs;
  Psn& oldest = requester.unacknowledged;
  while (pair.send.head() != requester.assigned) {
    const SendEntry& entry = pair.send.front();
    const Psn before = oldest;
    const Psn end = end_of(entry);
    if (expects_answer(entry.verb)) {
      // Each of them is forgotten at once: of a long READ the next one may have the same place.
      for (; oldest != end && repairs.has_data(oldest); oldest = wire::psn_add(oldest, 1))
        repairs.forget(oldest, wire::psn_add(oldest, 1));
    } else if (wire::psn_after(repairs.answered(), oldest)) {
      oldest = wire::psn_before(repairs.answered(), end) ? repairs.answered() : end;
      repairs.forget(before, oldest);
    }
    if (oldest != end) return;
    complete_oldest(pair);
  }
}

// --- What is missing ---

// Answers come in the order of PSNs: what is not here before the newest was lost. `psn`: an answer that came.
void Requester::repair_answers(TimePs now, QueuePair& pair, Psn psn) {
  const RequesterContext& requester = pair.context.requester;
  Repairs& repairs = pair.selective->repairs;
  const Psn oldest = requester.unacknowledged;
  bool any = false;
  const auto repair_data = [&](Psn lost) {
    const SendEntry& entry = pair.send[find_request(pair, lost)];
    if (!expects_answer(entry.verb) || repairs.has_data(lost)) return true;
    any = true;
    return repair(now, pair, lost);
  };
  Psn from = wire::psn_before(repairs.searched(), oldest) ? oldest : repairs.searched();
  const Psn window_end = wire::psn_add(oldest, repairs.window());
  const Psn to = wire::psn_before(window_end, repairs.answered()) ? window_end : repairs.answered();
  for (Position at = pair.send.head(); at != requester.assigned && wire::psn_before(from, to); ++at) {
    const SendEntry& entry = pair.send[at];
    const Psn end = end_of(entry);
    if (!wire::psn_before(from, end)) continue;
    if (!expects_answer(entry.verb)) from = end;
    for (; wire::psn_before(from, end) && wire::psn_before(from, to); from = wire::psn_add(from, 1)) {
      if (!repairs.is_under_repair(from, Repairs::Kind::kAnswer) && !repair_data(from)) return;
    }
  }
  repairs.raise_searched(to);
  repairs.for_overtaken(Repairs::Kind::kAnswer, psn, oldest, [&](Psn lost) {
    if (rules_of(pair.context.state).ends_requests) repair_data(lost);
  });
  if (any) ++core_.counters.implied_naks;
}

// The peer keeps the request `arrived`, and lacks `missing`, the first one. It acknowledges nothing.
void Requester::take_report(TimePs now, QueuePair& pair, Psn missing, Psn arrived) {
  const RequesterContext& requester = pair.context.requester;
  Repairs& repairs = pair.selective->repairs;
  ++core_.counters.sequence_naks_received;
  const Psn oldest = requester.unacknowledged;
  if (!wire::psn_after(arrived, oldest) || !wire::psn_before(arrived, requester.highest_sent) ||
      !wire::psn_before(missing, arrived) || wire::psn_subtract(arrived, oldest) >= repairs.window()) {
    ++core_.counters.dropped_stale_response;
    return;
  }
  repairs.set_arrived(arrived);
  if (wire::psn_before(missing, oldest))
    missing = oldest;  // A report that was overtaken by an acknowledgement.
  repairs.set_missing(missing);
  const bool waits = requester.rnr_until != kNever;
  const auto repair_request = [&](Psn lost) {
    const SendEntry& entry = pair.send[find_request(pair, lost)];
    // A READ takes more PSNs than packets.
    if (expects_answer(entry.verb) && entry.first_psn != lost) return true;
    if (repairs.has_arrived(lost) || wire::psn_before(lost, repairs.answered())) return true;
    if (waits && repairs.is_refused(lost)) return true;  // It goes when the wait is over.
    return repairs.is_under_repair(lost, Repairs::Kind::kRequest) || repair(now, pair, lost);
  };
  // The peer may have given up one that it kept: a message that found no receive entry.
  if (repairs.has_arrived(missing) && wire::psn_before(missing, repairs.reported()))
    repairs.clear_arrived(missing);
  if (wire::psn_before(missing, repairs.reported()) && !repair_request(missing)) return;
  Psn from = wire::psn_before(missing, repairs.reported()) ? repairs.reported() : missing;
  while (wire::psn_before(from, arrived)) {
    if (!repair_request(from)) return;
    const SendEntry& entry = pair.send[find_request(pair, from)];
    from = expects_answer(entry.verb) ? end_of(entry) : wire::psn_add(from, 1);
  }
  repairs.raise_reported(wire::psn_add(arrived, 1));
  repairs.for_overtaken(Repairs::Kind::kRequest, arrived, oldest, [&](Psn lost) {
    if (rules_of(pair.context.state).ends_requests && !wire::psn_before(lost, missing)) repair_request(lost);
  });
}

// `lost` is sent again. The oldest one costs a retry: false when there is none left, and the request has
// failed.
bool Requester::repair(TimePs now, QueuePair& pair, Psn lost) {
  if (!retransmission_.note_missing(now, pair, lost)) return false;
  pair.selective->repairs.queue(lost);
  return true;
}

// [IBTA vol 1 9.7.5.2.8] What came behind the refused request is kept by the peer.
void Requester::wait_for_receiver(TimePs now, QueuePair& pair, Psn psn, std::uint8_t timer_code) {
  if (wire::psn_before(psn, pair.context.requester.unacknowledged)) return;
  Repairs& repairs = pair.selective->repairs;
  if (!retransmission_.refuse_selective(now, pair, psn, timer_code)) return;
  repairs.clear_arrived(psn);
  repairs.set_missing(psn);
  repairs.set_refused(psn);
}

// Nobody may have asked for the acknowledgement of what has arrived. That of the missing request covers it.
Psn Requester::oldest_missing(const QueuePair& pair) {
  const Psn oldest = pair.context.requester.unacknowledged;
  const Psn missing = pair.selective->repairs.missing();
  if (!wire::psn_after(missing, oldest)) return oldest;
  return expects_answer(pair.send.front().verb) ? oldest : missing;
}

void Requester::repair_oldest(QueuePair& pair) {
  Repairs& repairs = pair.selective->repairs;
  const Psn oldest = oldest_missing(pair);
  repairs.clear_arrived(oldest);  // It may have, and its acknowledgement not.
  repairs.queue(oldest);
}

void Requester::end_refusal(QueuePair& pair) {
  Repairs& repairs = pair.selective->repairs;
  const RequesterContext& requester = pair.context.requester;
  repairs.end_refusal(requester.unacknowledged);
  // Repeated refusals keep the timer from finding what is missing before.
  if (requester.unacknowledged != requester.sent) repair_oldest(pair);
}

// --- Sending again ---

bool Requester::is_wanted(const QueuePair& pair, Psn psn) {
  const RequesterContext& requester = pair.context.requester;
  const Repairs& repairs = pair.selective->repairs;
  if (wire::psn_before(psn, requester.unacknowledged) || !wire::psn_before(psn, requester.highest_sent))
    return false;
  if (!expects_answer(pair.send[find_request(pair, psn)].verb))
    return !wire::psn_before(psn, repairs.answered()) && !repairs.has_arrived(psn);
  return !repairs.has_data(psn) && (wire::psn_before(psn, repairs.answered()) || !repairs.has_arrived(psn));
}

void Requester::prepare_repairs(QueuePair& pair) {
  RequesterContext& requester = pair.context.requester;
  SelectiveRepeat& selective = *pair.selective;
  if (requester.rnr_until != kNever || !rules_of(pair.context.state).ends_requests) return;
  while (selective.repairs.has_next() && !selective.resend.full()) {
    const Psn psn = selective.repairs.next();
    if (!is_wanted(pair, psn)) {
      selective.repairs.pop();
      if (!wire::psn_before(psn, requester.unacknowledged)) selective.repairs.give_up(psn);
      continue;
    }
    if (!core_.may_fetch_payload()) {
      core_.starve(pair);
      break;
    }
    selective.repairs.pop();
    prepare_resend(pair, psn);
  }
  const std::size_t send_class = ready_class(pair);
  if (send_class != kSendClassCount) core_.list_flow(pair, Flow::kRequests, send_class);
}

void Requester::prepare_resend(QueuePair& pair, Psn psn) {
  SelectiveRepeat& selective = *pair.selective;
  Repairs& repairs = selective.repairs;
  const Position work = find_request(pair, psn);
  const SendEntry& entry = pair.send[work];
  const Position at = selective.resend.tail();
  TransmitEntry& packet = selective.resend.push();
  packet.psn = psn;
  packet.work = work;
  packet.packet = static_cast<std::uint32_t>(wire::psn_difference(psn, entry.first_psn));
  packet.acknowledge = true;
  packet.opcode = opcode_at(pair, entry, packet.packet);
  if (expects_answer(entry.verb)) {
    // The part of the READ that is missing here: of what was answered, or up to its end.
    Psn end = end_of(entry);
    if (wire::psn_before(psn, repairs.answered()) && wire::psn_before(repairs.answered(), end))
      end = repairs.answered();
    const std::uint32_t known =
        repairs.window() - wire::psn_subtract(psn, pair.context.requester.unacknowledged);
    packet.psn_count = wire::psn_subtract(end, psn);
    for (std::uint32_t count = 1; count < std::min(packet.psn_count, known); ++count) {
      if (repairs.has_data(wire::psn_add(psn, count))) packet.psn_count = count;
    }
    const Psn past = wire::psn_add(psn, packet.psn_count);
    while (repairs.has_next() && wire::psn_after(repairs.next(), psn) &&
           wire::psn_before(repairs.next(), past))
      repairs.pop();
    return;
  }
  const std::uint32_t offset = packet.packet << pair.context.mtu_shift;
  const std::uint32_t length = std::min(pair.context.path_mtu, entry.length - offset);
  if (length > 0) fetch_payload(pair, entry, packet, at, offset, length, AccessPurpose::kResendPayload);
}

void Requester::resend_fetched(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result) {
  PositionRing<TransmitEntry>& resend = pair.selective->resend;
  if (!resend.contains(slot.position)) return;
  note_payload(resend[slot.position], slot, result);
  const std::size_t send_class = ready_class(pair);
  if (send_class != kSendClassCount) core_.list_flow(pair, Flow::kRequests, send_class);
}

void Requester::drop_resend(QueuePair& pair) {
  SelectiveRepeat& selective = *pair.selective;
  const TransmitEntry& packet = selective.resend.front();
  const Psn oldest = pair.context.requester.unacknowledged;
  for (std::uint32_t at = 0; at < std::min(packet.psn_count, selective.repairs.window()); ++at) {
    const Psn psn = wire::psn_add(packet.psn, at);
    if (!wire::psn_before(psn, oldest) && wire::psn_subtract(psn, oldest) < selective.repairs.window())
      selective.repairs.give_up(psn);
  }
  core_.pool->release(packet.payload.buffer);
  selective.resend.pop();
}

bool Requester::transmit_again(TimePs now, QueuePair& pair, wire::Packet& out) {
  RequesterContext& requester = pair.context.requester;
  SelectiveRepeat& selective = *pair.selective;
  Repairs& repairs = selective.repairs;
  const TransmitEntry packet = selective.resend.front();
  core_.kick(pair);  // Others may be prepared.
  if (!is_wanted(pair, packet.psn)) {
    drop_resend(pair);
    return false;
  }
  if (packet.failed) {
    // Local memory has nothing to send any more: the request fails when it is the oldest one, which the timer
    // finds out when it is not yet.
    drop_resend(pair);
    if (packet.work == pair.send.head()) fail(now, pair, CompletionStatus::kLocalAccess);
    return false;
  }
  const SendEntry& entry = pair.send[packet.work];
  fill_packet(pair, entry, packet, out);
  const bool reads = entry.verb == Verb::kRead;
  if (reads)
    out.roce.reth.length = std::min(out.roce.reth.length, packet.psn_count << pair.context.mtu_shift);
  out.traffic_class = wire::TrafficClass::kRetransmission;
  ++core_.counters.requests_resent;
  const auto kind =
      wire::psn_before(packet.psn, repairs.answered()) ? Repairs::Kind::kAnswer : Repairs::Kind::kRequest;
  const std::uint32_t known = repairs.window() - wire::psn_subtract(packet.psn, requester.unacknowledged);
  for (std::uint32_t at = 0; at < std::min(packet.psn_count, known); ++at)
    repairs.note_left(wire::psn_add(packet.psn, at), kind, requester.highest_sent);
  selective.resend.pop();  // The payload reference goes with the packet.
  retransmission_.note_resent(now, pair, packet.psn);
  return true;
}

void Requester::discard_repairs(QueuePair& pair) {
  SelectiveRepeat& selective = *pair.selective;
  while (!selective.resend.empty()) {
    core_.pool->release(selective.resend.front().payload.buffer);
    selective.resend.pop();
  }
  selective.repairs.begin(pair.context.requester.unacknowledged);
}

}  // namespace wharf::roce
