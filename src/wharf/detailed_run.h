// SPDX-License-Identifier: Apache-2.0
// A run with everything that it leaves behind: run.h sums up, this keeps the records for what shows them one
// by one. Private, as the simulator is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/fabric_inputs.h"
#include "sim/scenario/observed_network.h"
#include "sim/scenario/run.h"
#include "wharf/run.h"

namespace wharf {

/// How far a run has come.
struct RunAdvance {
  double fraction = 0;  ///< 0 to 1.
  double simulated_ns = 0;
  std::uint64_t events = 0;  ///< Of runs of flows: packet-hops.
};

/// Who wants to know, on the thread that runs and between slices of the run; may be nobody.
struct RunWatch {
  void (*advance)(void* context, const RunAdvance& advance) = nullptr;
  void* context = nullptr;
};

/// What a run of flows leaves.
struct FlowsRun {
  sim::FabricInputs inputs;
  sim::FabricReport report;
  std::vector<TimePs> ideal;  ///< Of each flow, alone on the fabric.
  sim::PortNames names;
  sim::Observation asked;
  bool pauses = false;  ///< Queues can be held by pause frames.

  /// ports.csv, and the series that were asked for.
  std::vector<sim::ObservedFile> files() const;
};

/// Of a run that stalled or was interrupted there is as much as it came to. Neither report: it never began.
struct DetailedRun {
  RunResult result{};
  std::shared_ptr<const sim::RunReport> programs{};
  std::shared_ptr<const FlowsRun> flows{};
};

/// As run(), which is this without the records.
DetailedRun run_in_detail(const RunSettings& settings, const RunWatch& watch);

/// What a scenario is, found without running it.
struct CheckedSettings {
  RunResult result{};  ///< kDone: it can run.
  bool flows = false;
  std::vector<std::string> remarks{};  ///< Keys that have no influence, what files said: one sentence each.
  std::string effective{};  ///< config.effective.toml: the keys that were given, with their origins.
};
CheckedSettings check(const RunSettings& settings);

}  // namespace wharf
