// SPDX-License-Identifier: Apache-2.0
// Reporting the end of a request or receive: inlined where work ends, as most packets end some.
#pragma once

#include "engine/uet/engine_parts.h"
#include "engine/uet/renew.h"

namespace wharf::uet {

[[gnu::always_inline]] inline PendingCompletion& EndpointTable::begin_completion(Endpoint& endpoint) {
  ++parts_.counters.completions;
  if (endpoint.completions.full()) [[unlikely]]
    endpoint.completions.reserve(endpoint.completions.capacity() * 2);
  PendingCompletion& made = endpoint.completions.push_stale();
  renew(made);
  return made;
}

[[gnu::always_inline]] inline void EndpointTable::write_completion(engine::QueueId queue,
                                                                   const Endpoint& endpoint,
                                                                   std::uint64_t stream,
                                                                   wire::OperationTag operation) {
  const std::uint64_t number = endpoint.completion_head + endpoint.completions.size() - 1;
  PendingAccess owner;
  owner.owner = AccessOwner::kCompletion;
  owner.object = queue;
  owner.detail = number;
  engine::Access& access =
      parts_.accesses.request(engine::AccessKind::kWriteCompletion, kCompletionBytes, owner);
  access.queue = queue;
  access.stream = stream;
  access.order = verbs::AccessOrder::kRelease;  // After the data that it announces.
  access.space = endpoint.config.space;
  access.address =
      endpoint.config.completion_ring + (number & (endpoint.record_places - 1)) * kCompletionBytes;
  access.operation = operation;
}

/// The record of a completion is in memory.
[[gnu::always_inline]] inline void EndpointTable::completion_done(std::uint32_t queue, std::uint64_t number,
                                                                  engine::AccessStatus status) {
  Endpoint* endpoint = find(queue);
  if (endpoint == nullptr || number < endpoint->completion_head) return;
  const std::uint64_t at = number - endpoint->completion_head;
  if (at >= endpoint->completions.size()) return;
  PendingCompletion& record = endpoint->completions[static_cast<std::size_t>(at)];
  record.visible = true;
  if (status != engine::AccessStatus::kDone) [[unlikely]]
    completion_error(queue, record);
  if (!endpoint->listed && endpoint->completions.front().visible) {
    endpoint->listed = true;
    completed_.push_back(queue);
  }
}

template <typename Fill>
[[gnu::always_inline]] inline void EndpointTable::complete(engine::QueueId queue, std::uint64_t stream,
                                                           Fill&& fill) {
  Endpoint& endpoint = *endpoints_[queue];
  if (!endpoint.used) return;
  if (endpoint.shares) [[unlikely]] {
    verbs::Completion completion;
    completion.queue = queue;
    fill(completion);
    complete_shared(endpoint, stream, completion);
    return;
  }
  PendingCompletion& pending = begin_completion(endpoint);
  pending.completion.queue = queue;
  fill(pending.completion);
  write_completion(queue, endpoint, stream, pending.completion.operation);
}

}  // namespace wharf::uet
