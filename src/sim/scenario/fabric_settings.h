// SPDX-License-Identifier: Apache-2.0
// The keys of a fabric run ("fabric.*" and "run.*"), and the rules that turn them, with a topology, into
// everything a run needs: base round trip, queue sizes, thresholds, windows, time-outs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/config/binder.h"
#include "sim/config/config_document.h"
#include "sim/config/expectation.h"
#include "sim/config/fabric_links.h"
#include "sim/config/traffic.h"
#include "sim/fabric/topology_fat_tree.h"
#include "sim/fabric/topology_survey.h"
#include "sim/flows/engine_frames.h"
#include "sim/flows/fabric_run.h"
#include "sim/protocols/protocols.h"
#include "sim/scenario/observation_settings.h"

namespace wharf::sim {

/// Which bytes in a queue decide about the mark of a packet that leaves it.
enum class EcnOccupancy : std::uint8_t { kWithPacket, kBehindPacket };
/// What a full queue drops: the arrival, or with equal chances the newest packet in it.
enum class DropVictim : std::uint8_t { kArrival, kNewestOrArrival };

/// Which flows from one host to another share a connection.
enum class FlowConnections : std::uint8_t {
  kAuto,  ///< The steps of a collective share one; every other flow has its own.
  kFlow,
  kPair,
};

/// Congestion controllers count in units that hold no faster one.
inline constexpr BitsPerSecond kFastestLink{8'700'000'000'000};

/// Zero stands for "by rule" where a rule is given.
struct FabricSettings : SenderEnds {
  std::string title;
  std::string profile = "ultra-ethernet";
  wire::Protocol protocol = kFabricProtocol;
  ProtocolEnds ends;  ///< Those of `protocol` alone matter.

  std::string topology;  ///< A file, or a name such as "star:8"; empty: a fat tree is generated.

  // The fat tree that is generated when no topology is given.
  std::uint32_t tiers = 3;
  BitsPerSecond link_speed = gigabits_per_second(100);
  TimePs hop_latency = microseconds(1);
  TimePs switch_latency{};

  // Packets.
  std::uint64_t payload = 4096;
  std::uint64_t header =
      0;  ///< Nominal bytes of all headers; 0: what they really take, with Ethernet's gaps.

  // Switches.
  LoadBalancing load_balancing = LoadBalancing::kEcmpHash;
  Routing routing = Routing::kMinimal;
  std::uint64_t ugal_bias = 0;         ///< Bytes, with Routing::kUgal.
  std::uint32_t queue_packets = 0;     ///< 0: queue_bdp_factor bandwidth-delay products.
  std::uint32_t queue_bdp_factor = 0;  ///< 0: 1 with trimming, 5 without.
  bool ecn = true;
  std::uint32_t ecn_low_packets = 0;   ///< 0: 0.2 of the bandwidth-delay product.
  std::uint32_t ecn_high_packets = 0;  ///< 0: 0.8 of it.
  double ecn_most = 1;                 ///< Probability of a mark that is reached there; above it is 1.
  EcnOccupancy ecn_occupancy = EcnOccupancy::kWithPacket;
  bool trimming = true;
  std::uint64_t trim_size = 64;
  std::uint32_t trimmed_share = 0;                ///< Percent; 0: trimmed packets go before data.
  std::uint32_t last_hop_threshold = 100;         ///< Percent of the other ports' data queues.
  DropVictim drop_victim = DropVictim::kArrival;  ///< Without trimming.
  FlowControl flow_control = FlowControl::kNone;
  Switching switching = Switching::kStoreAndForward;
  double loss = 0;
  FabricLinks links;
  std::uint32_t slow_links = 0;  ///< Links of the top tier at a quarter of their speed.

  double pcie_rate = 0;  ///< Multiple of the link speed; 0: hosts take in at any speed.
  FlowConnections connections = FlowConnections::kAuto;
  bool connection_reuse = false;
  bool rto_of_profile =
      false;  ///< `rto` is not the user's own: it is for short links, and longer ones make it longer.

  /// Whether full queues cut packets: not with protocols that cannot tell a packet that was cut.
  bool trims() const { return trimming && wire::tells_trims(protocol); }
  /// Which flows share a connection: all of a pair of hosts where the protocol cannot tell them apart.
  workload::SharedConnections shared_connections() const;
  /// Whether receivers hand out credit.
  bool has_credit() const;
  /// Whether flow control alone bounds the queues of switches: nothing is dropped then.
  bool lossless() const {
    return flow_control != FlowControl::kNone && !trims() && queue_packets == 0 && queue_bdp_factor == 0;
  }
  /// Whether switches grant growth of windows; marks by thresholds are off then.
  bool switches_grant() const { return controller == SenderController::kCaqm; }

