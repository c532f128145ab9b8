// SPDX-License-Identifier: Apache-2.0
#include "sim/host/core/operation_log.h"

#include <algorithm>

namespace wharf::sim {

OperationLog OperationLog::merge(const std::vector<const OperationLog*>& logs, std::size_t record_limit) {
  OperationLog all(record_limit);
  for (const OperationLog* log : logs) {
    all.entries_.insert(all.entries_.end(), log->entries_.begin(), log->entries_.end());
    all.dropped_ += log->dropped_;
    all.history_.add(log->history_.value());
    for (std::size_t verb = 0; verb < all.totals_.size(); ++verb) {
      all.totals_[verb] += log->totals_[verb];
      if (!log->latencies_[verb]) continue;
      all.latency_of(static_cast<verbs::Verb>(verb)).merge(*log->latencies_[verb]);
    }
  }
  std::stable_sort(all.entries_.begin(), all.entries_.end(),
                   [](const OperationEntry& a, const OperationEntry& b) {
                     return a.begin + a.latency < b.begin + b.latency;
                   });
  if (all.entries_.size() > record_limit) {
    all.dropped_ += all.entries_.size() - record_limit;
    all.entries_.resize(record_limit);
  }
  return all;
}

}  // namespace wharf::sim
