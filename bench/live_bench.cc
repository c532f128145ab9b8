// SPDX-License-Identifier: Apache-2.0
// Live transfers over the loopback interface, client and server on two threads and, where there are two, on
// two cores, both spinning:
//
//   round_trip   64 B writes, one at a time, beside a bare UDP ping-pong of 64 B on sockets with the same
//                settings; the two take turns, each turn compares the medians of its round trips, and
//                `live_to_bare` is the median over the turns
//   messages     64 B writes, 32 at a time: messages per second
#include <benchmark/benchmark.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/histogram.h"
#include "live/reactor/live_clock.h"
#include "live/udp/live_protocol.h"
#include "live/udp/measurement.h"
#include "live/udp/server.h"
#include "live/udp/udp_socket.h"

namespace {

using namespace wharf;

constexpr live::UdpEndpoint kAnyPort{0x7f000001, 0};
constexpr std::uint32_t kMessageBytes = 64;
constexpr std::uint64_t kTrips = 3000;
constexpr std::uint64_t kWarmUp = 100;
/// A turn ends early on a machine that is busy with other things.
constexpr TimePs kLongestTurn = milliseconds(500);

/// The CPUs that the process may use when it starts: threads inherit narrower sets.
const cpu_set_t kAllowed = [] {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  return allowed;
}();

/// Puts the calling thread on the `index`-th CPU, if there are two.
void pin(int index) {
  if (CPU_COUNT(&kAllowed) < 2) return;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &kAllowed) || index-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

sockaddr_in system_address(const live::UdpEndpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(endpoint.address);
  address.sin_port = htons(endpoint.port);
  return address;
}

/// Spins until a datagram is there; false when `stop` came first.
bool take(int descriptor, std::byte* buffer, const std::atomic<bool>& stop) {
  while (::recv(descriptor, buffer, kMessageBytes, MSG_DONTWAIT) < 0) {
    if (stop.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

void give(int descriptor, const std::byte* buffer, const sockaddr_in& to) {
  ::sendto(descriptor, buffer, kMessageBytes, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

/// Median round trip of a bare ping-pong, in picoseconds.
std::int64_t bare_round_trip() {
  auto near = live::UdpSocket::open(kAnyPort);
  auto far = live::UdpSocket::open(kAnyPort);
  WHARF_CHECK(near.ok() && far.ok());
  std::atomic<bool> stop{false};
  std::atomic<bool> started{false};
  std::thread echo([&] {
    pin(1);
    started = true;
    started.notify_one();
    const sockaddr_in back = system_address(near->local());
    std::byte buffer[kMessageBytes];
    while (take(far->descriptor(), buffer, stop)) give(far->descriptor(), buffer, back);
  });
  started.wait(false);
  const live::LiveClock clock;
  Histogram trips;
  const sockaddr_in to = system_address(far->local());
  std::byte buffer[kMessageBytes]{};
  const std::atomic<bool> never{false};
  for (std::uint64_t trip = 0; trip < kWarmUp + kTrips; ++trip) {
    const TimePs start = clock.now();
    if (start >= kLongestTurn && trip > kWarmUp) break;
    give(near->descriptor(), buffer, to);
    take(near->descriptor(), buffer, never);
    if (trip >= kWarmUp) trips.record((clock.now() - start).ps);
  }
  stop = true;
  echo.join();
  return trips.value_at_percentile(50);
}

/// A server on a thread of its own for the life of the object.
class BenchServer {
 public:
  explicit BenchServer(wire::Protocol protocol) {
    config_.protocol = protocol;
    config_.listen = kAnyPort;
    config_.memory_bytes = 1U << 20U;
    config_.clients_max = 1;
    config_.idle.busy_poll = true;
    observer_.ready = [this](const live::ServerObserver::Ready& ready) {
      endpoint_ = ready.control;
      ready_.store(true, std::memory_order_release);
      ready_.notify_all();
    };
    thread_ = std::thread([this] {
      pin(1);
      WHARF_CHECK(live::serve(config_, observer_, stop_).ok());
    });
    ready_.wait(false, std::memory_order_acquire);
  }
  ~BenchServer() {
    stop_ = true;
    thread_.join();
  }
  live::UdpEndpoint endpoint() const { return endpoint_; }

 private:
  live::ServerConfig config_;
  live::ServerObserver observer_;
  live::UdpEndpoint endpoint_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

workload::LoopResult live_writes(wire::Protocol protocol, std::uint32_t concurrency,
                                 std::uint64_t operations) {
  const BenchServer server(protocol);
  live::VerbRun run;
  run.verb = verbs::Verb::kWrite;
  run.size = kMessageBytes;
  run.loop.operations = operations;
  run.loop.warmup_operations = kWarmUp;
  run.loop.duration = kLongestTurn;
  run.loop.concurrency = concurrency;
  live::MeasurementConfig config;
  config.protocol = protocol;
  config.server = server.endpoint();
  config.program = run;
  config.idle.busy_poll = true;
  const std::atomic<bool> never{false};
  auto measured = live::measure(config, {}, never);
  WHARF_CHECK(measured.ok() && measured->loop.verdict.holds());
  return measured->loop;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void round_trip(benchmark::State& state, wire::Protocol protocol) {
  pin(0);
  std::vector<double> bare;
  std::vector<double> live;
  std::vector<double> ratio;
  for (auto _ : state) {
    bare.push_back(static_cast<double>(bare_round_trip()) / 1e3);
    live.push_back(static_cast<double>(live_writes(protocol, 1, kTrips).latency.value_at_percentile(50)) /
                   1e3);
    ratio.push_back(live.back() / bare.back());
  }
  state.counters["bare_ns"] = median(bare);
  state.counters["live_ns"] = median(live);
  state.counters["live_to_bare"] = median(ratio);
}

void messages(benchmark::State& state, wire::Protocol protocol) {
  pin(0);
  std::vector<double> rates;
  for (auto _ : state) {
    const workload::LoopResult loop = live_writes(protocol, 32, 20 * kTrips);
    rates.push_back(static_cast<double>(loop.operations) * 1e12 /
                    static_cast<double>((loop.end - loop.begin).ps));
  }
  state.counters["messages_per_second"] = median(rates);
}

/// `run` once for each protocol, as "NAME/PROTOCOL".
void register_for_all(const char* name, void (*run)(benchmark::State&, wire::Protocol)) {
  for (const live::ProtocolDescription& each : live::live_protocols()) {
    const std::string title = std::string(name) + "/" + std::string(each.name);
    benchmark::RegisterBenchmark(title.c_str(), run, each.protocol)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
}

}  // namespace

int main(int count, char** words) {
  register_for_all("round_trip", round_trip);
  register_for_all("messages", messages);
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
