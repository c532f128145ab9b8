// SPDX-License-Identifier: Apache-2.0
// What can be chosen about switches, queues and links of a fabric, beside its topology.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/congestion/caqm_switch.h"
#include "sim/fabric/link_faults.h"
#include "sim/fabric/packet_head.h"
#include "sim/fabric/topology.h"
#include "sim/kernel/time_rule.h"

namespace wharf::sim {

/// Queues of an output port.
inline constexpr std::uint32_t kPortQueues = 4;
inline constexpr std::uint32_t kUnlimitedBytes = std::numeric_limits<std::uint32_t>::max();

/// What becomes of a packet that finds its queue full.
enum class OverflowRule : std::uint8_t {
  kDrop,         ///< The arriving packet is dropped.
  kTrimArrival,  ///< The arriving packet loses its payload.
  /// With probability one half the newest queued packet loses its payload and the arrival takes its place;
  /// otherwise the arrival does (the composite queue of htsim).
  kTrimNewestOrArrival,
  kDropNewestOrArrival,  ///< The same with packets that are dropped.
};
/// Whether an arrival may take the place of the newest queued packet.
constexpr bool replaces_newest(OverflowRule rule) { return rule >= OverflowRule::kTrimNewestOrArrival; }

/// One queue of an output port. Occupancies count a packet until its last byte has been sent.
struct PortQueueConfig {
  std::uint32_t capacity_bytes = kUnlimitedBytes;
  /// ECN, when a packet leaves the queue, by the occupancy including that packet: never at or below mark_min,
  /// always above mark_max, linearly more probable between. Equal values are a single threshold.
  std::uint32_t mark_min_bytes = kUnlimitedBytes;
  std::uint32_t mark_max_bytes = kUnlimitedBytes;
  /// The probability that is reached at mark_max, in millionths. (DCQCN's P_max.)
  std::uint32_t mark_most_ppm = 1'000'000;
  bool mark_behind = false;  ///< The occupancy for ECN leaves the packet itself out: what stays behind it.
  OverflowRule overflow = OverflowRule::kDrop;
  std::uint8_t priority = 0;  ///< Queues of a lower number are served first.
  std::uint32_t weight = 1;   ///< Share of the bytes among queues of the same priority; 1 to 1000.
};

/// How an output port treats packets.
struct PortProfile {
  std::array<PortQueueConfig, kPortQueues> queues{};
  /// Queue of each traffic class, and of packets that were trimmed.
  std::array<std::uint8_t, kFabricClasses> queue_of_class{};
  std::uint8_t trimmed_queue = 0;
  std::uint16_t trimmed_bytes = 64;  ///< What a link is busy for when it sends a trimmed packet.

