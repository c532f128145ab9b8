// SPDX-License-Identifier: Apache-2.0
// A process that goes on when this program has ended, as a service does: without its terminal, and known to
// be ready before this program goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wharf::live {

struct Started {
  std::uint64_t process = 0;
  std::string told;  ///< What it said when it was ready.
};

/// To be called once, when it serves.
using SayReady = std::function<void(std::string_view)>;

/// Runs `serve` in a process of its own and waits until that is ready, or has failed: then with its error. To
/// be called while this process has one thread.
Result<Started> start_in_background(const std::function<Result<void>(const SayReady&)>& serve);

}  // namespace wharf::live
