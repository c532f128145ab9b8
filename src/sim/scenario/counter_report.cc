// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/counter_report.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "sim/fabric/retry_counters.h"
#include "sim/scenario/hardware_nic.h"
#include "sim/world/engine_of.h"
#include "wire/drop_reason.h"

namespace wharf::sim {
namespace {

using engine::CounterName;
using Json = nlohmann::ordered_json;

constexpr std::array<CounterName<NicCounters>, 8> kNic{{
    {"packets_sent", &NicCounters::packets_sent},
    {"packets_received", &NicCounters::packets_received},
    {"accesses", &NicCounters::accesses},
    {"transmit_stalls", &NicCounters::transmit_stalls},
    {"link_stalls", &NicCounters::link_stalls},
    {"queue_errors", &NicCounters::queue_errors},
    {"peers_unreachable", &NicCounters::peers_unreachable},
    {"completion_errors", &NicCounters::completion_errors},
}};
constexpr std::array<std::string_view, 7> kLink{"packets",   "charged_bytes", "delivered", "lost",
                                                "corrupted", "duplicated",    "reordered"};
constexpr std::array<CounterName<LoadStoreCounters>, 7> kLoadStore{{
    {"hits", &LoadStoreCounters::hits},
    {"misses", &LoadStoreCounters::misses},
    {"merged", &LoadStoreCounters::merged},
    {"stores", &LoadStoreCounters::stores},
    {"write_backs", &LoadStoreCounters::write_backs},
    {"published", &LoadStoreCounters::published},
    {"lines_lost", &LoadStoreCounters::lines_lost},
}};

constexpr std::array<CounterName<ordering::RlsqStatistics>, 9> kRootComplex{{
    {"reads", &ordering::RlsqStatistics::reads},
    {"writes", &ordering::RlsqStatistics::writes},
    {"atomics", &ordering::RlsqStatistics::atomics},
    {"memory_reads", &ordering::RlsqStatistics::memory_reads},
    {"merged_reads", &ordering::RlsqStatistics::merged_reads},
    {"squashed_reads", &ordering::RlsqStatistics::squashed_reads},
    {"squashed_writes", &ordering::RlsqStatistics::squashed_writes},
    {"waits_for_order", &ordering::RlsqStatistics::waits_for_order},
    {"waits_for_line", &ordering::RlsqStatistics::waits_for_line},
}};
/// Of the way to it: requests that passed an earlier one.
constexpr std::string_view kPassed = "passed";
/// Of the way on to memory: messages that passed an earlier one.
constexpr std::string_view kPassedHome = "passed_to_memory";

// None is forgotten.
static_assert(sizeof(NicCounters) == kNic.size() * sizeof(std::uint64_t));
static_assert(sizeof(LoadStoreCounters) == kLoadStore.size() * sizeof(std::uint64_t));

template <typename C, std::size_t N>
Json report(const C& counters, const std::array<CounterName<C>, N>& names) {
  Json out = Json::object();
  for (const CounterName<C>& each : names) {
    if (counters.*each.value != 0) out[std::string(each.name)] = counters.*each.value;
  }
  return out;
}

template <typename C, std::size_t N>
void add_names(std::vector<std::string>& out, const std::string& prefix,
               const std::array<CounterName<C>, N>& names) {
  for (const CounterName<C>& each : names) out.push_back(prefix + std::string(each.name));
}

Json report(const std::vector<NamedCounter>& counters) {
  Json out = Json::object();
  for (const auto& [name, value] : counters) {
    if (value == 0) continue;
    const std::size_t dot = name.find('.');
    (dot == std::string::npos ? out[name] : out[name.substr(0, dot)][name.substr(dot + 1)]) = value;
  }
  return out;
}

Json report_link(const LinkReport& link) {
  Json out = Json::object();
  const std::array<std::uint64_t, kLink.size()> values{
      link.packets,          link.charged_bytes,       link.delivered,         link.counters.lost,
      link.counters.damaged, link.counters.duplicated, link.counters.reordered};
  for (std::size_t i = 0; i < kLink.size(); ++i) {
    if (values[i] != 0) out[std::string(kLink[i])] = values[i];
  }
  for (std::uint32_t reason = 0; reason < wire::kDropReasonCount; ++reason) {
    if (link.counters.refused[reason] == 0) continue;
    const auto text = wire::drop_reason_text(static_cast<wire::DropReason>(reason));
    out["refused"][std::string(text)] = link.counters.refused[reason];
  }
  for (const RetryCounterName& each : kRetryCounters) {
    if (link.counters.*each.value != 0) out["link_retry"][std::string(each.name)] = link.counters.*each.value;
  }
  return out;
}

}  // namespace

std::vector<std::string> counter_names(const ScenarioConfig& config) {
  std::vector<std::string> names;
  const auto prefixes =
      config.world.given ? std::vector<std::string>{"hosts."} : std::vector<std::string>{"host0.", "host1."};
  for (const std::string_view each : {"packets", "marked", "trimmed", "dropped_full", "dropped_no_route",
                                      "lost", "damaged", "pause_frames"}) {
    if (config.world.given) names.push_back(fmt::format("switches.{}", each));
  }
  for (const RetryCounterName& each : kRetryCounters) {
    if (config.world.given) names.push_back(fmt::format("switches.link_retry.{}", each.name));
    for (const std::string& host : prefixes)
      names.push_back(fmt::format("{}link_out.link_retry.{}", host, each.name));
  }
  for (const std::string& host : prefixes) {
    visit_protocol(config.protocol(), [&]<typename P>(std::type_identity<P>) {
      for (const NamedCounter& each : P::counters(typename P::Counters{}))
        names.push_back(host + "engine." + each.name);
      if constexpr (requires { typename P::Hardware; }) {
        if (!has_hardware_nic(config)) return;
        for (const std::string_view each : P::Hardware::counter_names())
          names.push_back(fmt::format("{}engine.{}", host, each));
      }
    });
    add_names(names, host + "nic.", kNic);
    if (config.host.memory.system == MemorySystem::kCoherent) {
      add_names(names, host + "root_complex.", kRootComplex);
      names.push_back(fmt::format("{}root_complex.{}", host, kPassed));
      names.push_back(fmt::format("{}root_complex.{}", host, kPassedHome));
    }
    if (traits(config.stack).load_store) add_names(names, host + "load_store.", kLoadStore);
    for (const std::string_view each : kLink) names.push_back(fmt::format("{}link_out.{}", host, each));
    for (std::uint32_t reason = 0; reason < wire::kDropReasonCount; ++reason) {
      names.push_back(fmt::format("{}link_out.refused.{}", host,
                                  wire::drop_reason_text(static_cast<wire::DropReason>(reason))));
    }
  }
  return names;
}

namespace {

/// Adds the numbers of `more` to those of `sum`.
void add(Json& sum, const Json& more) {
  for (const auto& [key, value] : more.items()) {
    if (value.is_object()) {
      add(sum[key], value);
    } else {
      sum[key] = (sum.contains(key) ? sum[key].get<std::uint64_t>() : 0) + value.get<std::uint64_t>();
    }
  }
}

Json report_host(World& world, std::size_t index) {
  Json host;
  host["engine"] = report(engine_counters(world, index));
  for (std::uint32_t nic = 1; nic < world.host(index).nic_count(); ++nic)
    add(host["engine"], report(engine_counters(world, index, nic)));
  host["nic"] = report(world.host(index).nic().counters(), kNic);
  for (std::uint32_t nic = 1; nic < world.host(index).nic_count(); ++nic)
    add(host["nic"], report(world.host(index).nic(nic).counters(), kNic));
  if (CoherentHost* coherent = world.host(index).coherent()) {
    Json& complexes = host["root_complex"] = Json::object();
    for (std::uint32_t nic = 0; nic < world.host(index).nic_count(); ++nic) {
      const RootComplex& complex = coherent->root_complex(nic);
      add(complexes, report(complex.queue().statistics(), kRootComplex));
      add(complexes,
          {{std::string(kPassed), complex.passed()}, {std::string(kPassedHome), complex.passed_home()}});
    }
  }
  if (LoadStorePort* port = world.host(index).load_store())
    host["load_store"] = report(port->counters(), kLoadStore);
  Json links = Json::object();
  for (const PortId port : world.topology().node(static_cast<NodeId>(index)).ports)
    add(links, report_link(world.link(port)));
  host["link_out"] = std::move(links);
  return host;
}

/// What all ports of switches have counted.
Json report_switches(const World& world) {
  PortCounters sum;
  std::uint64_t packets = 0;
  const Topology& topology = world.topology();
  for (PortId port = 0; port < topology.ports().size(); ++port) {
    if (topology.is_host(topology.port(port).node)) continue;
    const LinkReport link = world.link(port);
    packets += link.packets;
    sum.marked += link.counters.marked;
    sum.trimmed += link.counters.trimmed;
    sum.dropped_full += link.counters.dropped_full;
    sum.dropped_no_route += link.counters.dropped_no_route;
    sum.lost += link.counters.lost;
    sum.damaged += link.counters.damaged;
    sum.pause_frames += link.counters.pause_frames;
    for (const RetryCounterName& each : kRetryCounters) sum.*each.value += link.counters.*each.value;
  }
  Json out{{"packets", packets},
           {"marked", sum.marked},
           {"trimmed", sum.trimmed},
           {"dropped_full", sum.dropped_full},
           {"dropped_no_route", sum.dropped_no_route},
           {"lost", sum.lost},
           {"damaged", sum.damaged},
           {"pause_frames", sum.pause_frames}};
  for (const RetryCounterName& each : kRetryCounters) {
    if (sum.*each.value != 0) out["link_retry"][std::string(each.name)] = sum.*each.value;
  }
  return out;
}

}  // namespace

Json counter_report(World& world, const ScenarioConfig& config) {
  Json out;
  if (!config.world.given) {
    for (std::size_t index = 0; index < 2; ++index)
      out[fmt::format("host{}", index)] = report_host(world, index);
    return out;
  }
  Json all = Json::object();
  for (std::size_t index = 0; index < world.host_count(); ++index) {
    if (!world.is_thin(index)) add(all, report_host(world, index));
  }
  out["hosts"] = std::move(all);
  out["switches"] = report_switches(world);
  return out;
}

}  // namespace wharf::sim
