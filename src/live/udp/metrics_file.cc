// SPDX-License-Identifier: Apache-2.0
#include "live/udp/metrics_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

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
    fmt::format_to(std::back_inserter(text_), "wharf_{}{{protocol=\"{}\"", name, protocol_);
    if (!label.empty()) fmt::format_to(std::back_inserter(text_), ",{}=\"{}\"", label, of);
    fmt::format_to(std::back_inserter(text_), "}} {}\n", value);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t count) {
    head(name, "counter", help);
    value(name, count);
  }
  void gauge(std::string_view name, std::string_view help, std::uint64_t level) {
    head(name, "gauge", help);
    value(name, level);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string_view protocol_;
  std::string text_;
};

}  // namespace

std::string prometheus_text(const ServerState& state) {
  const LiveCounters& counters = state.counters;
  Text text(state.protocol);
  text.gauge("clients", "Clients whose queue is connected.", state.clients);
  text.gauge("clients_limit", "Clients at once at most.", state.clients_max);
  text.gauge("connections_half_open", "Connections whose queue is not connected yet.", state.half_open);
  text.counter("clients_total", "Clients since the server began.", state.clients_total);
  text.counter("connections_sent_away_total", "Connections that ended without a session.",
               state.half_open_total);
  text.counter("connections_without_key_total", "Connections that did not show the key of --psk.",
               state.keyless_total);
  text.counter("datagrams_received_total", "Datagrams that came, from whomever.",
               counters.datagrams_received);
  text.counter("datagrams_sent_total", "Datagrams that left.", counters.datagrams_sent);
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
