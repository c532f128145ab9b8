// SPDX-License-Identifier: Apache-2.0
// Payload that is read from memory before its packet leaves. What has been read, or is being read, is no
// packet yet: it has no packet number and no place in a window, both of which are asked for when it departs.
// So a window that closes meanwhile holds it back where it is, first in its order. [UE 1.0 3.6.12]
#include <algorithm>
#include <memory>

#include "engine/uet/engine_parts.h"
#include "engine/uet/initiator_fetch.h"
#include "engine/uet/pds_next.h"
#include "engine/uet/renew.h"

namespace wharf::uet {

const UetConfig& Pds::parts_config() const { return parts_.config; }

void Pds::fetch_wanted(TimePs now) {
  // Before transmit() looks: what it would have to fetch could only leave after the host's next input.
  if (!staged_order_.empty()) drop_unwanted();
  while (!fetch_wanted_.empty()) {
    const std::uint32_t ccc = fetch_wanted_.pop(parts_.cms, &CongestionContext::next_fetch);
    parts_.cms[ccc].fetch_wanted = false;
    fetch_ahead(now, ccc);
  }
  parts_.plain.unsettled = !is_settled() || !parts_.initiator.is_settled();
}

[[gnu::always_inline]] inline std::uint32_t Pds::stage(TimePs now, std::uint32_t slot, std::uint32_t offset,
                                                       std::uint32_t length) {
  const std::uint32_t at = EngineParts::acquire(staged_, 1U << 20U);
  StagedPacket& made = staged_[at];
  renew(made);
  made.message = slot;
  made.offset = offset;
  made.length = length;
  made.ready_at = now;
  made.failed =
      !parts_.initiator.fetch(slot, at, offset, length, made.payload, made.pieces, made.whole_result);
  return at;
}

[[gnu::always_inline]] inline std::uint32_t Pds::fetch_new(TimePs now, std::uint32_t index,
                                                           std::uint32_t slot, std::uint32_t offset) {
  const std::uint32_t left = parts_.outbound[slot].send_length - offset;
  const std::uint32_t at = stage(now, slot, offset, std::min(parts_.config.payload_mtu, left));
  Pdc& record = *pdcs_[index];
  staged_[at].pdc = index;
  record.fetched.push(staged_, at, &StagedPacket::next);
  ++parts_.cms[record.ccc].fetched;
  return at;
}

[[gnu::always_inline]] inline void Pds::fetch_ahead(TimePs now, std::uint32_t ccc) {
  // Choice: destinations with data share the room evenly, and the next packet of each PDC always has some, so
  // that one whose window is closed does not keep the others' payload out.
  CongestionContext& context = parts_.cms[ccc];
  const std::uint32_t active = parts_.cms.active();
  const std::uint32_t room = parts_.config.fetch_ahead_packets;
  const std::uint32_t share = active <= 1 ? room : std::max(1U, room / active);
  const std::uint32_t first = context.pdcs.head;
  if (first == context.pdcs.tail) {
    // Most contexts have one PDC.
    if (first != kNoSlot) fetch_alone_ahead(now, first, share);
    return;
  }
  for (std::uint32_t at = first; at != kNoSlot; at = pdcs_[at]->next_ready) {
    if (!next_is_begun(*pdcs_[at])) fetch_one_ahead(now, at);
  }
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t at = first; at != kNoSlot; at = pdcs_[at]->next_ready) {
      if (context.fetched >= share) return;
      more = fetch_one_ahead(now, at) || more;
    }
  }
}

bool Pds::repetition_is_begun(const Pdc& record) const {
  const UetPsn psn = record.tx.resend.head;
  const SendEntry& entry = record.tx.at(psn);
  return entry.length == 0 || !parts_.outbound[entry.message].from_memory ||
         fetched_again(record, psn) != kNoSlot;
}

bool Pds::fetch_repetition_ahead(TimePs now, std::uint32_t index) {
  // Only as many are looked at as could be fetched.
  Pdc& record = *pdcs_[index];
  PdcSend& tx = record.tx;
  UetPsn psn = tx.resend.head;
  const std::uint32_t most = std::min(tx.resend.count, parts_.config.fetch_ahead_packets);
  for (std::uint32_t i = 0; i < most; ++i) {
    const SendEntry& entry = tx.at(psn);
    if (entry.length > 0 && parts_.outbound[entry.message].from_memory &&
        fetched_again(record, psn) == kNoSlot) {
      fetch_again(now, index, psn);
      return true;
    }
    if (i + 1 < most) psn = tx.widen(entry.next);
  }
  return false;
}

