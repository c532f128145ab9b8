// SPDX-License-Identifier: Apache-2.0
// Two UET engines back to back: 64-byte operations, and a stream of full packets with described payload as
// the fabric drives it, in packets per second (data and acknowledgements counted apart). `bare_loop` of the
// engines with queue pairs is what to compare with.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/arena.h"
#include "engine/uet/uet_engine.h"
#include "tests/support/uet_back_to_back.h"

namespace {

using namespace wharf;  // NOLINT: one file, one purpose.

void operations(benchmark::State& state, verbs::Verb verb, bool bytes) {
  test::UetBackToBack world(bytes);
  constexpr std::uint64_t kBatch = 4096;
  for (auto _ : state) world.run(verb, kBatch);
  benchmark::DoNotOptimize(world.checksum());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

void write_structs(benchmark::State& state) { operations(state, verbs::Verb::kWrite, false); }
void write_bytes(benchmark::State& state) { operations(state, verbs::Verb::kWrite, true); }
void read_structs(benchmark::State& state) { operations(state, verbs::Verb::kRead, false); }
BENCHMARK(write_structs);
BENCHMARK(read_structs);
BENCHMARK(write_bytes);

/// Two hosts whose memory holds descriptions of bytes, and what passes between them.
struct Stream {
  Arena arena;
  wire::PayloadPool pool;
  std::unique_ptr<uet::UetEngine> engines[2];
  TimePs now;
  std::uint64_t packets = 0;
  bool done = false;

  /// Takes out what the engine of `host` has to give; at most a window's worth before the other side's turn.
  void turn(std::uint32_t host);
};

/// Memory, wire and user of a host, as its engine's driver sees them.
struct Around {
  Stream& stream;
  std::uint32_t host;
  std::uint32_t left = 64;

  bool begin(TimePs, const engine::Access&, engine::AccessResult&) const { return true; }
  wire::TrafficClassMask open(TimePs) const {
    return left > 0 ? wire::TrafficClassMask{wire::kAllTrafficClasses} : wire::TrafficClassMask{0};
  }
  void send(TimePs now, const wire::Packet& packet) {
    --left;
    ++stream.packets;
    uet::UetEngine& peer = *stream.engines[1 - host];
    peer.receive(now, 0, packet);
    Around there{stream, 1 - host};
    engine::EngineDriver(peer, there, there, there).perform(now);
  }
  void completed(TimePs, const verbs::Completion& completion) const {
    if (!completion.ok()) std::abort();
    stream.done = true;
  }
};

void Stream::turn(std::uint32_t host) {
  now += nanoseconds(80);
  Around around{*this, host};
  engine::EngineDriver(*engines[host], around, around, around).settle(now);
}

/// One message of many full packets; its payload is a pattern, so no memory is asked at the source. An item
/// is one data packet: sent, received and placed, with its share of acknowledgements.
void data_stream(benchmark::State& state, uet::UetConfig config) {
  Stream stream;
  engine::QueueId queue[2];
  verbs::SegmentToken token;
  for (std::uint32_t host = 0; host < 2; ++host) {
    config.host = {host};
    config.fetch_ahead_packets = 1;
    stream.engines[host] = std::make_unique<uet::UetEngine>(
        std::move(uet::UetEngine::create(config, stream.pool, stream.arena).value()));
    queue[host] = stream.engines[host]->create_queue(stream.now, {}).value();
    token = stream.engines[host]->register_segment(stream.now, {.base = 0x1000, .length = 1U << 30U}).value();
  }
  const auto blob = stream.engines[1]->export_queue(queue[1]).value();
  constexpr std::uint32_t kPackets = 4096;
  verbs::WorkRequest request;
  request.verb = verbs::Verb::kWrite;
  request.peer = stream.engines[0]->connect(stream.now, queue[0], blob).value();
  request.length = kPackets * 4096;
  request.inline_data = wire::pattern_payload(7, 0, request.length);
  request.remote = {0x1000, token};
  for (auto _ : state) {
    if (stream.engines[0]->post(stream.now, queue[0], request, engine::Submission::kInHand) !=
        engine::PostStatus::kOk)
      std::abort();
    for (stream.done = false; !stream.done;) {
      stream.turn(0);
      stream.turn(1);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPackets));
  state.counters["all_packets"] =
      benchmark::Counter(static_cast<double>(stream.packets), benchmark::Counter::kIsRate);
}
void data_packets(benchmark::State& state) { data_stream(state, {}); }
/// With a constant window instead of NSCC and recycled paths this is data_packets. The link is fast enough
/// for the 160 ns that a round trip takes here.
void data_packets_nscc(benchmark::State& state) {
  uet::UetConfig config;
  config.controller =
      congestion::NsccConfig::for_network(gigabits_per_second(8000), nanoseconds(160), 4204, true);
  config.path_choice = congestion::PathChoice::kMixed;
  data_stream(state, config);
}
BENCHMARK(data_packets);
BENCHMARK(data_packets_nscc);

}  // namespace

BENCHMARK_MAIN();
