// SPDX-License-Identifier: Apache-2.0
// The counters of a run as JSON, by host and component. Counters that stayed zero are left out.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/scenario/two_hosts.h"

namespace wharf::sim {

nlohmann::ordered_json counter_report(TwoHosts& two);

}  // namespace wharf::sim
