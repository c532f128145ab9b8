// SPDX-License-Identifier: Apache-2.0
// The published runs of the UEC's simulator (studies/ultra_ethernet): what was run, with which options, and
// what came out.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "study/frame/fabric_batch.h"
#include "study/frame/study.h"

namespace wharf::study::ultra_ethernet {

inline constexpr double kNotPublished = -1;

/// One setting, with what each of its seeds gave. Times in microseconds, counts are packets; means over the
/// seeds.
struct SimulatorRun {
  std::string matrix;    ///< File.
  std::string topology;  ///< File; empty: the generated fat tree.
  std::string mode;      ///< As published: "RCCC (paths 128)".
  std::vector<std::uint64_t> seeds{};
  double least = kNotPublished;
  double mean = kNotPublished;
  double p99 = kNotPublished;
  double most = kNotPublished;  ///< The longest flow or, where they all start at once, the end of the last.
  double retransmitted = 0;
  double acknowledgements = 0;
  double negative_acknowledgements = 0;

  bool receiver() const { return mode.starts_with("RCCC"); }
  bool incast() const { return matrix.starts_with("incast"); }
  /// "perm_128n_3MB, NSCC (paths 128), fat_tree_128_4os".
  std::string name() const;
  /// What its mode stands for, as keys of runs of many hosts.
  Result<std::vector<std::string>> keys() const;
};

/// Those of results.csv and results-seeds.csv, in file order. Refuses rows that do not have the fields.
Result<std::vector<SimulatorRun>> simulator_runs(const StudyContext& context);

/// `run` with one of its seeds and further keys, over the profile htsim-uec.
Result<FabricCase> simulator_case(const StudyContext& context, const SimulatorRun& run, std::uint64_t seed,
                                  const std::vector<std::string>& further = {});

}  // namespace wharf::study::ultra_ethernet
