// SPDX-License-Identifier: Apache-2.0
// Two engines back to back of each protocol, as `./dev economy` counts them.
#pragma once

#include <string_view>

#include "tests/support/roce_back_to_back.h"
#include "tests/support/ub_back_to_back.h"
#include "tests/support/uet_back_to_back.h"

namespace wharf::test {

/// Acknowledgements are coalesced as each protocol allows: UET's default is each 16th of small packets, RoCE
/// merges those that wait to leave.
struct RoceEconomy {
  using Engine = roce::RoceEngine;
  using Config = roce::RoceConfig;
  static constexpr std::string_view kName = "roce";
  static constexpr std::string_view kTitle = "RoCE";
  static RoceBackToBack world() { return RoceBackToBack(false); }
};
/// UB acknowledges each packet unless told otherwise.
struct UbEconomy {
  using Engine = ub::UbEngine;
  using Config = ub::UbConfig;
  static constexpr std::string_view kName = "ub";
  static constexpr std::string_view kTitle = "UB, ROI";
  static UbBackToBack world() {
    Config config;
    config.acknowledge_every = 16;
    return UbBackToBack(false, config);
  }
};
/// The same in service mode ROL.
struct UbRolEconomy {
  using Engine = ub::UbEngine;
  struct Config : ub::UbConfig {
    static constexpr bool kOnePeerPerQueue = true;
    Config() { service = engine::ServiceMode::kOrderedByTransport; }
  };
  static constexpr std::string_view kName = "ub_rol";
  static constexpr std::string_view kTitle = "UB, ROL";
  static UbBackToBack world() {
    Config config;
    config.acknowledge_every = 16;
    return UbBackToBack(false, config);
  }
};
struct UetEconomy {
  using Engine = uet::UetEngine;
  using Config = uet::UetConfig;
  static constexpr std::string_view kName = "uet";
  static constexpr std::string_view kTitle = "UET";
  static UetBackToBack world() { return UetBackToBack(false); }
};

/// Calls `action` with each, in the order of the table in docs/engine-economy.md.
template <typename Action>
void each_economy(Action&& action) {
  action(RoceEconomy());
  action(UbEconomy());
  action(UbRolEconomy());
  action(UetEconomy());
}

}  // namespace wharf::test
