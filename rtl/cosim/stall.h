// SPDX-License-Identifier: Apache-2.0
// When a port offers or takes nothing. Apart because every port of every harness stalls, in phases: a port
// that is always half open finds neither a full nor an empty element.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"

namespace wharf::rtl {

/// Open or not, cycle by cycle; how often it is open changes every few cycles, from never to always.
class Stall {
 public:
  explicit Stall(RandomStream random) : random_(random) {}

  /// Whether the port is open in this cycle. Call once a cycle.
  bool open() {
    if (left_ == 0) {
      left_ = 1 + static_cast<std::uint32_t>(random_.below(64));
      openness_ = kOpenness[random_.below(kOpenness.size())];
    }
    --left_;
    return random_.below(8) < openness_;
  }

 private:
  static constexpr std::array<std::uint32_t, 6> kOpenness{0, 1, 4, 7, 8, 8};  ///< In eighths.
  RandomStream random_;
  std::uint32_t left_ = 0;
  std::uint32_t openness_ = 8;
};

}  // namespace wharf::rtl
