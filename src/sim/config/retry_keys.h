// SPDX-License-Identifier: Apache-2.0
// The keys of link-level retry, which links of fabrics and the faults of any world have alike.
#pragma once

#include "sim/config/binder.h"
#include "sim/fabric/link_faults.h"

namespace wharf::sim {

/// Lists the keys link_retry, link_retry_limit and llr_* of the section that is open.
void bind_link_retry(Binder& binder, bool& retry, std::uint32_t& limit, LinkRetryConfig& rules);

}  // namespace wharf::sim
