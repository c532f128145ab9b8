// SPDX-License-Identifier: Apache-2.0
// Which rules of a paper's accounting a machine does not have: found by comparing, key by key, the
// configurations that really ran.
#pragma once

#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario.h"
#include "study/frame/runs.h"
#include "study/frame/study.h"

namespace wharf::study {

/// Keys whose values differ between two loaded scenarios, except the names of profile and stack, in key
/// order.
std::vector<AccountingRule> differing_keys(const sim::ScenarioConfig& accounting,
                                           const sim::ScenarioConfig& mechanism);

/// The same over every pair of runs that a study compares, each difference once.
Result<std::vector<AccountingRule>> rules_between(const StudyContext& context,
                                                  const std::vector<RequestPair>& pairs);

}  // namespace wharf::study
