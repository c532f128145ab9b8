// SPDX-License-Identifier: Apache-2.0
// The profile openurma-serial gives the latencies that the OpenURMA paper adds up, to the nanosecond: every
// cell of its Table 6 and the closed forms of its two-node model at other payloads, from real packets between
// real engines.
#include "sim/two_hosts/two_hosts_test_support.h"

namespace wharf::sim {
namespace {

using testing::accounting;
using testing::latency_of;
using verbs::Verb;

// The paper's terms, in whole nanoseconds. [OpenURMA 5.2]
std::int64_t nic(std::int64_t cycles, std::int64_t payload) {
  const std::int64_t flits = (payload + 31) / 32;
  return (cycles + std::max<std::int64_t>(0, flits - 1)) * 3106 / 1000;
}
std::int64_t wire(std::int64_t payload) { return 100 + payload * 8 / 400; }
/// Out with `out` payload bytes charged, back with `back`.
std::int64_t out_and_back(std::int64_t cycles, std::int64_t out, std::int64_t back) {
  return 2 * nic(cycles, out) + wire(out) + 2 * nic(cycles, back) + wire(back);
}

struct Cell {
  Stack stack;
  Verb verb;
  std::int64_t nanoseconds;
};

class Table6 : public ::testing::TestWithParam<Cell> {};

TEST_P(Table6, IsExact) {
  const Cell& cell = GetParam();
  EXPECT_EQ(latency_of(accounting(cell.stack), {cell.verb, 64}), nanoseconds(cell.nanoseconds));
}

std::string cell_name(const ::testing::TestParamInfo<Cell>& info) {
  return std::string(name(info.param.stack)) + "_" + std::string(verbs::name(info.param.verb));
}

INSTANTIATE_TEST_SUITE_P(
    OpenUrma, Table6,
    ::testing::Values(
        Cell{Stack::kUbLoadStore, Verb::kLoad, 500}, Cell{Stack::kUbUrma, Verb::kRead, 757},
        Cell{Stack::kUbUrma, Verb::kWrite, 750}, Cell{Stack::kUbUrma, Verb::kSend, 804},
        Cell{Stack::kUbUrma, Verb::kFetchAdd, 750}, Cell{Stack::kUbUrma, Verb::kCompareSwap, 750},
        Cell{Stack::kRoceBlueFlame, Verb::kRead, 1686}, Cell{Stack::kRoceBlueFlame, Verb::kWrite, 1177},
        Cell{Stack::kRoceBlueFlame, Verb::kSend, 1231}, Cell{Stack::kRoceBlueFlame, Verb::kFetchAdd, 1427},
        Cell{Stack::kRoceBlueFlame, Verb::kCompareSwap, 1427}, Cell{Stack::kRoceDma, Verb::kRead, 2186},
        Cell{Stack::kRoceDma, Verb::kWrite, 1677}, Cell{Stack::kRoceDma, Verb::kSend, 1731},
        Cell{Stack::kRoceDma, Verb::kFetchAdd, 1927}, Cell{Stack::kRoceDma, Verb::kCompareSwap, 1927}),
    cell_name);

TEST(Accounting, AStoreThatGoesToTheTarget) {
  // The paper's two-node model sends a missing store out with its payload: 493 ns, in none of its tables.
  for (const WritePolicy policy : {WritePolicy::kWriteThrough, WritePolicy::kUncached}) {
    TwoHostsConfig config = accounting(Stack::kUbLoadStore);
    config.host.cache.write_policy = policy;
    EXPECT_EQ(latency_of(config, {Verb::kStore, 8}), nanoseconds(70 + 30 + out_and_back(8, 64, 8) + 60 + 30));
    EXPECT_EQ(latency_of(config, {Verb::kStore, 8}), nanoseconds(493));
    EXPECT_EQ(latency_of(config, {Verb::kLoad, 8}), nanoseconds(500));
  }
}

TEST(Accounting, OtherPayloads) {
  for (const std::uint32_t bytes : {8U, 64U, 256U, 1024U, 4096U}) {
    const auto payload = static_cast<std::int64_t>(bytes);
    SCOPED_TRACE(bytes);
    EXPECT_EQ(latency_of(accounting(Stack::kUbUrma), {Verb::kRead, bytes}),
              nanoseconds(110 + out_and_back(25, 64, payload) + 60 + 65));
    EXPECT_EQ(latency_of(accounting(Stack::kUbUrma), {Verb::kWrite, bytes}),
              nanoseconds(110 + out_and_back(25, payload, 8) + 60 + 65));
    EXPECT_EQ(latency_of(accounting(Stack::kRoceDma), {Verb::kRead, bytes}),
              nanoseconds(230 + 500 + out_and_back(9, 64, payload) + 530 + 600));
    EXPECT_EQ(latency_of(accounting(Stack::kRoceDma), {Verb::kWrite, bytes}),
              nanoseconds(230 + 500 + out_and_back(9, payload, 8) + 280 + 350));
    // BlueFlame carries entries inline; a payload above 64 B makes it a doorbell. Reads carry none.
    EXPECT_EQ(latency_of(accounting(Stack::kRoceBlueFlame), {Verb::kWrite, bytes}),
              nanoseconds(230 + (bytes > 64 ? 500 : 0) + out_and_back(9, payload, 8) + 280 + 350));
  }
}

TEST(Accounting, TheLaterDatasetSerialisesEachRoceRequest) {
  TwoHostsConfig config = accounting(Stack::kRoceDma);
  config.host.nic.order_gate = nanoseconds(50);
  EXPECT_EQ(latency_of(config, {Verb::kRead, 64}), nanoseconds(2236));
}

}  // namespace
}  // namespace wharf::sim
