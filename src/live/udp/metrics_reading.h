// SPDX-License-Identifier: Apache-2.0
// What a metrics file (metrics_file.h) says of its process, read back, and what two readings of it tell of
// the time between them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace wharf::live {

/// A counter that has a name of its own: why datagrams were dropped, what an engine counts.
struct NamedReading {
  std::string name;
  std::uint64_t value = 0;
};

/// What went and came, of all or of one peer.
struct TrafficReading {
  std::uint64_t datagrams_received = 0;
  std::uint64_t datagrams_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages = 0;
  std::uint64_t refused = 0;
};

struct PeerReading {
  std::uint64_t number = 0;
  std::string address;
  std::optional<std::uint64_t> queue;
  TrafficReading traffic;
  bool counts_messages = false;  ///< Else nobody knows whose they are.
  std::uint64_t dropped = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t duplicates = 0;
  std::optional<std::uint64_t> outstanding;
};

struct MetricsReading {
  std::string protocol;
  std::string address;
  std::uint64_t process = 0;
  double uptime_seconds = 0;
  double age_seconds = 0;  ///< Since it was written.
  bool capturing = false;
  std::uint64_t clients = 0;
  std::uint64_t clients_limit = 0;
  std::uint64_t queues = 0;
  TrafficReading traffic;
  std::uint64_t completions = 0;
  std::vector<NamedReading> dropped;  ///< By reason, those that are 0 too.
  std::vector<NamedReading> engine;
  std::vector<PeerReading> peers;

  std::uint64_t dropped_in_all() const;
};

/// A process writes every second; one that has not for so long is gone or hangs.
inline constexpr double kMetricsStaleSeconds = 5;
/// A longer file is not of ours.
inline constexpr std::size_t kMetricsBytesMax = std::size_t{16} << 20U;

/// Of the text alone: kInput when it is not whole or not of ours, with `name` in front.
Result<MetricsReading> parse_metrics(std::string_view text, std::string_view name);
/// kInput also for what is no file or is not there, kStalled when it is stale.
Result<MetricsReading> read_metrics(const std::filesystem::path& file);

/// Two readings of one process, if they are: the later one, and the seconds between them.
class MetricsChange {
 public:
  MetricsChange() = default;
  /// `later` follows. A reading of the same moment replaces the last, one of another process begins anew.
  void add(MetricsReading later);

  bool empty() const { return !later_; }
  const MetricsReading& later() const { return *later_; }
  /// 0: there is nothing to compare with.
  double seconds() const { return earlier_ ? later_->uptime_seconds - earlier_->uptime_seconds : 0; }
  /// What `of` a reading grows by in a second; nothing while that is not known.
  template <typename Of>
  std::optional<double> rate(Of of) const {
    if (!earlier_) return std::nullopt;
    return per_second(of(*earlier_), of(*later_));
  }
  /// The same of one peer of later(), which may have come meanwhile.
  template <typename Of>
  std::optional<double> rate(const PeerReading& peer, Of of) const {
    if (!earlier_) return std::nullopt;
    const PeerReading* const before = find(*earlier_, peer);
    return per_second(before == nullptr ? 0 : of(*before), of(peer));
  }

 private:
  static const PeerReading* find(const MetricsReading& reading, const PeerReading& peer);
  std::optional<double> per_second(std::uint64_t before, std::uint64_t after) const {
    if (after < before) return std::nullopt;
    return static_cast<double>(after - before) / seconds();
  }

  std::optional<MetricsReading> earlier_;
  std::optional<MetricsReading> later_;
};

}  // namespace wharf::live
