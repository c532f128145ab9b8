// SPDX-License-Identifier: Apache-2.0
// Messages by hand, for tests that put one machine into a state and look at what it does.
#pragma once

#include <fmt/format.h>

#include <string>

#include "sim/coherence/message.h"

namespace wharf::sim {

using enum MessageKind;

inline constexpr LineNumber kLine = 5;
inline constexpr std::uint64_t kAddress = kLine * kLineBytes;

inline Message message(MessageKind kind, bool wants_data = false) {
  Message out;
  out.line = kLine;
  out.kind = kind;
  out.wants_data = wants_data;
  return out;
}

inline Message data(Grant grant) {
  Message out = message(kData);
  out.grant = grant;
  out.has_data = true;
  return out;
}

/// "SnoopData dirty": a message without its ends.
inline std::string brief(const Message& message) {
  std::string text(name_of(message.kind));
  if (message.kind == kData) text += fmt::format(" {}", name_of(message.grant));
  if (message.kind == kData && !message.has_data) text += " without bytes";
  if (message.has_data && message.is_dirty) text += " dirty";
  if (message.keeps_shared) text += " keeps";
  if (message.wants_data) text += " wants";
  return text;
}

}  // namespace wharf::sim
