// SPDX-License-Identifier: Apache-2.0
#include "study/frame/fabric_batch.h"

#include <algorithm>
#include <span>

#include "base/free_heap.h"
#include "base/statistics.h"
#include "study/frame/overrides.h"
#include "study/frame/parallel.h"

namespace wharf::study {

Result<sim::LoadedFabricSettings> load_keys(const StudyContext& context, const std::string& profile,
                                            std::vector<std::string> keys) {
  const Overrides* const others = context.overrides;
  if (others == nullptr) return sim::load_fabric_settings({profile, std::move(keys), context.profiles});
  auto loaded = sim::load_fabric_settings({others->profile().empty() ? profile : others->profile(),
                                           others->over(std::move(keys)), context.profiles});
  if (loaded.ok()) others->note(loaded->no_influence);
  return loaded;
}

Result<FabricCase> case_by_keys(const StudyContext& context, std::string name, sim::Topology topology,
                                workload::FlowList flows, std::vector<std::string> keys,
                                std::vector<TimePs>* ideal, sim::FabricDerived* derived) {
  auto loaded = load_keys(context, "", std::move(keys));
  if (!loaded) return loaded.error();
  flows.name = name;
  auto run = sim::derive_fabric_run(loaded->settings, topology, nullptr, flows);
  if (!run) return run.error();
  if (ideal != nullptr) *ideal = sim::ideal_times(topology, flows, loaded->settings, run->derived);
  if (derived != nullptr) *derived = run->derived;
  return FabricCase{std::move(name), std::move(topology), std::move(flows), std::move(run->config)};
}

Result<sim::FabricReport> run_case(const StudyContext& context, const FabricCase& one) {
  sim::FabricRunOptions options;
  options.interrupt = context.interrupt;
  auto report = sim::run_flows(one.topology, one.flows, one.config, options);
  return_free_heap();  // Its hosts are gone; those of the next case may be many others.
  if (!report) return report.error();
  if (report->outcome == sim::FabricOutcome::kStalled || report->outcome == sim::FabricOutcome::kInterrupted)
    return Error{ErrorKind::kStalled, "the run \"" + one.name + "\" did not end; " + report->waiting};
  return report;
}

std::size_t FabricBatch::add(FabricCase one) {
  cases_.push_back(std::move(one));
  return cases_.size() - 1;
}

Result<void> FabricBatch::run() {
  const std::size_t first = reports_.size();
  reports_.resize(cases_.size());
  return for_each_in_parallel(context_, cases_.size() - first, [this, first](std::size_t i) -> Result<void> {
    auto report = run_case(context_, cases_[first + i]);
    if (!report) return report.error();
    reports_[first + i] = *std::move(report);
    return {};
  });
}

std::vector<double> FabricBatch::times_ns(std::size_t place) const {
  std::vector<double> times;
  times.reserve(reports_[place].records.size());
  for (const sim::FlowRecord& record : reports_[place].records)
    times.push_back(as_nanoseconds(record.end - record.start));
  return times;
}

double FabricBatch::whole_ns(std::size_t place) const {
  TimePs first = kNever;
  TimePs last;
  for (const sim::FlowRecord& record : reports_[place].records) {
    first = min(first, record.start);
    last = max(last, record.end);
  }
  return as_nanoseconds(last - first);
}

Check FabricBatch::integrity() const {
  double failed = 0;
  for (const sim::FabricReport& report : reports_) failed += static_cast<double>(report.failed);
  return equal("flows that failed", failed, 0);
}

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

double mean_of(const std::vector<double>& values) { return mean(std::span<const double>(values)); }

double percentile_of(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  return exact_percentile(std::span<const double>(values), percent);
}

}  // namespace wharf::study
