// SPDX-License-Identifier: Apache-2.0
// What hosts are: machine, stack and protocol, as the keys of "model.*" describe them.
#pragma once

#include "engine/roce/config.h"
#include "engine/ub/config.h"
#include "sim/config/uet_settings.h"
#include "sim/host/config/host_config.h"
#include "sim/world/stack.h"

namespace wharf::sim {

/// Hosts that are alike. Plain data.
struct HostSettings {
  Stack stack = Stack::kUbUrma;
  Attachment attachment =
      Attachment::kOnChipBus;  ///< Where the NIC sits; the stack decides unless a key says.
  SubmissionPath submission = SubmissionPath::kBusStore;  ///< How work requests reach it; likewise.
  HostConfig host;
  ub::UbConfig ub;
  roce::RoceConfig roce;
  UetSettings uet;
};

}  // namespace wharf::sim
