// SPDX-License-Identifier: Apache-2.0
// What was observed of a network, as plots; the same for runs of flows and of programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/plot.h"
#include "sim/scenario/observed_network.h"

namespace wharf::cli {

/// An empty picture over simulated time.
report::Plot over_time(std::string name, std::string title, std::string y_title);

/// Which looks a rate is drawn at: each `step`-th of those so far.
struct RateSteps {
  std::size_t step = 1;
  std::string title;  ///< Of the axis.
};
RateSteps rate_steps(std::string_view quantity, std::size_t looks, TimePs period);

double in_microseconds(TimePs time);
double gbps(std::uint64_t bytes, TimePs time);

/// Goodput of flows, queues and loads of the chosen ports, held queues; what shows nothing has no series.
std::vector<report::Plot> network_plots(const sim::ObservedNetwork& network);

}  // namespace wharf::cli
