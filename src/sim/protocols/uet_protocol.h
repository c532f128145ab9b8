// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet in the simulator: its stack, its keys ("model.uet.*" of hosts, some of "fabric.*" of runs of
// flows) and the rules that turn them, with a network, into an engine's configuration.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/uet/prefetch.h"
#include "engine/uet/uet_engine.h"
#include "sim/config/binder.h"
#include "sim/fabric/link_config.h"
#include "sim/protocols/protocol.h"
#include "workload/workload.h"

namespace wharf::sim {

/// Whether the upper bits of entropy values are drawn once or for each round of paths.
enum class PathBits : std::uint8_t { kFixed, kDrawn };
/// When a source without credit asks for some: as soon as nothing of it is under way, or a time-out later.
enum class CreditRequest : std::uint8_t { kDry, kResend };
/// How much credit a source that wants none gets at a time: a full grant, or a packet at half the pace.
enum class IdleGrant : std::uint8_t { kFull, kPacket, kNone };
/// What gives a source its turn at the receiver's credit: that it wants some, or every packet of it.
enum class CreditTurn : std::uint8_t { kDemand, kPacket };
enum class OversubscribedControl : std::uint8_t { kAuto, kOn, kOff };

/// Zero stands for "by rule" where a rule is given.
struct UetEnds {
  static constexpr bool kHasKeys = true;

  uet::CongestionControl control = uet::CongestionControl::kSender;
  TimePs target_delay{};  ///< 0: 0.75 of the base round trip with trimming, 1.0 without.
  std::uint32_t qa_gate = 3;
  congestion::NsccRules nscc_rules = congestion::NsccRules::kSpecification;
  std::uint32_t ack_trigger = 16384;
  uet::SackBase sack_base = uet::SackBase::kTrack;
  congestion::PathChoice path_selection = congestion::PathChoice::kOblivious;
  std::uint32_t paths = 64;
  PathBits path_bits = PathBits::kFixed;
  CreditRequest credit_request = CreditRequest::kDry;
  IdleGrant idle_grant = IdleGrant::kFull;
  CreditTurn credit_turn = CreditTurn::kDemand;
  bool sleek = false;
  bool base_rtt_probe = true;
  bool ack_every_syn = true;
  bool base_rtt_from_nacks = true;
  bool target_flow_control = false;
  OversubscribedControl oversubscribed_control = OversubscribedControl::kAuto;
  double oversubscribed_increase = 0.01;
  double oversubscribed_decrease = 0.5;
  double oversubscribed_gain = 0.5;

  /// Whether receivers hand out credit.
  bool has_credit() const {
    return control == uet::CongestionControl::kReceiver || control == uet::CongestionControl::kBoth;
  }

  /// Whether a controller's window limits senders.
  bool has_window() const {
    return control == uet::CongestionControl::kSender || control == uet::CongestionControl::kBoth;
  }

  /// Lists the keys into the binder's section.
  static void bind(Binder& binder, const SenderEnds& sender, UetEnds& ends);
  static Result<void> check(const SenderEnds& sender, const UetEnds& ends);
};

/// The keys of hosts: those of their ends in runs of flows, and what concerns messages, which such runs do
/// not vary.
struct UetSettings : SenderEnds, UetEnds {
  /// Choice: no probe unless a key asks for one. The rules know the base round trip of a link, and a probe
  /// finds a shorter one: the bytes of a full packet are not in it, which on one hop is much of the window.
  UetSettings() { base_rtt_probe = false; }

  std::uint32_t payload = 4096;
  std::uint32_t header = 0;  ///< Nominal bytes of all headers; 0: what they really take.
  std::uint32_t default_mpr = 8;
  std::uint32_t max_ack_data = 16;
  bool ack_per_packet = false;
  std::uint32_t max_rto_retries = 5;
  std::uint32_t max_nack_retries = 5;
  TimePs tail_loss_time{};
  verbs::Delivery one_sided = verbs::Delivery::kUnordered;
  verbs::Delivery two_sided = verbs::Delivery::kOrdered;
  uet::LargeSend large_send = uet::LargeSend::kEager;
  std::uint32_t large_send_bytes = 8192;
  std::uint32_t eager_bytes = 0;
  uet::UnexpectedSend unexpected = uet::UnexpectedSend::kKeep;
  std::uint32_t message_retries = 5;
  TimePs message_retry_time = milliseconds(50);
  bool small_headers = false;
  bool medium_headers = false;
  std::uint32_t fetch_ahead = 16;
  TimePs idle_timeout{};  ///< Zero: what is idle stays open.
  uet::EndpointAddress endpoint;
  std::uint32_t initiator_id = 16;
  std::uint32_t start_psn = kPsnDrawn;

  /// start_psn: each connection draws its first number.
  static constexpr std::uint32_t kPsnDrawn = 0xffff'ffff;
};

/// Two hosts on one link, as the rules of the specification see a network. The rate is that of the link or of
/// a NIC's data path, whichever is slower. The base round trip is that of a full packet and its answer
/// through four pipelines and the link both ways; the fetch of its payload comes before it counts.
EndNetwork network_of(const UetSettings& settings, const LinkConfig& link, const NicConfig& nic);

struct UetProtocol {
  using Engine = uet::UetEngine;
  using Config = uet::UetConfig;
  using Counters = uet::UetCounters;
  using Prefetch = uet::Prefetch;
  using Settings = UetSettings;
  using Ends = UetEnds;

