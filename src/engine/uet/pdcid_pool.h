// SPDX-License-Identifier: Apache-2.0
// Local PDC identifiers: a range that is handed out oldest-freed first and indexes its PDCs directly. Those
// of PDCs that failed come last.
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
      failed_.reserve(slots_.size());
      return static_cast<std::uint16_t>(first_ + slots_.size() - 1);
    }
    if (failed_.empty()) return std::nullopt;
    const std::uint16_t id = failed_.front();
    failed_.pop_front();
    return id;
  }
  /// `failed`: the peer may still have a PDC of that name, which would refuse the next opening.
  /// [UE 1.0 3.5.8]
  void release(std::uint16_t id, bool failed) {
    slots_[id - first_].pdc = kNoSlot;
    (failed ? failed_ : free_).push_back(id);
  }
  bool covers(std::uint16_t id) const {
    return id >= first_ && static_cast<std::size_t>(id - first_) < slots_.size();
  }
  /// The PDC of an identifier that the pool covers, or kNoSlot.
  std::uint32_t& pdc(std::uint16_t id) { return slots_[id - first_].pdc; }
  std::uint32_t pdc(std::uint16_t id) const { return slots_[id - first_].pdc; }
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const {
    return slots_.capacity() * sizeof(Slot) + free_.bytes_held() + failed_.bytes_held();
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
  Ring<std::uint16_t> failed_;
};

}  // namespace wharf::uet
