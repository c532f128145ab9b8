// SPDX-License-Identifier: Apache-2.0
#include "sim/two_hosts/two_hosts.h"

#include "sim/world/wire_world.h"

namespace wharf::sim {

Result<std::unique_ptr<TwoHosts>> TwoHosts::create(const TwoHostsConfig& config) {
  WHARF_TRY(validate(config.link));
  WorldConfig world;
  HostGroup group;
  group.count = 2;
  group.host = config.host;
  group.engine = {.stack = config.stack,
                  .attachment = config.attachment,
                  .submission = config.submission,
                  .configs = config.engines};
  world.groups.push_back(std::move(group));
  join_by_wire(world, config.link);
  use_link(world, config.link, config.host);
  if (config.cores[0] > 1 || config.cores[1] > 1)
    world.cores.assign(config.cores.begin(), config.cores.end());
  world.seed = config.seed;
  world.attribution = config.attribution;
  world.record_limit = config.record_limit;
  world.record_reserve = config.record_reserve;
  auto made = World::create(std::move(world));
  if (!made) return made.error();
  return std::unique_ptr<TwoHosts>(new TwoHosts(*std::move(made)));
}

}  // namespace wharf::sim
