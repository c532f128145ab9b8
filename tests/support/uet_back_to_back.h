// SPDX-License-Identifier: Apache-2.0
// Two UET engines back to back, for benchmarks and for counting allocations.
#pragma once

#include <memory>
#include <utility>

#include "base/arena.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/back_to_back_engines.h"

namespace wharf::test {

class UetBackToBack : private Arena, public BackToBackEngines<uet::UetEngine> {
 public:
  explicit UetBackToBack(bool bytes, uet::UetConfig config = {})
      : BackToBackEngines(bytes, [this, config](std::uint32_t host, wire::PayloadPool& pool) mutable {
          config.host = {host};
          config.protection = wire::UetProtection::kCrc;
          Arena& arena = *this;
          return std::make_unique<uet::UetEngine>(
              std::move(uet::UetEngine::create(config, pool, arena).value()));
        }) {}
};

}  // namespace wharf::test
