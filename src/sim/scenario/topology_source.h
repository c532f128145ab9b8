// SPDX-License-Identifier: Apache-2.0
// The topology that topology.from or --topo gives: by a name, or in a file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/fabric/topology_file.h"
#include "sim/scenario/fabric_settings.h"

namespace wharf::sim {

/// Whether `from` can only be meant as a topology's name: no file is called that, and it is the name of a
/// family, or a word without . and /, which has the refusal of names when it is none.
bool means_topology_name(const std::string& from);

/// The topology called `name`, its links and switches as `settings` say.
Result<TopologyFile> topology_by_name(std::string_view name, const FabricSettings& settings);

/// The topology in the text of file `name`. Refuses queue sizes beside fabric.queue_packets.
Result<TopologyFile> topology_in(std::string_view text, const std::string& name,
                                 const FabricSettings& settings);

/// A topology by name, or what its file holds.
Result<TopologyFile> load_topology(const std::string& from, const FabricSettings& settings);

}  // namespace wharf::sim
