// SPDX-License-Identifier: Apache-2.0
// The sublayers of one engine and what they share.
#pragma once

#include <cstdint>
#include <memory>

#include "base/arena.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "engine/contract.h"
#include "engine/uet/access_port.h"
#include "engine/uet/atomic_unit.h"
#include "engine/uet/cms.h"
#include "engine/uet/config.h"
#include "engine/uet/counters.h"
#include "engine/uet/endpoint.h"
#include "engine/uet/initiator.h"
#include "engine/uet/memory_region.h"
#include "engine/uet/message.h"
#include "engine/uet/pds.h"
#include "engine/uet/plain_ways.h"
#include "engine/uet/rudi.h"
#include "engine/uet/target.h"
#include "wire/payload_pool.h"

namespace wharf::uet {

struct alignas(64) EngineParts {
  static constexpr std::size_t kEventsMax = 1024;

  EngineParts(std::shared_ptr<const UetConfig> its_config, wire::HostAddress its_host, std::uint64_t seed,
              wire::PayloadPool& its_payloads, Arena& its_arena);
  /// Gives back every payload buffer that it holds.
  ~EngineParts();
  EngineParts(const EngineParts&) = delete;
  EngineParts& operator=(const EngineParts&) = delete;

  /// Reports what nobody asked for. Nobody may ever poll it, so beyond kEventsMax the oldest gives way.
  void raise(const engine::AsyncEvent& event) {
    if (events.full() && events.capacity() < kEventsMax) events.reserve(events.capacity() * 2);
    if (events.full()) {
      events.pop_front();
      ++counters.events_dropped;
    }
    events.push_back(event);
  }
  void trace(TimePs now, trace::EventKind kind, std::uint32_t component, std::uint64_t a,
             std::uint64_t b) const {
    if (config.tracer == nullptr || !config.tracer->wants(kind)) return;
    trace::TraceEvent event;
    event.kind = kind;
    event.host = host.number;
    event.component = component;
    event.begin = now;
    event.end = now;
    event.a = a;
    event.b = b;
    config.tracer->emit(event);
  }
  /// A slot of `pool`, which grows up to `limit`; kNoSlot beyond.
  template <typename Pool>
  static std::uint32_t acquire(Pool& pool, std::uint32_t limit) {
    if (pool.in_use() >= limit) return kNoSlot;
    const std::uint32_t slot = pool.acquire();
    if (slot != kNoSlot) return slot;
    return acquire_more(pool);
  }
  template <typename Pool>
  [[gnu::noinline]] static std::uint32_t acquire_more(Pool& pool) {
    pool.reserve(pool.capacity() == 0 ? 8 : pool.capacity() * 2);
    return pool.acquire();
  }
  /// Hands on the answer to an access that is neither payload of a packet nor a completion.
  void access_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result);
  /// A payload that the engine may keep: a reference of its buffer, or a copy of bytes that nobody counts.
  wire::Payload keep(const wire::Payload& payload);

  const std::shared_ptr<const UetConfig> shared_config;
  const UetConfig& config;
  const wire::HostAddress host;  ///< Not the configuration's, which many engines may share.
  wire::PayloadPool& payloads;
  Arena& arena;
  PlainWays plain;
  // What packets look at lies together (prefetch.h).
  AccessPort accesses;
  SlotPool<OutboundMessage> outbound;
  SlotPool<InboundPacket> inbound;
  MemoryRegionTable regions;
  EndpointTable endpoints;
  Initiator initiator;
  Rudi rudi;
  Ring<engine::AsyncEvent> events;
  Cms cms;
  Pds pds;
  UetCounters counters;
  SlotPool<InboundMessage> inbound_messages;
  SlotPool<HeldPacket> held;
  Target target;
  AtomicUnit atomics;
};

}  // namespace wharf::uet
