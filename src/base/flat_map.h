// SPDX-License-Identifier: Apache-2.0
// An open-addressing hash map from 64-bit keys to 32-bit values. It cannot be iterated, so that its order
// never reaches a result.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace wharf {

/// Linear probing at a load of at most a half, deletion by shifting back (no tombstones). Equal histories
/// behave equally on every machine.
class FlatMap {
 public:
  FlatMap() = default;
  /// Room for `count` keys before the table grows.
  explicit FlatMap(std::size_t count) { reserve(count); }

  /// Makes room for `count` keys, so that insert() allocates nothing below that.
  void reserve(std::size_t count) {
    const std::size_t slots = std::bit_ceil(count < 4 ? std::size_t{8} : count * 2);
    if (slots > entries_.size()) rehash(slots);
  }

  /// The value of `key`, or null. Valid until the next insert() or erase().
  const std::uint32_t* find(std::uint64_t key) const {
    if (size_ == 0) return nullptr;
    const Entry& entry = entries_[locate(key)];
    return entry.used ? &entry.value : nullptr;
  }
  std::uint32_t* find(std::uint64_t key) {
    return const_cast<std::uint32_t*>(static_cast<const FlatMap*>(this)->find(key));
  }
  bool contains(std::uint64_t key) const { return find(key) != nullptr; }

  /// Adds `key` with `value`; false (and no change) when the key is present. Grows the table when it is half
  /// full.
  bool insert(std::uint64_t key, std::uint32_t value) {
    if ((size_ + 1) * 2 > entries_.size()) rehash(entries_.empty() ? 8 : entries_.size() * 2);
    Entry& entry = entries_[locate(key)];
    if (entry.used) return false;
    entry = Entry{key, value, true};
    ++size_;
    return true;
  }

  /// Removes `key`; false when it is absent.
  bool erase(std::uint64_t key) {
    if (size_ == 0) return false;
    std::size_t hole = locate(key);
    if (!entries_[hole].used) return false;
    // Every later entry of the run that may move into the hole without passing its home does.
    for (std::size_t at = next(hole); entries_[at].used; at = next(at)) {
      const std::size_t from_home = (at - home(entries_[at].key)) & mask();
      if (from_home >= ((at - hole) & mask())) {
        entries_[hole] = entries_[at];
        hole = at;
      }
    }
    entries_[hole].used = false;
    --size_;
    return true;
  }

  void clear() {
    for (Entry& entry : entries_) entry.used = false;
    size_ = 0;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t value = 0;
    bool used = false;
  };

  std::size_t mask() const { return entries_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  std::size_t home(std::uint64_t key) const {
    // Fibonacci hashing after a fold, so that high bits of the key count too.
    const std::uint64_t mixed = (key ^ (key >> 32U)) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(mixed >> shift_);
  }
  /// Where `key` is, or the free slot where it would go.
  std::size_t locate(std::uint64_t key) const {
    std::size_t at = home(key);
    while (entries_[at].used && entries_[at].key != key) at = next(at);
    return at;
  }
  void rehash(std::size_t slots) {
    std::vector<Entry> old(slots);
    old.swap(entries_);
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(slots));
    for (const Entry& entry : old) {
      if (entry.used) entries_[locate(entry.key)] = entry;
    }
  }

  std::vector<Entry> entries_;
  std::size_t size_ = 0;
  unsigned shift_ = 0;  ///< 64 minus the logarithm of the table's size.
};

}  // namespace wharf
