// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/memory_key_table.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/check.h"

namespace wharf::roce {

Result<verbs::SegmentToken> MemoryKeyTable::add(const verbs::SegmentConfig& config) {
  if (config.base == 0) return input_error("a segment begins at address 0, expected a base that is not zero");
  if (config.length > std::numeric_limits<std::uint64_t>::max() - config.base) {
    return input_error("a segment of " + std::to_string(config.length) + " bytes at address " +
                       std::to_string(config.base) + " runs past the end of the address space");
  }
  if (config.rights.remote_atomic && !(config.rights.remote_read && config.rights.remote_write)) {
    return input_error("a segment grants remote atomics alone, expected remote read and write as well");
  }
  const auto known = std::find(spaces_.begin(), spaces_.end(), config.space);
  if (known == spaces_.end()) {
    if (spaces_.size() > std::numeric_limits<std::uint16_t>::max()) {
      return input_error("address space " + std::to_string(config.space) +
                         " is one too many, expected 65535");
    }
    spaces_.push_back(config.space);
  }
  const auto space =
      static_cast<std::uint16_t>(std::find(spaces_.begin(), spaces_.end(), config.space) - spaces_.begin());
  std::uint32_t index = 0;
  if (free_.empty()) {
    if (records_.size() >= (1U << 24U) - 1) {
      return input_error("all 16777215 memory keys are in use, expected deregister_segment() first");
    }
    // Numbers start at 1 so that key 0 is never valid.
    index = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(records_.size()));
    records_.resize(index + 1);
    issued_.resize(index + 1);
    free_.reserve(index + 1);
  } else {
    index = free_.back();
    free_.pop_back();
  }
  MemoryKeyRecord& record = records_[index];
  const std::uint32_t use = (issued_[index].key + 1) & 0xffU;
  record = MemoryKeyRecord{};
  record.base = config.base;
  record.length = config.length;
  record.key = (index << 8U) | use;
  record.rights = config.rights;
  record.domain = config.domain;
  record.valid = true;
  record.read_order = config.read_order;
  record.write_order = config.write_order;
  record.space = space;
  issued_[index] = {.key = record.key,
                    .live = true,
                    .space = space,
                    .domain = config.domain,
                    .base = config.base,
                    .length = config.length};
  return verbs::SegmentToken{record.key, 0};
}

Result<void> MemoryKeyTable::remove(std::uint32_t key) {
  if (!is_issued(key)) return input_error("memory key " + std::to_string(key) + " is not registered");
  const std::uint32_t index = index_of(key);
  MemoryKeyRecord& record = records_[index];
  record = MemoryKeyRecord{};
  record.key = key;
  issued_[index].live = false;
  free_.push_back(index);
  return {};
}

bool MemoryKeyTable::covers(std::uint32_t domain, std::uint32_t key, std::uint64_t address,
                            std::uint64_t length, verbs::AddressSpaceId& space) const {
  if (!is_issued(key)) return false;
  const Issued& issued = issued_[index_of(key)];
  space = spaces_[issued.space];
  return issued.domain == domain && address >= issued.base && length <= issued.length &&
         address - issued.base <= issued.length - length;
}

void MemoryKeyTable::invalidate(std::uint32_t key) {
  const std::uint32_t index = index_of(key);
  WHARF_CHECK(index != kNoRecord && records_[index].valid && records_[index].key == key);
  records_[index].valid = false;
}

}  // namespace wharf::roce
