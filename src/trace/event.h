// SPDX-License-Identifier: Apache-2.0
// The event schema: everything that a run can tell about itself, declared once. Sinks (ring, capture,
// timeline, text, attribution) are fed from this list.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "trace/stage.h"
#include "wire/packet.h"

namespace wharf::trace {

enum class EventKind : std::uint8_t {
  kOperationBegin,  ///< a: verb, b: bytes.
  kOperationEnd,    ///< a: completion status.
  kSpan,            ///< `stage` from `begin` to `end`.
  kPacketSent,      ///< On a link: `packet` is set.
  kPacketReceived,
  kPacketDropped,    ///< a: reason.
  kRetransmission,   ///< a: first PSN, b: packets queued again.
  kTimeout,          ///< a: attempt.
  kStateChange,      ///< Of a queue or channel, as its engine numbers states. a: from, b: to.
  kContextMiss,      ///< a: context record, as its engine numbers records.
  kContextEviction,  ///< a: context record.
  kLineLost,    ///< A dirty line's write-back ended in an error. a: remote address, b: completion status.
  kAsyncEvent,  ///< An engine reports what nobody asked for. a: engine::AsyncEventKind, b: queue.
};

inline constexpr int kEventKindCount = static_cast<int>(EventKind::kAsyncEvent) + 1;

/// One event. Plain data; `packet` is only valid during the call that hands the event to a sink.
struct TraceEvent {
  EventKind kind = EventKind::kSpan;
  Stage stage = Stage::kLibraryPost;
  std::uint32_t host = 0;
  std::uint32_t component = 0;  ///< Simulation component, queue or channel.
  TimePs begin{};
  TimePs end{};  ///< Spans; otherwise equal to `begin`.
  wire::OperationTag operation{};
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  const wire::Packet* packet = nullptr;
};
static_assert(sizeof(TraceEvent) == 64, "one cache line");

/// Bit of an event kind in a Tracer's mask.
constexpr std::uint32_t bit(EventKind kind) { return 1U << static_cast<unsigned>(kind); }
/// The mask of every kind.
inline constexpr std::uint32_t kAllEvents = (1U << kEventKindCount) - 1;

}  // namespace wharf::trace
