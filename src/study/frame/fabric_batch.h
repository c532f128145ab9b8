// SPDX-License-Identifier: Apache-2.0
// Runs of many hosts for studies: cases that are collected first and then run side by side, and what flows
// took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/fabric/topology.h"
#include "sim/flows/fabric_run.h"
#include "sim/scenario/fabric_settings.h"
#include "study/frame/judgement.h"
#include "study/frame/study.h"
#include "workload/flow_list.h"

namespace wharf::study {

/// One run of many hosts.
struct FabricCase {
  std::string name;  ///< For messages.
  sim::Topology topology;
  workload::FlowList flows;
  sim::FabricRunConfig config;
};

/// The settings by `keys` over a profile, with the overrides of the context, of which it notes that they were
/// taken.
Result<sim::LoadedFabricSettings> load_keys(const StudyContext& context, const std::string& profile,
                                            std::vector<std::string> keys);

/// A case by the keys of runs of many hosts, as `wharf run --flows` takes them, over the profile
/// ultra-ethernet unless model.profile is among them. `ideal` and `derived`, when given, receive each flow's
/// unloaded time and what the rules gave.
Result<FabricCase> case_by_keys(const StudyContext& context, std::string name, sim::Topology topology,
                                workload::FlowList flows, std::vector<std::string> keys,
                                std::vector<TimePs>* ideal = nullptr, sim::FabricDerived* derived = nullptr);

/// Runs one case. Refuses what the run refuses; a run that stalls is an error with the reason.
Result<sim::FabricReport> run_case(const StudyContext& context, const FabricCase& one);

/// Collects cases, then runs what is new of them, as many at a time as the context allows.
class FabricBatch {
 public:
  explicit FabricBatch(const StudyContext& context) : context_(context) {}

  /// Returns its place.
  std::size_t add(FabricCase one);
  /// Refuses what run_case() does.
  Result<void> run();

  const FabricCase& at(std::size_t place) const { return cases_[place]; }
  const sim::FabricReport& operator[](std::size_t place) const { return reports_[place]; }
  /// Nanoseconds from the start to the end of each flow, in the order of the list.
  std::vector<double> times_ns(std::size_t place) const;
  /// From the first start to the last end.
  double whole_ns(std::size_t place) const;
  /// No flow failed in any run.
  Check integrity() const;

 private:
  const StudyContext& context_;
  std::vector<FabricCase> cases_;
  std::vector<sim::FabricReport> reports_;
};

/// Largest of some values, at least one.
double largest(const std::vector<double>& values);
double mean_of(const std::vector<double>& values);
/// The value at a percentile, by nearest rank.
double percentile_of(std::vector<double> values, double percent);

}  // namespace wharf::study
