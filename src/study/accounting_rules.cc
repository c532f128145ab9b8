// SPDX-License-Identifier: Apache-2.0
#include "study/accounting_rules.h"

#include <string_view>

#include "study/runs.h"

namespace wharf::study {
namespace {

/// Every key with the value that `config` holds, as text. A binder without a document changes nothing.
std::vector<sim::KeyDoc> values_of(sim::ScenarioConfig config) {
  sim::Binder binder;
  sim::bind_scenario(binder, config);
  return binder.keys();
}

}  // namespace

std::vector<AccountingRule> differing_keys(const sim::ScenarioConfig& accounting,
                                           const sim::ScenarioConfig& mechanism) {
  constexpr std::string_view kModel = "model.";
  const std::vector<sim::KeyDoc> left = values_of(accounting);
  const std::vector<sim::KeyDoc> right = values_of(mechanism);
  std::vector<AccountingRule> rules;
  for (const sim::KeyDoc& key : left) {
    if (!key.path.starts_with(kModel) || key.path == "model.profile" || key.path == "model.stack") continue;
    for (const sim::KeyDoc& other : right) {
      if (other.path != key.path || other.default_value == key.default_value) continue;
      rules.push_back({key.path.substr(kModel.size()), key.default_value, other.default_value, key.doc});
    }
  }
  return rules;
}

Result<std::vector<AccountingRule>> accounting_rules(const StudyContext& context,
                                                     const std::string& accounting,
                                                     const std::string& mechanism) {
  const auto left = load_request(context, {accounting, "", {}});
  if (!left) return left.error();
  const auto right = load_request(context, {mechanism, "", {}});
  if (!right) return right.error();
  return differing_keys(left->config, right->config);
}

}  // namespace wharf::study
