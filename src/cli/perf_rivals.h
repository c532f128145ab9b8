// SPDX-License-Identifier: Apache-2.0
// wharf perf --against: other programs that are measured beside wharf in the same run.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/options.h"
#include "live/rivals/rival.h"
#include "live/udp/place.h"
#include "report/plot.h"
#include "report/text_table.h"

namespace wharf::cli {

class PerfRivals {
 public:
  Option declare(Options& app);
  bool wanted() const { return option_.given(); }
  /// Reads what was asked for. Refuses what cannot be measured beside `server` by `run`, whose bytes are
  /// those of the first message; others may be left out.
  Result<void> open(const live::Place& server, const live::RivalRun& run, std::uint32_t concurrency);
  /// Measures all of them but those that have failed. False: an interrupt ended it.
  bool measure(const Console& console, const live::RivalRun& run, std::int64_t own_latency_ps);

  /// The first failure, once all that was measured is printed; the others are printed here.
  Result<void> result(const Console& console) const;

  /// One line for each figure.
  report::TextTable table() const;
  /// Those for messages of that size.
  nlohmann::ordered_json json(std::uint32_t bytes) const;
  /// A line for each program.
  void add_series(report::Plot& latency) const;

 private:
  struct Row {
    std::size_t rival;
    std::uint32_t bytes;
    live::RivalFigure figure;
    double ratio;  ///< Its latency as a multiple of ours.
  };
  struct Failure {
    std::size_t rival;
    std::uint32_t bytes;  ///< Of the first message that it did not carry.
    Error error;
  };
  Option option_;
  std::string list_;
  std::vector<live::Rival> rivals_;
  std::vector<Row> rows_;
  std::vector<Failure> failures_;
};

}  // namespace wharf::cli