  /// Whether some queue does not follow the one before it in priority, so that weights or order matter.
  bool shares_priority() const;
  /// Everything in one unlimited queue.
  static PortProfile single_queue();
  /// Traffic classes 0 and 1 first, then all others: the two queues of htsim's composite queue, without ECN.
  /// `data` bounds the low queue, twice as much the high one.
  static PortProfile composite(std::uint32_t data_bytes, std::uint32_t mark_min, std::uint32_t mark_max);
  /// Of a composite queue: trimmed packets get a queue of their own, as long as that of data, and `percent`
  /// (1 to 99) of the bytes while both wait. (TC_med and its weight, UE 1.0 3.6.17)
  void share_with_trimmed(std::uint32_t percent);
};

enum class LoadBalancing : std::uint8_t {
  kEcmpHash,    ///< Hash of flow, entropy and the switch's salt.
  kSpray,       ///< A random port for each packet.
  kRoundRobin,  ///< The next port for each packet.
  kAdaptive,    ///< The port with the fewest bytes queued; among equals the one that the hash prefers.
};

/// Which way packets take between groups of switches that are joined directly (detours.h).
enum class Routing : std::uint8_t {
  kMinimal,  ///< A cheapest one.
  kValiant,  ///< Over a group that is drawn, always. (Valiant, SIAM J. Computing 11(2), 1982)
  /// Over it where the first port of the minimal way has more queued for each of its links: what the source's
  /// switch knows. (UGAL-L: Singh, Load-Balanced Routing in Interconnection Networks, 2005; Kim et al., ISCA
  /// 2008)
  kUgal,
};

enum class Switching : std::uint8_t {
  kStoreAndForward,  ///< A switch handles a packet when its last byte has arrived.
  /// A switch handles a packet when its first cut_through_bytes have arrived; where the output link is faster
  /// than the input link it waits until the packet cannot run dry. Hosts take whole packets.
  kCutThrough,
};

enum class FlowControl : std::uint8_t {
  kNone,
  kPause,   ///< Priority flow control (IEEE 802.1Qbb): pause and resume frames per queue.
  kCredit,  ///< Credit-based flow control of Ultra Ethernet links, one virtual channel per queue.
};

/// Counters of credits are cyclic with 20 bits. Choice: half of their range, because where a link reorders
/// one may seem to run backwards for a while. [UE 1.0 5.2]
inline constexpr std::uint32_t kMostCredits = (1U << 19U) - 1;

struct FlowControlConfig {
  FlowControl kind = FlowControl::kNone;
  std::uint8_t queues = 0xf;  ///< Queues under flow control, one bit each.
  // Pause. A link's buffer at its far end is counted per queue until the packets have been sent on.
  std::uint32_t xoff_bytes = 100'000;  ///< Above this a pause frame goes back.
  std::uint32_t xon_bytes = 80'000;    ///< At or below this a resume frame follows; at most xoff_bytes.
  std::uint16_t frame_bytes = 84;      ///< What a link is busy for with one of them.
  // Credits (Ultra Ethernet 1.0, link layer CBFC).
  std::uint32_t credit_limit_bytes = 200'000;  ///< Buffer per queue at the far end.
  std::uint16_t credit_bytes = 128;            ///< Size of one credit.
  std::int16_t credit_overhead_bytes = 0;      ///< Added to each packet before rounding up; -16 to 127.
  std::uint32_t update_spacing_bytes = 6400;   ///< Freed bytes after which an update goes back.
  std::uint16_t update_bytes = 8;              ///< What a link is busy for with one.
  /// While credits are out, the sender tells so often what it has consumed: those of lost frames come back.
  TimePs consumed_update_period = microseconds(256);
  std::uint16_t consumed_update_bytes = 64;
};

/// Something happens to one direction of a link.
struct LinkChange {
  TimePs at;
  PortId port = 0;
  bool up = true;        ///< False: packets queued and to come are lost; those on the way arrive.
  BitsPerSecond rate{};  ///< From then on; 0: unchanged.
};

/// How fast a host takes in what arrives; rate 0: at any speed.
struct HostIngest {
  BitsPerSecond rate{};                      ///< Of memory or PCIe behind the interface.
  std::uint64_t capacity_bytes = 5'000'000;  ///< A packet that finds more waiting counts as trimmed.
  constexpr bool limited() const { return rate.value != 0; }
};

struct FabricConfig {
  std::vector<PortProfile> profiles;  ///< At least one.
  std::vector<std::uint8_t>
      port_profile{};  ///< By PortId; empty: profile 0 for all. Hosts' ports: classes only.
  LoadBalancing load_balancing = LoadBalancing::kEcmpHash;
  Routing routing = Routing::kMinimal;
  std::uint64_t ugal_bias_bytes = 0;  ///< kUgal: so much more may be queued on the minimal way.
  Switching switching = Switching::kStoreAndForward;
  std::uint16_t cut_through_bytes = 64;
  TimePs fec_delay{};  ///< Added at the receiving end of every link.
  FlowControlConfig flow_control{};
  std::vector<LinkFaults> faults{};  ///< By PortId; empty: none anywhere; one: all links alike.
  /// Each link draws each fault from a stream of its own (LinkDraws); false: from the counter of its port.
  bool draws_per_fault = false;
  /// Every link reports what operations do on it (Host::crossed).
  bool traced = false;
  /// Hosts say when the last byte of a packet is there (PacketHead::time): links may begin before.
  bool paced_hosts = false;
  StageRounding rounding = StageRounding::kNone;  ///< Of the time from a link's begin to the far end.
  std::vector<LinkChange> changes{};
  /// How long after a link fails or returns all switches route accordingly; kNever: they never do. A switch
  /// avoids its own failed links at once.
  TimePs reroute_delay = kNever;
  HostIngest ingest{};
  /// Nodes act in turns where that is possible (partition_turns.h). False: event by event everywhere, for
  /// comparison; results are the same.
  bool turns = true;
  /// How much each host has to do, by number, compared with the others; empty: all the same. Decides which
  /// thread takes which hosts, and no result.
  std::vector<std::uint32_t> host_work{};
  /// C-AQM of Unified Bus at every port of a switch, its `rate` that of the link: hosts whose packets carry
  /// requests for growth get them granted, refused or marked; other marks are off then.
  std::optional<congestion::CaqmPortConfig> caqm{};
  TimePs sample_interval{};  ///< Of everything that is sampled; 0: nothing is.
  std::vector<PortId> sampled_ports{};
  std::uint32_t fullest_ports = 0;  ///< So many switch ports with the most bytes queued are sampled, too.
  std::vector<NodeId> sampled_hosts{};
  bool record_pauses = true;
  std::vector<PortId> captured_ports{};
  std::uint64_t seed = 1;

  const LinkFaults* faults_of(PortId port) const {
    return faults.empty() ? nullptr : &faults[faults.size() == 1 ? 0 : port];
  }
  bool retries(PortId port) const { return !faults.empty() && faults_of(port)->retry; }
  bool any_retries() const {
    return std::any_of(faults.begin(), faults.end(), [](const LinkFaults& each) { return each.retry; });
  }
  /// Whether ports are told things by their neighbours that they must obey at once.
  bool serves_by_event() const { return flow_control.kind != FlowControl::kNone || any_retries(); }
};

Result<void> validate(const FabricConfig& config, const Topology& topology);

}  // namespace wharf::sim