  static constexpr wire::Protocol kProtocol = wire::Protocol::kUet;
  static constexpr std::array<StackTraits, 1> kStacks{
      {{"uet", "Ultra Ethernet behind PCIe, doorbell and fetched entries", kProtocol, Attachment::kPcie,
        SubmissionPath::kDoorbell, false, 2}}};
  /// Without a controller it goes by the key `control`.
  static constexpr std::array<SenderController, 5> kControllers{
      SenderController::kNscc, SenderController::kConstant, SenderController::kSwift,
      SenderController::kDcqcn, SenderController::kDctcp};
  static constexpr std::array<LowerName, 6> kLowerNames{{{"uet.payload_mtu", "uet.payload"},
                                                         {"uet.max_ack_data_bytes", "uet.max_ack_data"},
                                                         {"uet.ack_trigger_bytes", "uet.ack_trigger"},
                                                         {"uet.rto_init", "uet.rto"},
                                                         {"uet.infer_loss", "uet.sleek"},
                                                         {"uet.fetch_ahead_packets", "uet.fetch_ahead"}}};
  /// Ethernet, IPv4, UDP, PDS request, SES and CRC trailer, with preamble and gap: what a full packet takes
  /// beside its payload; and what an acknowledgement takes. Controllers count time in units that hold no
  /// longer round trip.
  static constexpr ProtocolRules kRules{.protocol = kProtocol,
                                        .stacks = kStacks,
                                        .flows = {"Ultra Ethernet", false, true, false, true},
                                        .senders = {.controllers = kControllers},
                                        .own_sender_keys = true,
                                        .receive_entries = false,
                                        .write_imm_takes_receive = false,
                                        .data_overhead = 14 + 20 + 8 + 12 + 44 + 4 + 4 + 20,
                                        .acknowledgement = 14 + 20 + 8 + 32 + 12 + 4 + 4 + 20,
                                        .longest_round_trip = milliseconds(100),
                                        .payload_multiple = 2,
                                        .timeout_key = "uet.rto",
                                        .wide_open = "uet.control=none",
                                        .lower_names = kLowerNames};

  /// Unordered delivery takes all ports, unless a flow is to have one path; ordered delivery (UE 1.0 3.5.12)
  /// has one.
  static bool keeps_port(const Config& config, bool sends);
  class Engines {
   public:
    Result<Engine> make(const Config& config, std::uint32_t host, wire::PayloadPool& payloads, Arena& arena);

   private:
    std::shared_ptr<const Config> shared_;  ///< Of all engines of the run.
  };
  static Config placed(const Config& config, const EngineSite& site);
  static Config thin(const Config& config, std::uint32_t number, std::uint32_t hosts, std::uint64_t seed);
  static TimePs timeout(const Config& config, std::uint32_t expiries);
  static void raise_timeout(Config& config, TimePs least);
  static void count(const Engine& engine, FabricTotals& totals);
  static std::vector<NamedCounter> counters(const Counters& counters);

  static constexpr bool kOpensByFirstPacket = true;
  static constexpr bool kDrawsDeath = false;
  static void renew(Config& config, std::uint32_t life, std::uint64_t seed);
  static void limit_retries(Config& config, std::uint32_t attempts);
  static TimePs given_up_within(const Config& config);
  static bool lie(wire::Packet& packet, Lie lie, RandomStream& random);

  static void draw(KeyDraw& draw, const StackTraits& stack, bool world);
  static void draw_flows(KeyDraw& draw);
  static void bind(Binder& binder, Settings& settings, const ProtocolKeyScope& scope);
  static bool fetches_contexts(const Settings&) { return false; }
  static std::uint64_t context_fetches(const Counters&) { return 0; }
  static Result<void> check(const Settings& settings, const LinkConfig& link, const HostConfig& host);
  /// What RUDI and UUD do not carry.
  static Result<void> check_program(const Settings& settings, const workload::WorkloadConfig& config,
                                    std::string_view section);
  static Config derive(const Settings& settings, const LinkConfig& link, const HostConfig& host);
  static std::uint32_t payload(const Settings& settings) { return settings.payload; }
  static void share(const Settings& settings, SenderEnds& sender, Ends& ends) {
    sender = settings;
    ends = settings;
  }
  /// The rules see a network by its round trip.
  static Config on_fabric(const Settings& settings, const LinkConfig& path, const HostConfig& host,
                          const Config&) {
    return derive(settings, path, host);
  }
  /// Credit for `rate` instead of a host's link.
  static void set_credit_rate(Config& config, BitsPerSecond rate, TimePs base_rtt) {
    config.credit = congestion::RcccConfig::for_network(rate, base_rtt, config.credit.mtu_bytes);
  }
  static SenderNetwork senders(const EndNetwork& network);
  static Result<void> check_fabric(const Ends& ends, const FlowSite& site);
  static Result<Config> derive_fabric(const SenderEnds& sender, const Ends& ends, const EndNetwork& network,
                                      const FlowSite& site);
};

}  // namespace wharf::sim
