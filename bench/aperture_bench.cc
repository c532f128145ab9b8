// SPDX-License-Identifier: Apache-2.0
// One load that faults, and is answered by a READ of a page over the loopback interface, beside a bare READ
// of as many bytes. The two take turns; `fault_to_read` is the median over the turns of the ratio of their
// medians. The thread that loads sleeps meanwhile, so two cores are enough; all other threads spin.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/histogram.h"
#include "live/aperture/aperture.h"
#include "live/reactor/live_clock.h"
#include "live/udp/live_protocol.h"
#include "live/udp/measurement.h"
#include "live/udp/server.h"

namespace {

using namespace wharf;

constexpr std::uint64_t kPages = 512;
/// A turn ends early on a machine that is busy with other things.
constexpr TimePs kLongestTurn = milliseconds(500);

/// A server on a thread of its own for the life of the object.
class BenchServer {
 public:
  BenchServer(wire::Protocol protocol, std::uint64_t bytes) {
    config_.protocol = protocol;
    config_.listen = live::UdpEndpoint{0x7f000001, 0};
    config_.memory_bytes = bytes;
    config_.clients_max = 1;
    config_.idle.busy_poll = true;
    observer_.ready = [this](const live::ServerObserver::Ready& ready) {
      place_ = ready.control;
      ready_.store(true, std::memory_order_release);
      ready_.notify_all();
    };
    thread_ = std::thread([this] { WHARF_CHECK(live::serve(config_, observer_, stop_).ok()); });
    ready_.wait(false, std::memory_order_acquire);
  }
  ~BenchServer() {
    stop_ = true;
    thread_.join();
  }
  const live::Place& place() const { return place_; }

 private:
  live::ServerConfig config_;
  live::ServerObserver observer_;
  live::Place place_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

double fault_ns(wire::Protocol protocol) {
  const BenchServer server(protocol, kPages * 4096);
  live::ApertureOutcome outcome;
  const auto session = live::ApertureSession::open({.server = live::format_place(server.place()),
                                                    .protocol = std::string(live::name(protocol)),
                                                    .busy_poll = true,
                                                    .patience_ms = 30'000},
                                                   outcome);
  WHARF_CHECK(session != nullptr);
  const auto aperture =
      live::Aperture::map(*session, {0, session->bytes()}, {.read_ahead_pages = 0}, outcome);
  WHARF_CHECK(aperture != nullptr);
  const live::LiveClock clock;
  Histogram faults;
  for (std::uint64_t page = 0; page * aperture->page_bytes() < aperture->size(); ++page) {
    const TimePs start = clock.now();
    if (start >= kLongestTurn && page > 16) break;
    static_cast<void>(
        *const_cast<const volatile std::byte*>(aperture->data() + page * aperture->page_bytes()));
    if (page >= 16) faults.record((clock.now() - start).ps);
  }
  return static_cast<double>(faults.value_at_percentile(50)) / 1e3;
}

double read_ns(wire::Protocol protocol) {
  const BenchServer server(protocol, 1U << 20U);
  live::VerbRun run;
  run.verb = verbs::Verb::kRead;
  run.size = 4096;
  run.loop.operations = kPages;
  run.loop.warmup_operations = 16;
  run.loop.duration = kLongestTurn;
  live::MeasurementConfig config;
  config.protocol = protocol;
  config.server = server.place();
  config.program = run;
  config.idle.busy_poll = true;
  const std::atomic<bool> never{false};
  const auto measured = live::measure(config, {}, never);
  WHARF_CHECK(measured.ok() && measured->loop.verdict.holds());
  return static_cast<double>(measured->loop.latency.value_at_percentile(50)) / 1e3;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void fault(benchmark::State& state, wire::Protocol protocol) {
  if (live::aperture_support().mode == live::ApertureMode::kExplicit) {
    state.SkipWithError("the kernel delivers no faults here");
    return;
  }
  std::vector<double> faults;
  std::vector<double> reads;
  std::vector<double> ratios;
  for (auto _ : state) {
    reads.push_back(read_ns(protocol));
    faults.push_back(fault_ns(protocol));
    ratios.push_back(faults.back() / reads.back());
  }
  state.counters["read_ns"] = median(reads);
  state.counters["fault_ns"] = median(faults);
  state.counters["fault_to_read"] = median(ratios);
}

}  // namespace

int main(int count, char** words) {
  for (const live::ProtocolDescription& each : live::live_protocols()) {
    const std::string title = "fault/" + std::string(each.name);
    benchmark::RegisterBenchmark(title.c_str(), fault, each.protocol)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
