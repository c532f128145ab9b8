// SPDX-License-Identifier: Apache-2.0
// The contents of a host's memory: sparse regions of real bytes, or of a pattern for runs that need no data.
// Knows no time; what an access costs is decided by bus, PCIe and DRAM.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "base/zeroed_pages.h"
#include "verbs/verb.h"
#include "wire/payload.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// Memory of one host. Regions are made in control paths and live as long as the object. An access must lie
/// inside one region; what does not is not mapped.
class HostMemory {
 public:
  /// Zeroed bytes at a multiple of 4096. The machine that simulates backs only what is touched; where it
  /// gives no more addresses, this throws std::bad_alloc.
  std::uint64_t allocate(Bytes length);
  /// A region that always reads as pattern number `pattern`, counted from its first byte, and keeps nothing.
  std::uint64_t allocate_pattern(Bytes length, std::uint32_t pattern);

  /// Whether all of [address, address + length) is mapped; an empty range is if its address lies in a region.
  bool is_mapped(std::uint64_t address, std::uint64_t length) const {
    return find(address, length) != nullptr;
  }

  /// Fetches what an access to `address` will find toward the processor, for one that comes soon. Always
  /// inlined: a call of something that only prefetches is taken for one without effect, and left out.
  [[gnu::always_inline]] void prefetch(std::uint64_t address) const {
    const Region* region = find(address, 1);
    if (region != nullptr && !region->bytes.empty())
      __builtin_prefetch(region->bytes.data() + (address - region->base));
  }

  /// The 64 bytes of the line at `address`, a multiple of 64, whose first one is mapped: a region ends with a
  /// whole line, of which programs see what belongs to it. Null where there are no real bytes.
  std::byte* line(std::uint64_t address) {
    const Region* region = find(address, 1);
    WHARF_CHECK(region != nullptr);
    return region->bytes.empty() ? nullptr : region->bytes.data() + (address - region->base);
  }
  /// Whether the mapped range that begins at `address` has real bytes.
  bool has_bytes(std::uint64_t address) const {
    const Region* region = find(address, 1);
    return region != nullptr && !region->bytes.empty();
  }

  /// The bytes themselves; the range is mapped and has real bytes.
  std::span<std::byte> bytes(std::uint64_t address, Bytes length);

  /// What a reader gets: for real bytes a snapshot of at most PayloadPool::kLargestBytes in a buffer of
  /// `pool` that the caller releases, for a pattern its description. Nothing when the range is not mapped.
  std::optional<wire::Payload> read(std::uint64_t address, std::uint32_t length,
                                    wire::PayloadPool& pool) const;

  /// Stores `data`. A pattern region keeps nothing, but counts as written. False when the range is not
  /// mapped.
  bool write(std::uint64_t address, const wire::Payload& data);

  /// Performs an atomic of `width` bytes (4, 8 or 16, address a multiple of it) and returns the old value,
  /// low word first. Nothing when the range is not mapped, is misaligned or has no real bytes.
  std::optional<std::array<std::uint64_t, 2>> atomic(verbs::Verb verb, std::uint64_t address,
                                                     std::uint8_t width,
                                                     const std::array<std::uint64_t, 2>& operand,
                                                     const std::array<std::uint64_t, 2>& compare);

 private:
  struct Region {
    std::uint64_t base = 0;
    std::uint64_t length = 0;
    ZeroedPages bytes;  ///< Empty: a pattern.
    std::uint32_t pattern = 0;
  };
  const Region* find(std::uint64_t address, std::uint64_t length) const;
  std::uint64_t reserve_addresses(std::uint64_t length);

  /// Address 0 is never mapped, so that it can mean "none".
  static constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 32U;
  static constexpr std::uint64_t kPage = 4096;

  std::vector<Region> regions_;  ///< Ascending.
  std::uint64_t next_address_ = kFirstAddress;
  mutable std::size_t last_found_ = 0;  ///< Accesses cluster: the region found last is tried first.
};

}  // namespace wharf::sim
