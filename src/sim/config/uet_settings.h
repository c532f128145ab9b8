// SPDX-License-Identifier: Apache-2.0
// The keys of Ultra Ethernet between two hosts ("model.uet.*"): those of its ends in runs of many hosts, and
// what concerns messages, which such runs do not vary; and the rules that fit them to the two hosts.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "engine/uet/config.h"
#include "sim/config/uet_ends.h"
#include "sim/fabric/link_config.h"
#include "sim/host/config/host_config.h"

namespace wharf::sim {

struct UetSettings : UetEnds {
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
};

/// Binds "uet".
void bind_uet(Binder& binder, UetSettings& settings, bool active);

/// Two hosts on one link, as the rules of the specification see a network. The rate is that of the link or of
/// a NIC's data path, whichever is slower. The base round trip is that of a full packet and its answer
/// through four pipelines and the link both ways; the fetch of its payload comes before it counts.
UetNetwork network_of(const UetSettings& settings, const LinkConfig& link, const NicConfig& nic);
/// The configuration of both engines; a seed and the rest of what TwoHosts fills in apart.
uet::UetConfig derive_uet(const UetSettings& settings, const LinkConfig& link, const HostConfig& host);
/// Refuses, naming the key.
Result<void> check_uet(const UetSettings& settings, const LinkConfig& link, const HostConfig& host);

}  // namespace wharf::sim
