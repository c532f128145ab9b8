// SPDX-License-Identifier: Apache-2.0
// Stores of one hardware thread to host memory on their way to the cache, first in, first out: total store
// order. Apart because a fence, and an MMIO-Release, is done when this buffer is empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/ring.h"
#include "engine/ordering/mmio_mutation.h"
#include "engine/ordering/mmio_state.h"
#include "engine/ordering/request.h"

namespace wharf::ordering {

/// One store of at most a line; it does not cross a 64-byte boundary.
struct HostStore {
  std::uint64_t address = 0;
  std::uint8_t length = 0;  ///< Bytes, 1 to 64.
  LineBytes data{};         ///< The first `length` count.

  std::span<const std::byte> bytes() const { return std::span(data).first(length); }
};

/// Where a load finds its value.
enum class ForwardedLoad : std::uint8_t {
  kFromMemory,  ///< No store in the buffer touches it.
  kForwarded,   ///< The newest store that touches it holds all of its bytes.
  kWait,        ///< The newest store that touches it holds some of its bytes: wait until that one has left.
};

/// A bounded store buffer. One store at a time is being performed; it can still be forwarded from until it is
/// done. No time, no memory after construction. Source: Owens, Sarkar, Sewell, "A better x86 memory model:
/// x86-TSO" (2009).
class StoreBuffer {
 public:
  /// `entries` from 1 up.
  explicit StoreBuffer(std::uint32_t entries) : capacity_(entries), stores_(entries) {
    WHARF_CHECK(entries >= 1);
  }

  // Inputs.
  /// Takes a store; not when full().
  void store(std::uint64_t address, std::span<const std::byte> bytes) {
    WHARF_CHECK(!full() && !bytes.empty() && address % kLineBytes + bytes.size() <= kLineBytes);
    HostStore entry{address, static_cast<std::uint8_t>(bytes.size()), {}};
    for (std::size_t i = 0; i < bytes.size(); ++i) entry.data[i] = bytes[i];
    stores_.push_back(entry);
  }
  /// The store that next_store() gave is visible to everybody.
  void performed() {
    WHARF_CHECK(performing_);
    performing_ = false;
    stores_.pop_front();
  }

  // Outputs.
  /// The oldest store, to be performed now. False when there is none or one is being performed.
  bool next_store(HostStore& out) {
    if (performing_ || stores_.empty()) return false;
    performing_ = true;
    out = stores_.front();
    return true;
  }
  /// What a load of `out.size()` bytes (1 to 64, within a line) at `address` sees; fills `out` when
  /// kForwarded.
  ForwardedLoad load(std::uint64_t address, std::span<std::byte> out) const {
    for (std::size_t age = 0; age < stores_.size(); ++age) {
      const std::size_t newest = stores_.size() - 1 - age;
      const HostStore& entry = stores_[mutated(MmioMutation::kForwardOldest) ? age : newest];
      if (entry.address >= address + out.size() || address >= entry.address + entry.length) continue;
      const bool covers = entry.address <= address && address + out.size() <= entry.address + entry.length;
      if (!covers) return ForwardedLoad::kWait;
      const std::size_t offset = static_cast<std::size_t>(address - entry.address);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = entry.data[offset + i];
      return ForwardedLoad::kForwarded;
    }
    return ForwardedLoad::kFromMemory;
  }

  // Observation.
  bool full() const { return stores_.size() == capacity_; }
  /// Every store is visible: a fence is done, an MMIO-Release may leave.
  bool drained() const { return stores_.empty(); }
  std::size_t size() const { return stores_.size(); }
  /// Appends the canonical state.
  void append_state(std::vector<std::byte>& out) const {
    MmioStateWriter writer(out);
    writer.put(static_cast<std::uint8_t>(performing_));
    writer.put(static_cast<std::uint32_t>(stores_.size()));
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      writer.put(stores_[i].address);
      writer.put(stores_[i].length);
      writer.put(stores_[i].bytes());
    }
  }

 private:
  std::size_t capacity_;
  Ring<HostStore> stores_;
  bool performing_ = false;
};

}  // namespace wharf::ordering
