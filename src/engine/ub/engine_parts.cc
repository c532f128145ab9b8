// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/engine_parts.h"

#include <cstring>

namespace wharf::ub {

void EngineParts::settle_all(TimePs now) {
  unsettled = contexts.limited();
  initiator.settle(now);
  tp.settle(now);
  contexts.settle(now);
}

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
