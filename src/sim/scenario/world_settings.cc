// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/world_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/config/fabric_links.h"
#include "sim/scenario/input_file.h"
#include "sim/scenario/read_again.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/topology_source.h"
#include "sim/scenario/world_traffic.h"
#include "sim/world/wire_world.h"

namespace wharf::sim {
namespace {

constexpr std::array<Choice<TrafficRoot>, 2> kTrafficRoots{
    {{"thin", TrafficRoot::kThin}, {"server", TrafficRoot::kServer}}};

Result<TopologyFile> topology_of(const FabricSettings& settings) {
  const std::string& from = settings.topology;
  if (from.empty())
    return input_error("hosts.* stands without topology.from, expected a topology, such as \"fat_tree:54\"");
  const bool name = means_topology_name(from);
  if (!name) WHARF_TRY(require_readable_again("topology.from", from));  // The check reads it, and each run.
  auto topology = load_topology(from, settings);
  // What is wrong in a file has its place there.
  if (!topology && (name || !file_exists(from)))
    return Error{topology.error().kind, "topology.from: " + topology.error().message};
  return topology;
}

/// What a network decides of the engines at its ports.
struct EngineOfNetwork {
  LinkConfig path;                          ///< What engines see of the network: its round trip.
  const FabricRunConfig* fabric = nullptr;  ///< Null: a wire.
};

HostGroup group_of(const HostSettings& settings, const EngineOfNetwork& network) {
  HostGroup group;
  group.count = 0;
  group.host = settings.host;
  group.engine = {.stack = settings.stack,
                  .attachment = settings.attachment,
                  .submission = settings.submission,
                  .configs = derive_engines(settings, network.path)};
  group.nics = settings.nics;
  if (network.fabric == nullptr) return group;
  visit_protocol(settings.protocol(), [&]<typename P>(std::type_identity<P>) {
    std::get<typename P::Config>(group.engine.configs) =
        P::on_fabric(std::get<typename P::Settings>(settings.protocols), network.path, settings.host,
                     std::get<typename P::Config>(network.fabric->engines));
    // Two base round trips, as for runs of flows: what a profile says is for the links that it was made for.
    if (!settings.timeout_of_user)
      P::raise_timeout(std::get<typename P::Config>(group.engine.configs), network.path.delay * 4);
  });
  return group;
}

/// What the workers of programs cost at their hosts.
Result<void> set_costs(const ScenarioConfig& config, PlannedWorld& plan) {
  auto by_host = settings_by_host(config.groups, plan.roles);
  if (!by_host) return by_host.error();
  for (ProgramHosts& program : plan.programs) {
    for (const std::uint32_t host : program.beside.empty() ? program.servers : program.beside) {
      const HostSettings* settings = (*by_host)[host];
      program.rdmo.push_back(settings != nullptr ? settings->rdmo : config.rdmo);
    }
  }
  return {};
}

/// Hosts in their order; neighbours that are alike stand in one group.
Result<std::vector<HostGroup>> groups_of(const ScenarioConfig& config, const WorldRoles& roles,
                                         const EngineOfNetwork& network) {
  auto by_host = settings_by_host(config.groups, roles);
  if (!by_host) return by_host.error();
  std::vector<HostGroup> groups;
  for (std::uint32_t host = 0; host < roles.hosts; ++host) {
    const HostSettings* settings = (*by_host)[host];
    const bool thin = roles.is_thin(host);
    if (host == 0 || settings != (*by_host)[host - 1] || thin != groups.back().thin) {
      groups.push_back(group_of(settings != nullptr ? *settings : config, network));
      groups.back().thin = thin;
    }
    ++groups.back().count;
  }
  return groups;
}

/// Two hosts, one link.
Result<PlannedWorld> two_hosts_on_a_wire(const ScenarioConfig& config) {
  PlannedWorld plan;
  auto groups = groups_of(config, plan.roles, {config.link});
  if (!groups) return groups.error();
  plan.config.groups = *std::move(groups);
  join_by_wire(plan.config, config.link);
  return plan;
}

Result<WorldRoles> roles_of(const ScenarioConfig& config, std::uint32_t hosts) {
  const WorldSettings& world = config.world;
  if (hosts < 2) return input_error(fmt::format("topology.from has {} host, expected at least 2", hosts));
  if (world.servers >= hosts) {
    return input_error(fmt::format("hosts.servers is {}, expected at most {} of the {} hosts", world.servers,
                                   hosts - 1, hosts));
  }
  if (world.clients > hosts - world.servers) {
    return input_error(fmt::format("hosts.clients is {}, expected at most {}: {} of the {} hosts are servers",
                                   world.clients, hosts - world.servers, world.servers, hosts));
  }
  return WorldRoles{world.clients != 0 ? world.clients : hosts - world.servers, world.servers, hosts};
}

/// How much each host has to do. A request costs the server, with the switches about it, three tenths of the
/// time that it costs the client: its core, both directions of its NIC and the account of the operation, all
/// with records that have left the cache since the last one, while those of a server of many stay there. By
/// instructions alone it would be half. (Key-value service and bulk transfers over three protocols: 0.2 to
/// 0.33 for servers of many clients, switches apart.) A host without a program has next to nothing to do.
std::vector<std::uint32_t> work_of(const PlannedWorld& plan) {
  constexpr std::uint32_t kClient = 40;
  constexpr std::uint32_t kServer = 12;
  std::vector<std::uint32_t> work(plan.roles.hosts, 1);
  for (const ProgramHosts& program : plan.programs) {
    for (std::size_t i = 0; i < program.clients.size(); ++i) {
      work[program.clients[i]] += kClient * program.cores;
      work[program.server_of(i)] += kServer * program.cores;
    }
  }
  return work;
}

/// Refuses cores beside the first where what programs use belongs to that one.
Result<void> check_cores(const ScenarioConfig& config, const WorldRoles& roles, const ProgramHosts& program,
                         std::string_view section) {
  if (program.cores == 1) return {};
  const auto refuse = [&](std::string_view what) {
    return input_error(fmt::format("{}.cores is {}, expected 1: {}", section, program.cores, what));
  };
  if (config.program == ProgramKind::kReplay && section == "run")
    return refuse("a replay takes the first core of each client");
  auto by_host = settings_by_host(config.groups, roles);
  if (!by_host) return by_host.error();
  for (const std::uint32_t client : program.clients) {
    const HostSettings& settings = (*by_host)[client] != nullptr ? *(*by_host)[client] : config;
    if (traits(settings.stack).load_store)
      return refuse(fmt::format("model.stack = \"{}\" loads and stores through the caches of the first core",
                                name(settings.stack)));
    if (settings.submission == SubmissionPath::kMmioStream)
      return refuse(
          "model.submission = \"mmio_stream\" writes through the combining buffers of the first core");
  }
  return {};
}

/// The cores of each host, if any has several.
std::vector<std::uint32_t> cores_of(const PlannedWorld& plan) {
  std::vector<std::uint32_t> cores(plan.roles.hosts, 1);
  std::uint32_t most = 1;
  for (const ProgramHosts& program : plan.programs) {
    for (const std::uint32_t client : program.clients) cores[client] = std::max(cores[client], program.cores);
    most = std::max(most, program.cores);
  }
  if (most == 1) cores.clear();
  return cores;
}

}  // namespace

bool describes_world(const ConfigDocument& document) {
  return std::any_of(document.values().begin(), document.values().end(),
                     [](const auto& each) { return each.first.starts_with("hosts."); });
}

void bind_world(Binder& binder, WorldSettings& world, const LinkConfig& link, Stack stack,
                std::uint32_t payload) {
  if (world.given) bind_traffic(binder, world.fabric.traffic);
  {
    const Binder::Section hosts(binder, Binder::kRoot, "hosts");
    binder.integer("servers", world.servers,
                   "full hosts that expose memory: the last ones of the topology; clients are shared out "
                   "among them in turn",
                   1, 65'534);
    binder.integer("clients", world.clients,
                   "full hosts that run the program: the first ones; 0: all that are no servers", 0, 65'534);
    binder.integer("threads", world.threads, "partitions of the world; results do not depend on it", 1, 64);
    const Binder::Section traffic(binder, "", world.fabric.traffic.given(),
                                  "only with traffic.collective or traffic.arrivals");
    binder.choice<TrafficRoot>(
        "traffic_root", world.traffic_root, kTrafficRoots,
        "rank 0 of the traffic, the root of an incast: a thin host as all ranks, or the "
        "first server");
  }
  if (!world.given) return;
  FabricSettings& fabric = world.fabric;
  fabric.protocol = protocol_of(stack);
  fabric.payload = payload;
  if (link.rate.value != 0) fabric.link_speed = link.rate;
  if (link.delay > kTimeZero) fabric.hop_latency = link.delay;
  bind_world_fabric(binder, fabric);
}

namespace {

/// Where the protocol repeats nothing, switches hold packets back instead of dropping them, and those of a
/// flow stay on one path. model.faults.* have been looked at.
Result<void> check_lossless(const ScenarioConfig& config, const FabricSettings& fabric) {
  std::string_view why;
  visit_protocol(config.protocol(), [&]<typename P>(std::type_identity<P>) {
    if constexpr (requires { &P::needs_lossless_links; })
      why = P::needs_lossless_links(std::get<typename P::Settings>(config.protocols));
  });
  if (why.empty()) return {};
  if (!fabric.lossless()) {
    return input_error(fmt::format(
        "fabric.flow_control leaves switches to drop packets {}, expected \"pause\" or \"credit\" "
        "without trimming, fabric.queue_packets or fabric.queue_bdp_factor",
        why));
  }
  if (fabric.loss > 0) return input_error(fmt::format("fabric.loss is {} {}, expected 0", fabric.loss, why));
  if (fabric.controller != SenderController::kNone && fabric.controller != SenderController::kDcqcn) {
    return input_error(
        fmt::format("fabric.controller is \"{}\", which lives on acknowledgements, {}, expected \"none\" or "
                    "\"dcqcn\"",
                    name(fabric.controller), why));
  }
  if (fabric.load_balancing != LoadBalancing::kEcmpHash) {
    return input_error(fmt::format(
        "fabric.load_balancing spreads the packets of a flow over paths {}, expected \"ecmp\"", why));
  }
  return {};
}

}  // namespace

Result<PlannedWorld> plan_world(const ScenarioConfig& config) {
  PlannedWorld plan;
  if (!config.world.given) {
    auto pair = two_hosts_on_a_wire(config);
    if (!pair) return pair.error();
    plan = *std::move(pair);
  } else {
    FabricSettings settings = config.world.fabric;
    settings.seed = config.seed;
    visit_protocol(config.protocol(), [&]<typename P>(std::type_identity<P>) {
      P::share(std::get<typename P::Settings>(config.protocols), settings, ends_of<P>(settings.ends));
    });
    if (settings.controller == SenderController::kDefault) settings.controller = SenderController::kNscc;
    auto topology = topology_of(settings);
    if (!topology) return topology.error();
    WHARF_TRY(check_lossless(config, settings));
    WHARF_TRY(check_links(settings.links, settings.loss, settings.flow_control, settings.trims()));
    auto roles = roles_of(config, topology->topology.host_count());
    if (!roles) return roles.error();
    plan.roles = *roles;
    workload::FlowList none;
    none.name = "hosts";
    EngineConfigs engines;
    visit_protocol(config.protocol(), [&]<typename P>(std::type_identity<P>) {
      const auto own = P::derive(std::get<typename P::Settings>(config.protocols), config.link, config.host);
      std::get<typename P::Config>(engines) = P::thin(own, 0, 2, config.seed);
    });
    auto derived = derive_fabric_run(settings, topology->topology,
                                     topology->fat_tree ? &*topology->fat_tree : nullptr, none, &engines);
    if (!derived) return derived.error();
    plan.roles.traffic = settings.traffic.any();
    EngineOfNetwork network{config.link, &derived->config};
    network.path.delay = max(network.path.delay, derived->derived.base_rtt / 2);
    auto groups = groups_of(config, plan.roles, network);
    if (!groups) return groups.error();
    plan.config.groups = *std::move(groups);
    if (plan.roles.traffic) {
      auto flows = world_flows(settings.traffic, config.world.traffic_root, plan.roles, topology->topology,
                               config.seed);
      if (!flows) return flows.error();
      plan.config.background = *std::move(flows);
      WHARF_TRY(check_background(plan.config));
    }
    plan.config.fabric = std::move(derived->config.fabric);
    const PortNames ports(topology->topology, topology->names);
    WHARF_TRY(add_link_changes(settings.links, topology->topology, ports, plan.config.fabric));
    WHARF_TRY(validate(plan.config.fabric, topology->topology));
    auto observation = resolve(settings.observation, none, ports);
    if (!observation) return observation.error();
    plan.config.observation = *std::move(observation);
    plan.config.topology = std::move(topology->topology);
    plan.config.switch_names = std::move(topology->names);
    plan.config.threads = config.world.threads;
  }
  auto first = place(config.placement, config.workload, "run", plan.roles);
  if (!first) return first.error();
  plan.programs.push_back(*std::move(first));
  WHARF_TRY(check_cores(config, plan.roles, plan.programs.back(), "run"));
  for (const ProgramSettings& program : config.programs) {
    auto placed = place(program.placement, program.workload, "program." + program.name, plan.roles);
    if (!placed) return placed.error();
    plan.programs.push_back(*std::move(placed));
    WHARF_TRY(check_cores(config, plan.roles, plan.programs.back(), "program." + program.name));
  }
  WHARF_TRY(set_costs(config, plan));
  WorldConfig& world = plan.config;
  WHARF_TRY(check_nics(world));
  world.cores = cores_of(plan);
  world.fabric.host_work = work_of(plan);
  if (config.link.faults.any() && !world.fabric.faults.empty()) {
    return input_error(
        "model.faults stands beside fabric.loss or fabric.damage, expected faults of links from one place");
  }
  use_link(world, config.link, config.host);
  world.seed = config.seed;
  world.record_limit = config.record_limit;
  return plan;
}

}  // namespace wharf::sim