  TrafficSettings traffic;
  ObservationSettings observation;

  TimePs end{};  ///< 0: when all flows have finished.
  TimePs time_limit = seconds(10);
  TimePs stall_after{};  ///< 0: by rule, from time-outs and round trips.
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;
};

struct FabricSettingsSource {
  /// An option of the command line that stands for a key.
  struct Option {
    std::string_view key;
    std::string value;
    std::string_view name;  ///< For messages: "--collective".
  };

  std::string profile;                 ///< Empty: the default one.
  std::vector<std::string> overrides;  ///< key=value, in order.
  std::filesystem::path profile_directory;
  std::vector<Option> options{};  ///< Win over `overrides`.
  std::filesystem::path file{};   ///< A scenario of many hosts; empty: none.
  std::string text{};             ///< What `file` holds, if it has been read already.
};

struct LoadedFabricSettings {
  FabricSettings settings;
  std::vector<std::string> no_influence;
  std::vector<std::filesystem::path> profile_files;
  std::string effective;  ///< config.effective.toml.
  std::vector<Expectation> expectations;
  std::uint64_t identity = 0;  ///< Hash of the keys of all layers and of what is expected.
  ConfigDocument document;     ///< What was given, and where.

  /// Where `key` was given, for the beginning of messages: "FILE:LINE: KEY", or the option.
  std::string place_of(std::string_view key) const;
};

/// Lists every key.
void bind_fabric(Binder& binder, FabricSettings& settings);
/// Lists those that worlds of full hosts have: topology, links, switches, and congestion control of protocols
/// whose hosts have no keys for it. `settings.protocol` is theirs.
void bind_world_fabric(Binder& binder, FabricSettings& settings);
/// For references of the keys, in the order of the listing.
std::vector<KeyDoc> every_fabric_key();
/// Resolves profile, scenario and command line; refuses unknown keys, settings that are known but not
/// supported, and keys of two hosts. Flows come from the highest layer that names any; files that a scenario
/// names are looked for beside it first.
Result<LoadedFabricSettings> load_fabric_settings(const FabricSettingsSource& source);

/// What the rules gave, for reports.
struct FabricDerived {
  TimePs base_rtt;
  BitsPerSecond link;             ///< Of the hosts.
  BitsPerSecond host_rate;        ///< All ports of the host with the least together.
  std::uint32_t full_packet = 0;  ///< Bytes of a full packet on a link, the most that one takes.
  EngineFrames frames;            ///< What full packets of writes have beside their payload,
  EngineFrames read_frames;       ///< of reads, where there are any,
  EngineFrames send_frames;       ///< and of sends.
  std::uint32_t ack_packet = 0;
  std::uint64_t bdp = 0;  ///< Bytes.
  std::uint32_t queue_bytes = 0;
  std::uint32_t ecn_low = 0;
  std::uint32_t ecn_high = 0;
  std::uint64_t max_window = 0;
  TimePs rto;
  bool flows_keep_ports = false;  ///< As FabricRunConfig has it.
};

struct DerivedFabricRun {
  FabricRunConfig config;
  FabricDerived derived;
  std::vector<std::string> remarks{};  ///< Sentences: keys that the topology makes doubtful.
};

/// `list` gives failures of links; they are those of a fat tree, so that `shape` is needed then. Changes that
/// name ports come with add_link_changes().
/// `hosts`: the engines, where hosts have keys of their own for them.
Result<DerivedFabricRun> derive_fabric_run(const FabricSettings& settings, const Topology& topology,
                                           const FatTreeShape* shape, const workload::FlowList& list,
                                           const EngineConfigs* hosts = nullptr);

/// How long a run may be silent before it counts as stalled: as many time-outs in a row, each as long as the
/// back-off makes it, as the random losses of the links make nobody expect, and no fewer than eight; besides,
/// 64 base round trips and 64 full packets on the slowest link. kNever: the losses allow any silence.
TimePs stall_patience(const FabricSettings& settings, const FabricDerived& derived, const Topology& topology,
                      const TopologySummary& summary, const FabricRunConfig& config);

/// The unloaded time of each flow, alone in the fabric: its bytes through the slowest link of a shortest
/// path, store-and-forward, and the answer back; of hosts with several ports by the port that the flow keeps
/// to, or over all of them. What slowdown compares with.
std::vector<TimePs> ideal_times(const Topology& topology, const workload::FlowList& list,
                                const FabricSettings& settings, const FabricDerived& derived);

/// Takes files that the scenario at `scenario` names for those beside it, where there are any.
void find_files(const ConfigDocument& document, const std::filesystem::path& scenario,
                FabricSettings& settings);

}  // namespace wharf::sim
