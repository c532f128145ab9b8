// SPDX-License-Identifier: Apache-2.0
// Host memory that holds descriptions of bytes: for runs that need no data. It answers at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "base/check.h"
#include "engine/contract.h"
#include "wire/payload.h"
#include "wire/payload_pool.h"

namespace wharf::engine {

/// Reads give the bytes of one pattern, each address its own; writes and atomics leave no trace. Context
/// records, which the engine reads back, are kept as they are.
class DescribedMemory {
 public:
  /// `pattern` is the memory's content; `payloads` is the engine's pool.
  DescribedMemory(std::uint32_t pattern, wire::PayloadPool& payloads)
      : payloads_(&payloads), pattern_(pattern) {}

  bool begin(TimePs, const Access& access, AccessResult& result) {
    switch (access.kind) {
      case AccessKind::kRead:
        result.data = wire::pattern_payload(pattern_, access.address, access.length);
        break;
      case AccessKind::kFetchContext:
        fetch_context(access, result);
        break;
      case AccessKind::kWriteContext: {
        std::vector<std::byte>& record = contexts_[access.address];
        record.resize(access.length);
        wire::fill(access.data, record);
        break;
      }
      case AccessKind::kWrite:
      case AccessKind::kAtomic:
      case AccessKind::kFetchWorkRequest:
      case AccessKind::kFetchReceiveEntry:
      case AccessKind::kWriteCompletion:
        break;
    }
    return true;
  }
  void reclaim(const AccessResult& result) { payloads_->release(result.data.buffer); }

 private:
  void fetch_context(const Access& access, AccessResult& result) {
    const auto found = contexts_.find(access.address);
    WHARF_CHECK(found != contexts_.end() && found->second.size() == access.length);
    const wire::BufferId buffer = payloads_->acquire(access.length);
    std::memcpy(payloads_->data(buffer), found->second.data(), access.length);
    result.data = wire::bytes_payload(payloads_->data(buffer), access.length, buffer);
  }

  wire::PayloadPool* payloads_;
  std::uint32_t pattern_;
  std::map<std::uint64_t, std::vector<std::byte>> contexts_;  ///< By address.
};

}  // namespace wharf::engine
