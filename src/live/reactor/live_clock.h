// SPDX-License-Identifier: Apache-2.0
// Real time as engines take it: picoseconds since the clock was made, never decreasing.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/time.h"

namespace wharf::live {

/// Reads CLOCK_MONOTONIC. One per reactor.
class LiveClock {
 public:
  LiveClock() : start_(nanoseconds_now()) {}
  TimePs now() const { return nanoseconds(nanoseconds_now() - start_); }

 private:
  static std::int64_t nanoseconds_now() {
    timespec spec{};
    ::clock_gettime(CLOCK_MONOTONIC, &spec);
    return spec.tv_sec * 1'000'000'000LL + spec.tv_nsec;
  }

  std::int64_t start_;
};

}  // namespace wharf::live
