// SPDX-License-Identifier: Apache-2.0
#include "verbs/completion.h"

#include <array>
#include <cstddef>

namespace wharf::verbs {

std::string_view name(CompletionStatus status) {
  static constexpr std::array<std::string_view, 18> kNames{
      "success",       "unsupported_opcode", "local_length",       "local_operation",
      "local_access",  "response_length",    "remote_unsupported", "remote_operation",
      "remote_access", "retry_exhausted",    "receiver_not_ready", "flushed",
      "local_poison",  "remote_poison",      "cancelled",          "unhandled",
      "suspend_done",  "flush_done"};
  return kNames[static_cast<std::size_t>(status)];
}

}  // namespace wharf::verbs
