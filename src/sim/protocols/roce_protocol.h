// SPDX-License-Identifier: Apache-2.0
// RoCEv2 in the simulator: its stacks, its keys ("model.roce.*" of hosts) and the rules that turn what is
// chosen about senders, with a network, into an engine's configuration.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/roce/counters.h"
#include "engine/roce/roce_engine.h"
#include "sim/config/binder.h"
#include "sim/fabric/link_config.h"
#include "sim/protocols/protocol.h"

namespace wharf::sim {

/// What senders of runs of flows choose beyond their controller.
struct RoceEnds {
  static constexpr bool kHasKeys = true;

  roce::LossRecovery recovery = roce::LossRecovery::kGoBackN;

  static bool has_credit() { return false; }
  static void bind(Binder& binder, const SenderEnds& sender, RoceEnds& ends);
  static Result<void> check(const SenderEnds&, const RoceEnds&) { return {}; }
};

struct RoceProtocol {
  using Engine = roce::RoceEngine;
  using Config = roce::RoceConfig;
  using Counters = roce::Counters;
  using Prefetch = NoPrefetch;
  using Settings = Config;
  using Ends = RoceEnds;

  static constexpr wire::Protocol kProtocol = wire::Protocol::kRoce;
  static constexpr std::array<StackTraits, 2> kStacks{
      {{"roce_bf", "RoCEv2 behind PCIe, entries copied to the NIC (BlueFlame)", kProtocol, Attachment::kPcie,
        SubmissionPath::kBlueFlame},
       {"roce_dma", "RoCEv2 behind PCIe, doorbell and fetched entries", kProtocol, Attachment::kPcie,
        SubmissionPath::kDoorbell}}};
  static constexpr std::array<SenderController, 4> kControllers{
      SenderController::kDcqcn, SenderController::kConstant, SenderController::kSwift,
      SenderController::kNone};
  static constexpr std::array<LowerName, 4> kLowerNames{{{"roce.path_mtu", "roce.mtu"},
                                                         {"roce.window_packets", "roce.window"},
                                                         {"roce.queue_cache_entries", "roce.queue_cache"},
                                                         {"roce.key_cache_entries", "roce.key_cache"}}};
  /// Ethernet, IPv4, UDP, BTH, RETH, check, gap.
  static constexpr ProtocolRules kRules{.protocol = kProtocol,
                                        .stacks = kStacks,
                                        .flows = {"RoCEv2", true, true, true, false},
                                        .senders = {.controllers = kControllers, .back_off = false},
                                        .data_overhead = 14 + 20 + 8 + 12 + 4 + 4 + 20,
                                        .acknowledgement = 84,
                                        .timeout_key = "roce.ack_timeout",
                                        .wide_open = "roce.window=4096",
                                        .lower_names = kLowerNames};

  static bool keeps_port(const Config&, bool) { return true; }
  struct Engines {
    static Result<Engine> make(const Config& config, std::uint32_t host, wire::PayloadPool& payloads,
                               Arena& arena);
  };
  static Config placed(const Config& config, const EngineSite& site);
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
  static void draw_flows(KeyDraw& draw);
  static void bind(Binder& binder, Settings& settings, const ProtocolKeyScope& scope);
  static bool fetches_contexts(const Settings& settings) {
    return settings.queue_cache_entries > 0 || settings.key_cache_entries > 0;
  }
  static std::uint64_t context_fetches(const Counters& counters) { return counters.context_misses; }
  static Result<void> check(const Settings& settings, const LinkConfig& link, const HostConfig& host);
  static Config derive(const Settings& settings, const LinkConfig&, const HostConfig&) { return settings; }
  static std::uint32_t payload(const Settings& settings) { return settings.path_mtu; }
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
