// SPDX-License-Identifier: Apache-2.0
#include "sim/host/memory/host_memory.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/bytes.h"
#include "base/check.h"
#include "base/line.h"
#include "sim/host/memory/cache.h"
#include "verbs/atomic_value.h"

namespace wharf::sim {
namespace {

std::uint64_t low_mask(std::uint8_t width) { return width == 4 ? 0xffff'ffffU : ~std::uint64_t{0}; }

}  // namespace

std::uint64_t HostMemory::reserve_addresses(std::uint64_t length) {
  const std::uint64_t base = next_address_;
  // One page between regions stays unmapped, so that running past an end is noticed.
  next_address_ += (length + kPage - 1) / kPage * kPage + kPage;
  return base;
}

std::uint64_t HostMemory::allocate(Bytes length) {
  Region region;
  region.base = reserve_addresses(length.count);
  region.length = length.count;
  // Whole lines, at least one: an agent of the coherence protocol moves nothing smaller.
  region.bytes = ZeroedPages(
      std::max<std::uint64_t>((length.count + kLineBytes - 1) / kLineBytes * kLineBytes, kLineBytes));
  if (region.bytes.empty()) throw std::bad_alloc();
  regions_.push_back(std::move(region));
  return regions_.back().base;
}

std::uint64_t HostMemory::allocate_pattern(Bytes length, std::uint32_t pattern) {
  Region region;
  region.base = reserve_addresses(length.count);
  region.length = length.count;
  region.pattern = pattern;
  regions_.push_back(std::move(region));
  return regions_.back().base;
}

const HostMemory::Region* HostMemory::find(std::uint64_t address, std::uint64_t length) const {
  const auto holds = [&](const Region& region) {
    return address >= region.base && address - region.base <= region.length &&
           length <= region.length - (address - region.base);
  };
  if (last_found_ < regions_.size() && holds(regions_[last_found_])) return &regions_[last_found_];
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address,
                       [](std::uint64_t at, const Region& region) { return at < region.base; });
  if (after == regions_.begin()) return nullptr;
  const auto found = after - 1;
  if (!holds(*found)) return nullptr;
  last_found_ = static_cast<std::size_t>(found - regions_.begin());
  return &*found;
}

std::span<std::byte> HostMemory::bytes(std::uint64_t address, Bytes length) {
  const Region* region = find(address, length.count);
  WHARF_CHECK(region != nullptr && !region->bytes.empty());
  return {region->bytes.data() + (address - region->base), length.count};
}

std::optional<wire::Payload> HostMemory::read(std::uint64_t address, std::uint32_t length,
                                              wire::PayloadPool& pool) const {
  const Region* region = find(address, length);
  if (region == nullptr) return std::nullopt;
  const std::uint64_t offset = address - region->base;
  if (region->bytes.empty()) return wire::pattern_payload(region->pattern, offset, length);
  if (length == 0) return wire::Payload{};
  const wire::BufferId buffer = pool.acquire(length);
  std::byte* copy = pool.data(buffer);
  std::memcpy(copy, region->bytes.data() + offset, length);
  return wire::bytes_payload(copy, length, buffer);
}

bool HostMemory::write(std::uint64_t address, const wire::Payload& data) {
  const Region* region = find(address, data.length);
  if (region == nullptr) return false;
  if (!region->bytes.empty())
    wire::fill(data, {region->bytes.data() + (address - region->base), data.length});
  return true;
}

std::optional<std::array<std::uint64_t, 2>> HostMemory::atomic(verbs::Verb verb, std::uint64_t address,
                                                               std::uint8_t width,
                                                               const std::array<std::uint64_t, 2>& operand,
                                                               const std::array<std::uint64_t, 2>& compare) {
  const Region* region = find(address, width);
  if (region == nullptr || region->bytes.empty() || address % width != 0) return std::nullopt;
  std::byte* at = region->bytes.data() + (address - region->base);
  std::array<std::uint64_t, 2> old{};
  std::memcpy(old.data(), at, width);
  std::array<std::uint64_t, 2> next = old;
  if (verb == verbs::Verb::kCompareSwap) {
    const std::uint64_t mask = low_mask(width);
    const bool equal = (old[0] & mask) == (compare[0] & mask) && (width < 16 || old[1] == compare[1]);
    if (equal) next = operand;
  } else {
    next[0] = verbs::atomic_value(verb, old[0], operand[0], std::uint64_t{0});
  }
  std::memcpy(at, next.data(), width);
  return old;
}

}  // namespace wharf::sim
