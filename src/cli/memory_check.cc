// SPDX-License-Identifier: Apache-2.0
#include "cli/memory_check.h"

#include <fmt/format.h>

#include "base/memory_room.h"
#include "base/units.h"
#include "sim/scenario/fabric_memory.h"
#include "sim/scenario/memory_estimate.h"

namespace wharf::cli {
namespace {

/// In whole mebibytes, or gibibytes with one digit.
std::string about(std::uint64_t bytes) {
  const std::uint64_t mebibytes = (bytes >> 20U) + 1;
  return mebibytes < 1024 ? fmt::format("{}MiB", mebibytes)
                          : fmt::format("{:.1f}GiB", static_cast<double>(mebibytes) / 1024);
}

/// For an estimate that is right within a factor of two.
Result<void> require_about(std::uint64_t needed, std::string_view what, std::string_view less) {
  return require_room(needed / 2, needed, what,
                      fmt::format("{}, or --any-memory to try it all the same", less));
}

}  // namespace

Result<void> require_room(std::uint64_t least, std::uint64_t needed, std::string_view what,
                          std::string_view less) {
  const MemoryRoom room = memory_room();
  if (least <= room.bytes) return {};
  return Error{ErrorKind::kEnvironment,
               fmt::format("{} needs about {} of memory, and {} leaves {}, expected {}", what, about(needed),
                           room.limit, about(room.bytes), less)};
}

Result<void> check_memory(const sim::Scenario& scenario, const ScenarioOptions& options) {
  if (options.any_memory) return {};
  const auto needed = sim::estimate_memory(scenario.config);
  if (!needed) return needed.error();
  return require_about(*needed, options.file,
                       scenario.config.world.given
                           ? "fewer hosts (topology.from, hosts.clients) or smaller regions (run.*)"
                           : "smaller regions (run.*)");
}

Result<void> check_memory(const sim::FabricInputs& inputs, const sim::FabricRunConfig& config,
                          const ScenarioOptions& options) {
  if (options.any_memory) return {};
  return require_about(sim::estimate_memory(inputs.topology.topology, inputs.flows, config),
                       options.file.empty() ? inputs.flows.name : options.file,
                       "fewer hosts (topology.from, traffic.ranks) or fewer flows (traffic.*)");
}

}  // namespace wharf::cli
