// SPDX-License-Identifier: Apache-2.0
// What two control planes tell each other out of band before their jetties talk: the bytes of export_queue()
// and connect(). [URMA API, urma_get_rjetty; UB-Base 2.0.1 6.3.1]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/contract.h"
#include "engine/ub/channel_lane.h"
#include "engine/ub/config.h"
#include "wire/host_address.h"

namespace wharf::ub {

/// How often one channel to a host has failed at the exporter.
struct ChannelFailures {
  wire::HostAddress host;
  Lane lane = kFirstLane;
  std::uint32_t count = 0;
};

/// One exported jetty, and how its host's channels behave. Both ends know the numbers of a channel from one
/// blob each, in any order. A channel that has failed at either end begins a new life at both: the blobs say
/// how often it failed, and its numbers follow from that (channel_incarnation()).
struct QueueBlob {
  wire::HostAddress host;
  std::uint32_t jetty = 0;  ///< Or jetty group, by `target`; the well-known number of a jetty that has one.
  /// What its requests say that they come from: not its well-known number. 0: the same as `jetty`.
  std::uint32_t requester = 0;
  /// Tells apart what it numbers from 0 anew, where its target keeps order (Jetty::numbering).
  std::uint32_t numbering = 0;
  wire::TargetContextType target = wire::TargetContextType::kJetty;
  std::uint32_t token = 0;
  wire::UbEncapsulation encapsulation = wire::UbEncapsulation::kUdp;
  LossRecovery recovery = LossRecovery::kGoBackN;
  engine::ServiceMode service = engine::ServiceMode::kOrderedByInitiator;  ///< Of the jetty.
  engine::TransportMode transport = engine::TransportMode::kReliable;      ///< Of the jetty.
  std::uint32_t mtu = 0;
  std::uint32_t receive_window = 0;
  wire::Psn first_psn = 0;  ///< The first PSN that the exporter sends on a channel of incarnation 0.
  /// Requests that the exporter holds for each host; a host sends no more before some are answered.
  std::uint32_t inbound_messages = 1;
  std::uint32_t first_incarnation = 0;    ///< Of the exporting engine.
  std::uint32_t channels = 1;             ///< Reliable channels that the exporter wants to a host.
  std::vector<ChannelFailures> failures;  ///< Of the channels that have failed.

  std::uint32_t requester_id() const { return requester != 0 ? requester : jetty; }
  /// How often that channel to `remote` has failed.
  std::uint32_t failures_toward(wire::HostAddress remote, Lane lane) const {
    for (const ChannelFailures& entry : failures) {
      if (entry.host.number == remote.number && entry.lane == lane) return entry.count;
    }
    return 0;
  }
};

/// A blob has this many bytes, and kFailureBytes for each channel that has failed.
inline constexpr std::size_t kQueueBlobBytes = 56;
inline constexpr std::size_t kFailureBytes = 8;

/// The TPN of a host's channel toward `remote`, in its life `incarnation`. Choice: host number + 1 in the
/// first of the first lane; then numbers that do not return for 2^24 lives. 0xFFFFFF ("unset") is never
/// given.
constexpr std::uint32_t tpn_toward(wire::HostAddress remote, std::uint32_t incarnation,
                                   Lane lane = kFirstLane) {
  return static_cast<std::uint32_t>(
      (remote.number + 1 + std::uint64_t{incarnation} * 0x1'0001U + std::uint64_t{lane} * 0x18'0000U) %
      wire::kPsnMask);
}
/// The id of a host's only entity as CTP packets carry it, in a life of the channel: 20 bits. Choice: the
/// host number in the first; then numbers that do not return for 2^20 lives, as TPNs do, which CTP has not.
constexpr std::uint32_t entity_of(wire::HostAddress host, std::uint32_t incarnation) {
  return static_cast<std::uint32_t>((host.number + std::uint64_t{incarnation} * 0x1'0001U) & 0xf'ffffU);
}
/// The first PSN of a channel in its life `incarnation`: further from those before it than a window is wide.
constexpr wire::Psn first_psn_of(wire::Psn first_psn, std::uint32_t incarnation) {
  return (first_psn + incarnation * 0x55'5555U) & wire::kPsnMask;
}
/// The first TASSN of the load/store path between two engines with these first incarnations.
constexpr std::uint16_t first_tassn_of(std::uint32_t own, std::uint32_t peer) {
  return static_cast<std::uint16_t>((own + peer) * 0x5555U);
}

engine::ExchangeBlob encode(const QueueBlob& blob);
/// Refuses a wrong length, an unknown version and values that no engine exports.
Result<QueueBlob> decode_queue_blob(std::span<const std::byte> bytes);

}  // namespace wharf::ub
