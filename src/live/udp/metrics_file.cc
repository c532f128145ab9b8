// SPDX-License-Identifier: Apache-2.0
#include "live/udp/metrics_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "base/written_place.h"
#include "wire/drop_reason.h"

namespace wharf::live {
namespace {

class Text {
 public:
  explicit Text(std::string_view protocol) : protocol_(protocol) {}
  void head(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP wharf_{} {}\n# TYPE wharf_{} {}\n", name, help, name,
                   type);
  }
  void value(std::string_view name, std::uint64_t value, std::string_view label = {},
             std::string_view of = {}) {
    labelled(name, label.empty() ? "" : fmt::format(",{}=\"{}\"", label, escaped_label(of)), value);
  }
  /// `labels` begins with a comma.
  template <typename Value>
  void labelled(std::string_view name, std::string_view labels, Value value) {
    fmt::format_to(std::back_inserter(text_), "wharf_{}{{protocol=\"{}\"{}}} {}\n", name, protocol_, labels,
                   value);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t count) {
    head(name, "counter", help);
    value(name, count);
  }
  void gauge(std::string_view name, std::string_view help, std::uint64_t level) {
    head(name, "gauge", help);
    value(name, level);
  }
  std::string take() {
    text_ += kMetricsEnd;
    return std::move(text_);
  }

 private:
  std::string_view protocol_;
  std::string text_;
};

struct PeerMetric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::optional<std::uint64_t> (*of)(const PeerState&);
};
template <std::uint64_t PeerTraffic::*kMember>
std::optional<std::uint64_t> of(const PeerState& peer) {
  return peer.traffic.*kMember;
}
constexpr std::array<PeerMetric, 10> kPeerMetrics{{
    {"peer_datagrams_received_total", "counter", "Datagrams of this peer.",
     of<&PeerTraffic::datagrams_received>},
    {"peer_datagrams_sent_total", "counter", "Datagrams to it.", of<&PeerTraffic::datagrams_sent>},
    {"peer_bytes_received_total", "counter", "Bytes of its datagrams.", of<&PeerTraffic::bytes_received>},
    {"peer_bytes_sent_total", "counter", "Bytes of the datagrams to it.", of<&PeerTraffic::bytes_sent>},
    {"peer_datagrams_dropped_total", "counter", "Datagrams of it that could not be taken.",
     of<&PeerTraffic::dropped>},
    {"peer_retransmissions_total", "counter", "Packets that went to it again.",
     of<&PeerTraffic::retransmissions>},
    {"peer_duplicates_total", "counter", "Packets of it that had come before.", of<&PeerTraffic::duplicates>},
    {"peer_accesses_refused_total", "counter", "Its requests answered that it has no right.",
     [](const PeerState& peer) { return peer.refused_accesses; }},
    {"peer_messages_received_total", "counter", "Its messages that arrived in receive entries.",
     [](const PeerState& peer) { return peer.messages; }},
    {"peer_requests_outstanding", "gauge", "Requests of this side to it that have not ended.",
     [](const PeerState& peer) { return peer.outstanding; }},
}};

void append_peers(const std::vector<PeerState>& peers, Text& text) {
  std::vector<std::string> labels;
  labels.reserve(peers.size());
  for (const PeerState& peer : peers)
    labels.push_back(fmt::format(",peer=\"{}\",address=\"{}\"{}", peer.number, escaped_label(peer.address),
                                 peer.queue ? fmt::format(",queue=\"{}\"", *peer.queue) : ""));
  for (const PeerMetric& metric : kPeerMetrics) {
    text.head(metric.name, metric.type, metric.help);
    for (std::size_t at = 0; at < peers.size(); ++at) {
      if (const auto value = metric.of(peers[at])) text.labelled(metric.name, labels[at], *value);
    }
  }
}

}  // namespace

std::string escaped_label(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\\' || c == '"' || c == '\n') out += '\\';
    out += c == '\n' ? 'n' : c;
  }
  return out;
}

