// SPDX-License-Identifier: Apache-2.0
// What is known from outside about the puts of items while gets run: the newest version that was complete,
// and whether a put is under way. For judging gets only; no protocol looks here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace wharf::workload {

/// It is told of everything in the order in which it happened.
class ItemLedger {
 public:
  void reserve(std::uint32_t items) { items_.resize(std::max<std::size_t>(items_.size(), items)); }

  /// What was known when a get began.
  struct Glance {
    std::uint64_t completed = 0;  ///< Version that it must not fall behind.
    std::uint64_t begun = 0;
    bool under_way = false;
  };
  Glance glance(std::uint32_t item) const {
    const Item& known = items_[item];
    return {known.completed, known.begun, known.under_way > 0};
  }
  /// Whether a put of the item was under way at any time since.
  bool overlapped(std::uint32_t item, const Glance& since) const {
    return since.under_way || items_[item].begun != since.begun;
  }

  void put_begins(std::uint32_t item) {
    ++items_[item].begun;
    ++items_[item].under_way;
  }
  void put_ends(std::uint32_t item, std::uint64_t version) {
    --items_[item].under_way;
    saw(item, version);
  }
  /// A get returned it.
  void saw(std::uint32_t item, std::uint64_t version) {
    items_[item].completed = std::max(items_[item].completed, version);
  }

 private:
  struct Item {
    std::uint64_t completed = 0;
    std::uint64_t begun = 0;
    std::uint32_t under_way = 0;
  };
  std::vector<Item> items_;
};

}  // namespace wharf::workload
