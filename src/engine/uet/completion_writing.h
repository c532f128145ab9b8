// SPDX-License-Identifier: Apache-2.0
// Reporting the end of a request or receive: inlined where work ends, as most packets end some.
#pragma once

#include "engine/uet/engine_parts.h"
#include "engine/uet/renew.h"

namespace wharf::uet {

[[gnu::always_inline]] inline PendingCompletion& EndpointTable::begin_completion(EngineParts& parts,
                                                                                 Endpoint& endpoint) {
  ++parts.counters.completions;
  if (endpoint.completions.full()) [[unlikely]]
    endpoint.completions.reserve(endpoint.completions.capacity() * 2);
  return endpoint.completions.push_stale();
}

[[gnu::always_inline]] inline void EndpointTable::write_completion(EngineParts& parts, engine::QueueId queue,
                                                                   Endpoint& endpoint, std::uint64_t stream,
                                                                   wire::OperationTag operation) {
  const std::uint64_t number = endpoint.completion_next++;
  engine::Access& access = parts.accesses.request(engine::AccessKind::kWriteCompletion, kCompletionBytes,
                                                  AccessOwner::kCompletion, queue, number);
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
  if (endpoint == nullptr) return;
  // A number that was read already, or is none of this queue's, lies outside.
  const std::uint64_t at = endpoint->completions.size() - (endpoint->completion_next - number);
  if (at >= endpoint->completions.size()) return;
  PendingCompletion& record = endpoint->completions[static_cast<std::size_t>(at)];
  record.visible = true;
  if (status != engine::AccessStatus::kDone) [[unlikely]]
    return completion_error(queue, *endpoint, record);
  if (!endpoint->listed && endpoint->completions.front().visible) return list_completed(queue, *endpoint);
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
  PendingCompletion& pending = begin_completion(parts_, endpoint);
  renew(pending);
  pending.completion.queue = queue;
  fill(pending.completion);
  write_completion(parts_, queue, endpoint, stream, pending.completion.operation);
}

[[gnu::always_inline]] inline void EndpointTable::complete_plain(EngineParts& parts, engine::QueueId queue,
                                                                 Endpoint& endpoint,
                                                                 const OutboundMessage& message) {
  PendingCompletion& pending = begin_completion(parts, endpoint);
  if (!pending.made_plain) [[unlikely]] {
    renew(pending);
    pending.made_plain = true;
    pending.completion.queue = queue;
  }
  pending.visible = false;
  pending.completion.id = message.id;
  pending.completion.verb = message.verb;
  pending.completion.length = message.ses.request_length;
  pending.completion.operation = message.operation;
  write_completion(parts, queue, endpoint, local_stream(queue), message.operation);
}

}  // namespace wharf::uet