std::string prometheus_text(const ServerState& state) {
  const LiveCounters& counters = state.counters;
  Text text(state.protocol);
  text.head("info", "gauge", "Where it listens, and the number of its process.");
  text.labelled(
      "info", fmt::format(",address=\"{}\",process=\"{}\"", escaped_label(state.address), state.process), 1);
  text.head("uptime_seconds", "gauge", "How long it had served when this was written.");
  text.labelled("uptime_seconds", "", fmt::format("{:.3f}", as_nanoseconds(state.uptime) / 1e9));
  text.gauge("capturing", "Whether datagrams are written to a file.", state.capturing ? 1 : 0);
  text.gauge("clients", "Clients whose queue is connected.", state.clients);
  text.gauge("clients_limit", "Clients at once at most.", state.clients_max);
  text.gauge("queues", "Queues that peers can name.", state.queues);
  text.gauge("connections_half_open", "Connections whose queue is not connected yet.", state.half_open);
  text.counter("clients_total", "Clients since the server began.", state.clients_total);
  text.counter("connections_sent_away_total", "Connections that ended without a session.",
               state.half_open_total);
  text.counter("connections_without_key_total", "Connections that did not show the key of --psk.",
               state.keyless_total);
  text.counter("datagrams_received_total", "Datagrams that came, from whomever.",
               counters.datagrams_received);
  text.counter("datagrams_sent_total", "Datagrams that left.", counters.datagrams_sent);
  text.counter("bytes_received_total", "Bytes of the datagrams that came.", counters.bytes_received);
  text.counter("bytes_sent_total", "Bytes of the datagrams that left.", counters.bytes_sent);
  text.head("datagrams_dropped_total", "counter", "Datagrams dropped before the engine saw them, by reason.");
  text.value("datagrams_dropped_total", counters.unknown_sender, "reason", "unknown sender");
  for (std::size_t reason = 1; reason < counters.undecodable_by.size(); ++reason) {
    text.value("datagrams_dropped_total", counters.undecodable_by[reason], "reason",
               wire::drop_reason_text(static_cast<wire::DropReason>(reason)));
  }
  for (std::size_t reason = 1; reason < counters.seal_drops.size(); ++reason) {
    text.value("datagrams_dropped_total", counters.seal_drops[reason], "reason",
               seal_drop_text(static_cast<SealDrop>(reason)));
  }
  text.counter("accesses_refused_total", "Requests answered that their sender has no right.",
               counters.refused_accesses);
  text.counter("messages_received_total", "Messages that arrived in receive entries.", state.messages);
  text.counter("completions_total", "Operations of the server that ended.", counters.completions);
  text.gauge("engine_bytes", "Memory that the engine holds.", state.engine_bytes);
  text.gauge("payload_bytes", "Memory of the buffers in which packets wait.", state.payload_bytes);
  text.head("engine_total", "counter", "What the protocol's engine counts, by name.");
  for (const engine::NamedCounter& each : state.engine)
    text.value("engine_total", each.value, "counter", each.name);
  append_peers(state.peers, text);
  return text.take();
}

Result<void> MetricsFile::write_through(std::string_view text) const {
  const auto failed = [this]() -> Result<void> {
    return Error{ErrorKind::kEnvironment,
                 fmt::format("--metrics {}: cannot be written: {}", path_.string(), std::strerror(errno))};
  };
  const int to = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (to < 0) return errno == ENXIO ? Result<void>() : failed();  // A pipe that nobody reads now.
  Result<void> done;
  while (done && !text.empty()) {
    const ssize_t count = ::write(to, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EPIPE)) break;  // Its reader is slow or left.
    if (count < 0) {
      done = failed();
    } else {
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  ::close(to);
  return done;
}

Result<void> MetricsFile::write(TimePs now, const ServerState& state) {
  next_ = now + kInterval;
  const std::string text = prometheus_text(state);
  const WrittenPlace place = written_place(path_);
  if (place.through) return write_through(text);
  const std::filesystem::path fresh = place.beside(".new");
  const auto failed = [&](std::string_view what) -> Result<void> {
    const int reason = errno;
    std::remove(fresh.c_str());
    return Error{ErrorKind::kEnvironment,
                 fmt::format("--metrics {}: {}: {}", path_.string(), what, std::strerror(reason))};
  };
  std::FILE* file = std::fopen(fresh.c_str(), "w");
  if (file == nullptr) return failed("cannot be written");
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) return failed("cannot be written");
  if (std::rename(fresh.c_str(), place.file.c_str()) != 0) return failed("cannot be replaced");
  return {};
}

}  // namespace wharf::live
