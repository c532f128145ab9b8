// SPDX-License-Identifier: Apache-2.0
// What a protocol tells the simulator about itself. Each has one struct, in a header of its own; protocols.h
// lists them. Nothing else in the simulator knows a protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/named_counter.h"
#include "sim/config/sender_ends.h"
#include "sim/host/config/host_config.h"
#include "wire/protocol_traits.h"

namespace wharf::trace {
class Tracer;
}

namespace wharf::sim {

class KeyDraw;
struct DrawnKey;

/// One way to reach remote memory that a scenario can name.
struct StackTraits {
  std::string_view name;
  std::string_view doc;
  wire::Protocol protocol{};
  Attachment attachment = Attachment::kOnChipBus;         ///< Unless model.attachment says otherwise.
  SubmissionPath submission = SubmissionPath::kBusStore;  ///< Unless model.submission does.
  bool load_store = false;  ///< Programs may load and store; other verbs go as work requests.
  std::uint32_t lots = 1;   ///< How often wharf chaos draws it, beside the others.
};

/// How flows use the engines of a protocol.
struct FlowRules {
  std::string_view name;  ///< For messages.
  /// A queue of its own for each connection; else one serves all connections of a host.
  bool queue_per_connection = false;
  bool connections_apart = false;  ///< Connections of one pair of hosts share no state of the transport.
  bool both_connect = false;       ///< Packets flow when both ends have connected.
  bool inline_data = false;        ///< The engine takes described data with the request.
};

/// A key as checks of lower layers name it, and as scenarios do, without "model.".
using LowerName = std::pair<std::string_view, std::string_view>;

/// What can be said as values.
struct ProtocolRules {
  wire::Protocol protocol{};
  std::span<const StackTraits> stacks;
  FlowRules flows;
  SenderRules senders;
  /// Hosts have the keys of senders among their own, so that their worlds have none under "fabric".
  bool own_sender_keys = false;
  bool receive_entries = true;          ///< Receive entries are in host memory, from where NICs fetch them.
  bool write_imm_takes_receive = true;  ///< As engine::Capabilities has it.
  /// On an Ethernet link: what a full packet takes beside its payload, and what an acknowledgement does.
  std::uint32_t data_overhead = 0;
  std::uint32_t acknowledgement = 0;
  TimePs longest_round_trip = kNever;  ///< That controllers can count.
  std::uint32_t payload_multiple = 1;  ///< Bytes.
  std::string_view timeout_key{};      ///< Of the retransmission time-out of hosts, without "model.".
  std::string_view wide_open{};        ///< A setting of "model" with which nothing limits what is in flight.
  std::span<const LowerName> lower_names{};
};

/// The texts about controllers, of all protocols.
SenderDocs sender_docs();

/// What of a run decides which of a protocol's keys matter.
struct ProtocolKeyScope {
  bool active = true;           ///< The hosts speak it.
  bool engine = true;           ///< By its engine, not by hardware.
  bool queue_path = true;       ///< Work requests, not only loads and stores.
  bool load_store_path = true;  ///< Loads and stores of remote memory.
};

/// Where an engine of a full host is made.
struct EngineSite {
  std::uint32_t number = 0;  ///< Of the host,
  std::uint32_t hosts = 0;   ///< out of so many.
  std::uint64_t seed = 0;    ///< Of the run.
  trace::Tracer* tracer = nullptr;
  /// Room in host memory that is the NIC's.
  std::function<std::uint64_t(Bytes)> allocate;
};

/// What a run of flows knows when it makes the configuration of its engines.
struct FlowSite {
  std::uint64_t payload = 0;
  double pcie_rate = 0;
  std::uint64_t seed = 0;
  bool shared_connections = true;                   ///< All flows from one host to another share one.
  std::function<std::uint32_t()> most_connections;  ///< Of one host.
};

/// What all engines and ports have counted together.
struct FabricTotals {
  std::uint64_t new_packets = 0;  ///< Requests, first transmissions.
  std::uint64_t retransmitted = 0;
  std::uint64_t acknowledgements = 0;
  std::uint64_t negative_acknowledgements = 0;
  std::uint64_t control_packets = 0;  ///< Congestion notifications, credits and their requests.
  std::uint64_t credits = 0;          ///< Credits, and
  std::uint64_t credit_requests = 0;  ///< requests for credit, where the protocol has them.
  std::uint64_t timeouts = 0;
  std::uint64_t trimmed = 0;  ///< By switches.
  std::uint64_t marked = 0;
  std::uint64_t dropped = 0;  ///< Queues full, or no way.
  std::uint64_t lost = 0;     ///< By faulty and failed links.
  std::uint64_t pause_frames = 0;
};

using engine::NamedCounter;

/// Which part of a packet is not what its engine sent: what wharf chaos has a peer lie about.
enum class Lie : std::uint8_t {
  kAcknowledgement,  ///< What has arrived.
  kNumber,           ///< The number of the packet.
  kConnection,       ///< The queue pair, channel or PDC.
  kToken,            ///< The right to touch memory.
  kAddress,          ///< Which memory.
  kAnswer,           ///< Whose answer it is, and how it ended.
  kLength,           ///< How much there is.
  kKind,             ///< What it asks for.
};
inline constexpr std::uint32_t kLieCount = 8;

/// A field as a liar leaves it: near what it was, or anything of so many bits.
inline std::uint64_t lied(std::uint64_t value, unsigned bits, RandomStream& random) {
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  if (random.below(2) == 0) return random.next_u64() & mask;
  const std::uint64_t distance = 1 + random.below(std::uint64_t{1} << random.below(8));
  return (random.below(2) == 0 ? value + distance : value - distance) & mask;
}

/// Engines whose records are not fetched ahead.
struct NoPrefetch {};
/// Of protocols whose ends have no keys in runs of flows beside those of every sender.
struct NoEnds {
  static constexpr bool kHasKeys = false;
  static bool has_credit() { return false; }
  static Result<void> check(const SenderEnds&, const NoEnds&) { return {}; }
};

// A protocol P has these members. None of them is called per packet.
//
//   Engine, Config, Counters     of its engine
//   Prefetch                     how to fetch an engine's records ahead of its turn, or NoPrefetch
//   Settings                     the keys "model.KEY.*" of hosts
//   Ends                         the keys "fabric.*" of runs of flows that are its own: kHasKeys, bind(),
//                                check() which refuses what is known but has no code behind it, and
//                                has_credit(): receivers hand out credit; or NoEnds
//   kRules                       ProtocolRules
//
//   keeps_port(config, sends)    whether flows, some of them sends if `sends`, have to keep to one of several
//                                ports of a host, because packets of a connection may not overtake
//   Engines                      of a run of flows: make(config, host, payloads, arena) -> Result<Engine>
//   placed(config, site)         the configuration of an engine in a full host
//   Hardware                     only where rtl/ has a NIC of the protocol: an engine, made of
//                                placed_hardware(cycle, site); hardware_abilities(settings) says what it can
//                                do, or refuses a setting by its key; hardware_file() is its module
//   thin(config, number, hosts, seed)   and in a host without an inside
//   timeout(config, expiries)    the retransmission time-out after so many others in a row
//   raise_timeout(config, least) makes its first time-out at least so long
//   count(engine, totals)        adds what the engine has counted to FabricTotals
//   counters(counters)           every counter by name, in the order of reports
//
//   bind(binder, settings, scope)             lists the keys of hosts
//   fetches_contexts(settings)                NICs fetch context records from host memory
//   context_fetches(counters)                 how many an engine has fetched
//   check(settings, link, host)               refuses, naming the key
//   check_program(settings, config, section)  only where settings carry less than the engine does: refuses a
//                                             program of work requests that needs more
//   derive(settings, link, host)              the configuration of both engines on one link
//   draw(draw, stack, world)                  draws keys of hosts, in a world or two on a link, with which
//                                             nobody gives up whatever the faults: wharf chaos
//   draw_requests(draw)                       only where work requests have keys of its own: those, likewise
//   draw_flows(draw)                          only where runs of flows do
//   kOpensByFirstPacket                       whoever hears a packet of a host has a connection: one from
//   before
//                                             a reset of that host that never arrived may be taken for a new
//                                             one
//   kDrawsDeath                               wharf chaos draws hosts that die: not while decision 0100 lists
//                                             what such runs have found
//   renew(config, life, seed)                 the configuration of an engine that takes the place of `life`
//                                             earlier ones of its host
//   limit_retries(config, attempts)           a silent peer is given up after about so many
//   given_up_within(config)                   how long that takes from the last sign of life: each request to
//                                             it has ended
//   lie(packet, lie, random)                  alters a packet of the protocol; false: it has no such part
//   payload(settings)                         bytes of a full packet
//   share(settings, sender, ends)             what hosts' keys say about a run of flows, if they say anything
//   on_fabric(settings, path, host, derived)  the configuration in a world whose longest path is `path`;
//                                             `derived` is what derive_fabric() gave
//   senders(network)                          what the rules of controllers see
//   check_fabric(ends, site)                  refuses, naming the key
//   set_credit_rate(config, rate, base_rtt)   only where receivers can hand out credit: at this rate
//   derive_fabric(sender, ends, network, site) the configuration for a run of flows; nobody gives up

}  // namespace wharf::sim
