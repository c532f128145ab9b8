// SPDX-License-Identifier: Apache-2.0
// Connection matrices (".cm", ".tm"), the traffic files of htsim.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/flow_list.h"

namespace wharf::workload {

struct ConnectionMatrixOptions {
  /// Lines with the same id are messages on one connection, and recv_done_trigger fires (-conn_reuse).
  bool connection_reuse = false;
};

/// Reads a matrix. One space separates tokens; keywords are case-sensitive.
///
///   header   "Nodes N", "Connections N", "Triggers N", "Failures N", blank lines and # comments, up to the
///            first line that begins with "A->B", "trigger" or "failure"
///   A->B {id N | msg [N] | start US | trigger N | size BYTES | send_done_trigger N | recv_done_trigger N |
///         prio N}
///   trigger id N (oneshot | multishot | barrier) [count N]
///   failure switch_type AGG switch_id N link_id N
///
/// Kept from that format: header lines that it does not know are ignored (one remark), but # after the first
/// body line is an error; counts that are absent are 0, and counts must agree; "start" is cut to whole
/// microseconds (one remark); "size" goes to 2^31 - 1; a connection has exactly one of start and trigger, and
/// "id" before "trigger"; prio has no influence (one remark); flows without id get 1000000001, 1000000003,
/// ...; a recv_done_trigger never fires without connection reuse (one remark), and "msg" is refused without
/// it; failures exist between tiers 1 and 2 alone.
/// Choices where the format says nothing: "size" is required and positive, ids are unique without connection
/// reuse, barriers need "count", a oneshot trigger has one activator at most, one space at the end of a line
/// does not count, source and destination differ.
/// Refusals are one sentence with file, line, column, what was found and what was expected.
Result<FlowList> read_connection_matrix(std::string_view text, const std::string& name,
                                        const ConnectionMatrixOptions& options = {});

}  // namespace wharf::workload
