// SPDX-License-Identifier: Apache-2.0
// The keys of links in runs of many hosts: what they do to frames, how far flow control lets buffers fill,
// and what happens to them while the run goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/config/binder.h"
#include "sim/fabric/fabric_config.h"
#include "sim/fabric/port_names.h"

namespace wharf::sim {

/// One entry of "fabric.link_changes": both directions of the links that `ports` names.
struct NamedLinkChange {
  std::string ports;  ///< As PortNames::find() takes them.
  bool up = true;
  BitsPerSecond rate{};  ///< 0: unchanged.
  TimePs at{};
};

/// Beside FabricSettings::loss and flow_control. Defaults are those of FabricConfig.
struct FabricLinks {
  double damage = 0;
  bool retry = false;
  std::uint32_t retry_limit = 1;  ///< 0: no limit.
  LinkRetryConfig retry_rules{};
  TimePs fec_delay{};
  FlowControlConfig flow_control{};  ///< Its kind counts for nothing.
  std::vector<NamedLinkChange> changes{};
  std::optional<TimePs> reroute_delay{};  ///< Nothing: never.
};

/// Reads "PORT down at TIME", "PORT up at TIME" or "PORT RATE at TIME", separated by commas; an Error says
/// which entry is none of them.
Result<std::vector<NamedLinkChange>> parse_link_changes(std::string_view text);

/// Lists the keys. `kind`: the flow control of the run.
void bind_links(Binder& binder, FabricLinks& links, FlowControl kind);
/// Refuses combinations of these keys, `loss` among them, and flow control of `kind` beside trimming.
Result<void> check_links(const FabricLinks& links, double loss, FlowControl kind, bool trimming);

/// Probability that a frame does not arrive, after the link's own retries; `loss`: that it vanishes.
double loss_of(const FabricLinks& links, double loss);
/// Everything but changes.
void apply_links(const FabricLinks& links, double loss, FlowControl kind, FabricConfig& fabric);
/// The changes, by number of the port. Refuses ports that do not exist, with the nearest that do.
Result<void> add_link_changes(const FabricLinks& links, const Topology& topology, const PortNames& names,
                              FabricConfig& fabric);

}  // namespace wharf::sim
