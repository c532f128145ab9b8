// SPDX-License-Identifier: Apache-2.0
// Which rules of a paper's accounting a machine does not have: found by comparing two profiles key by key.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario.h"
#include "study/study.h"

namespace wharf::study {

/// Keys whose values differ between two loaded scenarios, except the names of profile and stack, in key
/// order.
std::vector<AccountingRule> differing_keys(const sim::ScenarioConfig& accounting,
                                           const sim::ScenarioConfig& mechanism);

/// The same for two profiles as they lie on disk.
Result<std::vector<AccountingRule>> accounting_rules(const StudyContext& context,
                                                     const std::string& accounting,
                                                     const std::string& mechanism);

}  // namespace wharf::study
