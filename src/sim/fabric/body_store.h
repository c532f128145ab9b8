// SPDX-License-Identifier: Apache-2.0
// Where the packets themselves lie while they travel: one store for all partitions, so that a packet that
// crosses from one partition to another passes its index on and is not copied.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "base/prefetch.h"
#include "sim/fabric/packet_head.h"

namespace wharf::sim {

/// Bodies in chunks that never move. Chunks are added under a lock; a body is used by the partition that
/// holds its index.
template <typename Body>
class BodyStore {
 public:
  static constexpr std::uint32_t kChunkShift = 10;
  static constexpr std::uint32_t kChunkBodies = 1U << kChunkShift;
  static constexpr std::uint32_t kChunksLimit = 1U << 14U;

  const Body* place(BodyId id) const { return &chunks_[id >> kChunkShift][id & (kChunkBodies - 1)]; }
  Body& operator[](BodyId id) { return chunks_[id >> kChunkShift][id & (kChunkBodies - 1)]; }

  /// Adds a chunk and appends its indices to `free`. Any thread.
  void grow(std::vector<BodyId>& free) {
    const std::lock_guard<std::mutex> lock(mutex_);
    WHARF_CHECK(chunk_count_ < kChunksLimit);
    chunks_[chunk_count_] = std::make_unique_for_overwrite<Body[]>(kChunkBodies);
    const BodyId first = chunk_count_ << kChunkShift;
    ++chunk_count_;
    free.reserve(static_cast<std::size_t>(chunk_count_) * kChunkBodies);
    for (std::uint32_t i = kChunkBodies; i > 0; --i) free.push_back(first + i - 1);
  }
  std::uint64_t capacity() const { return std::uint64_t{chunk_count_} * kChunkBodies; }

 private:
  std::array<std::unique_ptr<Body[]>, kChunksLimit> chunks_;
  std::mutex mutex_;
  std::uint32_t chunk_count_ = 0;
};

/// The free bodies of one partition, most recently used first.
template <typename Body>
class BodyPool {
 public:
  explicit BodyPool(BodyStore<Body>& store) : store_(&store) {}

  Body& operator[](BodyId id) { return (*store_)[id]; }
  BodyId acquire() {
    if (free_.empty()) [[unlikely]]
      store_->grow(free_);
    const BodyId id = free_.back();
    free_.pop_back();
    return id;
  }
  void release(BodyId id) { free_.push_back(id); }
  /// All lines of one.
  [[gnu::always_inline]] void prefetch(BodyId id) const { prefetch_object(store_->place(id)); }
  std::vector<BodyId>& free() { return free_; }

 private:
  BodyStore<Body>* store_;
  std::vector<BodyId> free_;
};

}  // namespace wharf::sim
