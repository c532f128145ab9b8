// SPDX-License-Identifier: Apache-2.0
// The sizes of what selective repeat adds to a queue pair.
#include <algorithm>
#include <bit>

#include "engine/roce/queue_pair.h"

namespace wharf::roce {
namespace {

/// Choice: READ data that comes behind a gap is kept even where the window of requests is narrower.
constexpr std::uint32_t kLeastRepairWindow = 64;

std::uint32_t repair_window(const RoceConfig& config) {
  return std::bit_ceil(std::max(config.window_packets, kLeastRepairWindow));
}

}  // namespace

SelectiveRepeat::SelectiveRepeat(const RoceConfig& config)
    : early(std::bit_ceil(config.window_packets)), repairs(repair_window(config)) {
  places.reserve(config.transmit_ahead * sizeof(TransmitEntry));
  resend.attach(PlaceCutter(places).take<TransmitEntry>(config.transmit_ahead), config.transmit_ahead);
}

std::size_t selective_bytes(const RoceConfig& config) {
  if (config.recovery == LossRecovery::kGoBackN) return 0;
  return sizeof(SelectiveRepeat) + EarlyRequests::bytes_at_most(std::bit_ceil(config.window_packets)) +
         Repairs::bytes(repair_window(config)) + config.transmit_ahead * sizeof(TransmitEntry);
}

}  // namespace wharf::roce
