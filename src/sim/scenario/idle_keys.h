// SPDX-License-Identifier: Apache-2.0
// Keys that cannot act with the other keys of a run, where no section of the binder says so: those of
// programs, and a few others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_document.h"
#include "wire/protocol_traits.h"

namespace wharf::sim {

struct ScenarioConfig;

/// Adds to `remarks`, for each such key that the user gave, that it has no influence and what it would need
/// ("only with a writer"), unless a remark is about it already.
void remark_idle_keys(const ConfigDocument& document, const ScenarioConfig& config,
                      std::vector<std::string>& remarks);

}  // namespace wharf::sim
