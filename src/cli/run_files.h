// SPDX-License-Identifier: Apache-2.0
// The files that a run leaves in its result directory.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "report/result_directory.h"
#include "sim/scenario/run.h"
#include "trace/event.h"
#include "trace/tracer.h"

namespace wharf::cli {

/// Opens what is written while a run goes on (capture, timeline) and writes the rest at its end.
class RunFiles {
 public:
  RunFiles();
  ~RunFiles();

  Result<void> open(const report::ResultDirectory& directory, bool capture, bool timeline);
  /// What the run has to be told about: null when nothing is written as it goes on.
  trace::Sink* sink();
  std::uint32_t mask() const;
  /// Closes the streams and writes summary.json, operations.csv, program.csv, what was seen of the network,
  /// and config.effective.toml.
  Result<void> finish(const report::ResultDirectory& directory, const sim::Scenario& scenario,
                      const sim::RunReport& report, const nlohmann::ordered_json& summary);

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
};

}  // namespace wharf::cli
