// SPDX-License-Identifier: Apache-2.0
// The operations that a program reports itself (gets, hops, round trips), kept up to a limit so that a long
// run needs bounded memory. Apart from the operation log, which has what the program asked of remote memory.
#pragma once

#include <cstddef>
#include <vector>

#include "verbs/operation_record.h"

namespace wharf::sim {

class ProgramLog {
 public:
  explicit ProgramLog(std::size_t limit) : limit_(limit) {}

  void add(const verbs::OperationRecord& operation) {
    if (records_.size() < limit_) {
      records_.push_back(operation);
    } else {
      ++dropped_;
    }
  }
  /// In the order in which they ended.
  const std::vector<verbs::OperationRecord>& records() const { return records_; }
  /// How many the limit left out.
  std::size_t dropped() const { return dropped_; }

 private:
  std::size_t limit_;
  std::size_t dropped_ = 0;
  std::vector<verbs::OperationRecord> records_;
};

}  // namespace wharf::sim
