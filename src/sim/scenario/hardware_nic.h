// SPDX-License-Identifier: Apache-2.0
// Hosts whose NIC is the hardware of rtl/ (model.nic.implementation = "rtl"): what they cannot be, said
// before a run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/config/config_document.h"
#include "sim/scenario/host_settings.h"

namespace wharf::sim {

struct ScenarioConfig;

/// Whether hosts can have one in this program, and what to do where not.
struct HardwareSupport {
  bool works = false;
  std::string sentence;
};
HardwareSupport hardware_support();

/// Whether any host of `config` has one.
bool has_hardware_nic(const ScenarioConfig& config);
/// Refuses keys of `host`, read from `document`, that ask the hardware for what it does not have.
Result<void> check_hardware(const ConfigDocument& document, const HostSettings& host);
/// Refuses worlds that the one channel of the hardware does not reach, and peers that it cannot talk to.
/// Null: a host as `config` has them.
Result<void> check_hardware_world(const ScenarioConfig& config,
                                  const std::vector<const HostSettings*>& by_host);

}  // namespace wharf::sim
