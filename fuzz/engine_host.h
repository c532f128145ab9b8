// SPDX-License-Identifier: Apache-2.0
// What the fuzzers of engines share: a host that answers memory accesses when, and in the order that, its
// input says, and a list of what its programs still wait for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/check.h"
#include "engine/contract.h"
#include "trace/tracer.h"
#include "wire/payload_pool.h"

namespace wharf {

/// A trace that nobody reads: the engine must survive being watched.
struct Silence : trace::Sink {
  void record(const trace::TraceEvent&) override {}
};

/// Whether an access lies within the `bytes` bytes from `base` on.
inline bool inside(const engine::Access& access, std::uint64_t base, std::uint64_t bytes) {
  const std::uint32_t length = access.kind == engine::AccessKind::kAtomic ? access.width : access.length;
  return access.address >= base && length <= bytes && access.address - base <= bytes - length;
}
/// Whether it touches registered memory or local buffers, and not the interface's own records.
inline bool touches_data(const engine::Access& access) {
  return access.kind == engine::AccessKind::kRead || access.kind == engine::AccessKind::kWrite ||
         access.kind == engine::AccessKind::kAtomic;
}
inline bool touches_context(const engine::Access& access) {
  return access.kind == engine::AccessKind::kFetchContext || access.kind == engine::AccessKind::kWriteContext;
}

/// One engine and the accesses that its host has not answered.
template <engine::Engine E>
struct FuzzedHost {
  std::unique_ptr<E> engine;
  std::deque<engine::Access> accesses;
  wire::TrafficClassMask classes = wire::kAllTrafficClasses;  ///< That the wire takes.

  void keep(const engine::Access& access) {
    WHARF_CHECK(access.kind != engine::AccessKind::kWrite || access.data.length == access.length);
    WHARF_CHECK(accesses.size() < 100'000);  // It goes on asking for ever.
    accesses.push_back(access);
  }
  engine::Access take(std::size_t at) {
    const engine::Access access = accesses[at];
    accesses.erase(accesses.begin() + static_cast<std::ptrdiff_t>(at));
    return access;
  }
};

/// Data for a read that has succeeded: bytes of a buffer that the caller releases.
inline wire::Payload filled_payload(wire::PayloadPool& pool, std::uint32_t length, std::byte value) {
  const wire::BufferId buffer = pool.acquire(length);
  std::fill_n(pool.data(buffer), length, value);
  return wire::bytes_payload(pool.data(buffer), length, buffer);
}

}  // namespace wharf
