// SPDX-License-Identifier: Apache-2.0
// Work requests written straight to the NIC, as a submission path of every protocol: what they cost against
// BlueFlame, and that their bytes arrive.
#include <cstring>

#include "sim/two_hosts/two_hosts_test_support.h"
#include "verbs/gate.h"

namespace wharf::sim {
namespace {

using testing::mechanism;
using testing::Pair;

TwoHostsConfig submitted(Stack stack, SubmissionPath path) {
  TwoHostsConfig config = mechanism(stack);
  config.attachment = Attachment::kPcie;
  config.submission = path;
  return config;
}

class EveryProtocol : public ::testing::TestWithParam<Stack> {};
INSTANTIATE_TEST_SUITE_P(MmioStream, EveryProtocol,
                         ::testing::Values(Stack::kUbUrma, Stack::kRoceDma, Stack::kUet),
                         [](const auto& each) { return std::string(name(each.param)); });

// BlueFlame's entry with 64 B of payload is two TLPs of 88 B at 504 Gb/s: 2.794 ns behind the 150. The
// stream's second line leaves 4.267 ns after the first, takes 1.397 ns, and the unit 4 ns.
TEST_P(EveryProtocol, AWriteOf64BytesAgainstBlueFlame) {
  TwoHostsConfig stream = submitted(GetParam(), SubmissionPath::kMmioStream);
  stream.host.mmio_stream.spread = kTimeZero;
  const TwoHostsConfig blue_flame = submitted(GetParam(), SubmissionPath::kBlueFlame);
  const TimePs difference = testing::latency_of(stream, {verbs::Verb::kWrite, 64}) -
                            testing::latency_of(blue_flame, {verbs::Verb::kWrite, 64});
  EXPECT_EQ(difference, picoseconds(4'267 + 1'397 + 4'000 - 2'794));
}

// A read carries no payload: one line and the unit, against one line.
TEST_P(EveryProtocol, AReadAgainstBlueFlame) {
  TwoHostsConfig stream = submitted(GetParam(), SubmissionPath::kMmioStream);
  stream.host.mmio_stream.spread = kTimeZero;
  const TwoHostsConfig blue_flame = submitted(GetParam(), SubmissionPath::kBlueFlame);
  EXPECT_EQ(testing::latency_of(stream, {}) - testing::latency_of(blue_flame, {}), nanoseconds(4));
}

// Nothing is fetched by DMA, whatever the size, up to the largest; beyond it the payload is.
TEST_P(EveryProtocol, NothingIsFetched) {
  const TwoHostsConfig stream = submitted(GetParam(), SubmissionPath::kMmioStream);
  for (const std::uint32_t bytes : {64U, 1024U, 4096U, 4160U}) {
    trace::OperationPath path;
    (void)testing::latency_of(stream, {verbs::Verb::kWrite, bytes}, &path);
    EXPECT_EQ(path.critical[static_cast<std::size_t>(trace::Stage::kWorkRequestFetch)], kTimeZero);
    EXPECT_EQ(path.critical[static_cast<std::size_t>(trace::Stage::kPayloadFetch)] > kTimeZero, bytes > 4096)
        << bytes;
  }
}

verbs::Task<void> write_many(Pair& pair, std::uint32_t worker, verbs::Gate& done, std::uint32_t& running) {
  constexpr std::uint32_t kSizes[]{1, 8, 64, 65, 1000, 4096, 10'000};
  const std::uint64_t own = std::uint64_t{worker} * 16'384;
  SimCore& core = pair.two->host(0).core();
  for (const std::uint32_t bytes : kSizes) {
    const auto local = core.bytes(pair.near_buffer + own, Bytes{bytes});
    for (std::uint32_t i = 0; i < bytes; ++i) local[i] = static_cast<std::byte>(i * 7 + bytes + worker);
    EXPECT_TRUE((co_await pair.near->write(pair.near_buffer + own, pair.near_segment.at(own), bytes)).ok());
    co_await core.sleep(microseconds(1));
    const auto target = pair.two->host(1).core().bytes(pair.near_segment.base + own, Bytes{bytes});
    EXPECT_TRUE(std::equal(local.begin(), local.end(), target.begin()));
    const auto back = core.bytes(pair.near_buffer + own, Bytes{bytes});
    std::fill(back.begin(), back.end(), std::byte{0});
    EXPECT_TRUE((co_await pair.near->read(pair.near_buffer + own, pair.near_segment.at(own), bytes)).ok());
    EXPECT_TRUE(std::equal(back.begin(), back.end(), target.begin()));
  }
  EXPECT_TRUE((co_await pair.near->fetch_add(pair.near_segment.at(999'424), 1)).ok());
  if (--running == 0) done.open();
}
verbs::Task<void> all_workers(Pair& pair, std::uint32_t workers) {
  verbs::Gate done;
  std::uint32_t running = workers;
  for (std::uint32_t i = 0; i < workers; ++i)
    pair.two->host(0).core().spawn(write_many(pair, i, done, running));
  co_await done.wait();
}

// With NIC memory for two of the largest messages, and lines that pass each other; over both kinds of memory.
TEST_P(EveryProtocol, BytesArriveAsTheyWere) {
  for (const MemorySystem system : {MemorySystem::kFlat, MemorySystem::kCoherent}) {
    TwoHostsConfig config = submitted(GetParam(), SubmissionPath::kMmioStream);
    config.host.mmio_stream.buffer_bytes = 8192;
    config.host.mmio_stream.memory_bytes = 8320;
    config.host.memory.system = system;
    Pair pair(config);
    pair.run(all_workers(pair, 24));
    pair.two->settle();
    EXPECT_EQ(pair.two->payloads().in_use(), 0U);
    std::uint64_t counted = 0;
    std::memcpy(&counted, pair.two->host(1).core().bytes(pair.near_segment.base + 999'424, Bytes{8}).data(),
                8);
    EXPECT_EQ(counted, 24U);
  }
}

}  // namespace
}  // namespace wharf::sim
