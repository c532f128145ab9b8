// SPDX-License-Identifier: Apache-2.0
#include "workload/item_judge.h"

#include <algorithm>

#include "base/check.h"

namespace wharf::workload {

void ItemJudge::judge(std::span<ItemGetsResult* const> results, TimePs until) {
  slice_.clear();
  for (std::uint32_t party = 0; party < results.size(); ++party) {
    ItemRecords& records = results[party]->records;
    for (; !records.empty() && records.front().at <= until; records.pop_front())
      slice_.push_back({party, records.front()});
  }
  std::stable_sort(slice_.begin(), slice_.end(),
                   [](const Pending& a, const Pending& b) { return a.record.at < b.record.at; });
  for (const Pending& pending : slice_) take(pending.party, pending.record, *results[pending.party]);
}

void ItemJudge::take(std::uint32_t party, const ItemRecord& record, ItemGetsResult& result) {
  WHARF_CHECK(record.at >= judged_);
  judged_ = record.at;
  switch (record.what) {
    case ItemRecord::What::kGetBegins:
      glance(party, record.worker) = ledger_.glance(record.item);
      break;
    case ItemRecord::What::kGetEnds:
      end_get(record, glance(party, record.worker), result);
      break;
    case ItemRecord::What::kPutBegins:
      ledger_.put_begins(record.item);
      break;
    case ItemRecord::What::kPutEnds:
      ledger_.put_ends(record.item, record.version);
      break;
  }
}

void ItemJudge::end_get(const ItemRecord& record, const ItemLedger::Glance& begun, ItemGetsResult& result) {
  if (ledger_.overlapped(record.item, begun)) ++result.overlaps;
  if (!record.accepted) return;
  Verdict& verdict = result.loop.verdict;
  verdict.expect(!record.torn, {"torn item", record.item, record.version, record.other});
  const bool stale = !record.torn && record.version < begun.completed;
  verdict.expect(!stale, {"stale item", record.item, begun.completed, record.version});
  result.torn += record.torn ? 1 : 0;
  result.stale += stale ? 1 : 0;
  if (!record.torn) ledger_.saw(record.item, record.version);
}

ItemLedger::Glance& ItemJudge::glance(std::uint32_t party, std::uint32_t worker) {
  if (party >= glances_.size()) glances_.resize(party + 1);
  std::vector<ItemLedger::Glance>& of_party = glances_[party];
  if (worker >= of_party.size()) of_party.resize(worker + 1);
  return of_party[worker];
}

void judge_gets(const ItemGetsConfig& config, std::span<ItemGetsResult> results) {
  std::vector<ItemGetsResult*> parties;
  for (ItemGetsResult& result : results) parties.push_back(&result);
  ItemJudge(config.items).judge(parties, kNever);
}

}  // namespace wharf::workload
