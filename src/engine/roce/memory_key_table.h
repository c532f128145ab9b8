// SPDX-License-Identifier: Apache-2.0
// Registered memory by R_Key: 32-byte records and the check that a remote request may touch what it names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "verbs/access_order.h"
#include "verbs/segment.h"

namespace wharf::roce {

/// The hardware record of one memory region; the context cache stores, evicts and refills these bytes.
struct MemoryKeyRecord {
  std::uint64_t base = 0;
  std::uint64_t length = 0;
  std::uint32_t key = 0;  ///< R_Key: record number in bits 31:8, use count of the record in bits 7:0.
  verbs::AccessRights rights{};
  bool valid = false;
  verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed;
  verbs::AccessOrder write_order = verbs::AccessOrder::kRelaxed;
  /// Which of MemoryKeyTable's address spaces it is in. Hardware also keeps the translation table's address
  /// here; this model has none.
  std::uint16_t space = 0;
  std::uint32_t domain = 0;  ///< Protection domain.
};
static_assert(sizeof(MemoryKeyRecord) == 32);

enum class RemoteAccess : std::uint8_t { kRead, kWrite, kAtomic };

/// All regions of one interface. Registration takes memory, the check does not. A record is valid while it is
/// on the interface (context_store.h); who checks a request makes sure of that first.
class MemoryKeyTable {
 public:
  /// Registers `config`; refuses a zero base or a range that wraps around.
  Result<verbs::SegmentToken> add(const verbs::SegmentConfig& config);
  /// Revokes a key; refuses an unknown one.
  Result<void> remove(std::uint32_t key);

  /// Record number of `key`, or kNoRecord when it never existed.
  static constexpr std::uint32_t kNoRecord = 0xffff'ffff;
  std::uint32_t index_of(std::uint32_t key) const {
    const std::uint32_t index = key >> 8U;
    return index != 0 && index < records_.size() ? index : kNoRecord;
  }
  /// Whether the program has registered `key` and not deregistered it; what the driver knows.
  bool is_issued(std::uint32_t key) const {
    const std::uint32_t index = index_of(key);
    return index != kNoRecord && issued_[index].live && issued_[index].key == key;
  }
  std::size_t size() const { return records_.size(); }
  /// Keys that are registered now.
  std::size_t live() const {
    return static_cast<std::size_t>(
        std::count_if(issued_.begin(), issued_.end(), [](const Issued& each) { return each.live; }));
  }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const {
    return records_.capacity() * sizeof(MemoryKeyRecord) + issued_.capacity() * sizeof(Issued) +
           free_.capacity() * sizeof(std::uint32_t);
  }
  MemoryKeyRecord& record(std::uint32_t index) { return records_[index]; }
  const MemoryKeyRecord& record(std::uint32_t index) const { return records_[index]; }

  /// The record that allows `access` to `length` (not zero) bytes at `address` under `key` through a queue
  /// pair of `domain`, or null: unknown or revoked key, another domain, range outside the region, right
  /// missing.
  [[gnu::always_inline]] const MemoryKeyRecord* find(std::uint32_t domain, std::uint32_t key,
                                                     std::uint64_t address, std::uint64_t length,
                                                     RemoteAccess access) const {
    const std::uint32_t index = key >> 8U;
    if (index >= records_.size()) return nullptr;
    const MemoryKeyRecord& record = records_[index];  // Number 0 is never valid.
    if (!record.valid || record.key != key || record.domain != domain) return nullptr;
    // No region runs past the end of the address space, so an address before it is far behind it.
    const std::uint64_t offset = address - record.base;
    if (offset > record.length || length > record.length - offset) return nullptr;
    const bool allowed = access == RemoteAccess::kRead    ? record.rights.remote_read
                         : access == RemoteAccess::kWrite ? record.rights.remote_write
                                                          : record.rights.remote_atomic;
    return allowed ? &record : nullptr;
  }
  /// The address space of a valid record.
  verbs::AddressSpaceId space_of(const MemoryKeyRecord& record) const { return spaces_[record.space]; }
  /// Whether [address, address + length) lies in the region of `key`, which is registered in `domain`: what
  /// the driver knows of a local key. Its address space goes to `space`.
  bool covers(std::uint32_t domain, std::uint32_t key, std::uint64_t address, std::uint64_t length,
              verbs::AddressSpaceId& space) const;

  /// Whether `key` names a region of `domain` that is registered now.
  bool is_valid(std::uint32_t domain, std::uint32_t key) const {
    const std::uint32_t index = index_of(key);
    return index != kNoRecord && records_[index].valid && records_[index].key == key &&
           records_[index].domain == domain;
  }
  /// Whether host memory failed to keep the evicted record `index`.
  bool is_lost(std::uint32_t index) const { return issued_[index].lost; }
  void note_lost(std::uint32_t index, bool lost) { issued_[index].lost = lost; }
  /// Revokes a valid key from the packet path (Send with Invalidate).
  void invalidate(std::uint32_t key);

 private:
  /// The driver's side of a record: never evicted.
  struct Issued {
    std::uint32_t key = 0;  ///< The last key of this record.
    bool live = false;
    bool lost = false;
    std::uint16_t space = 0;
    std::uint32_t domain = 0;
    std::uint64_t base = 0;
    std::uint64_t length = 0;
  };

  std::vector<MemoryKeyRecord> records_;
  std::vector<Issued> issued_;
  std::vector<std::uint32_t> free_;               ///< Numbers of removed records.
  std::vector<verbs::AddressSpaceId> spaces_{0};  ///< All that a region was ever registered in.
};

}  // namespace wharf::roce
