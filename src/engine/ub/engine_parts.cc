// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/engine_parts.h"

#include <cstring>

namespace wharf::ub {

void EngineParts::settle_all(TimePs now) {
  if (!contexts.limited()) attention &= static_cast<std::uint8_t>(~kUnsettled);
  responder.settle(now);
  initiator.settle(now);
  tp.settle(now);
  contexts.settle(now);
}

// --- Inputs and outputs, whatever the case
// --------------------------------------------------------------------------

void EngineParts::receive(TimePs now, const wire::Packet& packet) {
  ++counters.packets_received;
  if (packet.protocol != wire::Protocol::kUb || packet.destination != config.host) {
    ++counters.dropped_foreign;
    return;
  }
  if (packet.trim != wire::TrimState::kWhole) {
    ++counters.dropped_trimmed;
    return;
  }
  switch (packet.ub.transport) {
    case wire::UbTransport::kBypass:
      load_store.receive(now, packet);
      break;
    case wire::UbTransport::kRtp:
      if (packet.ub.encapsulation == config.encapsulation) {
        tp.receive(now, packet);
      } else {
        ++counters.dropped_encapsulation;
      }
      break;
    case wire::UbTransport::kUtp:
      if (packet.ub.encapsulation == config.encapsulation) {
        tp.receive_datagram(now, packet);
      } else {
        ++counters.dropped_encapsulation;
      }
      break;
    case wire::UbTransport::kCtp:
      if (packet.ub.encapsulation == config.encapsulation) {
        tp.receive_compact(now, packet);
      } else {
        ++counters.dropped_encapsulation;
      }
      break;
  }
  settle(now);
}

void EngineParts::access_done(TimePs now, engine::AccessId access, const engine::AccessResult& answer) {
  if (!accesses.is_pending(access)) return;
  const std::uint32_t asked = accesses.asked(access);
  const PendingAccess owner = accesses.take(access);
  // Data of another length than was asked for is a failure (engine/contract.h).
  static constexpr engine::AccessResult kFaulted{.status = engine::AccessStatus::kFault, .data = {}};
  const bool whole =
      asked == 0 || answer.status != engine::AccessStatus::kDone || answer.data.length == asked;
  const engine::AccessResult& result = whole ? answer : kFaulted;
  switch (owner.owner) {
    case AccessOwner::kPacketData:
      tp.data_done(now, owner, result);
      break;
    case AccessOwner::kInboundWrite:
    case AccessOwner::kFusedWrite:
      responder.write_done(now, owner, result.status);
      break;
    case AccessOwner::kInboundAtomic:
      responder.atomic_done(now, owner, result);
      break;
    case AccessOwner::kInboundEntry:
      responder.entry_done(now, owner, result.status);
      break;
    case AccessOwner::kResponseWrite:
      initiator.response_write_done(now, owner, result.status);
      break;
    case AccessOwner::kWorkRequest:
      initiator.work_request_done(owner, result);
      break;
    case AccessOwner::kCompletion:
      initiator.completion_done(owner, result.status);
      return;
    case AccessOwner::kContext:
      contexts.access_done(now, owner.detail, result);
      break;
    case AccessOwner::kSharedCompletion:
      initiator.shared_completion_done(owner, result.status);
      break;
    case AccessOwner::kSharedReceive:
      counters.receive_entries_dropped += receive_queues.fetched(
          {owner.object, static_cast<std::uint32_t>(owner.detail), owner.offset}, result);
      break;
    case AccessOwner::kLoadStore:
      load_store.service_done(owner, result);
      break;
  }
  payloads.release(owner.buffer);
  settle(now);
}

bool EngineParts::transmit(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out) {
  if (!tp.has_urgent() && !load_store.has_packets()) attention &= static_cast<std::uint8_t>(~kUrgent);
  // Most urgent first: CNPs, acknowledgements, repeated packets, loads and stores, new packets.
  const bool sent =
      (tp.has_urgent() &&
       (tp.transmit_notification(allowed, out) || tp.transmit_acknowledgement(allowed, out) ||
        tp.transmit_again(now, allowed, out))) ||
      ((allowed & wire::mask_of(wire::TrafficClass::kLoadStore)) != 0 && load_store.transmit(now, out)) ||
      tp.transmit_new(now, allowed, out);
  if (sent) settle(now);
  return sent;
}

// --- Context records
// --------------------------------------------------------------------------------------------------

void EngineParts::resume(TimePs now, const DeferredWork& work) {
  switch (work.step) {
    case DeferredStep::kChannelPacket:
      tp.resume_packet(now, work.object, work.generation, work.packet);
      return;
    case DeferredStep::kChannelPump:
      tp.resume_pump(now, work.object);
      return;
    case DeferredStep::kChannelTimeout:
      tp.resume_timeout(now, work.object);
      return;
    case DeferredStep::kInboundPacket:
      responder.resume_packet(now, work.object, work.generation, work.packet);
      return;
    case DeferredStep::kInboundTail:
      responder.resume_tail(now, work.object, work.generation);
      return;
    case DeferredStep::kResponsePacket:
      initiator.resume_response(now, work.object, work.generation, work.packet,
                                static_cast<std::uint32_t>(work.detail));
      return;
    case DeferredStep::kJettyAdvance:
      initiator.resume_advance(now, work.object);
      return;
    case DeferredStep::kLoadStoreService:
      load_store.resume_service(work.object, work.generation);
      return;
  }
  WHARF_UNREACHABLE();
}

std::uint32_t EngineParts::context_bytes(ContextKind kind) const {
  switch (kind) {
    case ContextKind::kJetty:
      return config.full_jetty_records ? sizeof(JettyFullRecord) : sizeof(JettyRecord);
    case ContextKind::kTpChannel:
      return sizeof(TpChannelRecord);
    case ContextKind::kMr:
      return sizeof(MrRecord);
  }
  WHARF_UNREACHABLE();
}

void EngineParts::encode_context(ContextKey key, std::byte* out) {
  switch (key.kind) {
    case ContextKind::kJetty: {
      const JettyRecord& record = initiator.jetty(key.index + kFirstJettyId).record;
      if (!config.full_jetty_records) {
        std::memcpy(out, &record, sizeof record);
        return;
      }
      JettyFullRecord full;
      full.jetty_id = record.jetty_id;
      full.token = record.token;
      full.jfc_id = record.jfc_id;
      full.type = record.type;
      full.state = record.state;
      full.valid = record.valid;
      std::memcpy(out, &full, sizeof full);
      return;
    }
    case ContextKind::kTpChannel: {
      TpChannelRecord record;
      tp.encode(key.index, record);
      std::memcpy(out, &record, sizeof record);
      return;
    }
    case ContextKind::kMr:
      std::memcpy(out, &segments.record(key.index), sizeof(MrRecord));
      return;
  }
}

void EngineParts::decode_context(ContextKey key, const std::byte* bytes) {
  switch (key.kind) {
    case ContextKind::kJetty: {
      JettyRecord& record = initiator.jetty(key.index + kFirstJettyId).record;
      if (!config.full_jetty_records) {
        std::memcpy(&record, bytes, sizeof record);
        return;
      }
      JettyFullRecord full;
      std::memcpy(&full, bytes, sizeof full);
      record = JettyRecord{};
      record.jetty_id = full.jetty_id;
      record.token = full.token;
      record.jfc_id = full.jfc_id;
      record.type = full.type;
      record.state = full.state;
      record.valid = full.valid;
      return;
    }
    case ContextKind::kTpChannel: {
      TpChannelRecord record;
      std::memcpy(&record, bytes, sizeof record);
      tp.decode(key.index, record);
      return;
    }
    case ContextKind::kMr:
      std::memcpy(&segments.record(key.index), bytes, sizeof(MrRecord));
      return;
  }
}

void EngineParts::wipe_context(ContextKey key) {
  switch (key.kind) {
    case ContextKind::kJetty:
      initiator.jetty(key.index + kFirstJettyId).record = JettyRecord{};
      return;
    case ContextKind::kTpChannel:
      tp.wipe(key.index);
      return;
    case ContextKind::kMr:
      segments.record(key.index) = MrRecord{};
      return;
  }
}

void EngineParts::lose_context(TimePs now, ContextKey key) {
  ++counters.contexts_lost;
  switch (key.kind) {
    case ContextKind::kJetty:
      initiator.lose(key.index + kFirstJettyId);
      return;
    case ContextKind::kTpChannel:
      tp.lose(now, key.index);
      return;
    case ContextKind::kMr:
      return;  // A wiped record grants nothing.
  }
}

}  // namespace wharf::ub
