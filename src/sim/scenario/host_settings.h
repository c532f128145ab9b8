// SPDX-License-Identifier: Apache-2.0
// What hosts are: machine, stack and protocol, as the keys of "model.*" describe them.
#pragma once

#include "sim/host/config/host_config.h"
#include "sim/protocols/protocols.h"
#include "sim/world/nic_map.h"

namespace wharf::sim {

/// What an RDMO worker, or a thread that serves appends, computes. Its loads, stores and messages have their
/// own times. Keys model.rdmo.*.
struct RdmoCosts {
  TimePs request = nanoseconds(130);  ///< For one message.
  TimePs line = nanoseconds(2);       ///< For each 64 bytes of data that came in it.
};

/// Hosts that are alike. Plain data.
struct HostSettings {
  Stack stack = kDefaultStack;
  Attachment attachment =
      Attachment::kOnChipBus;  ///< Where the NIC sits; the stack decides unless a key says.
  SubmissionPath submission = SubmissionPath::kBusStore;  ///< How work requests reach it; likewise.
  NicSet nics;
  HostConfig host;
  RdmoCosts rdmo;
  ProtocolSettings protocols;    ///< Those of the stack's protocol alone matter.
  bool timeout_of_user = false;  ///< Not from a profile: it is what it is, however long the links are.

  wire::Protocol protocol() const { return protocol_of(stack); }
};

}  // namespace wharf::sim
