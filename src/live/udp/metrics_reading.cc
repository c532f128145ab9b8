// SPDX-License-Identifier: Apache-2.0
#include "live/udp/metrics_reading.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "base/descriptor.h"
#include "live/udp/metrics_file.h"

namespace wharf::live {
namespace {

/// Names follow the identifier rule of the format. [Prometheus text format 0.0.4]
bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == ':';
  });
}

/// One line that is no comment.
struct Sample {
  std::string_view name;  ///< Without "wharf_".
  std::vector<std::pair<std::string_view, std::string>> labels;
  std::string_view value;

  std::string_view label(std::string_view key) const {
    for (const auto& [name, text] : labels) {
      if (name == key) return text;
    }
    return {};
  }
  template <typename Number>
  static bool read(std::string_view text, Number& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  }
};

/// `{KEY="VALUE",...}` off the front of `text`.
bool take_labels(std::string_view& text, Sample& out) {
  if (text.empty() || text.front() != '{') return false;
  for (;;) {
    text.remove_prefix(1);  // The brace, or the comma.
    const std::size_t equals = text.find("=\"");
    if (equals == std::string_view::npos || !is_name(text.substr(0, equals))) return false;
    const std::string_view key = text.substr(0, equals);
    text.remove_prefix(equals + 2);
    std::string value;
    while (!text.empty() && text.front() != '"') {
      const bool escaped = text.front() == '\\';
      if (escaped) text.remove_prefix(1);
      if (text.empty()) return false;
      value += escaped && text.front() == 'n' ? '\n' : text.front();
      text.remove_prefix(1);
    }
    if (text.size() < 2) return false;
    text.remove_prefix(1);
    out.labels.emplace_back(key, std::move(value));
    if (text.front() == '}') break;
    if (text.front() != ',') return false;
  }
  text.remove_prefix(1);
  return true;
}

std::optional<Sample> parse_line(std::string_view line) {
  constexpr std::string_view kOurs = "wharf_";
  const std::size_t brace = line.find('{');
  if (brace == std::string_view::npos || !line.starts_with(kOurs)) return std::nullopt;
  Sample sample;
  sample.name = line.substr(kOurs.size(), brace - kOurs.size());
  std::string_view rest = line.substr(brace);
  if (!is_name(sample.name) || !take_labels(rest, sample) || rest.size() < 2 || rest.front() != ' ')
    return std::nullopt;
  sample.value = rest.substr(1);
  return sample;
}

template <typename Reading>
struct Field {
  std::string_view name;
  std::uint64_t& (*of)(Reading&);
};
constexpr std::array<Field<MetricsReading>, 10> kFields{{
    {"queues", [](MetricsReading& r) -> std::uint64_t& { return r.queues; }},
    {"clients", [](MetricsReading& r) -> std::uint64_t& { return r.clients; }},
    {"clients_limit", [](MetricsReading& r) -> std::uint64_t& { return r.clients_limit; }},
    {"datagrams_received_total",
     [](MetricsReading& r) -> std::uint64_t& { return r.traffic.datagrams_received; }},
    {"datagrams_sent_total", [](MetricsReading& r) -> std::uint64_t& { return r.traffic.datagrams_sent; }},
    {"bytes_received_total", [](MetricsReading& r) -> std::uint64_t& { return r.traffic.bytes_received; }},
    {"bytes_sent_total", [](MetricsReading& r) -> std::uint64_t& { return r.traffic.bytes_sent; }},
    {"messages_received_total", [](MetricsReading& r) -> std::uint64_t& { return r.traffic.messages; }},
    {"accesses_refused_total", [](MetricsReading& r) -> std::uint64_t& { return r.traffic.refused; }},
    {"completions_total", [](MetricsReading& r) -> std::uint64_t& { return r.completions; }},
}};
constexpr std::array<Field<PeerReading>, 10> kPeerFields{{
    {"datagrams_received_total",
     [](PeerReading& r) -> std::uint64_t& { return r.traffic.datagrams_received; }},
    {"datagrams_sent_total", [](PeerReading& r) -> std::uint64_t& { return r.traffic.datagrams_sent; }},
    {"bytes_received_total", [](PeerReading& r) -> std::uint64_t& { return r.traffic.bytes_received; }},
    {"bytes_sent_total", [](PeerReading& r) -> std::uint64_t& { return r.traffic.bytes_sent; }},
    {"messages_received_total",
     [](PeerReading& r) -> std::uint64_t& {
       r.counts_messages = true;
       return r.traffic.messages;
     }},
    {"accesses_refused_total", [](PeerReading& r) -> std::uint64_t& { return r.traffic.refused; }},
    {"datagrams_dropped_total", [](PeerReading& r) -> std::uint64_t& { return r.dropped; }},
    {"retransmissions_total", [](PeerReading& r) -> std::uint64_t& { return r.retransmissions; }},
    {"duplicates_total", [](PeerReading& r) -> std::uint64_t& { return r.duplicates; }},
    {"requests_outstanding", [](PeerReading& r) -> std::uint64_t& { return r.outstanding.emplace(0); }},
}};

/// False: the number is none. Names that are not known here are those of another version.
template <typename Reading, std::size_t kCount>
bool take_field(const std::array<Field<Reading>, kCount>& fields, std::string_view name,
                std::string_view value, Reading& out) {
  for (const Field<Reading>& field : fields) {
    if (field.name == name) return Sample::read(value, field.of(out));
  }
  return true;
}

bool take_named(const Sample& sample, std::string_view label, std::vector<NamedReading>& out) {
  out.push_back({std::string(sample.label(label)), 0});
  return !out.back().name.empty() && Sample::read(sample.value, out.back().value);
}

