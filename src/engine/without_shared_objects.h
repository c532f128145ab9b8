// SPDX-License-Identifier: Apache-2.0
// What an engine says that has queues of their own alone: a base class that refuses everything that queues
// could share, and what belongs to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "engine/contract.h"

namespace wharf::engine {

/// Refuses completion queues, shared receive queues, groups and rings of bytes. The capabilities of the
/// engine have no number of any of them.
class WithoutSharedObjects {
 public:
  static Result<QueueId> create_completion_queue(TimePs, const CompletionQueueConfig&) {
    return lacks("completion queues");
  }
  static Result<QueueId> create_receive_queue(TimePs, const ReceiveQueueConfig&) {
    return lacks("shared receive queues");
  }
  static Result<QueueId> create_group(TimePs, const GroupConfig&) { return lacks("groups"); }
  static Result<void> set_receive_limit(TimePs, QueueId, std::uint32_t) {
    return lacks("shared receive queues");
  }
  static Result<void> arm(TimePs, QueueId, const Arming&) { return lacks("completion queues"); }
  static PostStatus doorbell(TimePs, QueueId, RingSide, std::uint32_t) { return PostStatus::kUnsupported; }

 private:
  static Error lacks(std::string_view what) {
    return {ErrorKind::kInput, "the engine has no " + std::string(what)};
  }
};

}  // namespace wharf::engine
