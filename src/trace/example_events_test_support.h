// SPDX-License-Identifier: Apache-2.0
// A short made-up run for tests of sinks: two operations between two hosts, one packet lost.
#pragma once

#include <functional>
#include <string_view>

#include "trace/tracer.h"
#include "wire/address_plan.h"
#include "wire/packet.h"

namespace wharf::trace {

inline wire::Packet example_roce_write(std::uint32_t psn) {
  wire::Packet packet = wire::roce_packet();
  packet.source = wire::HostAddress{0};
  packet.destination = wire::HostAddress{1};
  packet.roce.bth.opcode = wire::RoceOpcode::kRcWriteOnly;
  packet.roce.bth.psn = psn;
  packet.payload = wire::pattern_payload(1, 0, 64);
  packet.header_bytes = wire::wire_header_bytes(packet);
  return packet;
}

inline std::string_view example_verb(std::uint64_t verb) { return verb == 3 ? "write" : "read"; }
inline std::string_view example_status(std::uint64_t status) {
  return status == 0 ? "success" : "retry_exhausted";
}

/// Reports the events to `tracer` in the order in which a simulator would.
inline void run_example(Tracer& tracer) {
  const wire::OperationTag first{(std::uint64_t{1} << 36U) | 0U};
  const wire::OperationTag second{(std::uint64_t{1} << 36U) | 1U};
  const wire::Packet write = example_roce_write(7);
  const auto ns = [](std::int64_t n) { return nanoseconds(n); };
  tracer.emit({.kind = EventKind::kOperationBegin,
               .begin = ns(0),
               .end = ns(0),
               .operation = first,
               .a = 3,
               .b = 64});
  tracer.span(first, Stage::kLibraryPost, ns(0), ns(50), 0);
  tracer.span(first, Stage::kDoorbell, ns(50), ns(200), 0);
  tracer.emit({.kind = EventKind::kOperationBegin,
               .begin = ns(60),
               .end = ns(60),
               .operation = second,
               .a = 2,
               .b = 8});
  tracer.span(second, Stage::kLibraryPost, ns(60), ns(110), 0);
  tracer.span(first, Stage::kNicTransmit, ns(200), picoseconds(227'954), 0);
  tracer.emit({.kind = EventKind::kPacketSent,
               .component = 4,
               .begin = picoseconds(227'954),
               .end = picoseconds(227'954),
               .operation = first,
               .packet = &write});
  tracer.span(second, Stage::kDoorbell, ns(110), ns(260), 0);
  tracer.emit({.kind = EventKind::kPacketDropped,
               .component = 4,
               .begin = ns(300),
               .end = ns(300),
               .operation = first,
               .a = 1,
               .packet = &write});
  tracer.emit({.kind = EventKind::kTimeout,
               .component = 2,
               .begin = ns(900),
               .end = ns(900),
               .operation = first,
               .a = 1});
  tracer.emit({.kind = EventKind::kRetransmission,
               .component = 2,
               .begin = ns(900),
               .end = ns(900),
               .operation = first,
               .a = 7,
               .b = 1});
  tracer.span(first, Stage::kRetransmissionWait, picoseconds(227'954), ns(900), 0);
  tracer.span(first, Stage::kWireForward, ns(900), ns(1'002), 0);
  tracer.emit({.kind = EventKind::kPacketReceived,
               .host = 1,
               .component = 5,
               .begin = ns(1'002),
               .end = ns(1'002),
               .operation = first,
               .packet = &write});
  tracer.span(first, Stage::kTargetPcieWrite, ns(1'002), ns(1'252), 1);
  tracer.span(first, Stage::kWireBack, ns(1'030), ns(1'132), 1);
  tracer.span(first, Stage::kCompletionWrite, ns(1'132), ns(1'382), 0);
  tracer.emit({.kind = EventKind::kOperationEnd, .begin = ns(1'382), .end = ns(1'382), .operation = first});
  tracer.emit({.kind = EventKind::kContextMiss,
               .component = 2,
               .begin = ns(1'400),
               .end = ns(1'400),
               .operation = second,
               .a = 0x20});
  tracer.emit({.kind = EventKind::kContextEviction,
               .component = 1,
               .begin = ns(1'410),
               .end = ns(1'410),
               .a = 0x1000});
  tracer.emit({.kind = EventKind::kStateChange,
               .component = 2,
               .begin = ns(1'420),
               .end = ns(1'420),
               .a = 2,
               .b = 3});
  tracer.emit(
      {.kind = EventKind::kOperationEnd, .begin = ns(1'500), .end = ns(1'500), .operation = second, .a = 9});
}

}  // namespace wharf::trace
