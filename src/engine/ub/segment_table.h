// SPDX-License-Identifier: Apache-2.0
// Registered memory: tokens and their records, and the check that every remote access passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/flat_map.h"
#include "base/result.h"
#include "base/slot_pool.h"
#include "engine/ub/context_records.h"
#include "verbs/segment.h"
#include "verbs/work_request.h"

namespace wharf::ub {

enum class Right : std::uint8_t { kRead, kWrite, kAtomic };

/// What an access check found, in the order of the checks (URMA API, segment access rules): TokenID,
/// TokenValue, right, range. Anything but kGranted leaves memory untouched.
enum class Grant : std::uint8_t { kGranted, kUnknownToken, kWrongValue, kNoRight, kOutOfRange };

/// Which permission bits a record holds: bit 0 valid, 1 check value, 2..4 read, write, atomic, 5..7 order
/// label of reads, 8..10 of writes.
struct Permissions {
  static constexpr std::uint16_t kValid = 1;
  static constexpr std::uint16_t kCheckValue = 2;
  static constexpr std::uint16_t kRead = 4;
  static constexpr std::uint16_t kWrite = 8;
  static constexpr std::uint16_t kAtomic = 16;
  static constexpr unsigned kReadOrderShift = 5;
  static constexpr unsigned kWriteOrderShift = 8;
};

/// What the driver knows of a segment, whose record may not be in the context cache.
struct SegmentRange {
  std::uint32_t token_id = 0;
  std::uint64_t base = 0;
  std::uint64_t length = 0;
  verbs::AddressSpaceId space = 0;

  bool holds(std::uint64_t address) const { return address - base < length; }
};

class SegmentTable {
 public:
  /// Refuses a zero base, a range that wraps, and rights that URMA does not allow (write needs read; atomic
  /// needs both). A TokenID is given again after all the others. The result is the record's number; its
  /// TokenID is record(number).token_id.
  Result<std::uint32_t> add(const verbs::SegmentConfig& config);
  /// The number that add() would give.
  std::uint32_t next_number() const {
    return free_.empty() ? static_cast<std::uint32_t>(records_.size()) : free_.back();
  }
  /// Ends the token `id`; false when there is none.
  bool remove(std::uint32_t token_id);

  /// The record's number for a TokenID, or kNoSlot. The number may name a record that is not in the context
  /// cache.
  std::uint32_t find(std::uint32_t token_id) const {
    if (token_id == found_token_) return found_;
    const std::uint32_t* number = numbers_.find(token_id);
    if (number == nullptr) return kNoSlot;
    found_token_ = token_id;
    found_ = *number;
    return found_;
  }
  /// Whether find() was last asked for `token_id` with success, and what it gave.
  bool was_found(std::uint32_t token_id) const { return token_id == found_token_ && found_ != kNoSlot; }
  std::uint32_t found() const { return found_; }
  /// Of the segment that the token `id` names and find() has found as `number`.
  SegmentRange range(std::uint32_t token_id, std::uint32_t number) const {
    const Issued& issued = issued_[number];
    return {token_id, issued.base, issued.length, spaces_[issued.space]};
  }
  /// The address space of a record.
  verbs::AddressSpaceId space_of(const MrRecord& record) const { return spaces_[record.space]; }
  /// Whether the local keys among the first `count` entries name segments that hold them, and all lie in one
  /// address space: `space` is that of entries without a key, and becomes the one of all.
  bool resolve(std::span<const verbs::ScatterEntry> local, std::uint8_t count,
               verbs::AddressSpaceId& space) const {
    const verbs::AddressSpaceId own = space;
    for (std::uint8_t i = 0; i < count; ++i) {
      verbs::AddressSpaceId found = own;
      if (local[i].key != 0 && !covers(local[i], found)) return false;
      if (i > 0 && found != space) return false;
      space = found;
    }
    return true;
  }
  MrRecord& record(std::uint32_t number) { return records_[number]; }
  const MrRecord& record(std::uint32_t number) const { return records_[number]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(numbers_.size()); }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const {
    return records_.capacity() * sizeof(MrRecord) + issued_.capacity() * sizeof(Issued) +
           spaces_.capacity() * sizeof(spaces_[0]) + free_.capacity() * sizeof(std::uint32_t) +
           numbers_.bytes_held();
  }

  /// The check of one access; overflow-safe. An access of length zero is allowed at base + length too.
  static Grant check(const MrRecord& record, std::uint32_t token_id, std::uint32_t token_value, Right right,
                     std::uint64_t address, std::uint64_t length) {
    if ((record.permissions & Permissions::kValid) == 0 || record.token_id != token_id)
      return Grant::kUnknownToken;
    if ((record.permissions & Permissions::kCheckValue) != 0 && record.token_value != token_value) {
      return Grant::kWrongValue;
    }
    const std::uint16_t needed = right == Right::kRead    ? Permissions::kRead
                                 : right == Right::kWrite ? Permissions::kWrite
                                                          : Permissions::kAtomic;
    if ((record.permissions & needed) == 0) return Grant::kNoRight;
    const std::uint64_t size = (record.offset << 32U) | record.length;
    if (address < record.va || length > size || address - record.va > size - length)
      return Grant::kOutOfRange;
    return Grant::kGranted;
  }
  static verbs::AccessOrder read_order(const MrRecord& record) {
    return static_cast<verbs::AccessOrder>((record.permissions >> Permissions::kReadOrderShift) & 7U);
  }
  static verbs::AccessOrder write_order(const MrRecord& record) {
    return static_cast<verbs::AccessOrder>((record.permissions >> Permissions::kWriteOrderShift) & 7U);
  }

 private:
  /// What the driver knows of a record, which may not be in the context cache.
  struct Issued {
    std::uint64_t base = 0;
    std::uint64_t length = 0;
    std::uint16_t space = 0;
  };
  bool covers(const verbs::ScatterEntry& entry, verbs::AddressSpaceId& space) const;

  std::vector<MrRecord> records_;
  std::vector<Issued> issued_;                    ///< By record.
  std::vector<verbs::AddressSpaceId> spaces_{0};  ///< All that a segment was ever registered in.
  std::vector<std::uint32_t> free_;
  FlatMap numbers_;  ///< TokenID to record number.
  std::uint32_t token_next_ = 1;
  mutable std::uint32_t found_token_ = 0;  ///< What find() was last asked for with success; 0 is no token,
  mutable std::uint32_t found_ = kNoSlot;  ///< and gave.
};

}  // namespace wharf::ub
