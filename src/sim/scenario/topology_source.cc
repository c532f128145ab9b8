// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/topology_source.h"

#include <fmt/format.h>

#include "sim/fabric/topology_named.h"
#include "sim/scenario/input_file.h"

namespace wharf::sim {

bool means_topology_name(const std::string& from) {
  return from != kStandardInput && !file_exists(from) &&
         (names_topology(from) || from.find_first_of("./") == std::string::npos);
}

Result<TopologyFile> topology_by_name(std::string_view name, const FabricSettings& settings) {
  return named_topology(name, {settings.link_speed, settings.hop_latency}, settings.switch_latency);
}

Result<TopologyFile> topology_in(std::string_view text, const std::string& name,
                                 const FabricSettings& settings) {
  auto read = read_topology(text, shown(name));
  if (!read) return read;
  // Both say how long queues are, and the format gives neither the last word.
  if (read->queue_line != 0 && settings.queue_packets != 0) {
    return input_error(
        fmt::format("{}:{}:1: found queue sizes beside fabric.queue_packets = {}, expected one of the two",
                    shown(name), read->queue_line, settings.queue_packets));
  }
  return read;
}

Result<TopologyFile> load_topology(const std::string& from, const FabricSettings& settings) {
  if (means_topology_name(from)) return topology_by_name(from, settings);
  auto text = read_text(from);
  if (!text) return text.error();
  return topology_in(*text, from, settings);
}

}  // namespace wharf::sim
