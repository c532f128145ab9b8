// SPDX-License-Identifier: Apache-2.0
// Two RoCE engines back to back, for benchmarks and for counting allocations.
#pragma once

#include "engine/roce/roce_engine.h"
#include "tests/support/back_to_back_engines.h"

namespace wharf::test {

class BackToBack : public BackToBackEngines<roce::RoceEngine> {
 public:
  explicit BackToBack(bool bytes)
      : BackToBackEngines(bytes, [](std::uint32_t host, wire::PayloadPool& pool) {
          roce::RoceConfig config;
          config.host = {host};
          return roce::RoceEngine::create(config, pool).value();
        }) {}
};

}  // namespace wharf::test
