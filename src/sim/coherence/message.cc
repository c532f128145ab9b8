// SPDX-License-Identifier: Apache-2.0
#include "sim/coherence/message.h"

#include <fmt/format.h>

#include "base/check.h"

namespace wharf::sim {

std::string_view name_of(MessageKind kind) {
  static constexpr std::array<std::string_view, kMessageKindCount> kNames = {
      "GetShared", "GetTracked",  "GetModified", "Upgrade",    "ReadOnce",    "WriteLine",   "PutShared",
      "PutClean",  "PutModified", "DropShared",  "Invalidate", "Supply",      "FetchShared", "FetchModified",
      "FetchOnce", "SnoopAck",    "SnoopData",   "Data",       "UpgradeDone", "PutDone"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Grant grant) {
  switch (grant) {
    case Grant::kOnce:
      return "once";
    case Grant::kShared:
      return "shared";
    case Grant::kExclusive:
      return "exclusive";
    case Grant::kModified:
      return "modified";
  }
  WHARF_UNREACHABLE();
}

std::string_view name_of(CopyState state) {
  switch (state) {
    case CopyState::kInvalid:
      return "I";
    case CopyState::kShared:
      return "S";
    case CopyState::kExclusive:
      return "E";
    case CopyState::kModified:
      return "M";
  }
  WHARF_UNREACHABLE();
}

std::string describe(const Message& message) {
  std::string text = fmt::format("{} agent {} line {}", name_of(message.kind), message.agent, message.line);
  if (message.kind == MessageKind::kData) text += fmt::format(" {}", name_of(message.grant));
  if (message.kind == MessageKind::kPutDone) text += fmt::format(" to {}", name_of(message.answers));
  if (message.is_dirty) text += " dirty";
  if (message.keeps_shared) text += " keeps-shared";
  if (message.wants_data) text += " wants-data";
  if (message.has_data) text += fmt::format(" [{:02x}...]", std::to_integer<unsigned>(message.data[0]));
  return text;
}

void append_state(std::vector<std::byte>& state, const Message& message) {
  append_bytes(state, message.line);
  append_bytes(state, message.kind);
  append_bytes(state, message.agent);
  append_bytes(state, message.grant);
  append_bytes(state, message.answers);
  const auto flags =
      static_cast<std::uint8_t>((message.has_data ? 1U : 0U) | (message.is_dirty ? 2U : 0U) |
                                (message.keeps_shared ? 4U : 0U) | (message.wants_data ? 8U : 0U));
  append_bytes(state, flags);
  if (message.has_data) append_bytes(state, message.data);
}

}  // namespace wharf::sim
