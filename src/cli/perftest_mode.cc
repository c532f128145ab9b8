// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest_mode.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/interrupt.h"
#include "live/perftest/perftest_run.h"
#include "live/udp/live_protocol.h"
#include "report/text_table.h"

namespace wharf::cli {
namespace {

Error named(std::string_view option, const Error& error) {
  return Error{error.kind, fmt::format("{}: {}", option, error.message)};
}

/// "127.0.0.1:6001,127.0.0.1:6002": where frames come, and where they go.
Result<std::pair<live::UdpEndpoint, live::UdpEndpoint>> parse_ethernet(const std::string& text) {
  const auto comma = text.find(',');
  if (comma == std::string::npos)
    return input_error(fmt::format(
        "found {}, expected two addresses such as 127.0.0.1:6001,127.0.0.1:6002: frames arrive at the first",
        text));
  auto own = live::parse_endpoint(text.substr(0, comma), 0);
  if (!own) return own.error();
  auto other = live::parse_endpoint(text.substr(comma + 1), 0);
  if (!other) return other.error();
  if (other->port == 0)
    return input_error(fmt::format("found {}, expected a port in the second address", text));
  return std::pair(*own, *other);
}

double microseconds(std::int64_t picoseconds) { return static_cast<double>(picoseconds) / 1e6; }

std::uint64_t counted(const live::PerftestResult& result, std::string_view name) {
  for (const engine::NamedCounter& each : result.engine) {
    if (each.name == name) return each.value;
  }
  return 0;
}

void print(const Console& console, const live::PerftestConfig& config, const live::PerftestResult& result) {
  const live::TrafficResult& traffic = result.traffic;
  const live::TestKind& kind = config.traffic.kind;
  const Histogram& latency = traffic.latency;
  const std::uint64_t messages = traffic.operations != 0 ? traffic.operations : traffic.arrivals;
  const TimePs span = messages == 0 ? kTimeZero : traffic.end - traffic.begin;
  const double rate =
      span <= kTimeZero ? 0 : static_cast<double>(messages) * 1e12 / static_cast<double>(span.ps);
  const double bits = rate * config.traffic.bytes * 8;
  const std::uint64_t lost = result.counters.injected_losses + result.ethernet.losses;
  console.print(nlohmann::ordered_json{{"test", kind.name},
                                       {"side", config.traffic.server ? "server" : "client"},
                                       {"peer", live::format_endpoint(result.peer)},
                                       {"path_mtu", result.path_mtu},
                                       {"bytes", config.traffic.bytes},
                                       {"iterations", config.traffic.iterations},
                                       {"operations", traffic.operations},
                                       {"arrivals", traffic.arrivals},
                                       {"latency_us_min", microseconds(latency.min())},
                                       {"latency_us_p50", microseconds(latency.value_at_percentile(50))},
                                       {"latency_us_p99", microseconds(latency.value_at_percentile(99))},
                                       {"latency_us_max", microseconds(latency.max())},
                                       {"messages_per_second", rate},
                                       {"bits_per_second", bits},
                                       {"checks", traffic.checks},
                                       {"violations", traffic.violations},
                                       {"injected_losses", lost},
                                       {"undecodable", result.counters.undecodable},
                                       {"requests_resent", counted(result, "requests_resent")},
                                       {"sequence_naks_received", counted(result, "sequence_naks_received")},
                                       {"duplicate_requests", counted(result, "duplicate_requests")},
                                       {"timeouts", counted(result, "timeouts")},
                                       {"interrupted", result.interrupted}});
  using report::Align;
  report::TextTable table({{"test"},
                           {"bytes", Align::kRight},
                           {"sent", Align::kRight},
                           {"arrived", Align::kRight},
                           {"min us", Align::kRight},
                           {"median us", Align::kRight},
                           {"99% us", Align::kRight},
                           {"max us", Align::kRight},
                           {"messages per s", Align::kRight},
                           {"Gbit/s", Align::kRight}});
  const auto time = [&latency](std::int64_t value) {
    return latency.count() == 0 ? std::string() : fmt::format("{:.2f}", microseconds(value));
  };
  table.add_row({std::string(kind.name), std::to_string(config.traffic.bytes),
                 std::to_string(traffic.operations), std::to_string(traffic.arrivals), time(latency.min()),
                 time(latency.value_at_percentile(50)), time(latency.value_at_percentile(99)),
                 time(latency.max()), fmt::format("{:.0f}", rate), fmt::format("{:.3f}", bits / 1e9)});
  std::string notes;
  if (lost != 0)
    notes =
        fmt::format("{} packets dropped on purpose, {} requests sent again, {} duplicates of the peer's\n",
                    lost, counted(result, "requests_resent"), counted(result, "duplicate_requests"));
  notes += result.interrupted ? "interrupted: partial results\n" : fmt::format("{} checks\n", traffic.checks);
  console.print(fmt::format("{} of perftest, as its {}, with {}, path MTU {}{}\n{}{}", kind.name,
                            config.traffic.server ? "server" : "client", live::format_endpoint(result.peer),
                            result.path_mtu, kind.ping_pong() ? "; half of each round trip" : "",
                            console.text_of(table), notes));
}

}  // namespace

Option PerftestMode::declare(Options& app) {
  option_ =
      app.add_option(
             "--perftest", test_,
             "Be one side of this test of perftest (write_lat, read_bw, send_lat, atomic_lat, ...), the "
             "client of HOST or with --listen the server; --loss then drops packets both ways")
          .type_name("TEST");
  Option listen =
      app.add_option("--listen", listen_,
                     "--perftest: be the server at this address; port 18515 unless another is given")
          .type_name("ADDRESS");
  Option ethernet = app.add_option("--ethernet", ethernet_,
                                   "--perftest: packets go over an Ethernet in UDP datagrams, as QEMU's "
                                   "-netdev dgram has it: where "
                                   "frames come, where they go")
                        .type_name("OWN,OTHER");
  Option address = app.add_option("--address", address_,
                                  "--perftest: the IPv4 address on that Ethernet, 10.77.0.1 by default")
                       .type_name("ADDRESS");
  for (Option* each : {&listen, &ethernet, &address}) each->needs(option_);
  return option_;
}

Result<ExitCode> PerftestMode::run(const Console& console, const LiveOptions& live,
                                   const PerftestWishes& wishes) const {
  live::PerftestConfig config;
  LiveOptions chosen = live;
  if (chosen.protocol.empty()) chosen.protocol = live::name(live::kPerftestProtocol);
  auto choices = chosen.read();
  if (!choices) return choices.error();
  if (choices->protocol != live::kPerftestProtocol)
    return input_error(fmt::format("--perftest: found --protocol {}, perftest speaks {}", live.protocol,
                                   live::name(live::kPerftestProtocol)));
  auto kind = live::parse_test_kind(test_);
  if (!kind) return named("--perftest", kind.error());
  config.traffic.kind = *kind;
  config.traffic.server = !listen_.empty();
  if (config.traffic.server == !wishes.host.empty())
    return Error{ErrorKind::kUsage,
                 "wharf perf: --perftest takes either HOST, whose client it is, or --listen ADDRESS"};
  auto meeting = live::parse_endpoint(config.traffic.server ? listen_ : wishes.host, live::kPerftestPort);
  if (!meeting) return named(config.traffic.server ? "--listen" : "HOST", meeting.error());
  config.meeting = *meeting;
  if (ethernet_.empty())
    return input_error(
        "--perftest: needs --ethernet OWN,OTHER: a socket does not show the IP identification that Linux "
        "chooses, "
        "and the invariant CRC covers it");
  auto ethernet = parse_ethernet(ethernet_);
  if (!ethernet) return named("--ethernet", ethernet.error());
  auto address = live::parse_endpoint(address_, 0);
  if (!address) return named("--address", address.error());
  config.ethernet.carrier = ethernet->first;
  config.ethernet.other = ethernet->second;
  config.ethernet.address = address->address;
  config.ethernet.loss = choices->faults.loss;
  config.ethernet.seed = config.seed = choices->seed;
  config.faults = choices->faults;
  config.idle = choices->idle;
  config.repetition = choices->repetition;
  config.capture = live.capture;
  config.traffic.bytes = wishes.bytes.value_or(kind->default_bytes);
  config.traffic.iterations = wishes.iterations.value_or(config.traffic.iterations);
  config.traffic.depth = wishes.depth.value_or(config.traffic.depth);
  const auto result = live::run_perftest(
      config,
      [&console, &config] {
        console.remark(fmt::format("waiting for ib_{} at {}", config.traffic.kind.name,
                                   live::format_endpoint(config.meeting)));
      },
      interrupt_requested());
  if (!result) return result.error();
  if (result->interrupted && result->peer == live::UdpEndpoint{}) {
    console.error("interrupted before perftest's peer had introduced itself");
    return ExitCode::kInterrupted;
  }
  print(console, config, *result);
  if (result->traffic.violations != 0) {
    console.error(fmt::format("{}: {}", kind->name, result->traffic.first_violation));
    return ExitCode::kJudgedFailed;
  }
  return result->interrupted ? ExitCode::kInterrupted : ExitCode::kDone;
}

}  // namespace wharf::cli
