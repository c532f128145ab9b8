// SPDX-License-Identifier: Apache-2.0
// What hosts are: machine, stack and protocol, as the keys of "model.*" describe them.
#pragma once

#include "sim/host/config/host_config.h"
#include "sim/protocols/protocols.h"
#include "sim/world/nic_map.h"

namespace wharf::sim {

/// Hosts that are alike. Plain data.
struct HostSettings {
  Stack stack = Stack::kUbUrma;
  Attachment attachment =
      Attachment::kOnChipBus;  ///< Where the NIC sits; the stack decides unless a key says.
  SubmissionPath submission = SubmissionPath::kBusStore;  ///< How work requests reach it; likewise.
  NicSet nics;
  HostConfig host;
  ProtocolSettings protocols;  ///< Those of the stack's protocol alone matter.

  wire::Protocol protocol() const { return protocol_of(stack); }
};

}  // namespace wharf::sim
