// SPDX-License-Identifier: Apache-2.0
// Which kind of scenario a file holds, by the sections that it has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/config/binder.h"
#include "sim/config/config_document.h"
#include "wire/packet.h"

namespace wharf::sim {

enum class ScenarioKind : std::uint8_t {
  kTwoHosts,
  kManyHosts,  ///< It has one of the sections fabric, topology, traffic and observe.
};

struct ScenarioFileKind {
  ScenarioKind kind = ScenarioKind::kTwoHosts;
  std::string reason;  ///< kManyHosts: "fabric.protocol (FILE:LINE)", the key that decides.
};

ScenarioFileKind kind_of(const ConfigDocument& document);
/// The same for the text of a file, of which only the form is looked at: refuses what is no TOML.
Result<ScenarioFileKind> kind_of_text(std::string_view text, std::string_view file);

/// Refuses a key that scenarios of two hosts alone have, in a document of many hosts; `reason` says what
/// makes it one of many.
Result<void> refuse_two_host_keys(const ConfigDocument& document, std::string_view reason);

/// Refuses keys of `profile` that scenarios of two hosts alone have.
Result<void> refuse_two_host_profile(const ConfigDocument& document, std::string_view profile,
                                     std::string_view origin);

/// Refuses keys of worlds of hosts in a file that has been read as one of flows: what kind a scenario is, its
/// file alone says.
Result<void> refuse_world(const ConfigDocument& document);

/// Refuses a key of `document`, which describes a world of hosts with programs, that runs of flows alone
/// have; `world`: the keys that it may have; with the key of the hosts' `protocol` that stands for it, if
/// there is one.
Result<void> refuse_flow_keys(const ConfigDocument& document, const std::vector<KeyDoc>& world,
                              wire::Protocol protocol);

/// Refuses an override that runs of many hosts alone have, in a scenario of two hosts.
Result<void> refuse_many_host_keys(const ConfigDocument& document);

}  // namespace wharf::sim
