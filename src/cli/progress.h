// SPDX-License-Identifier: Apache-2.0
// Progress of work that takes longer than a second: a bar on a terminal, a heartbeat line every ten seconds
// otherwise.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cli/console.h"

namespace wharf::cli {

/// One piece of work. Draws on standard error, and only after the first second.
class Progress {
 public:
  Progress(const Console& console, std::string what);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Clears the bar.
  ~Progress();

  /// `fraction` from 0 to 1; `detail` is short, such as "12.3 us simulated, 4.1 M events/s". Cheap to call
  /// often.
  void update(double fraction, std::string_view detail);
  /// The same when nobody knows how much is left.
  void update(std::string_view detail);

 private:
  void show(std::optional<double> fraction, std::string_view detail);

  using Clock = std::chrono::steady_clock;

  const Console& console_;
  std::string what_;
  bool bar_;
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace wharf::cli
