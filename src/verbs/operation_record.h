// SPDX-License-Identifier: Apache-2.0
// One operation of a program (a get, a lock acquired, a hop), as programs report it to the runtime that runs
// them. Apart from completions because an operation may take many work requests, or none that succeeds.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "verbs/completion.h"

namespace wharf::verbs {

/// Plain data. `ended - arrived` is the latency; in open loop it includes the time in the queue.
struct OperationRecord {
  std::string_view name;  ///< "get", "acquire", ...: text that lives for ever.
  TimePs arrived;         ///< When it should have started.
  TimePs started;         ///< When a worker took it up.
  TimePs ended;
  std::uint32_t bytes = 0;   ///< Payload bytes moved.
  std::uint32_t worker = 0;  ///< Which coroutine of the program.
  CompletionStatus status = CompletionStatus::kSuccess;
};

/// A core whose runtime logs the operations of programs.
template <typename C>
concept RecordsOperations = requires(C& core, const OperationRecord& record) {
  core.record(record);
};

/// Hands `record` to the runtime of `core` if it wants it.
template <typename C>
void record_operation(C& core, const OperationRecord& record) {
  if constexpr (RecordsOperations<C>) core.record(record);
}

}  // namespace wharf::verbs