[[gnu::always_inline]] inline void Pds::fetch_alone_ahead(TimePs now, std::uint32_t index,
                                                          std::uint32_t share) {
  const Pdc& record = *pdcs_[index];
  const CongestionContext& context = parts_.cms[record.ccc];
  if (!record.tx.resend.empty()) [[unlikely]] {
    if (!next_is_begun(record)) fetch_one_ahead(now, index);
    while (context.fetched < share && fetch_one_ahead(now, index)) {
    }
    return;
  }
  std::uint32_t most = share - std::min(share, context.fetched);
  if (most == 0 && !next_is_begun(record)) most = 1;
  fetch_new_ahead(now, index, most);
}

bool Pds::fetch_one_ahead(TimePs now, std::uint32_t index) {
  // Repetitions leave first.
  if (!pdcs_[index]->tx.resend.empty() && fetch_repetition_ahead(now, index)) return true;
  return fetch_new_ahead(now, index, 1) == 1;
}

std::uint32_t Pds::fetch_new_ahead(TimePs now, std::uint32_t index, std::uint32_t most) {
  const Pdc& record = *pdcs_[index];
  std::uint32_t slot = record.tx.message_head;
  std::uint32_t offset = 0;
  if (!record.fetched.empty()) {
    const StagedPacket& newest = staged_[record.fetched.tail];
    slot = newest.message;
    offset = newest.offset + newest.length;
  } else if (slot != kNoSlot) {
    offset = parts_.outbound[slot].sent;
  }
  std::uint32_t begun = 0;
  while (begun < most && slot != kNoSlot) {
    const OutboundMessage& message = parts_.outbound[slot];
    while (message.from_memory && offset != message.send_length) {
      if (begun == most) return begun;
      offset += staged_[fetch_new(now, index, slot, offset)].length;
      ++begun;
    }
    slot = message.next;
    if (slot != kNoSlot) offset = parts_.outbound[slot].sent;
  }
  return begun;
}

std::uint32_t Pds::fetch_again(TimePs now, std::uint32_t index, UetPsn psn) {
  const SendEntry& entry = pdcs_[index]->tx.at(psn);
  const std::uint32_t at = stage(now, entry.message, entry.offset, entry.length);
  staged_[at].pdc = index;
  staged_[at].psn = psn;
  pdcs_[index]->fetched_again.push(staged_, at, &StagedPacket::next);
  ++parts_.cms[pdcs_[index]->ccc].fetched;
  return at;
}

std::uint32_t Pds::fetched_again(const Pdc& record, UetPsn psn) const {
  std::uint32_t at = record.fetched_again.head;
  while (at != kNoSlot && staged_[at].psn != psn) at = staged_[at].next;
  return at;
}

void Pds::drop(Pdc& record, IndexList& list, std::uint32_t at) {
  list.remove(staged_, at, &StagedPacket::next);
  CongestionContext& context = parts_.cms[record.ccc];
  --context.fetched;
  want_fetch(record, context);
  StagedPacket& staged = staged_[at];
  staged.dropped = true;
  staged.made_plain = false;
  if (staged.pieces > 0) return;  // data_done() ends it.
  parts_.payloads.release(staged.payload.buffer);
  staged_.release(at);
}

void Pds::drop_fetched_of(std::uint32_t index, std::uint32_t slot) {
  Pdc& record = *pdcs_[index];
  for (std::uint32_t at = record.fetched.head; at != kNoSlot;) {
    const std::uint32_t next = staged_[at].next;
    if (staged_[at].message == slot) drop(record, record.fetched, at);
    at = next;
  }
}

void Pds::drop_fetched_again(Pdc& record, UetPsn psn) {
  const std::uint32_t at = fetched_again(record, psn);
  if (at != kNoSlot) drop(record, record.fetched_again, at);
}

void Pds::drop_fetched(Pdc& record) {
  for (IndexList* list : {&record.fetched, &record.fetched_again}) {
    while (!list->empty()) drop(record, *list, list->head);
  }
}

void Pds::data_done(TimePs now, std::uint32_t at, std::uint64_t piece, const engine::AccessResult& result) {
  StagedPacket& staged = staged_[at];
  --staged.pieces;
  staged.ready_at = now;
  if (staged.dropped) {
    if (staged.pieces > 0) return;
    parts_.payloads.release(staged.payload.buffer);
    staged_.release(at);
    return;
  }
  if (result.status != engine::AccessStatus::kDone) {
    staged.failed = true;
    staged.made_plain = false;
    return;
  }
  if (staged.whole_result) {
    staged.payload = result.data;
    parts_.payloads.retain(result.data.buffer);
    return;
  }
  std::byte* begin = parts_.payloads.data(staged.payload.buffer) + piece;
  wire::fill(result.data, {begin, result.data.length});
}

