// SPDX-License-Identifier: Apache-2.0
#include "live/rivals/rival.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "base/nearest_name.h"
#include "base/units.h"
#include "live/reactor/live_clock.h"
#include "live/rivals/bare_udp.h"
#include "live/rivals/tool_process.h"

namespace wharf::live {
namespace {

using verbs::Verb;

constexpr std::uint64_t kTripsMost = 10'000;
constexpr std::uint64_t kBytesMost = std::uint64_t{256} << 20U;
/// What a write's answer is compared with.
constexpr std::uint32_t kAnswerBytes = 8;
/// The first end has to listen before the second comes.
constexpr TimePs kMeeting = seconds(10);
constexpr TimePs kPatience = seconds(120);
constexpr TimePs kGoodbye = seconds(2);
/// Each end is looked at that often.
constexpr TimePs kLook = milliseconds(100);

/// One of its transports.
struct Transport {
  std::string_view name;
  std::string_view given;  ///< What the program calls it.
};
constexpr std::array kUcxTransports{Transport{"tcp", "tcp"}, Transport{"shm", "posix"}};
constexpr std::array kLibfabricTransports{Transport{"udp", "udp;ofi_rxd"}, Transport{"tcp", "tcp;ofi_rxm"},
                                          Transport{"shm", "shm"}};

struct Kind {
  RivalKind kind;
  std::string_view name;
  std::string_view program;  ///< Empty: this one.
  std::string_view package;  ///< Of Debian.
  std::span<const Transport> transports;
};
constexpr std::array kKinds{
    Kind{RivalKind::kUdp, "udp", "", "", {}},
    Kind{RivalKind::kUcx, "ucx", "ucx_perftest", "ucx-utils", kUcxTransports},
    Kind{RivalKind::kLibfabric, "libfabric", "fi_pingpong", "libfabric-bin", kLibfabricTransports}};

const Kind& kind_of(const Rival& rival) { return kKinds[static_cast<std::size_t>(rival.kind)]; }

std::string_view given_transport(const Rival& rival) {
  for (const Transport& each : kind_of(rival).transports) {
    if (each.name == rival.transport) return each.given;
  }
  return "";
}

/// A test of ucx_perftest.
struct UcxTest {
  Verb verb;
  std::string_view name;
  std::string_view what;
  bool ping_pong;  ///< It prints half of a round trip.
};
constexpr std::array kUcxTests{UcxTest{Verb::kWrite, "ucp_put_lat", "put", true},
                               UcxTest{Verb::kSend, "ucp_am_lat", "active message", true},
                               UcxTest{Verb::kRead, "ucp_get", "get", false},
                               UcxTest{Verb::kFetchAdd, "ucp_fadd", "fetch and add", false},
                               UcxTest{Verb::kSwap, "ucp_swap", "swap", false},
                               UcxTest{Verb::kCompareSwap, "ucp_cswap", "compare and swap", false}};

/// Null: it has none for that verb.
const UcxTest* ucx_test(Verb verb) {
  const auto* const found = std::find_if(kUcxTests.begin(), kUcxTests.end(),
                                         [verb](const UcxTest& each) { return each.verb == verb; });
  return found == kUcxTests.end() ? nullptr : found;
}

/// A port that nobody listens at now.
Result<std::uint16_t> free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool found = probe >= 0 &&
                     ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                     ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (probe >= 0) ::close(probe);
  if (!found) return Error{ErrorKind::kEnvironment, "there is no free port"};
  return ntohs(address.sin_port);
}

std::string_view last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t end = text.rfind('\n');
  return end == std::string_view::npos ? text : text.substr(end + 1);
}

/// Microseconds, as picoseconds.
std::optional<std::int64_t> picoseconds_of(std::string_view microseconds) {
  const std::string text(microseconds);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !(value >= 0 && value < 1e9)) return std::nullopt;
  return std::llround(value * 1e6);
}

Error unreadable(std::string_view program, std::string_view output) {
  return {ErrorKind::kEnvironment,
          fmt::format("{} printed \"{}\", expected a latency", program, last_line(output))};
}

/// The exit code of the end that asks; nothing when it does not end, though the other one may have.
std::optional<int> wait_for_answer(ToolProcess& asks, ToolProcess& listens, const std::atomic<bool>& stop) {
  const LiveClock clock;
  for (;;) {
    if (const auto code = asks.wait(kLook, stop)) return code;
    if (stop || clock.now() >= kPatience) return std::nullopt;
    // With nobody to answer it, it may ask for ever.
    if (listens.wait(kTimeZero, stop)) return asks.wait(kGoodbye, stop);
  }
}

