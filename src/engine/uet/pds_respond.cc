// SPDX-License-Identifier: Apache-2.0
// The receiver's answers: what is kept for guaranteed delivery, what CACK passes, and when an ACK leaves.
// [UE 1.0 3.5.11, 3.5.12]
#include "engine/uet/pds_respond.h"
#include "engine/uet/engine_parts.h"

namespace wharf::uet {

using wire::UetPdsType;

void Pds::acknowledge(std::uint32_t index, UetPsn psn, std::uint8_t flags, bool on_trigger,
                      std::uint16_t entropy, TimePs arrived_at, wire::UetNextHeader form,
                      const wire::UetSesResponse& response, const wire::Payload& data) {
  const Pdc& record = *pdcs_[index];
  parts_.payloads.retain(data.buffer);
  ControlJob& job = push_stale(acknowledgements_);
  job.type = UetPdsType::kAck;
  job.control = wire::UetControlType::kNoop;
  job.code = wire::UetNackCode::kTrimmed;
  job.payload = 0;
  job.opaque = 0;
  job.pdc = index;
  job.generation = record.generation;
  job.psn = psn;
  job.cumulative = record.rx.cumulative;
  job.peer = record.peer;
  job.source_id = record.local_id;
  job.destination_id = record.peer_id;
  job.entropy = entropy;
  job.flags = flags;
  job.on_trigger = on_trigger;
  job.arrived_at = arrived_at;
  job.operation = {};
  job.form = form;
  job.response = response;
  job.data = data;
}

void Pds::respond(TimePs now, std::uint32_t slot, wire::UetNextHeader form,
                  const wire::UetSesResponse& response, const wire::Payload& data, std::uint32_t region) {
  const InboundPacket& inbound = parts_.inbound[slot];
  if (inbound.pdc == kNoSlot) {
    parts_.rudi.respond(now, slot, form, response, data);
    return;
  }
  const std::uint32_t index = inbound.pdc;
  Pdc& record = *pdcs_[index];
  if (record.generation != inbound.pdc_generation) {
    parts_.inbound.release(slot);
    return;
  }
  --record.rx.in_execution;
  // [UE 1.0 3.4] Guaranteed delivery: whatever the initiator could not make up itself.
  const bool guaranteed =
      form != wire::UetNextHeader::kNone &&
      (form != wire::UetNextHeader::kResponse || response.return_code != wire::UetReturnCode::kOk ||
       response.opcode == wire::UetResponseOpcode::kResponse ||
       (response.opcode == wire::UetResponseOpcode::kDefault &&
        response.modified_length != inbound.request_length) ||
       response.list == wire::UetListCode::kOverflow);
  wire::Payload stored_data = data;
  if (guaranteed) {
    stored_data = parts_.keep(data);
    store_response(now, index, {kNoSlot, inbound.psn, form, response, stored_data, region});
  } else {
    finish_psn(record.rx, inbound.psn);
  }
  if (acknowledges_at_once(record.rx, inbound, guaranteed)) {
    acknowledge_inbound(index, inbound, form, response, stored_data);
  }
  parts_.inbound.release(slot);
  if (record.state == PdcState::kQuiesce) drain_step(now, index);
}

void Pds::respond_default(TimePs now, std::uint32_t slot) { respond_default_here(now, slot); }

void Pds::acknowledge_default(std::uint32_t index, const InboundPacket& inbound) {
  wire::UetSesResponse response;
  response.message_id = inbound.message_id;
  response.job_id = inbound.job_id;
  response.ri_generation = inbound.ri_generation;
  response.modified_length = inbound.request_length;
  acknowledge_inbound(index, inbound, wire::UetNextHeader::kResponse, response, {});
}

void Pds::store_response(TimePs now, std::uint32_t index, const StoredResponse& response) {
  Pdc& record = *pdcs_[index];
  const std::uint32_t at = EngineParts::acquire(stored_, 1U << 24U);
  stored_[at] = response;
  PdcReceive& rx = record.rx;
  if (rx.stored_count == 0) {
    stored_[at].next = at;
    rx.stored_in_order = true;
  } else {
    StoredResponse& newest = stored_[rx.stored_tail];
    stored_[at].next = newest.next;
    newest.next = at;
    if (!wire::uet_psn_after(response.psn, newest.psn)) rx.stored_in_order = false;
  }
  rx.stored_tail = at;
  ++rx.stored_count;
  if (record.ask_clear_at != kNever) return;
  record.ask_clear_at = now + parts_.config.clear_time * 2;
  record.clear_requests = 0;
  arm(index, record.ask_clear_at);
}

bool Pds::has_reason_to_acknowledge(PdcReceive& rx, const InboundPacket& inbound, bool guaranteed) const {
  const UetConfig& config = parts_.config;
  const bool asked = (inbound.pds_flags & wire::kUetAckRequested) != 0;
  const bool closes_gap = rx.owes && !wire::uet_psn_after(rx.owed, rx.cumulative);
  const bool opens = (inbound.pds_flags & wire::kUetSyn) != 0 && (config.ack_every_syn || !rx.acknowledged);
  if (closes_gap) rx.owes = false;
  if (asked && wire::uet_psn_after(inbound.psn, rx.cumulative) && !guaranteed) {
    if (!rx.owes || wire::uet_psn_after(inbound.psn, rx.owed)) rx.owed = inbound.psn;
    rx.owes = true;
  }
  return asked || opens || (inbound.pds_flags & wire::kUetRetransmit) != 0 || guaranteed ||
         (inbound.marked && config.ack_on_ecn) || rx.ack_bytes >= config.ack_trigger_bytes || closes_gap ||
         asks_for_less(parts_);
}

void Pds::acknowledge_inbound(std::uint32_t index, const InboundPacket& inbound, wire::UetNextHeader form,
                              const wire::UetSesResponse& response, const wire::Payload& data) {
  PdcReceive& rx = pdcs_[index]->rx;
  std::uint8_t flags = inbound.pds_flags & wire::kUetRetransmit;
  if (inbound.marked) flags |= wire::kUetMarked;
  const bool asked = (inbound.pds_flags & wire::kUetAckRequested) != 0;
  acknowledge(index, inbound.psn, flags, asked || inbound.marked, inbound.entropy, inbound.arrived_at, form,
              response, data);
  acknowledgements_.back().operation = inbound.operation;
  rx.ack_bytes = 0;
  rx.acknowledged = true;
}

}  // namespace wharf::uet
