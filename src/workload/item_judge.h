// SPDX-License-Identifier: Apache-2.0
// Finds stale gets, and those beside a put, from the records of all parties. It learns of each event when it
// happened, whoever made it, so that its verdict does not depend on who recorded first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workload/item_gets_config.h"
#include "workload/item_ledger.h"

namespace wharf::workload {

class ItemJudge {
 public:
  explicit ItemJudge(std::uint32_t items) { ledger_.reserve(items); }

  /// Takes the records up to `until` out of `results`, one per party, in the order of time, of one instant by
  /// party, and writes the verdicts there. All parties have come to `until`. Slices of any length give the
  /// same.
  void judge(std::span<ItemGetsResult* const> results, TimePs until);

  /// The same for one record, which comes next in that order.
  void take(std::uint32_t party, const ItemRecord& record, ItemGetsResult& result);

 private:
  struct Pending {
    std::uint32_t party = 0;
    ItemRecord record;
  };

  void end_get(const ItemRecord& record, const ItemLedger::Glance& begun, ItemGetsResult& result);
  /// What was known when the get of a worker began.
  ItemLedger::Glance& glance(std::uint32_t party, std::uint32_t worker);

  ItemLedger ledger_;
  std::vector<std::vector<ItemLedger::Glance>> glances_;  ///< By party and worker.
  std::vector<Pending> slice_;
  TimePs judged_;
};

/// After a run: judges all that its parties recorded.
void judge_gets(const ItemGetsConfig& config, std::span<ItemGetsResult> results);

}  // namespace wharf::workload
