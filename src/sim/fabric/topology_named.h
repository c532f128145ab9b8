// SPDX-License-Identifier: Apache-2.0
// Topologies by name, for command lines: "fat_tree:128", "star:8", "rails:2x4x8x4".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/fabric/topology_file.h"

namespace wharf::sim {

/// Whether `text` begins with the name of a family of topologies.
bool names_topology(std::string_view text);

/// back_to_back; star:HOSTS; fat_tree:HOSTS (three tiers), leaf_spine:HOSTS (two tiers), both K-ary;
/// rails:SEGMENTSxSERVERSxRAILSxSPINES, whose hosts are interfaces, and rail_servers, whose hosts are servers
/// with a port on each rail; dragonfly:HOSTSxROUTERSxGLOBALS[xGROUPS], hosts and global links of a router,
/// routers of a group. All links and switches alike.
Result<TopologyFile> named_topology(std::string_view text, const LinkSpec& link, TimePs switch_latency);

}  // namespace wharf::sim
