// SPDX-License-Identifier: Apache-2.0
// Two RoCE engines back to back: 64-byte writes and reads per second, with packets as structs and as bytes
// with their checksum, beside a bare loop that copies the same bytes through the same number of rings.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/ring.h"
#include "tests/support/roce_back_to_back.h"

namespace {

using namespace wharf;  // NOLINT: one file, one purpose.

using test::RoceBackToBack;
constexpr std::uint32_t kDepth = RoceBackToBack::kDepth;

void operations(benchmark::State& state, verbs::Verb verb, bool bytes) {
  RoceBackToBack world(bytes);
  constexpr std::uint64_t kBatch = 4096;
  for (auto _ : state) world.run(verb, kBatch);
  benchmark::DoNotOptimize(world.checksum());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

void write_structs(benchmark::State& state) { operations(state, verbs::Verb::kWrite, false); }
void write_bytes_with_icrc(benchmark::State& state) { operations(state, verbs::Verb::kWrite, true); }
void read_structs(benchmark::State& state) { operations(state, verbs::Verb::kRead, false); }
void read_bytes_with_icrc(benchmark::State& state) { operations(state, verbs::Verb::kRead, true); }
BENCHMARK(write_structs);
BENCHMARK(read_structs);
BENCHMARK(write_bytes_with_icrc);
BENCHMARK(read_bytes_with_icrc);

/// The bound: a request struct into a ring, a packet struct into a ring, 64 bytes copied, an answer and a
/// completion through a ring each.
void bare_loop(benchmark::State& state) {
  Ring<verbs::WorkRequest> requests(kDepth);
  Ring<wire::Packet> packets(kDepth);
  Ring<wire::Packet> answers(kDepth);
  Ring<verbs::Completion> completions(kDepth);
  std::vector<std::byte> source(64);
  std::vector<std::byte> target(64);
  for (auto _ : state) {
    for (std::uint32_t at = 0; at < kDepth; ++at) requests.push_back(verbs::WorkRequest{});
    for (std::uint32_t at = 0; at < kDepth; ++at) {
      wire::Packet packet = wire::roce_packet();
      packet.roce.reth.address = requests.front().remote.address;
      packet.payload = wire::bytes_payload(source);
      packets.push_back(packet);
      requests.pop_front();
    }
    for (std::uint32_t at = 0; at < kDepth; ++at) {
      std::memcpy(target.data(), packets.front().payload.bytes, 64);
      benchmark::ClobberMemory();
      answers.push_back(wire::roce_packet());
      packets.pop_front();
    }
    for (std::uint32_t at = 0; at < kDepth; ++at) {
      verbs::Completion completion;
      completion.id = answers.front().roce.bth.psn;
      completions.push_back(completion);
      answers.pop_front();
    }
    for (std::uint32_t at = 0; at < kDepth; ++at) {
      benchmark::DoNotOptimize(completions.front().id);
      completions.pop_front();
    }
  }
  state.SetItemsProcessed(state.iterations() * kDepth);
}
BENCHMARK(bare_loop);

}  // namespace

BENCHMARK_MAIN();
