// SPDX-License-Identifier: Apache-2.0
// Events as text for people and for golden logs: one line per event. Verbs and statuses are numbers to this
// layer, so their words are handed in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/event.h"

namespace wharf::trace {

/// "operation_begin", "span", "packet_sent", ...
std::string_view name(EventKind kind);

/// Words for the numbers that events carry; a number without a function is printed as a number.
struct ValueNames {
  std::string_view (*verb)(std::uint64_t) = nullptr;
  std::string_view (*status)(std::uint64_t) = nullptr;
  std::string_view (*drop_reason)(std::uint64_t) = nullptr;
  std::string_view (*async_event)(std::uint64_t) = nullptr;
};

/// What remains of a packet once the event that showed it is over.
struct PacketSummary {
  std::string_view name;  ///< Empty: the event had no packet.
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t header_bytes = 0;
  std::uint32_t psn = 0;
  bool has_psn = false;
};
PacketSummary summarize(const wire::Packet& packet);

/// Appends `event` as one line, without a line feed:
/// "      75.000 ns  host 0  component 4  op 2:1  span nic_transmit 27.954 ns". An operation is printed as
/// slot:generation. `packet` stands in for event.packet, which is not looked at.
void append_event(std::string& line, const TraceEvent& event, const PacketSummary& packet,
                  const ValueNames& names);

/// A time in nanoseconds with three decimals, exactly: "27.954".
std::string nanoseconds_text(TimePs time);

}  // namespace wharf::trace
