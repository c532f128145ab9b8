// SPDX-License-Identifier: Apache-2.0
// What is wrong with a measurement of `wharf perf`.
#pragma once

#include <string>
#include <vector>

#include "live/udp/measurement.h"

namespace wharf::cli {

/// Each as a sentence; none when it holds. An interrupt may come before anything was measured.
std::vector<std::string> failures_of(const live::Measurement& measurement, bool interrupted);

}  // namespace wharf::cli
