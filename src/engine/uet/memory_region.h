// SPDX-License-Identifier: Apache-2.0
// Registered memory and the 64-bit keys that name it. [UE 1.0 3.4, table 2-13]
#pragma once

#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "base/result.h"
#include "base/slot_pool.h"
#include "verbs/segment.h"
#include "verbs/work_request.h"

namespace wharf::uet {

/// The region may be the target of RUDI.
inline constexpr std::uint64_t kKeyIdempotentSafe = std::uint64_t{1} << 63U;
/// The key fits the 20-byte request header: bits 11:0 are all of it.
inline constexpr std::uint64_t kKeyOptimized = std::uint64_t{1} << 62U;
/// The engine has chosen the key. (Reference provider: vendor bit 48.)
inline constexpr std::uint64_t kKeyAssigned = std::uint64_t{1} << 48U;
/// Keys that users may choose.
inline constexpr std::uint64_t kKeyUserMask = kKeyAssigned - 1;

struct MemoryRegion {
  verbs::SegmentConfig config;
  std::uint64_t key = 0;
  std::uint32_t job_id = 0;
  std::uint32_t message = kNoSlot;  ///< Rendezvous: the send whose remainder it is.
  std::uint32_t served = 0;         ///< Rendezvous: bytes read and acknowledged.
  std::uint16_t generation = 0;
  bool used = false;
};

/// The 64-bit key that a token stands for, and back.
constexpr std::uint64_t key_of(verbs::SegmentToken token) {
  return (std::uint64_t{token.value} << 32U) | token.id;
}
constexpr verbs::SegmentToken token_of(std::uint64_t key) {
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)};
}

class MemoryRegionTable {
 public:
  /// Registers with a key of the engine's choice. `optimized`: it fits 12 bits, while fewer than 4096 regions
  /// exist. Returns the slot.
  Result<std::uint32_t> add(const verbs::SegmentConfig& config, std::uint32_t job_id, bool optimized,
                            bool idempotent);
  /// Registers with a key of the user's choice, at most 48 bits; refused when it is taken.
  Result<std::uint32_t> add_keyed(const verbs::SegmentConfig& config, std::uint32_t job_id, std::uint64_t key,
                                  bool idempotent);
  void remove(std::uint32_t slot);

  /// The region of `key` in `job_id`, or kNoSlot. The flag bits of a key must agree too.
  [[gnu::always_inline]] std::uint32_t find(std::uint64_t key, std::uint32_t job_id) {
    return key == last_key_ && job_id == last_job_ ? last_ : find_other(key, job_id);
  }
  /// The region of the 12 bits that the small header carries, or kNoSlot.
  std::uint32_t find_optimized(std::uint32_t bits, std::uint32_t job_id) const {
    if (bits >= regions_.size()) return kNoSlot;
    const MemoryRegion& region = regions_[bits];
    const bool fits = region.used && (region.key & kKeyOptimized) != 0 && region.job_id == job_id;
    return fits ? bits : kNoSlot;
  }

  /// What the key of a scatter entry says: true, and the key is replaced by the address space of the entry,
  /// unless it names nothing, or another range. Without a key that is `space`.
  bool resolve(verbs::ScatterEntry& entry, verbs::AddressSpaceId space) const {
    if (entry.key == 0) [[likely]] {
      entry.key = space;
      return true;
    }
    return resolve_key(entry);
  }
  /// Fetches ahead the first region, for hosts that have few.
  [[gnu::always_inline]] void prefetch() const { prefetch_object(regions_.data()); }

  MemoryRegion& operator[](std::uint32_t slot) { return regions_[slot]; }
  const MemoryRegion& operator[](std::uint32_t slot) const { return regions_[slot]; }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(regions_.size()); }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const {
    return regions_.capacity() * sizeof(MemoryRegion) + free_.capacity() * sizeof(std::uint32_t) +
           chosen_.bytes_held();
  }

 private:
  /// find() of another region than last time.
  std::uint32_t find_other(std::uint64_t key, std::uint32_t job_id);
  bool resolve_key(verbs::ScatterEntry& entry) const;
  /// A slot for a new region, all but its key set, or kNoSlot when none is left.
  std::uint32_t begin(const verbs::SegmentConfig& config, std::uint32_t job_id);

  std::vector<MemoryRegion> regions_;
  std::vector<std::uint32_t> free_;
  FlatMap chosen_;
  std::uint64_t last_key_ = 0;                  ///< What find() found last,
  std::uint64_t last_job_ = ~std::uint64_t{0};  ///< no request's: nothing,
  std::uint32_t last_ = kNoSlot;                ///< and its slot.
};

}  // namespace wharf::uet
