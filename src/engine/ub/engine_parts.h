// SPDX-License-Identifier: Apache-2.0
// The parts of one UB engine, which refer to one another through this struct, and the few steps that involve
// them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/arena.h"
#include "base/ring.h"
#include "engine/completion_queues.h"
#include "engine/contract.h"
#include "engine/receive_queues.h"
#include "engine/ub/access_port.h"
#include "engine/ub/config.h"
#include "engine/ub/context_store.h"
#include "engine/ub/counters.h"
#include "engine/ub/express.h"
#include "engine/ub/initiator.h"
#include "engine/ub/jetty_groups.h"
#include "engine/ub/load_store.h"
#include "engine/ub/responder.h"
#include "engine/ub/segment_table.h"
#include "engine/ub/tp_channel.h"
#include "wire/payload_pool.h"

namespace wharf::ub {

/// EngineParts::attention: why the short ways of express.cc have to look closer, or cannot be taken.
inline constexpr std::uint8_t kUnsettled =
    1;  ///< Something has to be done when this input ends. Always, where a context cache is.
inline constexpr std::uint8_t kUrgent = 2;     ///< Something may have to leave before new packets.
inline constexpr std::uint8_t kEveryStep = 4;  ///< Somebody wants to know of every step, or decides on each.

/// Encapsulation and transport of a packet as one number.
inline std::uint16_t form_of(const wire::UbPacket& packet) {
  static_assert(offsetof(wire::UbPacket, transport) == offsetof(wire::UbPacket, encapsulation) + 1 &&
                sizeof packet.encapsulation == 1 && sizeof packet.transport == 1);
  std::uint16_t form;
  std::memcpy(&form, &packet.encapsulation, sizeof form);
  return form;
}

struct EngineParts : Express {
  EngineParts(const UbConfig& engine_config, wire::PayloadPool& pool, Arena& memory)
      : config(engine_config),
        payloads(pool),
        arena(memory),
        contexts(*this),
        tp(*this),
        initiator(*this),
        responder(*this),
        load_store(*this) {
    if (config.tracer != nullptr || config.context_cache_entries != 0 || config.congestion ||
        config.min_time_between_cnps != kTimeZero || config.spread == ChannelSpread::kPacket ||
        (config.spread == ChannelSpread::kRequest && config.channels > 1)) {
      attention |= kEveryStep;
    }
    wire::UbPacket usual;
    usual.encapsulation = config.encapsulation;
    usual_form = form_of(usual);
    make_event_room();
  }
  /// Gives back every payload buffer that is still held.
  ~EngineParts() {
    accesses.release_buffers(payloads);
    tp.release_buffers();
    initiator.release_buffers();
    responder.release_buffers();
    load_store.release_buffers();
  }
  EngineParts(const EngineParts&) = delete;
  EngineParts& operator=(const EngineParts&) = delete;

  /// Ends every input: number what can be numbered, fetch what context records are missing.
  void settle(TimePs now) {
    if ((attention & kUnsettled) != 0) settle_all(now);
  }
  [[gnu::noinline]] void settle_all(TimePs now);
  // The inputs and outputs of the engine for whatever the short ways do not take.
  [[gnu::noinline]] void receive(TimePs now, const wire::Packet& packet);
  [[gnu::noinline]] bool transmit(TimePs now, wire::TrafficClassMask allowed, wire::Packet& out);
  [[gnu::noinline]] void access_done(TimePs now, engine::AccessId access, const engine::AccessResult& answer);
  Express& express() { return *this; }
  bool takes_short_ways() const { return (attention & ~kUrgent) == 0; }
  /// Runs a step that waited for a context record.
  void resume(TimePs now, const DeferredWork& work);
  /// Reports what nobody asked for. Nobody may ever poll it, so the oldest gives way when there is no room.
  void raise(const engine::AsyncEvent& event) {
    if (events.full()) {
      events.pop_front();
      ++counters.events_dropped;
    }
    events.push_back(event);
  }
  /// Room for the events of all jetties and peers failing at once, and as many completion errors again.
  /// Control path.
  /// Room for what can happen to all objects that there are, and one more.
  void make_event_room() {
    events.reserve(std::max<std::size_t>(16, 2 * (initiator.jetty_count() + initiator.peer_count() + 1)));
  }

  bool traces() const { return config.tracer != nullptr; }
  /// Time of an operation in a stage, when somebody listens.
  void span(wire::OperationTag operation, trace::Stage stage, TimePs begin, TimePs end) const {
    if (config.tracer != nullptr && begin != kNever) {
      config.tracer->span(operation, stage, begin, end, config.host.number);
    }
  }

  /// Something that happened to `component`, when somebody listens.
  void trace(TimePs now, trace::EventKind kind, std::uint32_t component, std::uint64_t a,
             std::uint64_t b) const {
    if (config.tracer == nullptr || !config.tracer->wants(kind)) return;
    config.tracer->emit({.kind = kind,
                         .host = config.host.number,
                         .component = component,
                         .begin = now,
                         .end = now,
                         .a = a,
                         .b = b});
  }

  // Records, for the context cache.
  std::uint32_t context_bytes(ContextKind kind) const;
  void encode_context(ContextKey key, std::byte* out);
  void decode_context(ContextKey key, const std::byte* bytes);
  void wipe_context(ContextKey key);
  /// Memory failed to keep the record, which is wiped.
  void lose_context(TimePs now, ContextKey key);

  std::uint8_t attention = kUnsettled;
  std::uint16_t usual_form = 0;  ///< form_of() packets of a channel.
  UbConfig config;
  wire::PayloadPool& payloads;
  Arena& arena;
  UbCounters counters;
  AccessPort accesses;
  SegmentTable segments;
  engine::CompletionQueues completion_queues;
  engine::ReceiveQueues receive_queues;
  JettyGroups groups;
  ContextStore contexts;
  TpLayer tp;
  Initiator initiator;
  Responder responder;
  LoadStorePath load_store;
  Ring<engine::AsyncEvent> events;
};

inline EngineParts& Express::parts() { return static_cast<EngineParts&>(*this); }

inline bool Initiator::may_advance(const Jetty& owner) const {
  // Touching the context cache has an effect of its own.
  return owner.cursor < owner.posted() || owner.ordered_head != kNoRequest || parts_.contexts.limited();
}

inline void Initiator::want_advance(Jetty& owner, std::uint32_t jetty_id) {
  if (owner.advance_listed || !may_advance(owner)) return;
  owner.advance_listed = true;
  owner.hold_up();
  advance_.push_back(jetty_id);
  parts_.attention |= kUnsettled;
}

inline void TpLayer::list_acknowledgement(std::uint32_t index) {
  TpChannel& listed = *channels_[index];
  if (listed.ack_listed) return;
  listed.ack_listed = true;
  ack_list_.push_back(index);
  parts_.attention |= kUrgent;
}

inline void Responder::confirmed(std::uint32_t index, TpChannel& channel) {
  InboundMessage& message = messages_[index];
  if (--message.packets_unconfirmed > 0) return;
  if (!message.is_plain() || channel.general) {
    if (message.response_numbered) release_confirmed(index);
    return;
  }
  // The usual case of release().
  message_room_.give(channel.messages_held);
  ++message.generation;
  message.clear_plain();
  messages_.release(index);
}

}  // namespace wharf::ub
