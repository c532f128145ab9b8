// SPDX-License-Identifier: Apache-2.0
// The options that both ends of a live connection share.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "live/reactor/idle_policy.h"
#include "live/udp/live_host.h"
#include "wire/packet.h"

namespace wharf::cli {

struct LiveOptions {
  std::string protocol = "ub";
  std::string loss = "0";
  std::string duplication = "0";
  std::uint64_t seed = 0;  ///< 0: drawn from the system.
  bool busy_poll = false;

  void declare(Options& app);
  /// Checks and converts; a refusal names the option.
  Result<void> read(wire::Protocol& protocol_out, live::FaultConfig& faults, live::IdleConfig& idle,
                    std::uint64_t& seed_out) const;
};

}  // namespace wharf::cli
