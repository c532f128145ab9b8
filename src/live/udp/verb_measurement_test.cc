// SPDX-License-Identifier: Apache-2.0
// What the measurement of a verb says of the server's receive entries when they do not hold what was sent.
#include "live/udp/verb_measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::live {
namespace {

namespace detail = verb_measurement_detail;

constexpr std::uint32_t kSize = 32;
constexpr std::uint32_t kWorkers = 2;

/// The server's memory, read at once into the place that the core gives for it.
struct Memory {
  std::vector<std::byte> server = std::vector<std::byte>(4 * kSize);
  std::vector<std::byte> buffer = std::vector<std::byte>(kSize);

  static verbs::RemoteSegment segment() { return {}; }
  std::span<const std::byte> bytes(std::uint64_t, Bytes) const { return buffer; }
  verbs::Task<verbs::Completion> read(std::uint64_t, verbs::RemoteAddress from, std::uint32_t size) {
    std::copy_n(server.begin() + static_cast<std::ptrdiff_t>(from.address), size, buffer.begin());
    co_return verbs::Completion{};
  }
  std::span<std::byte> entry(std::size_t index) { return std::span(server).subspan(index * kSize, kSize); }
};

/// How many complaints there are about entries of which `change` has changed some. Each of the workers 0 and
/// 1 has sent two messages.
template <typename Change>
std::uint64_t complaints(const Change& change) {
  Memory memory;
  for (std::uint32_t entry = 0; entry < 4; ++entry)
    detail::write_message(memory.entry(entry), entry / 2, entry % 2);
  change(memory);
  VerbMeasurementConfig config{.verb = verbs::Verb::kSend, .size = kSize, .receive_entries = 4};
  config.loop.concurrency = kWorkers;
  config.loop.operations = 4;
  workload::LoopResult result;
  std::vector<std::uint64_t> done = {2, 2, 9};
  done.pop_back();  // What lies behind the last worker's count looks like one.
  detail::Bench<Memory, Memory> bench{config,
                                      memory,
                                      memory,
                                      result,
                                      workload::Loop(config.loop, RandomStream(1, "arrivals"), result),
                                      1,
                                      std::move(done),
                                      {},
                                      {}};
  auto check = detail::check_entries(bench, 0);
  check.start();
  EXPECT_TRUE(check.done());
  EXPECT_FALSE(bench.failed());
  return result.verdict.violations;
}

TEST(VerbMeasurement, TakesEntriesThatHoldEachMessageOnce) {
  EXPECT_EQ(complaints([](Memory&) {}), 0U);
}

TEST(VerbMeasurement, TellsOfEntriesThatNoWorkerSent) {
  EXPECT_EQ(complaints([](Memory& memory) { memory.entry(1)[20] ^= std::byte{1}; }), 1U) << "damaged";
  EXPECT_EQ(complaints([](Memory& memory) { detail::write_message(memory.entry(1), 0, 2); }), 1U)
      << "a message that was not sent yet";
  EXPECT_EQ(complaints([](Memory& memory) { detail::write_message(memory.entry(1), kWorkers, 0); }), 1U)
      << "of a worker that there is not";
}

TEST(VerbMeasurement, TellsOfAMessageThatIsThereTwice) {
  EXPECT_EQ(complaints([](Memory& memory) { detail::write_message(memory.entry(1), 0, 0); }), 1U);
}

}  // namespace
}  // namespace wharf::live
