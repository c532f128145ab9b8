// SPDX-License-Identifier: Apache-2.0
// What `wharf top` shows of one process: a table for people, an object for scripts.
#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "live/udp/metrics_reading.h"

namespace wharf::cli {

/// A number per second in five characters at most: "0", "0.25", "17.3", "999", "1.23k", "12.3M".
std::string short_number(double value);

/// A few lines about the process of `file`, and a table of its peers, the busiest first; of more than
/// `peers_max` the rest are counted.
std::string process_text(std::string_view file, const live::MetricsChange& change, std::size_t columns,
                         std::size_t peers_max = std::numeric_limits<std::size_t>::max());

/// Names hold their units. What is per second is null while it is not known.
nlohmann::ordered_json process_document(std::string_view file, const live::MetricsChange& change);

}  // namespace wharf::cli
