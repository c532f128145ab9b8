// SPDX-License-Identifier: Apache-2.0
#include "sim/config/roce_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace wharf::sim {

Result<void> check_roce_payload(std::uint64_t payload) {
  if (payload >= 256 && payload <= 4096 && std::has_single_bit(payload)) return {};
  return input_error(
      fmt::format("fabric.payload: found {}B, expected 256B, 512B, 1024B, 2048B or 4096B with protocol = "
                  "\"roce\"",
                  payload));
}

roce::RoceConfig derive_roce_ends(const SenderEnds& ends, const SenderNetwork& network, std::uint64_t payload,
                                  TimePs rto) {
  constexpr std::uint8_t kLongestTimeout = 31;
  constexpr std::uint64_t kMostPackets = 1U << 16U;
  roce::RoceConfig roce;
  roce.path_mtu = static_cast<std::uint32_t>(payload);
  // Controllers decide what is under way, not the numbers of packets: four of the largest windows.
  roce.window_packets = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      4 * network.max_window / network.window_packet, roce.window_packets, kMostPackets));
  roce.ack_timeout = 1;
  while (roce.ack_timeout < kLongestTimeout && roce::ack_timeout_duration(roce.ack_timeout) < rto)
    ++roce.ack_timeout;
  if (ends.controller == SenderController::kNone) return roce;
  roce.congestion = controller_config(ends, network);
  if (ends.controller == SenderController::kDcqcn)
    roce.min_time_between_cnps = ends.dcqcn.min_time_between_cnps;
  return roce;
}

}  // namespace wharf::sim