std::uint32_t Pds::fetched_next(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  const PdcSend& tx = record.tx;
  if (!tx.resend.empty()) {
    const std::uint32_t found = fetched_again(record, tx.resend.head);
    return found != kNoSlot ? found : fetch_again(now, index, tx.resend.head);
  }
  const std::uint32_t offset = parts_.outbound[tx.message_head].sent;
  if (record.fetched.empty()) return fetch_new(now, index, tx.message_head, offset);
  const std::uint32_t first = record.fetched.head;
  WHARF_CHECK(staged_[first].message == tx.message_head && staged_[first].offset == offset);
  return first;
}

bool Pds::take_payload(TimePs now, Leaving& leaving) {
  const std::uint32_t index = leaving.pdc;
  Pdc& record = *leaving.record;
  const PdcSend& tx = record.tx;
  const bool again = !tx.resend.empty();
  const std::uint32_t slot = again ? tx.at(tx.resend.head).message : tx.message_head;
  const OutboundMessage& message = parts_.outbound[slot];
  const std::uint32_t length = leaving.window_bytes - message.overhead;
  if (length == 0) return true;
  if (!message.from_memory) {
    leaving.payload =
        parts_.initiator.payload_at_hand(slot, again ? tx.at(tx.resend.head).offset : message.sent, length);
    return true;
  }
  const std::uint32_t at = fetched_next(now, index);
  const StagedPacket& staged = staged_[at];
  if (staged.pieces > 0) return false;
  leaving.payload = staged.payload;
  leaving.failed = staged.failed;
  leaving.ready_at = staged.ready_at;
  IndexList& list = again ? record.fetched_again : record.fetched;
  if (list.head == at) {
    list.pop(staged_, &StagedPacket::next);
  } else {
    list.remove(staged_, at, &StagedPacket::next);
  }
  staged_.release(at);
  --leaving.context->fetched;
  return true;
}

bool Pds::transmit_fetched(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  // In turns, but who still waits for memory holds up nobody else.
  for (std::uint32_t ccc = parts_.cms.next_ready(); ccc != kNoSlot; ccc = parts_.cms[ccc].next_ready) {
    CongestionContext& context = parts_.cms[ccc];
    for (std::uint32_t index = context.pdcs.head; index != kNoSlot; index = pdcs_[index]->next_ready) {
      Pdc& record = *pdcs_[index];
      if (!sendable(record)) continue;
      Leaving leaving;
      leaving.pdc = index;
      leaving.record = &record;
      leaving.context = &context;
      leaving.window_bytes = next_window_bytes(record);
      if (!parts_.cms.may_send(now, context, room_for_next(record))) continue;
      if ((allowed & wire::mask_of(data_class(!record.tx.resend.empty()))) == 0) continue;
      if (!take_payload(now, leaving)) continue;
      parts_.cms.bring_forward(ccc, index);
      depart(now, leaving, out);
      return true;
    }
  }
  return false;
}

void Pds::stage_unsequenced(TimePs now, std::uint32_t packet, std::uint8_t sends, std::uint32_t slot,
                            std::uint32_t offset, std::uint32_t length) {
  const std::uint32_t at = stage(now, slot, offset, length);
  staged_[at].psn = packet;
  staged_[at].sends = sends;
  if (staged_order_.full()) staged_order_.reserve(staged_order_.capacity() * 2 + 16);
  staged_order_.push_back(at);
  parts_.plain.others_wait = parts_.plain.unsettled = true;
}

void Pds::drop_unwanted() {
  // Answered or given up while its payload was being fetched.
  while (!staged_order_.empty()) {
    const std::uint32_t slot = staged_order_.front();
    const StagedPacket& staged = staged_[slot];
    if (staged.pieces > 0 || parts_.rudi.wanted(staged.psn, staged.sends)) return;
    staged_order_.pop_front();
    parts_.payloads.release(staged.payload.buffer);
    staged_.release(slot);
  }
}

bool Pds::transmit_unsequenced(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  drop_unwanted();
  if (staged_order_.empty() || (allowed & wire::mask_of(wire::TrafficClass::kData)) == 0) return false;
  const std::uint32_t slot = staged_order_.front();
  const StagedPacket& staged = staged_[slot];
  if (staged.pieces > 0) return false;
  staged_order_.pop_front();
  out = wire::uet_packet();
  if (staged.failed) {
    parts_.payloads.release(staged.payload.buffer);
  } else {
    out.payload = staged.payload;
  }
  parts_.rudi.emit(now, staged.psn, staged.failed, out);
  finish(out, wire::TrafficClass::kData, out.destination, out.entropy, wire::uet_header_bytes(out.uet));
  staged_.release(slot);
  parts_.rudi.settle(now);  // There is room for the next.
  return true;
}

}  // namespace wharf::uet
