// SPDX-License-Identifier: Apache-2.0
// The simulations of a study: collected first, then run on all cores. They are independent and seeded, so the
// result does not depend on how many run at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario/run.h"
#include "study/frame/study.h"

namespace wharf::study {

/// One simulation: a profile, a stack, and further keys as "key=value". Without a stack the profile's default
/// runs.
struct RunRequest {
  std::string profile;
  std::string stack;
  std::vector<std::string> keys;

  bool operator==(const RunRequest&) const = default;
};

/// The run of a paper's accounting and that of the mechanism beside it.
struct RequestPair {
  RunRequest accounting;
  RunRequest mechanism;

  bool operator==(const RequestPair&) const = default;
};

/// Loads what `request` describes, without running it.
Result<sim::Scenario> load_request(const StudyContext& context, const RunRequest& request);

/// Requests and, after run(), their reports.
class RunBatch {
 public:
  explicit RunBatch(const StudyContext& context) : context_(context) {}

  /// Returns the place of the report; equal requests share one.
  std::size_t add(RunRequest request);
  /// Runs what has been added since the last call. A refused scenario, a stall or an interrupt ends it; of
  /// several failures the one of the earliest request is returned.
  Result<void> run();

  const sim::RunReport& operator[](std::size_t place) const { return reports_[place]; }
  /// Says that `accounting` and `mechanism` stand beside each other in the study: rules() compares them.
  void compare(std::size_t accounting, std::size_t mechanism);
  /// The model keys whose values differ between the compared runs, each pair of values once, in the order of
  /// the comparisons. Overrides count as much as profiles do.
  Result<std::vector<AccountingRule>> rules() const;
  /// Runs that ended with failed operations or wrong memory; none in a correct program.
  Check integrity() const;

 private:
  const StudyContext& context_;
  std::vector<RunRequest> requests_;
  std::vector<sim::RunReport> reports_;
  std::vector<RequestPair> compared_;
};

}  // namespace wharf::study
