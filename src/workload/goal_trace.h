// SPDX-License-Identifier: Apache-2.0
// Ranks that compute and send from a text in the Group Operation Assembly Language (Hoefler, Siebert,
// Lumsdaine, ICPP 2009), as LogGOPSim (Hoefler, Schneider, Lumsdaine, HPDC 2010) takes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/flow_list.h"

namespace wharf::workload {

/// `num_ranks N`, then for each rank `rank R { ... }` with `[LABEL:] send Sb to R [tag T] [cpu C] [nic N]`,
/// `[LABEL:] recv Sb from R [tag T] [cpu C] [nic N]`, `[LABEL:] calc NS [cpu C]`, `LABEL requires LABEL` and
/// `LABEL irequires LABEL`; semicolons may end statements; // and /* */ are comments. Sends and receives
/// match by source, destination and tag, in the order that their requirements give them, else in that of the
/// text. Every send is a flow, ranks stand at the host of their number. Refusals name file, line and column,
/// but those about rings.
Result<FlowList> read_goal_trace(std::string_view text, const std::string& name);

/// Puts each rank at its host: `hosts` has one for every rank.
void move_ranks(FlowList& list, const std::vector<std::uint32_t>& hosts);

}  // namespace wharf::workload
