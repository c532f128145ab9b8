// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/counter_report.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "engine/roce/counters.h"
#include "engine/roce/roce_engine.h"
#include "engine/ub/counters.h"
#include "engine/ub/ub_engine.h"
#include "engine/uet/counters.h"
#include "engine/uet/uet_engine.h"
#include "wire/drop_reason.h"
#include "wire/uet_names.h"

namespace wharf::sim {
namespace {

using Json = nlohmann::ordered_json;

template <typename C>
struct Named {
  std::string_view name;
  std::uint64_t C::*value;
};

constexpr std::array<Named<ub::UbCounters>, 45> kUb{{
    {"packets_sent", &ub::UbCounters::packets_sent},
    {"packets_received", &ub::UbCounters::packets_received},
    {"data_packets_sent", &ub::UbCounters::data_packets_sent},
    {"acknowledgements_sent", &ub::UbCounters::acknowledgements_sent},
    {"selective_acknowledgements_sent", &ub::UbCounters::selective_acknowledgements_sent},
    {"negative_acknowledgements_sent", &ub::UbCounters::negative_acknowledgements_sent},
    {"completions", &ub::UbCounters::completions},
    {"packets_retransmitted", &ub::UbCounters::packets_retransmitted},
    {"timeouts", &ub::UbCounters::timeouts},
    {"channels_failed", &ub::UbCounters::channels_failed},
    {"duplicates", &ub::UbCounters::duplicates},
    {"receiver_not_ready_sent", &ub::UbCounters::receiver_not_ready_sent},
    {"receiver_not_ready_retries", &ub::UbCounters::receiver_not_ready_retries},
    {"page_fault_retries", &ub::UbCounters::page_fault_retries},
    {"answers_timed_out", &ub::UbCounters::answers_timed_out},
    {"context_fetches", &ub::UbCounters::context_fetches},
    {"context_evictions", &ub::UbCounters::context_evictions},
    {"contexts_lost", &ub::UbCounters::contexts_lost},
    {"events_dropped", &ub::UbCounters::events_dropped},
    {"refused_access", &ub::UbCounters::refused_access},
    {"refused_opcode", &ub::UbCounters::refused_opcode},
    {"refused_length", &ub::UbCounters::refused_length},
    {"refused_jetty", &ub::UbCounters::refused_jetty},
    {"load_store_issued", &ub::UbCounters::load_store_issued},
    {"load_store_reissued", &ub::UbCounters::load_store_reissued},
    {"load_store_expired", &ub::UbCounters::load_store_expired},
    {"load_store_probes", &ub::UbCounters::load_store_probes},
    {"load_store_late_answers", &ub::UbCounters::load_store_late_answers},
    {"load_store_replays", &ub::UbCounters::load_store_replays},
    {"dropped_foreign", &ub::UbCounters::dropped_foreign},
    {"dropped_trimmed", &ub::UbCounters::dropped_trimmed},
    {"dropped_transport", &ub::UbCounters::dropped_transport},
    {"dropped_encapsulation", &ub::UbCounters::dropped_encapsulation},
    {"dropped_unknown_channel", &ub::UbCounters::dropped_unknown_channel},
    {"dropped_tp_opcode", &ub::UbCounters::dropped_tp_opcode},
    {"dropped_out_of_order", &ub::UbCounters::dropped_out_of_order},
    {"dropped_beyond_window", &ub::UbCounters::dropped_beyond_window},
    {"dropped_no_room", &ub::UbCounters::dropped_no_room},
    {"dropped_no_shared_room", &ub::UbCounters::dropped_no_shared_room},
    {"dropped_malformed", &ub::UbCounters::dropped_malformed},
    {"dropped_acknowledgement", &ub::UbCounters::dropped_acknowledgement},
    {"dropped_stale_acknowledgement", &ub::UbCounters::dropped_stale_acknowledgement},
    {"dropped_response", &ub::UbCounters::dropped_response},
    {"completions_dropped", &ub::UbCounters::completions_dropped},
    {"receive_entries_dropped", &ub::UbCounters::receive_entries_dropped},
}};
constexpr std::array<Named<roce::Counters>, 33> kRoce{{
    {"packets_sent", &roce::Counters::packets_sent},
    {"packets_received", &roce::Counters::packets_received},
    {"requests_resent", &roce::Counters::requests_resent},
    {"acknowledgements_sent", &roce::Counters::acknowledgements_sent},
    {"acknowledgements_merged", &roce::Counters::acknowledgements_merged},
    {"naks_sent", &roce::Counters::naks_sent},
    {"rnr_naks_sent", &roce::Counters::rnr_naks_sent},
    {"timeouts", &roce::Counters::timeouts},
    {"sequence_naks_received", &roce::Counters::sequence_naks_received},
    {"implied_naks", &roce::Counters::implied_naks},
    {"rnr_naks_received", &roce::Counters::rnr_naks_received},
    {"retries_exhausted", &roce::Counters::retries_exhausted},
    {"duplicate_requests", &roce::Counters::duplicate_requests},
    {"congestion_notifications", &roce::Counters::congestion_notifications},
    {"congestion_notifications_sent", &roce::Counters::congestion_notifications_sent},
    {"dropped_foreign", &roce::Counters::dropped_foreign},
    {"dropped_unknown_opcode", &roce::Counters::dropped_unknown_opcode},
    {"dropped_version", &roce::Counters::dropped_version},
    {"dropped_unknown_queue", &roce::Counters::dropped_unknown_queue},
    {"dropped_not_ready", &roce::Counters::dropped_not_ready},
    {"dropped_wrong_source", &roce::Counters::dropped_wrong_source},
    {"dropped_partition", &roce::Counters::dropped_partition},
    {"dropped_out_of_order", &roce::Counters::dropped_out_of_order},
    {"dropped_stale_response", &roce::Counters::dropped_stale_response},
    {"dropped_duplicate", &roce::Counters::dropped_duplicate},
    {"dropped_no_resources", &roce::Counters::dropped_no_resources},
    {"dropped_oversized", &roce::Counters::dropped_oversized},
    {"context_misses", &roce::Counters::context_misses},
    {"context_evictions", &roce::Counters::context_evictions},
    {"contexts_lost", &roce::Counters::contexts_lost},
    {"events_dropped", &roce::Counters::events_dropped},
    {"completions_dropped", &roce::Counters::completions_dropped},
    {"receive_entries_dropped", &roce::Counters::receive_entries_dropped},
}};
constexpr std::array<Named<uet::UetCounters>, 44> kUet{{
    {"packets_sent", &uet::UetCounters::packets_sent},
    {"packets_received", &uet::UetCounters::packets_received},
    {"requests_sent", &uet::UetCounters::requests_sent},
    {"acknowledgements_sent", &uet::UetCounters::acknowledgements_sent},
    {"nacks_sent", &uet::UetCounters::nacks_sent},
    {"control_packets_sent", &uet::UetCounters::control_packets_sent},
    {"credits_sent", &uet::UetCounters::credits_sent},
    {"credit_requests_sent", &uet::UetCounters::credit_requests_sent},
    {"datagrams_sent", &uet::UetCounters::datagrams_sent},
    {"rudi_requests_sent", &uet::UetCounters::rudi_requests_sent},
    {"acknowledgements_received", &uet::UetCounters::acknowledgements_received},
    {"nacks_received", &uet::UetCounters::nacks_received},
    {"completions", &uet::UetCounters::completions},
    {"packets_retransmitted", &uet::UetCounters::packets_retransmitted},
    {"timeouts", &uet::UetCounters::timeouts},
    {"ack_requests_sent", &uet::UetCounters::ack_requests_sent},
    {"tail_probes_sent", &uet::UetCounters::tail_probes_sent},
    {"losses_inferred", &uet::UetCounters::losses_inferred},
    {"trimmed_received", &uet::UetCounters::trimmed_received},
    {"marked_received", &uet::UetCounters::marked_received},
    {"duplicates_dropped", &uet::UetCounters::duplicates_dropped},
    {"duplicates_answered", &uet::UetCounters::duplicates_answered},
    {"messages_retried", &uet::UetCounters::messages_retried},
    {"messages_deferred", &uet::UetCounters::messages_deferred},
    {"clear_commands_sent", &uet::UetCounters::clear_commands_sent},
    {"clear_requests_sent", &uet::UetCounters::clear_requests_sent},
    {"pdcs_opened", &uet::UetCounters::pdcs_opened},
    {"pdcs_accepted", &uet::UetCounters::pdcs_accepted},
    {"pdcs_closed", &uet::UetCounters::pdcs_closed},
    {"pdcs_failed", &uet::UetCounters::pdcs_failed},
    {"dropped_foreign", &uet::UetCounters::dropped_foreign},
    {"dropped_secured", &uet::UetCounters::dropped_secured},
    {"dropped_type", &uet::UetCounters::dropped_type},
    {"dropped_malformed", &uet::UetCounters::dropped_malformed},
    {"dropped_unknown_pdc", &uet::UetCounters::dropped_unknown_pdc},
    {"dropped_out_of_window", &uet::UetCounters::dropped_out_of_window},
    {"dropped_out_of_order", &uet::UetCounters::dropped_out_of_order},
    {"dropped_acknowledgement", &uet::UetCounters::dropped_acknowledgement},
    {"dropped_nack", &uet::UetCounters::dropped_nack},
    {"dropped_response", &uet::UetCounters::dropped_response},
    {"dropped_trimmed", &uet::UetCounters::dropped_trimmed},
    {"dropped_no_room", &uet::UetCounters::dropped_no_room},
    {"events_dropped", &uet::UetCounters::events_dropped},
    {"completions_dropped", &uet::UetCounters::completions_dropped},
}};
constexpr std::array<Named<NicCounters>, 8> kNic{{
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
constexpr std::array<Named<LoadStoreCounters>, 6> kLoadStore{{
    {"hits", &LoadStoreCounters::hits},
    {"misses", &LoadStoreCounters::misses},
    {"merged", &LoadStoreCounters::merged},
    {"stores", &LoadStoreCounters::stores},
    {"write_backs", &LoadStoreCounters::write_backs},
    {"lines_lost", &LoadStoreCounters::lines_lost},
}};

constexpr std::size_t kReturnCodes = std::tuple_size_v<decltype(uet::UetCounters::refused_return_code)>;

/// Of the requests that were refused with it.
std::string return_code(std::size_t code) {
  const std::string_view text = wire::uet_return_code_name(static_cast<wire::UetReturnCode>(code));
  return text == "unknown" ? fmt::format("RC_{}", code) : std::string(text);
}

// None is forgotten.
static_assert(sizeof(ub::UbCounters) == kUb.size() * sizeof(std::uint64_t));
static_assert(sizeof(roce::Counters) == kRoce.size() * sizeof(std::uint64_t));
static_assert(sizeof(uet::UetCounters) == (kUet.size() + kReturnCodes) * sizeof(std::uint64_t));
static_assert(sizeof(NicCounters) == kNic.size() * sizeof(std::uint64_t));
static_assert(sizeof(LoadStoreCounters) == kLoadStore.size() * sizeof(std::uint64_t));

template <typename C, std::size_t N>
Json report(const C& counters, const std::array<Named<C>, N>& names) {
  Json out = Json::object();
  for (const Named<C>& each : names) {
    if (counters.*each.value != 0) out[std::string(each.name)] = counters.*each.value;
  }
  return out;
}

template <typename C, std::size_t N>
void add_names(std::vector<std::string>& out, const std::string& prefix,
               const std::array<Named<C>, N>& names) {
  for (const Named<C>& each : names) out.push_back(prefix + std::string(each.name));
}

Json report_uet(const uet::UetCounters& counters) {
  Json out = report(counters, kUet);
  for (std::size_t code = 0; code < kReturnCodes; ++code) {
    if (counters.refused_return_code[code] != 0)
      out["refused"][return_code(code)] = counters.refused_return_code[code];
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
  for (const std::string& host : prefixes) {
    switch (protocol_of(config.stack)) {
      case wire::Protocol::kUb:
        add_names(names, host + "engine.", kUb);
        break;
      case wire::Protocol::kRoce:
        add_names(names, host + "engine.", kRoce);
        break;
      case wire::Protocol::kUet:
        add_names(names, host + "engine.", kUet);
        for (std::size_t code = 0; code < kReturnCodes; ++code)
          names.push_back(fmt::format("{}engine.refused.{}", host, return_code(code)));
        break;
    }
    add_names(names, host + "nic.", kNic);
    if (config.stack == Stack::kUbLoadStore) add_names(names, host + "load_store.", kLoadStore);
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
  if (const ub::UbEngine* engine = world.ub_engine(index)) host["engine"] = report(engine->counters(), kUb);
  if (const roce::RoceEngine* engine = world.roce_engine(index))
    host["engine"] = report(engine->counters(), kRoce);
  if (const uet::UetEngine* engine = world.uet_engine(index)) host["engine"] = report_uet(engine->counters());
  host["nic"] = report(world.host(index).nic().counters(), kNic);
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
  }
  return {{"packets", packets},
          {"marked", sum.marked},
          {"trimmed", sum.trimmed},
          {"dropped_full", sum.dropped_full},
          {"dropped_no_route", sum.dropped_no_route},
          {"lost", sum.lost},
          {"damaged", sum.damaged},
          {"pause_frames", sum.pause_frames}};
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
