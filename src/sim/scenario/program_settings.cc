// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/program_settings.h"

#include <fmt/format.h>

#include "sim/scenario/host_list.h"

namespace wharf::sim {

std::vector<ProgramSettings> programs_in(const ConfigDocument& document) {
  constexpr std::string_view kSection = "program.";
  std::vector<ProgramSettings> programs;
  for (const auto& [key, value] : document.values()) {
    if (!key.starts_with(kSection)) continue;
    const std::string_view rest = std::string_view(key).substr(kSection.size());
    const auto dot = rest.find('.');
    if (dot == std::string_view::npos || dot == 0) continue;  // The binder refuses it.
    const std::string_view name = rest.substr(0, dot);
    if (programs.empty() || programs.back().name != name)
      programs.push_back(
          {std::string(name), {}, workload::default_config(workload::WorkloadKind::kPointerChase)});
  }
  return programs;
}

void bind_placement(Binder& binder, ProgramPlacement& placement) {
  binder.text("clients", placement.clients,
              "hosts that run it: \"clients\", \"servers\", \"all\" or numbers such as \"0-7,12\"; auto: the "
              "clients, "
              "or all full hosts where they are ranks that reach each other");
  binder.text("servers", placement.servers,
              "hosts whose memory it uses, listed likewise; its clients are shared out among them in turn");
  binder.integer("cores", placement.cores,
                 "cores of each client that run it, the first ones of the host: each does all that a client "
                 "does, over queues of its own",
                 1, kMostCores);
}

void bind_beside(Binder& binder, ProgramSettings& program) {
  const Binder::Section section(binder, Binder::kRoot, "program." + program.name);
  bind_placement(binder, program.placement);
  std::vector<Choice<std::size_t>> choices;
  for (const std::string_view name : workload::workload_names()) choices.push_back({name, choices.size()});
  std::size_t chosen = program.workload.index();
  binder.choice<std::size_t>(
      "workload", chosen, choices,
      "a program that runs beside that of run.*, over queues and memory of its own; it "
      "has the keys that run.* has for it");
  if (chosen != program.workload.index())
    program.workload = workload::default_config(static_cast<workload::WorkloadKind>(chosen));
  if (program.name != kAnyProgram) workload::bind_keys(program.workload, binder);
}

namespace {

Result<std::vector<std::uint32_t>> default_clients(bool peers, const WorldRoles& roles) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t host = 0; host < roles.hosts; ++host) {
    if (peers ? !roles.is_thin(host) : host < roles.clients) hosts.push_back(host);
  }
  return hosts;
}

}  // namespace

std::uint32_t ProgramHosts::parties(const workload::WorkloadConfig& program) const {
  const auto sharing =
      cores * static_cast<std::uint32_t>((clients.size() + servers.size() - 1) / servers.size());
  switch (workload::arrangement(program)) {
    case workload::Arrangement::kShared:
      return sharing;
    case workload::Arrangement::kAttended:
    case workload::Arrangement::kBeside:
      return sharing + 1;
    case workload::Arrangement::kPair:
      return 2;
    case workload::Arrangement::kPeers:
      return static_cast<std::uint32_t>(clients.size());
  }
  WHARF_UNREACHABLE();
}

Result<ProgramHosts> place(const ProgramPlacement& placement, const workload::WorkloadConfig& program,
                           std::string_view section, const WorldRoles& roles) {
  const std::string clients_key = fmt::format("{}.clients", section);
  const std::string servers_key = fmt::format("{}.servers", section);
  const bool peers = workload::arrangement(program) == workload::Arrangement::kPeers;
  auto clients = placement.clients == kAuto ? default_clients(peers, roles)
                                            : hosts_of(placement.clients, clients_key, roles);
  if (!clients) return clients.error();
  auto servers = hosts_of(placement.servers, servers_key, roles);
  if (!servers) return servers.error();
  ProgramHosts hosts{*std::move(clients), *std::move(servers), {}, placement.cores, {}};
  for (const auto& [key, list] : {std::pair{&clients_key, &hosts.clients}, {&servers_key, &hosts.servers}}) {
    for (const std::uint32_t host : *list) {
      if (roles.is_thin(host))
        return input_error(
            fmt::format("{} names host {}, which makes traffic alone, expected a client (0 to {}) "
                        "or a server ({} to {})",
                        *key, host, roles.clients - 1, roles.first_server(), roles.hosts - 1));
    }
  }
  if (workload::arrangement(program) == workload::Arrangement::kBeside) {
    if (hosts.servers.size() % 2 != 0)
      return input_error(fmt::format(
          "{} lists {} host{}, expected an even number: a worker beside its target takes two, itself first",
          servers_key, hosts.servers.size(), hosts.servers.size() == 1 ? "" : "s"));
    std::vector<std::uint32_t> targets;
    for (std::size_t i = 0; i < hosts.servers.size(); ++i)
      (i % 2 == 0 ? hosts.beside : targets).push_back(hosts.servers[i]);
    hosts.servers = std::move(targets);
    for (std::size_t i = 0; i < hosts.beside.size(); ++i) {
      if (hosts.beside[i] == hosts.servers[i])
        return input_error(fmt::format("{} has host {} twice in a row, expected a worker and another host",
                                       servers_key, hosts.beside[i]));
    }
    for (std::size_t i = 0; i < hosts.clients.size(); ++i) {
      if (hosts.clients[i] == hosts.beside[i % hosts.beside.size()])
        return input_error(
            fmt::format("{} has host {} be a client of the worker that it runs, expected another",
                        clients_key, hosts.clients[i]));
    }
  }
  if (peers && placement.cores > 1) {
    return input_error(fmt::format(
        "{}.cores is {}, expected 1 for {}.workload = \"{}\", whose ranks reach each other over the "
        "network",
        section, placement.cores, section, workload::name(workload::kind_of(program))));
  }
  if (peers) {
    const std::uint32_t least = workload::parties_needed(program);
    if (hosts.clients.size() >= least) return hosts;
    return input_error(fmt::format(
        "{} lists {} host, expected at least {} for {}.workload = \"{}\", such as "
        "\"all\"",
        clients_key, hosts.clients.size(), least, section, workload::name(workload::kind_of(program))));
  }
  for (std::size_t i = 0; i < hosts.clients.size(); ++i) {
    if (hosts.clients[i] == hosts.server_of(i))
      return input_error(
          fmt::format("{} has host {} use its own memory, expected another host's: the clients "
                      "take the servers in turn",
                      clients_key, hosts.clients[i]));
  }
  return hosts;
}

}  // namespace wharf::sim
