// SPDX-License-Identifier: Apache-2.0
#include "study/frame/accounting_rules.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "study/frame/runs.h"

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

Result<std::vector<AccountingRule>> rules_between(const StudyContext& context,
                                                  const std::vector<RequestPair>& pairs) {
  // Runs differ in programs and seeds far more often than in models.
  const auto model_of = [](RunRequest request) {
    std::erase_if(request.keys, [](const std::string& key) { return !key.starts_with("model."); });
    return request;
  };
  std::vector<RequestPair> compared;
  std::vector<AccountingRule> rules;
  for (const RequestPair& pair : pairs) {
    const RequestPair models{model_of(pair.accounting), model_of(pair.mechanism)};
    if (std::find(compared.begin(), compared.end(), models) != compared.end()) continue;
    compared.push_back(models);
    const auto left = load_request(context, pair.accounting);
    if (!left) return left.error();
    const auto right = load_request(context, pair.mechanism);
    if (!right) return right.error();
    for (AccountingRule& rule : differing_keys(left->config, right->config)) {
      const auto same = [&rule](const AccountingRule& other) {
        return other.key == rule.key && other.accounting == rule.accounting &&
               other.mechanism == rule.mechanism;
      };
      if (std::none_of(rules.begin(), rules.end(), same)) rules.push_back(std::move(rule));
    }
  }
  return rules;
}

}  // namespace wharf::study
