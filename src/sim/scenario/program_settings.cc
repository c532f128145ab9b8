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
              "hosts that run it: \"clients\", \"servers\", \"all\" or numbers such as \"0-7,12\"");
  binder.text("servers", placement.servers,
              "hosts whose memory it uses, listed likewise; its clients are shared out among them in turn");
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

Result<ProgramHosts> place(const ProgramPlacement& placement, std::string_view section,
                           const WorldRoles& roles) {
  const std::string clients_key = fmt::format("{}.clients", section);
  const std::string servers_key = fmt::format("{}.servers", section);
  auto clients = hosts_of(placement.clients, clients_key, roles);
  if (!clients) return clients.error();
  auto servers = hosts_of(placement.servers, servers_key, roles);
  if (!servers) return servers.error();
  ProgramHosts hosts{*std::move(clients), *std::move(servers)};
  for (const auto& [key, list] : {std::pair{&clients_key, &hosts.clients}, {&servers_key, &hosts.servers}}) {
    for (const std::uint32_t host : *list) {
      if (roles.is_thin(host))
        return input_error(
            fmt::format("{} names host {}, which makes traffic alone, expected a client (0 to {}) "
                        "or a server ({} to {})",
                        *key, host, roles.clients - 1, roles.first_server(), roles.hosts - 1));
    }
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

Result<std::vector<ProgramHosts>> place_all(const ProgramPlacement& run,
                                            const std::vector<ProgramSettings>& beside,
                                            const WorldRoles& roles) {
  std::vector<ProgramHosts> all;
  auto first = place(run, "run", roles);
  if (!first) return first.error();
  all.push_back(*std::move(first));
  for (const ProgramSettings& program : beside) {
    auto placed = place(program.placement, "program." + program.name, roles);
    if (!placed) return placed.error();
    all.push_back(*std::move(placed));
  }
  return all;
}

}  // namespace wharf::sim
