// SPDX-License-Identifier: Apache-2.0
#include "live/udp/live_counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <vector>

namespace wharf::live {

LiveCounters& LiveCounters::operator+=(const LiveCounters& other) {
  datagrams_received += other.datagrams_received;
  datagrams_sent += other.datagrams_sent;
  bytes_received += other.bytes_received;
  bytes_sent += other.bytes_sent;
  unknown_sender += other.unknown_sender;
  undecodable += other.undecodable;
  for (std::size_t reason = 0; reason < undecodable_by.size(); ++reason)
    undecodable_by[reason] += other.undecodable_by[reason];
  for (std::size_t reason = 0; reason < seal_drops.size(); ++reason)
    seal_drops[reason] += other.seal_drops[reason];
  injected_losses += other.injected_losses;
  injected_duplicates += other.injected_duplicates;
  completions += other.completions;
  refused_accesses += other.refused_accesses;
  return *this;
}

std::uint64_t LiveCounters::dropped() const {
  return std::accumulate(seal_drops.begin(), seal_drops.end(), unknown_sender + undecodable);
}

std::string describe_drops(const LiveCounters& counters) {
  std::vector<std::string> parts;
  if (counters.unknown_sender != 0)
    parts.push_back(fmt::format("{} unknown sender", counters.unknown_sender));
  for (std::size_t reason = 0; reason < counters.undecodable_by.size(); ++reason) {
    if (counters.undecodable_by[reason] == 0) continue;
    parts.push_back(fmt::format("{} {}", counters.undecodable_by[reason],
                                wire::drop_reason_text(static_cast<wire::DropReason>(reason))));
  }
  for (std::size_t reason = 0; reason < counters.seal_drops.size(); ++reason) {
    if (counters.seal_drops[reason] == 0) continue;
    parts.push_back(
        fmt::format("{} {}", counters.seal_drops[reason], seal_drop_text(static_cast<SealDrop>(reason))));
  }
  if (parts.empty()) return {};
  return fmt::format("{} datagrams dropped: {}", counters.dropped(), fmt::join(parts, ", "));
}

}  // namespace wharf::live
