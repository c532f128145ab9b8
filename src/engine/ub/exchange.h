// SPDX-License-Identifier: Apache-2.0
// What two control planes tell each other out of band before their jetties talk: the bytes of export_queue()
// and connect(). [URMA API, urma_get_rjetty; UB-Base 2.0.1 6.3.1]
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "engine/contract.h"
#include "engine/ub/config.h"
#include "wire/host_address.h"

namespace wharf::ub {

/// One exported jetty, and how its host's channels behave. Choice: a host names its channel toward host h by
/// TPN h + 1, so that both ends know both numbers from one blob each, in any order.
struct QueueBlob {
  wire::HostAddress host;
  std::uint32_t jetty = 0;
  std::uint32_t token = 0;
  wire::UbEncapsulation encapsulation = wire::UbEncapsulation::kUdp;
  LossRecovery recovery = LossRecovery::kGoBackN;
  std::uint32_t mtu = 0;
  std::uint32_t receive_window = 0;
  wire::Psn first_psn = 0;  ///< The first PSN that the exporter will send.
};

inline constexpr std::size_t kQueueBlobBytes = 32;

/// The TPN of a host's channel toward `remote`.
constexpr std::uint32_t tpn_toward(wire::HostAddress remote) { return remote.number + 1; }

engine::ExchangeBlob encode(const QueueBlob& blob);
/// Refuses a wrong length, an unknown version and values that no engine exports.
Result<QueueBlob> decode_queue_blob(std::span<const std::byte> bytes);

}  // namespace wharf::ub
