// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/memory_region.h"

#include <fmt/format.h>

namespace wharf::uet {

std::uint32_t MemoryRegionTable::begin(const verbs::SegmentConfig& config, std::uint32_t job_id) {
  auto slot = static_cast<std::uint32_t>(regions_.size());
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else if (slot < (1U << 24U)) {
    regions_.emplace_back();
    free_.reserve(regions_.size());
  } else {
    return kNoSlot;
  }
  MemoryRegion& region = regions_[slot];
  const auto generation = static_cast<std::uint16_t>(region.generation + 1);
  region = MemoryRegion{};
  region.generation = generation;
  region.used = true;
  region.config = config;
  region.job_id = job_id;
  return slot;
}

Result<std::uint32_t> MemoryRegionTable::add(const verbs::SegmentConfig& config, std::uint32_t job_id,
                                             bool optimized, bool idempotent) {
  const std::uint32_t slot = begin(config, job_id);
  if (slot == kNoSlot) return input_error("memory regions: all 16777216 keys are in use");
  MemoryRegion& region = regions_[slot];
  // An old key names nothing: the generation is part of it. The 12 bits of an optimized key have no room.
  region.key = optimized && slot < 4096 ? kKeyOptimized | slot
                                        : kKeyAssigned | (std::uint64_t{region.generation} << 24U) | slot;
  if (idempotent) region.key |= kKeyIdempotentSafe;
  return slot;
}

Result<std::uint32_t> MemoryRegionTable::add_keyed(const verbs::SegmentConfig& config, std::uint32_t job_id,
                                                   std::uint64_t key, bool idempotent) {
  if (key > kKeyUserMask) {
    return input_error(fmt::format("memory key: found {:#x}, expected at most 48 bits", key));
  }
  if (chosen_.contains(key)) {
    return input_error(fmt::format("memory key: found {:#x}, which another region has", key));
  }
  const std::uint32_t slot = begin(config, job_id);
  if (slot == kNoSlot) return input_error("memory regions: all 16777216 keys are in use");
  MemoryRegion& region = regions_[slot];
  region.key = key | (idempotent ? kKeyIdempotentSafe : 0);
  chosen_.insert(key, slot);
  return slot;
}

std::uint32_t MemoryRegionTable::find_other(std::uint64_t key, std::uint32_t job_id) {
  std::uint32_t slot = static_cast<std::uint32_t>(key) & 0xff'ffffU;
  if ((key & (kKeyAssigned | kKeyOptimized)) == 0) {
    const std::uint32_t* found = chosen_.find(key & kKeyUserMask);
    if (found == nullptr) return kNoSlot;
    slot = *found;
  } else if ((key & kKeyOptimized) != 0) {
    slot &= 0xfffU;
  }
  if (slot >= regions_.size()) return kNoSlot;
  const MemoryRegion& region = regions_[slot];
  if (!region.used || region.key != key || region.job_id != job_id) return kNoSlot;
  last_key_ = key;
  last_job_ = job_id;
  last_ = slot;
  return slot;
}

void MemoryRegionTable::remove(std::uint32_t slot) {
  if (slot == last_) last_job_ = ~std::uint64_t{0};
  MemoryRegion& region = regions_[slot];
  if ((region.key & (kKeyAssigned | kKeyOptimized)) == 0) chosen_.erase(region.key & kKeyUserMask);
  region.used = false;
  free_.push_back(slot);
}

bool MemoryRegionTable::resolve_key(verbs::ScatterEntry& entry) const {
  std::uint32_t slot = entry.key & 0xff'ffffU;
  if (slot >= regions_.size() || !regions_[slot].used ||
      static_cast<std::uint32_t>(regions_[slot].key) != entry.key) {
    const std::uint32_t* found = chosen_.find(entry.key);
    if (found == nullptr) return false;
    slot = *found;
  }
  const MemoryRegion& region = regions_[slot];
  if (!region.used || entry.address < region.config.base || entry.length > region.config.length ||
      entry.address - region.config.base > region.config.length - entry.length) {
    return false;
  }
  entry.key = region.config.space;
  return true;
}

}  // namespace wharf::uet