/// What the program prints at the end that asks.
Result<std::string> run_both_ends(const Kind& kind, std::vector<std::string> first,
                                  std::vector<std::string> second, const ToolProcess::Environment& variables,
                                  const std::atomic<bool>& stop) {
  const auto stopped = [&kind, &stop](std::string_view otherwise) {
    return Error{ErrorKind::kStalled,
                 fmt::format("{} {}", kind.program, stop ? "was interrupted" : otherwise)};
  };
  auto listens = ToolProcess::start(first, variables);
  if (!listens) return listens.error();
  const LiveClock clock;
  for (;;) {
    auto asks = ToolProcess::start(second, variables);
    if (!asks) return asks.error();
    const auto code = wait_for_answer(*asks, *listens, stop);
    if (code == 0) {
      listens->wait(kGoodbye, stop);  // It gives back what it has taken.
      return asks->output();
    }
    // The other end does not listen yet, or cannot at all.
    const auto ended = listens->wait(kTimeZero, stop);
    if (!code && (!ended || stop)) return stopped("did not end in two minutes");
    if (ended || clock.now() > kMeeting) {
      std::string said = ended ? listens->errors() + listens->output() : std::string();
      said += asks->errors() + asks->output();
      return Error{ErrorKind::kEnvironment,
                   fmt::format("{} ended with {}: {}", kind.program, code ? *code : *ended, last_line(said))};
    }
    if (stop) return stopped("");
    const timespec pause{0, 50'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

Result<std::int64_t> run_ucx(const Rival& rival, const UcxTest& test, std::uint32_t bytes,
                             std::uint64_t trips, std::uint64_t warm_up, const std::atomic<bool>& stop) {
  const auto port = free_port();
  if (!port) return port.error();
  std::vector<std::string> words{"ucx_perftest",
                                 "-t",
                                 std::string(test.name),
                                 "-s",
                                 std::to_string(bytes),
                                 "-n",
                                 std::to_string(trips),
                                 "-w",
                                 std::to_string(warm_up),
                                 "-p",
                                 std::to_string(*port),
                                 "-f",
                                 "-v"};
  if (!test.ping_pong) words.insert(words.end(), {"-O", "1"});
  std::vector<std::string> second = words;
  second.insert(second.begin() + 1, "127.0.0.1");
  ToolProcess::Environment variables{{"UCX_TLS", std::string(given_transport(rival))},
                                     {"UCX_WARN_UNUSED_ENV_VARS", "n"}};
  if (rival.transport == "tcp") variables.emplace_back("UCX_NET_DEVICES", "lo");
  const auto printed = run_both_ends(kind_of(rival), words, second, variables, stop);
  if (!printed) return printed.error();
  return read_ucx_perftest(*printed);
}

Result<std::int64_t> run_libfabric(const Rival& rival, std::uint32_t bytes, std::uint64_t trips,
                                   const std::atomic<bool>& stop) {
  const auto port = free_port();
  if (!port) return port.error();
  const std::vector<std::string> words{"fi_pingpong",
                                       "-p",
                                       std::string(given_transport(rival)),
                                       "-e",
                                       "rdm",
                                       "-S",
                                       std::to_string(bytes),
                                       "-I",
                                       std::to_string(trips)};
  std::vector<std::string> first = words;
  first.insert(first.end(), {"-B", std::to_string(*port)});
  std::vector<std::string> second = words;
  second.insert(second.end(), {"-P", std::to_string(*port), "127.0.0.1"});
  const auto printed = run_both_ends(kind_of(rival), first, second, {}, stop);
  if (!printed) return printed.error();
  return read_fi_pingpong(*printed);
}

Result<RivalFigure> measure_udp(const RivalRun& run, std::uint64_t trips, const std::atomic<bool>& stop) {
  BareUdpRun bare;
  bare.there = run.verb == Verb::kRead ? kAnswerBytes : std::max(run.bytes, 1U);
  bare.back = run.verb == Verb::kRead ? std::max(run.bytes, 1U) : kAnswerBytes;
  bare.trips = trips;
  bare.warm_up = run.warm_up;
  bare.spins = run.spins;
  const auto measured = bare_udp_trips(bare, stop);
  if (!measured) return measured.error();
  if (measured->count() == 0) return Error{ErrorKind::kStalled, "bare UDP was interrupted"};
  return RivalFigure{measured->value_at_percentile(50), "median", "datagrams"};
}

}  // namespace

std::string name(const Rival& rival) {
  const std::string_view kind = kind_of(rival).name;
  return rival.transport.empty() ? std::string(kind) : fmt::format("{}:{}", kind, rival.transport);
}

Result<Rival> parse_rival(std::string_view text, bool shared) {
  const std::string_view kind_name = text.substr(0, text.find(':'));
  std::vector<std::string_view> names;
  for (const Kind& each : kKinds) {
    names.push_back(each.name);
    if (each.name != kind_name) continue;
    Rival rival;
    rival.kind = each.kind;
    if (kind_name.size() == text.size()) {
      if (!each.transports.empty()) rival.transport = shared ? "shm" : std::string(each.transports[0].name);
      return rival;
    }
    rival.transport = std::string(text.substr(kind_name.size() + 1));
    std::vector<std::string_view> transports;
    for (const Transport& transport : each.transports) transports.push_back(transport.name);
    if (std::find(transports.begin(), transports.end(), rival.transport) != transports.end()) return rival;
    if (transports.empty()) return input_error(fmt::format("found {}, expected {}", text, kind_name));
    return input_error(
        fmt::format("found {}, expected {} with one of {}", text, kind_name, fmt::join(transports, ", ")));
  }
  const auto nearest = nearest_name(kind_name, names);
  return input_error(fmt::format("found {}, expected one of {}{}", text, fmt::join(names, ", "),
                                 nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
}

Result<void> check(const Rival& rival, const RivalRun& run) {
  const Kind& kind = kind_of(rival);
  const std::string_view verb = verbs::verb_names()[static_cast<std::size_t>(run.verb)];
  switch (rival.kind) {
    case RivalKind::kUdp:
      if (run.bytes > kBareUdpMost)
        return input_error(fmt::format("{} takes at most {} bytes in a datagram, found {}", kind.name,
                                       kBareUdpMost, run.bytes));
      break;
    case RivalKind::kUcx:
      if (ucx_test(run.verb) == nullptr)
        return input_error(fmt::format(
            "{} has no {}, expected read, write, send, fetch_add, swap or compare_swap", kind.name, verb));
      if (verbs::is_atomic(run.verb) && run.bytes != 4 && run.bytes != 8)
        return input_error(fmt::format("{} has atomics of 4 and 8 bytes, found {}", kind.name, run.bytes));
      break;
    case RivalKind::kLibfabric:
      if (run.verb != Verb::kWrite && run.verb != Verb::kSend)
        return input_error(
            fmt::format("{} is measured by messages, expected write or send, found {}", kind.name, verb));
      break;
  }
  if (kind.program.empty() || !path_of(kind.program).empty()) return {};
  return Error{ErrorKind::kEnvironment,
               fmt::format("{}: there is no {} in PATH (Debian: {})", kind.name, kind.program, kind.package)};
}

Result<RivalFigure> measure(const Rival& rival, const RivalRun& asked, const std::atomic<bool>& stop) {
  WHARF_TRY(check(rival, asked));
  const std::uint32_t bytes = std::max(asked.bytes, 1U);
  const std::uint64_t most = std::clamp<std::uint64_t>(kBytesMost / bytes, 1, kTripsMost);
  const std::uint64_t trips = std::clamp<std::uint64_t>(asked.trips, 1, most);
  RivalRun run = asked;
  run.warm_up = std::min(asked.warm_up, most);
  if (rival.kind == RivalKind::kUdp) return measure_udp(run, trips, stop);
  const bool is_ucx = rival.kind == RivalKind::kUcx;
  const auto half = [&](std::uint32_t size) {
    return is_ucx ? run_ucx(rival, *ucx_test(run.verb), size, trips, run.warm_up, stop)
                  : run_libfabric(rival, size, trips, stop);
  };
  const auto there = half(bytes);
  if (!there) return there.error();
  RivalFigure figure{*there, is_ucx ? "median" : "mean", is_ucx ? ucx_test(run.verb)->what : "message"};
  if (is_ucx && !ucx_test(run.verb)->ping_pong) return figure;
  const auto back = bytes == kAnswerBytes ? there : half(kAnswerBytes);
  if (!back) return back.error();
  figure.latency_ps += *back;
  return figure;
}

// "64      1k      =1k      125k        0.10s      1.31      48.74       0.02": the seventh is us/xfer.
Result<std::int64_t> read_fi_pingpong(std::string_view output) {
  std::string_view line = last_line(output);
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t from = line.find_first_not_of(' ');
    if (from == std::string_view::npos) break;
    line.remove_prefix(from);
    words.push_back(line.substr(0, line.find(' ')));
    line.remove_prefix(words.back().size());
  }
  const auto value = words.size() == 8 ? picoseconds_of(words[6]) : std::nullopt;
  if (!value) return unreadable("fi_pingpong", output);
  return *value;
}

// "iterations,50.0_percentile_lat,avg_lat,...", then the values.
Result<std::int64_t> read_ucx_perftest(std::string_view output) {
  const std::string_view line = last_line(output);
  const std::size_t from = line.find(',');
  if (from == std::string_view::npos) return unreadable("ucx_perftest", output);
  const auto value = picoseconds_of(line.substr(from + 1, line.find(',', from + 1) - from - 1));
  if (!value) return unreadable("ucx_perftest", output);
  return *value;
}

}  // namespace wharf::live
