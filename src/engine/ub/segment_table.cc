// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/segment_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/vector_room.h"
#include "engine/ub/config.h"

namespace wharf::ub {
namespace {

constexpr std::uint32_t token_after(std::uint32_t token_id) { return token_id % (kTokenIds - 1) + 1; }

}  // namespace

Result<std::uint32_t> SegmentTable::add(const verbs::SegmentConfig& config) {
  if (config.base == 0) return input_error("segment base: found 0, expected a non-zero address");
  const std::uint64_t most = ~config.base + 1;  // The last byte may have the address 2^64 - 1.
  if (config.length > most) {
    return input_error(fmt::format("segment length: found {}, expected at most {} above base {:#x}",
                                   config.length, most, config.base));
  }
  const verbs::AccessRights& rights = config.rights;
  if ((rights.remote_write && !rights.remote_read) ||
      (rights.remote_atomic && !(rights.remote_read && rights.remote_write))) {
    return input_error(
        "segment rights: expected write together with read, and atomic together with both (URMA access "
        "rules)");
  }
  if (count() >= kTokenIds - 1) {
    return input_error(
        "segment tokens: all 1048575 TokenIDs are in use, expected deregister_segment() first");
  }
  const auto known = std::find(spaces_.begin(), spaces_.end(), config.space);
  const auto space = static_cast<std::size_t>(known - spaces_.begin());
  if (space > 0xffff) {
    return input_error(fmt::format("address space {}: found 65536 others, expected no more", config.space));
  }
  numbers_.reserve(numbers_.size() + 1);
  if (known == spaces_.end()) make_room_for_one(spaces_);
  if (free_.empty()) {
    make_room_for_one(records_);
    make_room_for_one(issued_);
    free_.reserve(records_.capacity());
  }
  // Nothing allocates from here on.
  if (space == spaces_.size()) spaces_.push_back(config.space);
  while (find(token_next_) != kNoSlot) token_next_ = token_after(token_next_);
  const std::uint32_t number = next_number();
  if (free_.empty()) {
    records_.emplace_back();
    issued_.emplace_back();
  } else {
    free_.pop_back();
  }
  MrRecord& record = records_[number];
  record = MrRecord{};
  record.va = config.base;
  record.offset = config.length >> 32U;
  record.length = static_cast<std::uint32_t>(config.length);
  record.token_id = token_next_;
  token_next_ = token_after(token_next_);
  record.token_value = config.token_value;
  record.permissions = static_cast<std::uint16_t>(
      Permissions::kValid | (config.check_value ? Permissions::kCheckValue : 0) |
      (rights.remote_read ? Permissions::kRead : 0) | (rights.remote_write ? Permissions::kWrite : 0) |
      (rights.remote_atomic ? Permissions::kAtomic : 0) |
      (static_cast<unsigned>(config.read_order) << Permissions::kReadOrderShift) |
      (static_cast<unsigned>(config.write_order) << Permissions::kWriteOrderShift));
  record.space = static_cast<std::uint16_t>(space);
  issued_[number] = {config.base, config.length, record.space};
  numbers_.insert(record.token_id, number);
  return number;
}

bool SegmentTable::covers(const verbs::ScatterEntry& entry, verbs::AddressSpaceId& space) const {
  const std::uint32_t number = find(entry.key);
  if (number == kNoSlot) return false;
  const Issued& issued = issued_[number];
  space = spaces_[issued.space];
  return entry.address >= issued.base && entry.length <= issued.length &&
         entry.address - issued.base <= issued.length - entry.length;
}

bool SegmentTable::remove(std::uint32_t token_id) {
  const std::uint32_t number = find(token_id);
  if (number == kNoSlot) return false;
  numbers_.erase(token_id);
  found_token_ = 0;
  found_ = kNoSlot;
  records_[number] = MrRecord{};
  free_.push_back(number);
  return true;
}

}  // namespace wharf::ub
