// SPDX-License-Identifier: Apache-2.0
#include "study/openurma/openurma.h"

#include <fmt/format.h>

#include <algorithm>

namespace wharf::study::openurma {
namespace {

bool moves_a_word(std::string_view verb) {
  return verb == "load" || verb == "store" || verb == "fetch_add" || verb == "compare_swap";
}

}  // namespace

RunRequest request(const VerbRun& run) {
  const std::uint64_t payload = moves_a_word(run.verb) ? 8 : run.payload;
  // Room for every operation to touch bytes of its own, up to a size that larger transfers share.
  const std::uint64_t region =
      std::clamp<std::uint64_t>(run.operations * std::max<std::uint64_t>(payload, 64), 1U << 16U, 1U << 22U);
  RunRequest request{std::string(run.profile), std::string(run.stack), {}};
  request.keys = {
      "run.workload=verb_loop",
      fmt::format("run.verb={}", run.verb),
      fmt::format("run.payload={}B", payload),
      fmt::format("run.operations={}", run.operations),
      fmt::format("run.concurrency={}", run.concurrency),
      fmt::format("run.region_bytes={}B", region),
  };
  request.keys.insert(request.keys.end(), run.keys.begin(), run.keys.end());
  return request;
}

double mean_ns(const sim::RunReport& report) { return report.program_latency.mean_ns; }

double rate_mops(const sim::RunReport& report) { return report.operations_per_second / 1e6; }

Result<ReferenceTable> reference(const StudyContext& context, std::string_view file) {
  return ReferenceTable::read(context.reference / "openurma" / file);
}

Result<void> conclude(const RunBatch& batch, StudyResult& result) {
  const auto rules = batch.rules();
  if (!rules) return rules.error();
  result.rules.insert(result.rules.end(), rules->begin(), rules->end());
  result.checks.push_back(batch.integrity());
  return {};
}

Json json_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace wharf::study::openurma
