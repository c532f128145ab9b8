// SPDX-License-Identifier: Apache-2.0
#include "trace/event_text.h"

#include <fmt/format.h>

#include <iterator>

#include "trace/attribution.h"
#include "wire/protocol_traits.h"

namespace wharf::trace {
namespace {

/// "read" when `words` knows it, else "verb 2".
std::string word(std::string_view (*words)(std::uint64_t), std::string_view what, std::uint64_t value) {
  return words != nullptr ? std::string(words(value)) : fmt::format("{} {}", what, value);
}

}  // namespace

std::string_view name(EventKind kind) {
  switch (kind) {
    case EventKind::kOperationBegin:
      return "operation_begin";
    case EventKind::kOperationEnd:
      return "operation_end";
    case EventKind::kSpan:
      return "span";
    case EventKind::kPacketSent:
      return "packet_sent";
    case EventKind::kPacketReceived:
      return "packet_received";
    case EventKind::kPacketDropped:
      return "packet_dropped";
    case EventKind::kRetransmission:
      return "retransmission";
    case EventKind::kTimeout:
      return "timeout";
    case EventKind::kStateChange:
      return "state_change";
    case EventKind::kContextMiss:
      return "context_miss";
    case EventKind::kContextEviction:
      return "context_eviction";
    case EventKind::kLineLost:
      return "line_lost";
    case EventKind::kAsyncEvent:
      return "async_event";
  }
  return "unknown";
}

PacketSummary summarize(const wire::Packet& packet) {
  PacketSummary summary;
  summary.name = wire::packet_name(packet);
  summary.source = packet.source.number;
  summary.destination = packet.destination.number;
  summary.payload_bytes = packet.payload.length;
  summary.header_bytes = packet.header_bytes;
  if (const auto number = wire::sequence_number(packet)) {
    summary.psn = *number;
    summary.has_psn = true;
  }
  return summary;
}

std::string nanoseconds_text(TimePs time) {
  if (time == kNever) return "never";
  const std::uint64_t ps = static_cast<std::uint64_t>(time.ps < 0 ? -time.ps : time.ps);
  return fmt::format("{}{}.{:03}", time.ps < 0 ? "-" : "", ps / 1000, ps % 1000);
}

void append_event(std::string& line, const TraceEvent& event, const PacketSummary& packet,
                  const ValueNames& names) {
  const auto out = std::back_inserter(line);
  fmt::format_to(out, "{:>14} ns  host {}  component {}  ", nanoseconds_text(event.begin), event.host,
                 event.component);
  if (event.operation.value != 0) {
    fmt::format_to(out, "op {}:{}  ", Attribution::number_of(event.operation),
                   Attribution::generation_of(event.operation));
  }
  line += name(event.kind);
  switch (event.kind) {
    case EventKind::kOperationBegin:
      fmt::format_to(out, " {}, {} bytes", word(names.verb, "verb", event.a), event.b);
      break;
    case EventKind::kOperationEnd:
      fmt::format_to(out, " {}", word(names.status, "status", event.a));
      break;
    case EventKind::kSpan:
      fmt::format_to(out, " {} {} ns", name(event.stage), nanoseconds_text(event.end - event.begin));
      break;
    case EventKind::kPacketDropped:
      fmt::format_to(out, " {}", word(names.drop_reason, "reason", event.a));
      break;
    case EventKind::kPacketSent:
    case EventKind::kPacketReceived:
      break;
    case EventKind::kRetransmission:
      fmt::format_to(out, " from psn {}, {} packets", event.a, event.b);
      break;
    case EventKind::kTimeout:
      fmt::format_to(out, " attempt {}", event.a);
      break;
    case EventKind::kStateChange:
      fmt::format_to(out, " {} to {}", event.a, event.b);
      break;
    case EventKind::kContextMiss:
    case EventKind::kContextEviction:
      fmt::format_to(out, " record {:#x}", event.a);
      break;
    case EventKind::kLineLost:
      fmt::format_to(out, " address {:#x}, {}", event.a, word(names.status, "status", event.b));
      break;
    case EventKind::kAsyncEvent:
      fmt::format_to(out, " {} of queue {}", word(names.async_event, "kind", event.a), event.b);
      break;
  }
  if (packet.name.empty()) return;
  fmt::format_to(out, "  {} {}>{}", packet.name, packet.source, packet.destination);
  if (packet.has_psn) fmt::format_to(out, " psn {}", packet.psn);
  fmt::format_to(out, " {}+{} bytes", packet.header_bytes, packet.payload_bytes);
}

}  // namespace wharf::trace
