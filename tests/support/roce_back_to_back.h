// SPDX-License-Identifier: Apache-2.0
// Two RoCE engines back to back, for benchmarks and for counting allocations.
#pragma once

#include <memory>
#include <utility>

#include "base/arena.h"
#include "engine/roce/roce_engine.h"
#include "tests/support/back_to_back_engines.h"

namespace wharf::test {

class RoceBackToBack : private Arena, public BackToBackEngines<roce::RoceEngine> {
 public:
  explicit RoceBackToBack(bool bytes)
      : BackToBackEngines(bytes, [this](std::uint32_t host, wire::PayloadPool& pool) {
          roce::RoceConfig config;
          config.host = {host};
          Arena& arena = *this;
          return std::make_unique<roce::RoceEngine>(roce::RoceEngine::create(config, pool, arena).value());
        }) {}
};

}  // namespace wharf::test
