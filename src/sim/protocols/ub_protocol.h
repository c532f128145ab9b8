// SPDX-License-Identifier: Apache-2.0
// Unified Bus in the simulator: its stacks, its keys ("model.ub.*" of hosts) and the rules that turn what is
// chosen about senders, with a network, into an engine's configuration.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/ub/counters.h"
#include "engine/ub/hardware/hardware_nic.h"
#include "engine/ub/ub_engine.h"
#include "sim/config/binder.h"
#include "sim/fabric/link_config.h"
#include "sim/protocols/protocol.h"
#include "workload/workload.h"

namespace wharf::sim {

struct UbProtocol {
  using Engine = ub::UbEngine;
  using Config = ub::UbConfig;
  using Counters = ub::UbCounters;
  using Hardware = hardware::HardwareNic;
  using Prefetch = NoPrefetch;
  using Settings = Config;
  using Ends = NoEnds;

  static constexpr wire::Protocol kProtocol = wire::Protocol::kUb;
  static constexpr std::array<StackTraits, 2> kStacks{
      {{"ub_ldst", "Unified Bus loads and stores; other verbs over URMA", kProtocol, Attachment::kOnChipBus,
        SubmissionPath::kBusStore, true},
       {"ub_urma", "Unified Bus work requests, NIC on the on-chip bus", kProtocol, Attachment::kOnChipBus,
        SubmissionPath::kBusStore, false, 2}}};
  static constexpr std::array<SenderController, 6> kControllers{
      SenderController::kCaqm,  SenderController::kLdcp,  SenderController::kConstant,
      SenderController::kSwift, SenderController::kDcqcn, SenderController::kNone};
  static constexpr std::array<LowerName, 6> kLowerNames{{{"ub.segment_bytes", "ub.segment"},
                                                         {"ub.retransmission.base", "ub.rto"},
                                                         {"ub.retransmission.cap", "ub.rto_cap"},
                                                         {"ub.load_store_reissue.base", "ub.reissue"},
                                                         {"ub.load_store_reissue.cap", "ub.reissue_cap"},
                                                         {"ub.context_cache_entries", "ub.context_cache"}}};
  /// Choice: of the bytes on a link slowdown alone uses any: those of RoCEv2.
  static constexpr ProtocolRules kRules{.protocol = kProtocol,
                                        .stacks = kStacks,
                                        .flows = {"Unified Bus", true, false, true, false},
                                        .senders = {.controllers = kControllers},
                                        .data_overhead = 14 + 20 + 8 + 12 + 4 + 4 + 20,
                                        .acknowledgement = 84,
                                        .timeout_key = "ub.rto",
                                        .lower_names = kLowerNames};

  static bool keeps_port(const Config&, bool) { return true; }
  struct Engines {
    static Result<Engine> make(const Config& config, std::uint32_t host, wire::PayloadPool& payloads,
                               Arena& arena);
  };
  static Config placed(const Config& config, const EngineSite& site);
  static hardware::HardwareConfig placed_hardware(TimePs cycle, const EngineSite& site);
  static Result<engine::Capabilities> hardware_abilities(const Settings& settings);
  static std::string hardware_file();
  static Config thin(const Config& config, std::uint32_t number, std::uint32_t hosts, std::uint64_t seed);
  static TimePs timeout(const Config& config, std::uint32_t expiries);
  static void raise_timeout(Config& config, TimePs least);
  static void count(const Engine& engine, FabricTotals& totals);
  static std::vector<NamedCounter> counters(const Counters& counters);

  static constexpr bool kOpensByFirstPacket = false;
  static constexpr bool kDrawsDeath = true;
  static void renew(Config& config, std::uint32_t life, std::uint64_t seed);
  static void limit_retries(Config& config, std::uint32_t attempts);
  static TimePs given_up_within(const Config& config);
  static bool lie(wire::Packet& packet, Lie lie, RandomStream& random);

  static void draw(KeyDraw& draw, const StackTraits& stack, bool world);
  static void draw_requests(KeyDraw& draw);
  /// After all else, which decides whether CTP can be.
  static void draw_transport(KeyDraw& draw, std::span<const DrawnKey> keys);
  static void bind(Binder& binder, Settings& settings, const ProtocolKeyScope& scope);
  static bool fetches_contexts(const Settings& settings) { return settings.context_cache_entries > 0; }
  static std::uint64_t context_fetches(const Counters& counters) { return counters.context_fetches; }
  /// What makes that nothing is sent again, so that a run needs links and switches that lose and reorder
  /// nothing; empty: it is.
  static std::string_view needs_lossless_links(const Settings& settings) {
    return settings.transport == engine::TransportMode::kCompact
               ? "with model.ub.transport = \"ctp\", which sends nothing again"
               : "";
  }
  static Result<void> check(const Settings& settings, const LinkConfig& link, const HostConfig& host);
  static Result<void> check_program(const Settings& settings, const workload::WorkloadConfig& config,
                                    std::string_view section);
  static Config derive(const Settings& settings, const LinkConfig&, const HostConfig&) { return settings; }
  static std::uint32_t payload(const Settings& settings) { return settings.mtu; }
  static void share(const Settings&, SenderEnds&, Ends&) {}
  static Config on_fabric(const Settings& settings, const LinkConfig&, const HostConfig&,
                          const Config& derived) {
    Config engine = settings;
    engine.congestion = derived.congestion;
    return engine;
  }
  /// Payload alone counts toward windows.
  static SenderNetwork senders(const EndNetwork& network);
  static Result<void> check_fabric(const Ends& ends, const FlowSite& site);
  static Result<Config> derive_fabric(const SenderEnds& sender, const Ends& ends, const EndNetwork& network,
                                      const FlowSite& site);
};

}  // namespace wharf::sim
