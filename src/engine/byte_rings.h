// SPDX-License-Identifier: Apache-2.0
// Queues whose rings are bytes in host memory (EntryFormat::kBytes): what such a queue must name, and how the
// bytes of a work entry become a request. docs/engine-contract.md draws the layout.
#pragma once

#include "base/result.h"
#include "engine/queues.h"
#include "verbs/work_request.h"
#include "wire/payload.h"
#include "wire/payload_pool.h"
#include "wire/ring_entry.h"

namespace wharf::engine {

/// Work entries that one access fetches at most, where a protocol does not say.
inline constexpr std::uint32_t kWorkFetchMost = 8;

/// Whether a queue with rings of bytes can be: completions have no place but a completion queue, and entries
/// have one of two sizes. Nothing is asked of other queues.
Result<void> check_byte_rings(const QueueConfig& config);

/// A work entry that has come, and the request that it is.
class WorkBytes {
 public:
  /// Reads `bytes`; false when they are no entry. What request() says then means nothing.
  bool read(const wire::Payload& bytes);
  const verbs::WorkRequest& request() const { return request_; }
  /// Moves inline data out of the entry into a buffer of `pool`. The caller releases it.
  wire::BufferId keep_inline(wire::PayloadPool& pool);

 private:
  wire::WorkEntry entry_;
  verbs::WorkRequest request_;
};

}  // namespace wharf::engine
