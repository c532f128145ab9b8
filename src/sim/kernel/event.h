// SPDX-License-Identifier: Apache-2.0
// The event record and the one rule that orders events at equal times.
//
// Events are executed by ascending (time, target, source, sequence): the earlier time first; at equal times
// the lower target component; for one target the lower source component; for one source in the order in which
// that source scheduled them. Components are numbered when the system is built, and every source counts its
// own events, so the key is a property of the model: it does not depend on insertion order across sources, on
// threads, or on how the components are divided into partitions.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/fingerprint.h"
#include "base/time.h"

namespace wharf::sim {

/// A component of one simulation, numbered from 0 in the order of Simulation::add().
struct ComponentId {
  std::uint32_t value = 0;

  constexpr auto operator<=>(const ComponentId&) const = default;
};

/// Component numbers have 20 bits in the order key.
inline constexpr std::uint32_t kComponentsLimit = 1U << 20U;

/// One thing that will happen to one component. Payload fields mean what the target says they mean.
struct Event {
  TimePs time;
  /// Target component (20 bits), source component (20 bits), the source's own sequence number (24 bits).
  std::uint64_t order = 0;
  std::uint32_t argument = 0;
  std::uint16_t kind = 0;
  std::uint16_t extra = 0;

  ComponentId target() const { return ComponentId{static_cast<std::uint32_t>(order >> 44U)}; }
  ComponentId source() const { return ComponentId{static_cast<std::uint32_t>(order >> 24U) & 0xFFFFFU}; }
  std::uint32_t sequence() const { return static_cast<std::uint32_t>(order) & 0xFFFFFFU; }
};

static_assert(sizeof(Event) == 24 && std::is_trivially_copyable_v<Event>);

/// The order key of an event; the sequence number is taken modulo 2^24.
constexpr std::uint64_t make_order(ComponentId target, ComponentId source, std::uint32_t sequence) {
  return std::uint64_t{target.value} << 44U | std::uint64_t{source.value} << 24U | (sequence & 0xFFFFFFU);
}

/// Whether `a` is executed before `b`: the strict total order described above. Sequence numbers compare with
/// wrap, which is exact while one source has fewer than 2^23 events pending for one target at one time.
inline bool before(const Event& a, const Event& b) {
  if (a.time != b.time) return a.time < b.time;
  if (((a.order ^ b.order) >> 24U) != 0) return a.order < b.order;
  // The shift leaves the sequence numbers alone at the top, where the sign of the difference is that of the
  // wrap.
  return static_cast<std::int64_t>((a.order << 40U) - (b.order << 40U)) < 0;
}

/// Adds everything that identifies an executed event to the history of its target.
inline void add_event(Fingerprint& history, const Event& event) {
  const std::uint64_t payload =
      event.argument | std::uint64_t{event.kind} << 32U | std::uint64_t{event.extra} << 48U;
  history.add((static_cast<std::uint64_t>(event.time.ps) ^ std::rotl(event.order, 32)) +
              payload * 0x9E3779B97F4A7C15ULL);
}

}  // namespace wharf::sim
