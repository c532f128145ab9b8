// SPDX-License-Identifier: Apache-2.0
// Flows from a CSV table: src,dst,bytes,start_ns[,op,priority,after].
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/flow_list.h"

namespace wharf::workload {

/// The first line names the columns, in any order; src, dst, bytes and start_ns are required. `start_ns` may
/// have three decimals. `op` is write (default), read or send; `priority` is 0 (default), and others are
/// refused; `after` names the flows that must have finished before, by their row (the first row of data is
/// 1), separated by semicolons. Empty fields of optional columns mean the default. Refusals name file, line
/// and column.
Result<FlowList> read_flow_table(std::string_view text, const std::string& name);

}  // namespace wharf::workload
