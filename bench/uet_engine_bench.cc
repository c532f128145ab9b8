// SPDX-License-Identifier: Apache-2.0
// Two UET engines back to back: 64-byte operations, and a stream of full packets with described payload as
// the fabric drives it, in packets per second (data and acknowledgements counted apart). The bare loop to
// compare with is in roce_engine_bench.cc.
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

/// One message of many full packets; its payload is a pattern, so no memory is asked at the source. An item
/// is one data packet: sent, received and placed, with its share of acknowledgements.
void data_stream(benchmark::State& state, uet::UetConfig config) {
  Arena arena;
  wire::PayloadPool pool;
  std::unique_ptr<uet::UetEngine> engines[2];
  engine::QueueId queue[2];
  verbs::SegmentToken token;
  TimePs now;
  for (std::uint32_t host = 0; host < 2; ++host) {
    config.host = {host};
    config.fetch_ahead_packets = 1;
    engines[host] =
        std::make_unique<uet::UetEngine>(std::move(uet::UetEngine::create(config, pool, arena).value()));
    queue[host] = engines[host]->create_queue(now, {}).value();
    token = engines[host]->register_segment(now, {.base = 0x1000, .length = 1U << 30U}).value();
  }
  const auto blob = engines[1]->export_queue(queue[1]).value();
  const verbs::PeerId peer = engines[0]->connect(now, queue[0], blob).value();
  constexpr std::uint32_t kPackets = 4096;
  verbs::WorkRequest request;
  request.verb = verbs::Verb::kWrite;
  request.peer = peer;
  request.length = kPackets * 4096;
  request.inline_data = wire::pattern_payload(7, 0, request.length);
  request.remote = {0x1000, token};
  std::uint64_t packets = 0;
  for (auto _ : state) {
    if (engines[0]->post(now, queue[0], request, engine::Submission::kInHand) != engine::PostStatus::kOk)
      std::abort();
    for (bool done = false; !done;) {
      wire::Packet packet;
      for (std::uint32_t host = 0; host < 2; ++host) {
        now += nanoseconds(80);
        for (bool any = true; any;) {
          any = false;
          engine::Access access;
          while (engines[host]->next_access(access)) {
            engines[host]->access_done(now, access.id, {});
            any = true;
          }
          // At most a window's worth before the other side's turn.
          for (int i = 0; i < 64 && engines[host]->transmit(now, 0, wire::kAllTrafficClasses, packet); ++i) {
            ++packets;
            engines[1 - host]->receive(now, 0, packet);
            while (engines[1 - host]->next_access(access)) engines[1 - host]->access_done(now, access.id, {});
          }
        }
      }
      verbs::Completion completion;
      engine::QueueId completed = 0;
      while (engines[0]->next_completed_queue(completed)) {
        while (engines[0]->poll(completed, completion)) {
          if (!completion.ok()) std::abort();
          done = true;
        }
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPackets));
  state.counters["all_packets"] =
      benchmark::Counter(static_cast<double>(packets), benchmark::Counter::kIsRate);
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
