// SPDX-License-Identifier: Apache-2.0
// The keys of a fabric run.
#include "sim/scenario/fabric_settings.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "sim/config/given_keys.h"
#include "sim/config/profile.h"
#include "sim/fabric/topology_named.h"
#include "sim/scenario/fabric_summary.h"
#include "sim/scenario/input_file.h"
#include "sim/scenario/scenario_kind.h"

namespace wharf::sim {
namespace {

constexpr std::array<std::string_view, 1> kTables{"expect"};
constexpr BitsPerSecond kSlowestLink{1'000'000};
constexpr std::uint32_t kLongestPayload = 15'872;  ///< Of any protocol; those with shorter ones refuse more.
template <typename... P>
constexpr std::array<Choice<wire::Protocol>, sizeof...(P)> choices_of(ProtocolList<P...>) {
  return {Choice<wire::Protocol>{wire::key_of(P::kProtocol), P::kProtocol}...};
}
constexpr auto kProtocols = choices_of(FabricProtocols());
constexpr std::array<Choice<LoadBalancing>, 4> kBalancers{{{"ecmp", LoadBalancing::kEcmpHash},
                                                           {"spray", LoadBalancing::kSpray},
                                                           {"round_robin", LoadBalancing::kRoundRobin},
                                                           {"adaptive", LoadBalancing::kAdaptive}}};
constexpr std::array<Choice<Routing>, 3> kRoutings{
    {{"minimal", Routing::kMinimal}, {"valiant", Routing::kValiant}, {"ugal", Routing::kUgal}}};
constexpr std::array<Choice<FlowControl>, 3> kFlowControls{
    {{"none", FlowControl::kNone}, {"pause", FlowControl::kPause}, {"credit", FlowControl::kCredit}}};
constexpr std::array<Choice<Switching>, 2> kSwitchings{
    {{"store_and_forward", Switching::kStoreAndForward}, {"cut_through", Switching::kCutThrough}}};
constexpr std::array<Choice<EcnOccupancy>, 2> kOccupancies{
    {{"with_packet", EcnOccupancy::kWithPacket}, {"behind_packet", EcnOccupancy::kBehindPacket}}};
constexpr std::array<Choice<DropVictim>, 2> kDropVictims{
    {{"arrival", DropVictim::kArrival}, {"newest_or_arrival", DropVictim::kNewestOrArrival}}};

constexpr std::array<Choice<FlowConnections>, 3> kConnections{
    {{"auto", FlowConnections::kAuto}, {"flow", FlowConnections::kFlow}, {"pair", FlowConnections::kPair}}};

/// "only with protocol = ...": those for which `has` says so.
template <typename Has>
std::string only_with_protocol(Has has) {
  std::string text;
  each_protocol(FabricProtocols(), [&]<typename P>(std::type_identity<P>) {
    if (has(P::kProtocol))
      text += fmt::format("{}protocol = \"{}\"", text.empty() ? "only with " : " or ",
                          wire::key_of(P::kProtocol));
  });
  return text;
}

void bind_topology(Binder& binder, FabricSettings& settings) {
  const Binder::Section section(binder, "topology");
  binder.text("from", settings.topology,
              "a file (a .topo of htsim, or a graph) or a name like fat_tree:128; --topo is its short form; "
              "empty: a fat tree for the flows");
}

void bind_generated(Binder& binder, FabricSettings& settings) {
  {
    const Binder::Section unnamed(binder, "", settings.topology.empty(), "only without topology.from");
    binder.integer("tiers", settings.tiers, "tiers of the generated fat tree", 2, 3);
  }
  const Binder::Section made(binder, "", settings.topology.empty() || names_topology(settings.topology),
                             "only without a topology file");
  binder.rate("link_speed", settings.link_speed,
              "all links of the generated fat tree, or of a topology by name");
  if (settings.link_speed.value < kSlowestLink.value || settings.link_speed.value > kFastestLink.value)
    binder.refuse_last("a rate from 1Mbps to 8.7Tbps");
  binder.time("hop_latency", settings.hop_latency, "propagation of each of its links");
  if (settings.hop_latency <= kTimeZero || settings.hop_latency > milliseconds(4))
    binder.refuse_last("a time from 1ps to 4ms");
  binder.time("switch_latency", settings.switch_latency, "of each of its switches");
  if (settings.switch_latency > milliseconds(4)) binder.refuse_last("a time up to 4ms");
  binder.dropped("planes", "1", "all switches are one network");
}

void bind_marks(Binder& binder, FabricSettings& settings) {
  const Binder::Section section(binder, "", settings.ecn, "only with ecn = true");
  binder.integer("ecn_low_packets", settings.ecn_low_packets,
                 "full packets queued below which nothing is marked; 0: 0.2 of the bandwidth-delay product",
                 0, 100'000);
  binder.integer("ecn_high_packets", settings.ecn_high_packets,
                 "above which everything is marked; 0: 0.8 of it", 0, 100'000);
  binder.probability("ecn_most", settings.ecn_most, "of a mark where the queue reaches ecn_high_packets");
  binder.choice<EcnOccupancy>(
      "ecn_occupancy", settings.ecn_occupancy, kOccupancies,
      "the queue that decides about a mark: with the packet that leaves, or what stays "
      "behind it");
}

void bind_switches(Binder& binder, FabricSettings& settings) {
  binder.choice<LoadBalancing>("load_balancing", settings.load_balancing, kBalancers,
                               "how switches pick one of several shortest paths; ecmp: by flow and entropy");
  binder.choice<Routing>(
      "routing", settings.routing, kRoutings,
      "ways between groups of a dragonfly; valiant: over a third one that is drawn; ugal: over it where "
      "the minimal way has more queued");
  {
    const Binder::Section compared(binder, "", settings.routing == Routing::kUgal,
                                   "only with routing = \"ugal\"");
    binder.bytes("ugal_bias", settings.ugal_bias, "how much more may be queued on the minimal way", 0,
                 std::uint64_t{1} << 30U);
  }
  binder.dropped("adaptive_method", "queue", "adaptive switches compare the queues of their ports");
  binder.dropped("adaptive_granularity", "packet", "adaptive switches decide for each packet");
  binder.dropped("adaptive_sticky", "0ns", "adaptive switches decide for each packet");
  binder.dropped("queue_type", "composite", "ports of switches have a queue of data and one of control");
  binder.dropped("host_queue", "fair_prio",
                 "hosts send in the order in which their engine hands packets out");
  binder.integer("queue_packets", settings.queue_packets,
                 "full packets that a port's data queue holds; 0: by queue_bdp_factor", 0, 100'000);
  {
    const Binder::Section by_rule(binder, "", settings.queue_packets == 0, "only with queue_packets = 0");
    binder.integer(
        "queue_bdp_factor", settings.queue_bdp_factor,
        "the same in bandwidth-delay products; 0: 1 with trimming, 5 without, unlimited with flow control", 0,
        1000);
  }
  {
    const Binder::Section marked(binder, "", !settings.switches_grant(), "not with controller = \"caqm\"");
    binder.flag("ecn", settings.ecn, "switches mark");
    bind_marks(binder, settings);
  }
  {
    const Binder::Section can_trim(binder, "", wire::tells_trims(settings.protocol),
                                   only_with_protocol(wire::tells_trims));
    binder.flag("trimming", settings.trimming, "full queues cut packets instead of dropping them");
  }
  {
    const Binder::Section trimmed(binder, "", settings.trims(),
                                  only_with_protocol(wire::tells_trims) + " and trimming = true");
    binder.bytes("trim_size", settings.trim_size, "what a link is busy for with a trimmed packet", 64, 1024);
    binder.integer("trimmed_share", settings.trimmed_share,
                   "percent of a link for trimmed packets while data waits, too; 0: they go first", 0, 99);
    binder.integer("last_hop_threshold", settings.last_hop_threshold,
                   "data queue of ports to hosts, in percent of that of other ports", 1, 1000);
  }
  {
    const Binder::Section dropped(binder, "", !settings.trims(), "only without trimming");
    binder.choice<DropVictim>("drop_victim", settings.drop_victim, kDropVictims,
                              "what full queues drop: the arrival, or as often the newest packet that waits");
  }
  binder.choice<FlowControl>("flow_control", settings.flow_control, kFlowControls, "of all links");
  binder.choice<Switching>("switching", settings.switching, kSwitchings, "when a switch forwards a packet");
  binder.probability("loss", settings.loss, "a packet vanishes on a link");
  binder.integer("slow_links", settings.slow_links,
                 "links of the top tier at a quarter of their speed, the first ones", 0, 1'000'000);
  bind_links(binder, settings.links, settings.flow_control);
}

/// Refuses values that no code stands behind, and combinations.
Result<void> check_settings(const FabricSettings& settings) {
  WHARF_TRY(check_links(settings.links, settings.loss, settings.flow_control, settings.trims()));
  Result<void> checked;
  each_protocol([&]<typename P>(std::type_identity<P>) {
    if (checked) checked = P::Ends::check(settings, ends_of<P>(settings.ends));
  });
  return checked;
}

}  // namespace

workload::SharedConnections FabricSettings::shared_connections() const {
  using workload::SharedConnections;
  if (!rules_of(protocol).flows.connections_apart || connections == FlowConnections::kPair)
    return SharedConnections::kAll;
  if (connection_reuse && !traffic.matrix.empty()) return SharedConnections::kById;
  if (connections == FlowConnections::kAuto && !traffic.goal.empty()) return SharedConnections::kAsRead;
  if (connections == FlowConnections::kAuto && traffic.collective) return SharedConnections::kAll;
  return SharedConnections::kNone;
}

bool FabricSettings::has_credit() const {
  return visit_protocol(protocol,
                        [&]<typename P>(std::type_identity<P>) { return ends_of<P>(ends).has_credit(); });
}

void find_files(const ConfigDocument& document, const std::filesystem::path& scenario,
                FabricSettings& settings) {
  TrafficSettings& traffic = settings.traffic;
  if (traffic.sizes_from_file()) traffic.sizes_file = traffic.arrivals;
  for (const TrafficFile& each : traffic_files())
    find_beside(document, each.key, scenario, traffic.*each.file);
  find_beside(document, "traffic.arrivals", scenario, traffic.sizes_file);
  find_beside(document, "topology.from", scenario, settings.topology);
}

void bind_fabric(Binder& binder, FabricSettings& settings) {
  binder.text("title", settings.title, "one line about the scenario");
  {
    const Binder::Section model(binder, "model");
    binder.text("profile", settings.profile, "parameters of fabric and protocol: a file under profiles/");
  }
  {
    const Binder::Section run(binder, "run");
    binder.time("end", settings.end,
                "simulated time at which the run ends; 0ns: when all flows have finished");
    binder.time("time_limit", settings.time_limit,
                "simulated time after which an unfinished run counts as stalled");
    if (settings.time_limit == kTimeZero) binder.refuse_last("a time above 0ns");
    {
      const Binder::Section endless(binder, "", settings.end == kTimeZero, "only without run.end");
      binder.time(
          "stall_after", settings.stall_after,
          "simulated time without any byte arriving or flow ending after which a run counts as stalled; "
          "0ns: eight time-outs in a row (more where links lose packets) and 64 base round trips");
    }
    binder.integer("seed", settings.seed, "seed of every random stream, below 2^63");
    binder.integer("threads", settings.threads, "partitions of the fabric; results do not depend on it", 1,
                   64);
  }
  bind_traffic(binder, settings.traffic);
  bind_topology(binder, settings);
  bind_observation(binder, settings.observation, true);
  const Binder::Section fabric(binder, "fabric");
  binder.choice<wire::Protocol>("protocol", settings.protocol, kProtocols, "what the hosts speak");
  bind_sender_ends(binder, settings, rules_of(settings.protocol).senders, sender_docs());
  bind_generated(binder, settings);
  binder.bytes("payload", settings.payload, "of a full packet", 256, kLongestPayload);
  if (const std::uint32_t multiple = rules_of(settings.protocol).payload_multiple;
      settings.payload % multiple != 0) {
    binder.refuse_last(
        fmt::format("a multiple of {}B with protocol = \"{}\"", multiple, wire::key_of(settings.protocol)));
  }
  binder.bytes("header", settings.header,
               "all headers of a packet together; 0B: what they really take, with Ethernet's gaps", 0, 1024);
  bind_switches(binder, settings);
  binder.number("pcie_rate", settings.pcie_rate,
                "how fast hosts take data in, in link speeds, at least 0.001, with up to 5 MB waiting for "
                "that; 0: at any speed",
                0, 1000);
  if (settings.pcie_rate > 0 && settings.pcie_rate < 0.001)
    binder.refuse_last("0, or a number from 0.001 to 1000");
  {
    const Binder::Section apart(binder, "", rules_of(settings.protocol).flows.connections_apart,
                                only_with_protocol([](wire::Protocol protocol) {
                                  return rules_of(protocol).flows.connections_apart;
                                }));
    binder.choice<FlowConnections>(
        "connections", settings.connections, kConnections,
        "flows from one host to another have a connection each (a context, a queue "
        "pair), or all share one; auto: steps of a collective share, and messages of one nic of a rank");
  }
  {
    const Binder::Section matrix(binder, "", !settings.traffic.matrix.empty(), "only with traffic.cm");
    binder.flag("connection_reuse", settings.connection_reuse,
                "lines of a connection matrix with the same id are messages on one connection");
  }
  each_protocol(FabricProtocols(), [&]<typename P>(std::type_identity<P>) {
    if constexpr (P::Ends::kHasKeys) {
      const Binder::Section own(binder, "", settings.protocol == P::kProtocol,
                                fmt::format("only with protocol = \"{}\"", wire::key_of(P::kProtocol)));
      P::Ends::bind(binder, settings, ends_of<P>(settings.ends));
    }
  });
  bind_dcqcn(binder, settings);
  bind_caqm(binder, settings);
}

void bind_world_fabric(Binder& binder, FabricSettings& settings) {
  bind_topology(binder, settings);
  bind_observation(binder, settings.observation, false);
  const Binder::Section fabric(binder, "fabric");
  const bool own_ends = !rules_of(settings.protocol).own_sender_keys;
  if (own_ends) bind_sender_ends(binder, settings, rules_of(settings.protocol).senders, sender_docs());
  bind_generated(binder, settings);
  bind_switches(binder, settings);
  if (!own_ends) return;
  bind_dcqcn(binder, settings);
  bind_caqm(binder, settings);
}

std::vector<KeyDoc> every_fabric_key() {
  Binder binder;
  FabricSettings settings;
  bind_fabric(binder, settings);
  return binder.keys();
}

std::string LoadedFabricSettings::place_of(std::string_view key) const {
  const ConfigValue* given = document.peek(key);
  if (given == nullptr) return std::string(key);
  return given->origin == "--set" || !given->origin.starts_with("--")
             ? fmt::format("{}: {}", given->origin, key)
             : given->origin;
}

Result<LoadedFabricSettings> load_fabric_settings(const FabricSettingsSource& source) {
  LoadedFabricSettings loaded;
  ConfigDocument& document = loaded.document;
  if (!source.text.empty()) {
    WHARF_TRY(document.add_text(source.text, source.file.string(), "", kScenarioLayer));
  } else if (!source.file.empty()) {
    WHARF_TRY(document.add_file(source.file, "", kScenarioLayer));
  }
  for (const std::string& assignment : source.overrides) WHARF_TRY(document.add_override(assignment));
  if (!source.profile.empty()) document.set("model.profile", source.profile, "--profile");
  for (const auto& option : source.options) {
    const ConfigValue* given = document.peek(option.key);
    if (given != nullptr && given->layer == kOverrideLayer && !same_value(given->text, option.value)) {
      return input_error(fmt::format("{}: {} is \"{}\" beside {} {}, expected one of the two", given->origin,
                                     option.key, given->text, option.name, option.value));
    }
    document.set(option.key, option.value, option.name);
  }
  WHARF_TRY(refuse_world(document));
  const std::string decided_by = kind_of(document).reason;
  if (!decided_by.empty()) WHARF_TRY(refuse_two_host_keys(document, decided_by));
  const ConfigValue* profile = document.find("model.profile");
  WHARF_TRY(add_profile(document, loaded.profile_files, source.profile_directory,
                        {profile != nullptr ? profile->text : loaded.settings.profile,
                         profile != nullptr ? profile->origin : "model.profile", profile_beside(profile)},
                        ""));
  if (profile != nullptr) WHARF_TRY(refuse_two_host_profile(document, profile->text, profile->origin));
  auto replaced = keep_one_traffic(document);
  if (!replaced) return replaced.error();
  Binder binder(document);
  bind_fabric(binder, loaded.settings);
  WHARF_TRY(binder.finish(kTables));
  WHARF_TRY(check_settings(loaded.settings));
  const ConfigValue* rto = document.peek("fabric.rto");
  loaded.settings.rto_of_profile = rto == nullptr || rto->layer < kScenarioLayer;
  find_files(document, source.file, loaded.settings);
  auto expectations = read_expectations(document);
  if (!expectations) return expectations.error();
  loaded.expectations = *std::move(expectations);
  if (!loaded.expectations.empty())
    WHARF_TRY(check_paths(loaded.expectations, fabric_summary_paths(loaded.settings)));
  loaded.no_influence = *std::move(replaced);
  for (std::string& line : binder.without_influence()) loaded.no_influence.push_back(std::move(line));
  loaded.effective = effective_text(document, loaded.settings.profile);
  loaded.identity = identity_of(document);
  return loaded;
}

}  // namespace wharf::sim
