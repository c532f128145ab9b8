// SPDX-License-Identifier: Apache-2.0
// Local PDC identifiers: a range that is handed out oldest-freed first, those that a target has refused last,
// and indexes its PDCs directly.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ring.h"
#include "base/slot_pool.h"
#include "wire/uet_psn.h"

namespace wharf::uet {

class PdcidPool {
 public:
  PdcidPool() = default;
  /// Identifiers first .. first + limit - 1.
  PdcidPool(std::uint16_t first, std::uint32_t limit) : first_(first), limit_(limit) {}

  /// An identifier that is nobody else's, or nothing when all are in use.
  std::optional<std::uint16_t> acquire() {
    if (!free_.empty()) {
      const std::uint16_t id = free_.front();
      free_.pop_front();
      return id;
    }
    if (slots_.size() < limit_) {
      slots_.emplace_back();
      free_.reserve(slots_.size());
      return static_cast<std::uint16_t>(first_ + slots_.size() - 1);
    }
    if (refused_.empty()) return std::nullopt;
    const std::uint16_t id = refused_.front();
    refused_.pop_front();
    return id;
  }
  /// `refused`: some host knows another PDC by this identifier, so that any other is better.
  void release(std::uint16_t id, bool refused) {
    slots_[id - first_].pdc = kNoSlot;
    if (!refused) return free_.push_back(id);
    if (refused_.full()) refused_.reserve(refused_.capacity() * 2 + 4);
    refused_.push_back(id);
  }
  bool covers(std::uint16_t id) const {
    return id >= first_ && static_cast<std::size_t>(id - first_) < slots_.size();
  }
  /// The PDC of an identifier that the pool covers, or kNoSlot.
  std::uint32_t& pdc(std::uint16_t id) { return slots_[id - first_].pdc; }
  std::uint32_t pdc(std::uint16_t id) const { return slots_[id - first_].pdc; }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const {
    return slots_.capacity() * sizeof(Slot) + free_.bytes_held() + refused_.bytes_held();
  }
  /// The last PSN that was used with the identifier, if any was.
  std::optional<wire::UetPsn>& last_psn(std::uint16_t id) { return slots_[id - first_].last_psn; }

 private:
  struct Slot {
    std::uint32_t pdc = kNoSlot;
    std::optional<wire::UetPsn> last_psn;
  };
  std::uint16_t first_ = 1;
  std::uint32_t limit_ = 0;
  std::vector<Slot> slots_;
  Ring<std::uint16_t> free_;
  Ring<std::uint16_t> refused_;
};

}  // namespace wharf::uet