/// What the lines say, one after the other.
class Reader {
 public:
  /// False: the line says what it cannot.
  bool take(const Sample& sample) {
    constexpr std::string_view kOfPeer = "peer_";
    if (sample.name.starts_with(kOfPeer)) return take_peer(sample, sample.name.substr(kOfPeer.size()));
    if (sample.name == "datagrams_dropped_total") return take_named(sample, "reason", out_.dropped);
    if (sample.name == "engine_total") return take_named(sample, "counter", out_.engine);
    if (sample.name == "uptime_seconds") return Sample::read(sample.value, out_.uptime_seconds);
    if (sample.name == "capturing") {
      out_.capturing = sample.value == "1";
      return true;
    }
    if (sample.name == "info") {
      out_.protocol = sample.label("protocol");
      out_.address = sample.label("address");
      return !out_.protocol.empty() && Sample::read(sample.label("process"), out_.process);
    }
    return take_field(kFields, sample.name, sample.value, out_);
  }
  MetricsReading result() { return std::move(out_); }

 private:
  bool take_peer(const Sample& sample, std::string_view name) {
    std::uint64_t number = 0;
    if (!Sample::read(sample.label("peer"), number)) return false;
    const auto [at, is_new] = places_.emplace(number, out_.peers.size());
    if (is_new) {
      PeerReading& peer = out_.peers.emplace_back();
      peer.number = number;
      peer.address = sample.label("address");
      if (std::uint64_t queue = 0; Sample::read(sample.label("queue"), queue)) peer.queue = queue;
    }
    return take_field(kPeerFields, name, sample.value, out_.peers[at->second]);
  }

  MetricsReading out_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  ///< Of peers, by number.
};

double seconds_since(const timespec& then) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const double passed =
      static_cast<double>(now.tv_sec - then.tv_sec) + static_cast<double>(now.tv_nsec - then.tv_nsec) / 1e9;
  return std::max(passed, 0.0);  // Somebody may have set the clock back.
}

Result<std::string> read_whole(int from, const std::string& name, std::size_t size) {
  std::string text(size, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t count = ::read(from, text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return input_error(fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  text.resize(length);
  return text;
}

}  // namespace

std::uint64_t MetricsReading::dropped_in_all() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const NamedReading& each) { return sum + each.value; });
}

Result<MetricsReading> parse_metrics(std::string_view text, std::string_view name) {
  constexpr std::string_view kExpected = "expected a file of `wharf serve --metrics FILE`";
  if (!text.starts_with("# HELP wharf_"))
    return input_error(fmt::format("{}: no metrics of wharf, {}", name, kExpected));
  if (!text.ends_with(kMetricsEnd))
    return input_error(
        fmt::format("{}: only half written, or by another version of wharf: its last line is "
                    "not `{}`, {}",
                    name, kMetricsEnd.substr(0, kMetricsEnd.size() - 1), kExpected));
  Reader reader;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    ++number;
    // What drives a terminal, or is no text everywhere, is in no file of ours.
    const bool plain = std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (plain && line.starts_with('#')) continue;
    const std::optional<Sample> sample = plain ? parse_line(line) : std::nullopt;
    if (!sample || !reader.take(*sample))
      return input_error(fmt::format(
          "{}:{}: no line of metrics of wharf, expected wharf_NAME{{LABEL=\"TEXT\"}} NUMBER", name, number));
  }
  MetricsReading out = reader.result();
  if (out.protocol.empty())
    return input_error(
        fmt::format("{}: does not say whose it is: wharf_info is missing, {}", name, kExpected));
  return out;
}

Result<MetricsReading> read_metrics(const std::filesystem::path& file) {
  const std::string name = file.string();
  const Descriptor from(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!from.open() || ::fstat(from.number(), &status) != 0)
    return input_error(fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
  if (!S_ISREG(status.st_mode))
    return input_error(fmt::format("{}: no file, expected one of `wharf serve --metrics FILE`", name));
  if (static_cast<std::size_t>(status.st_size) > kMetricsBytesMax)
    return input_error(fmt::format("{}: {} bytes, no metrics of wharf have more than {}", name,
                                   status.st_size, kMetricsBytesMax));
  auto text = read_whole(from.number(), name, static_cast<std::size_t>(status.st_size));
  if (!text) return text.error();
  auto reading = parse_metrics(*text, name);
  if (!reading) return reading.error();
  reading->age_seconds = seconds_since(status.st_mtim);
  if (reading->age_seconds > kMetricsStaleSeconds) {
    const auto process = static_cast<pid_t>(reading->process);
    const bool gone = process <= 0 || (::kill(process, 0) != 0 && errno == ESRCH);
    return Error{ErrorKind::kStalled,
                 fmt::format("{}: not written for {:.0f} s, expected every second: process {} {}", name,
                             reading->age_seconds, reading->process,
                             gone ? "is gone" : "hangs, or another one has its number now")};
  }
  return reading;
}

void MetricsChange::add(MetricsReading later) {
  const bool goes_on = later_ && later_->process == later.process && later_->address == later.address &&
                       later_->uptime_seconds <= later.uptime_seconds;
  if (!goes_on) {
    earlier_.reset();
  } else if (later_->uptime_seconds < later.uptime_seconds) {
    earlier_ = std::move(later_);
  }
  later_ = std::move(later);
}

const PeerReading* MetricsChange::find(const MetricsReading& reading, const PeerReading& peer) {
  const auto at = std::find_if(reading.peers.begin(), reading.peers.end(), [&peer](const PeerReading& each) {
    return each.number == peer.number && each.address == peer.address;
  });
  return at == reading.peers.end() ? nullptr : &*at;
}

}  // namespace wharf::live
