// SPDX-License-Identifier: Apache-2.0
// A group's keys are checked under the names that all hosts have for them; errors name them as they stand.
#pragma once

#include <string_view>

#include "base/result.h"

namespace wharf::sim {

/// `error` about the machines of `group`: each "model.KEY" in it is a "group.NAME.model.KEY".
Error named_in_group(const Error& error, std::string_view group);

}  // namespace wharf::sim
