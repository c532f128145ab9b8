// SPDX-License-Identifier: Apache-2.0
#include "sim/config/ub_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace wharf::sim {
namespace {

std::optional<congestion::ControllerConfig> controller_of(const SenderEnds& ends,
                                                          const SenderNetwork& network,
                                                          std::uint32_t payload) {
  if (ends.controller == SenderController::kNone) return std::nullopt;
  if (ends.controller == SenderController::kCaqm) {
    congestion::CaqmConfig caqm = ends.caqm;
    caqm.mtu_bytes = payload;
    caqm.initial_rtt = network.base_rtt;
    return caqm;
  }
  if (ends.controller == SenderController::kLdcp) {
    congestion::LdcpConfig ldcp;
    ldcp.mtu_bytes = payload;
    ldcp.initial_window = ends.window_packets != 0 ? std::uint64_t{ends.window_packets} * payload
                                                   : std::max<std::uint64_t>(network.max_window, payload);
    ldcp.window_limit = std::max(ldcp.window_limit, 2 * ldcp.initial_window);
    ldcp.alpha_ppm = ends.caqm.alpha_ppm;
    ldcp.beta_ppm = ends.caqm.beta_ppm;
    return ldcp;
  }
  return controller_config(ends, network);
}

}  // namespace

Result<void> check_ub_payload(std::uint64_t payload) {
  if (std::has_single_bit(payload)) return {};
  return input_error(fmt::format(
      "fabric.payload: found {}B, expected a power of two from 256B to 8192B with protocol = \"ub\"",
      payload));
}

ub::UbConfig derive_ub_ends(const SenderEnds& ends, const SenderNetwork& network, std::uint64_t payload,
                            TimePs rto) {
  ub::UbConfig ub;
  ub.mtu = static_cast<std::uint32_t>(payload);
  ub.retransmission.base = rto;
  ub.retransmission.backoff_exponent = ends.rto_back_off ? 1 : 0;
  ub.retransmission.cap = max(ub.retransmission.cap, rto);
  ub.congestion = controller_of(ends, network, ub.mtu);
  if (ends.controller == SenderController::kDcqcn)
    ub.min_time_between_cnps = ends.dcqcn.min_time_between_cnps;
  return ub;
}

}  // namespace wharf::sim
