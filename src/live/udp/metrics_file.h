// SPDX-License-Identifier: Apache-2.0
// What a running server has counted, kept in a file in the text format that monitoring systems scrape
// (Prometheus text format 0.0.4), for them and for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/named_counter.h"
#include "live/udp/live_counters.h"

namespace wharf::live {

/// One peer of now: what went and came, and what is known of it beside.
struct PeerState {
  std::uint32_t number = 0;            ///< No other one has it meanwhile.
  std::string address;                 ///< "127.0.0.1:49152", "process 1234"
  std::optional<std::uint32_t> queue;  ///< Here, if it has one of its own.
  PeerTraffic traffic;
  std::optional<std::uint64_t> refused_accesses;
  std::optional<std::uint64_t> messages;     ///< That arrived in its receive entries.
  std::optional<std::uint64_t> outstanding;  ///< Requests of this side to it that have not ended.
};

struct ServerState {
  LiveCounters counters;
  std::string_view protocol;
  std::string address;        ///< Where it listens.
  std::uint32_t process = 0;  ///< Its number.
  TimePs uptime;
  bool capturing = false;
  std::size_t clients = 0;
  std::uint32_t clients_max = 0;
  std::size_t queues = 0;
  std::size_t half_open = 0;          ///< Connections whose queue is not connected yet.
  std::uint64_t clients_total = 0;    ///< Since it began.
  std::uint64_t half_open_total = 0;  ///< That ended so.
  std::uint64_t keyless_total = 0;    ///< Connections that did not show the key that was asked for.
  std::uint64_t messages = 0;         ///< That arrived in receive entries.
  std::uint64_t engine_bytes = 0;     ///< That the engine holds.
  std::uint64_t payload_bytes = 0;    ///< Of the pool in which packets wait.
  std::vector<engine::NamedCounter> engine;
  std::vector<PeerState> peers;  ///< As many as `clients`.
};

/// The last line, by which a reader knows that the text is whole. In the format it is a comment.
inline constexpr std::string_view kMetricsEnd = "# EOF\n";

/// Lines "wharf_NAME{protocol="NAME"} VALUE" under their HELP and TYPE, then kMetricsEnd. Drop reasons, peers
/// and their queues are labels.
std::string prometheus_text(const ServerState& state);
/// `text` as the value of a label: backslash, quote and newline with a backslash before them.
std::string escaped_label(std::string_view text);

class MetricsFile {
 public:
  static constexpr TimePs kInterval = seconds(1);

  /// Empty: nothing is ever written.
  explicit MetricsFile(std::filesystem::path path) : path_(std::move(path)) {}
  /// Whether it is time to write again.
  bool due(TimePs now) const { return !path_.empty() && now >= next_; }
  /// Writes a new file in place of the old: who reads finds one of them whole. An environment error when the
  /// system refuses; the old file stays.
  /// A symbolic link stays. A device or pipe gets the text instead, as much as it takes without waiting: the
  /// server serves whether or not somebody reads.
  Result<void> write(TimePs now, const ServerState& state);

 private:
  Result<void> write_through(std::string_view text) const;

  std::filesystem::path path_;
  TimePs next_;
};

}  // namespace wharf::live
