// SPDX-License-Identifier: Apache-2.0
// Two UB engines back to back, for benchmarks and for counting allocations.
#pragma once

#include <memory>
#include <utility>

#include "base/arena.h"
#include "engine/ub/ub_engine.h"
#include "tests/support/back_to_back_engines.h"

namespace wharf::test {

class UbBackToBack : private Arena, public BackToBackEngines<ub::UbEngine> {
 public:
  explicit UbBackToBack(bool bytes, ub::UbConfig config = {})
      : BackToBackEngines(bytes, [this, config](std::uint32_t host, wire::PayloadPool& pool) mutable {
          config.host = {host};
          Arena& arena = *this;
          return std::make_unique<ub::UbEngine>(std::move(ub::UbEngine::create(config, pool, arena).value()));
        }) {}
};

}  // namespace wharf::test
