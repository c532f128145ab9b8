// SPDX-License-Identifier: Apache-2.0
// Two hosts as a whole: bytes arrive, errors come back, contexts are fetched, stalls name who waits, and a
// steady run allocates nothing.

#include "sim/two_hosts/two_hosts_test_support.h"
#include "tests/support/counting_allocator.h"
#include "trace/ring_sink.h"
#include "verbs/gate.h"

namespace wharf::sim {
namespace {

using test::allocations;
using test::count_allocations;

using testing::mechanism;
using testing::Pair;
using trace::Stage;
using verbs::CompletionStatus;
using verbs::Verb;

struct StackAndMemory {
  Stack stack;
  MemorySystem memory;
};
class EveryQueueStack : public ::testing::TestWithParam<StackAndMemory> {
 protected:
  static TwoHostsConfig configuration() {
    TwoHostsConfig config = mechanism(GetParam().stack);
    config.host.memory.system = GetParam().memory;
    return config;
  }
};
/// Those whose NICs keep contexts in host memory.
class EveryContextStack : public EveryQueueStack {};

std::string name_of(const ::testing::TestParamInfo<StackAndMemory>& info) {
  return std::string(name(info.param.stack)) +
         (info.param.memory == MemorySystem::kCoherent ? "_coherent" : "");
}
const auto kContextStacks = ::testing::Values(StackAndMemory{Stack::kUbUrma, MemorySystem::kFlat},
                                              StackAndMemory{Stack::kRoceBlueFlame, MemorySystem::kFlat},
                                              StackAndMemory{Stack::kRoceDma, MemorySystem::kFlat},
                                              StackAndMemory{Stack::kUbUrma, MemorySystem::kCoherent},
                                              StackAndMemory{Stack::kRoceBlueFlame, MemorySystem::kCoherent},
                                              StackAndMemory{Stack::kRoceDma, MemorySystem::kCoherent});
INSTANTIATE_TEST_SUITE_P(TwoHosts, EveryContextStack, kContextStacks, name_of);
INSTANTIATE_TEST_SUITE_P(TwoHosts, EveryQueueStack, kContextStacks, name_of);
INSTANTIATE_TEST_SUITE_P(TwoHostsUet, EveryQueueStack,
                         ::testing::Values(StackAndMemory{Stack::kUet, MemorySystem::kFlat},
                                           StackAndMemory{Stack::kUet, MemorySystem::kCoherent}),
                         name_of);

verbs::Task<void> move_bytes(Pair& pair) {
  SimRemote& remote = *pair.near;
  SimCore& core = pair.two->host(0).core();
  for (const std::uint32_t bytes : {1U, 8U, 64U, 65U, 4096U, 10'000U, 200'000U}) {
    const auto local = core.bytes(pair.near_buffer, Bytes{bytes});
    for (std::uint32_t i = 0; i < bytes; ++i) local[i] = static_cast<std::byte>(i * 7 + bytes);
    EXPECT_TRUE((co_await remote.write(pair.near_buffer, pair.near_segment.at(100), bytes)).ok());
    const auto target = pair.two->host(1).core().bytes(pair.near_segment.base + 100, Bytes{bytes});
    // A posted write may still be on its way to memory when it is acknowledged.
    co_await core.sleep(microseconds(1));
    EXPECT_TRUE(std::equal(local.begin(), local.end(), target.begin()));
    std::fill(local.begin(), local.end(), std::byte{0});
    const verbs::Completion done = co_await remote.read(pair.near_buffer, pair.near_segment.at(100), bytes);
    EXPECT_EQ(done.length, bytes);
    EXPECT_TRUE(std::equal(local.begin(), local.end(), target.begin()));
  }
  EXPECT_EQ((co_await remote.fetch_add(pair.near_segment.at(0), 5)).atomic_result[0], 0U);
  EXPECT_EQ((co_await remote.compare_swap(pair.near_segment.at(0), 5, 9)).atomic_result[0], 5U);
  EXPECT_EQ((co_await remote.compare_swap(pair.near_segment.at(0), 5, 11)).atomic_result[0], 9U);
}

TEST_P(EveryQueueStack, BytesArriveAsTheyWere) {
  Pair pair(configuration());
  pair.run(move_bytes(pair));
  pair.two->settle();
  EXPECT_EQ(pair.two->payloads().in_use(), 0U);
}

verbs::Task<void> echo(Pair& pair, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const verbs::Completion got = co_await pair.far->receive(pair.far_buffer, 4096);
    EXPECT_TRUE(got.ok());
    EXPECT_TRUE((co_await pair.far->send(pair.far_buffer, got.length)).ok());
  }
}
verbs::Task<void> wait_for_echo(Pair& pair, verbs::Gate& done) {
  const verbs::Completion got = co_await pair.near->receive(pair.near_buffer + 8192, 4096);
  EXPECT_TRUE(got.ok());
  done.open();
}
verbs::Task<void> ping(Pair& pair, int rounds) {
  SimCore& core = pair.two->host(0).core();
  for (int round = 0; round < rounds; ++round) {
    verbs::Gate done;
    core.spawn(wait_for_echo(pair, done));
    const auto out = core.bytes(pair.near_buffer, Bytes{100});
    std::fill(out.begin(), out.end(), static_cast<std::byte>(round));
    EXPECT_TRUE((co_await pair.near->send(pair.near_buffer, 100)).ok());
    co_await done.wait();
    EXPECT_EQ(core.bytes(pair.near_buffer + 8192, Bytes{100})[99], static_cast<std::byte>(round));
  }
}

TEST_P(EveryQueueStack, SendsPingPong) {
  Pair pair(configuration());
  pair.two->host(1).core().spawn(echo(pair, 20));
  pair.run(ping(pair, 20));
}

TEST_P(EveryQueueStack, WrongAccessesComeBackAsErrors) {
  Pair pair(configuration());
  const auto program = [](Pair& two_hosts) -> verbs::Task<void> {
    verbs::RemoteAddress bad = two_hosts.near_segment.at(mebibytes(1).count - 8);
    EXPECT_EQ((co_await two_hosts.near->read(two_hosts.near_buffer, bad, 64)).status,
              CompletionStatus::kRemoteAccess);
  };
  pair.run(program(pair));
  // A verb that the protocol lacks ends at once.
  const auto lacking = [](Pair& two_hosts) -> verbs::Task<void> {
    verbs::WorkRequest request;
    request.verb = Verb::kWriteNotify;
    if (two_hosts.near->supports(request.verb)) co_return;
    EXPECT_EQ((co_await two_hosts.near->execute(request)).status, CompletionStatus::kUnsupportedOpcode);
  };
  pair.run(lacking(pair));
}

verbs::Task<void> many_reads(Pair& pair, int count, std::uint64_t* sum) {
  for (int i = 0; i < count; ++i) {
    const verbs::Completion done = co_await pair.near->read(
        pair.near_buffer, pair.near_segment.at(static_cast<std::uint64_t>(i) % 64 * 64), 64);
    *sum += done.ok() ? 1U : 1'000'000U;
  }
}

TEST_P(EveryContextStack, AContextCacheOfOneEntryOnlyCostsTime) {
  const auto run = [&](std::uint32_t entries, TimePs* fetching) {
    TwoHostsConfig config = configuration();
    std::get<ub::UbConfig>(config.engines).context_cache_entries = entries;
    std::get<roce::RoceConfig>(config.engines).queue_cache_entries = entries;
    Pair pair(config);
    const RemotePair second = pair.two->connect(pair.near_segment).value();
    std::uint64_t good = 0;
    // Two queues take turns, so that each evicts the other's records.
    const auto program = [](Pair& two_hosts, SimRemote& other, std::uint64_t* count) -> verbs::Task<void> {
      for (int i = 0; i < 20; ++i) {
        *count +=
            (co_await two_hosts.near->read(two_hosts.near_buffer, two_hosts.near_segment.at(0), 64)).ok();
        *count += (co_await other.read(two_hosts.near_buffer, two_hosts.near_segment.at(64), 64)).ok();
      }
    };
    pair.run(program(pair, *second.near, &good));
    EXPECT_EQ(good, 40U);
    const OperationTotals& totals = pair.two->log().totals(Verb::kRead);
    EXPECT_EQ(totals.path.unattributed, kTimeZero);
    *fetching = totals.path.critical[static_cast<std::size_t>(Stage::kContextFetch)] +
                totals.path.critical[static_cast<std::size_t>(Stage::kContextFetchTarget)];
    return totals.path.latency;
  };
  TimePs none;
  TimePs some;
  const TimePs all_cached = run(0, &none);
  const TimePs one_cached = run(1, &some);
  EXPECT_EQ(none, kTimeZero);
  EXPECT_GT(some, kTimeZero);
  EXPECT_GT(one_cached, all_cached);
}

TEST(TwoHosts, AStallNamesWhoWaitsForWhat) {
  Pair pair(mechanism(Stack::kRoceDma));
  const auto program = [](Pair& two_hosts) -> verbs::Task<void> {
    (void)co_await two_hosts.near->receive(two_hosts.near_buffer, 64);
  };
  pair.two->host(0).core().spawn(program(pair));
  EXPECT_EQ(pair.two->run().end, RunEnd::kDrained);
  EXPECT_FALSE(pair.two->programs_ended());
  const std::vector<std::string> lines = pair.two->describe_waiting();
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[0].find("host0: a receive on queue"), 0U) << lines[0];
  EXPECT_NE(lines[0].find("waits for a message"), std::string::npos);
}

TEST(TwoHosts, RefusesWhatCannotBeBuilt) {
  TwoHostsConfig config = mechanism(Stack::kUbUrma);
  config.host.core.outstanding_misses = 0;
  EXPECT_EQ(TwoHosts::create(config).error().message, "core.outstanding_misses is 0, expected 1 to 1024");
}

TEST(TwoHosts, ARegionWithoutBytesNeedsNoMemory) {
  Pair pair(mechanism(Stack::kUbUrma));
  const auto empty = pair.two->expose(1, Bytes{0});
  EXPECT_TRUE(empty.ok() || empty.error().kind != ErrorKind::kEnvironment) << empty.error().message;
  const auto too_large = pair.two->expose(1, Bytes{std::uint64_t{1} << 60U});
  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.error().kind, ErrorKind::kEnvironment);
}

TEST(TwoHosts, AFullSendQueueIsWaitedOut) {
  Pair pair(mechanism(Stack::kUbUrma), 4);
  std::uint64_t good = 0;
  for (int worker = 0; worker < 16; ++worker) pair.two->host(0).core().spawn(many_reads(pair, 20, &good));
  pair.two->run();
  EXPECT_EQ(good, 320U);
  const OperationTotals& totals = pair.two->log().totals(Verb::kRead);
  EXPECT_EQ(totals.path.unattributed, kTimeZero);
  EXPECT_GT(totals.path.critical[static_cast<std::size_t>(Stage::kSendQueueWait)], kTimeZero);
}

verbs::Task<void> many_loads(Pair& pair, int count) {
  for (int i = 0; i < count; ++i)
    (void)co_await pair.near->load(
        pair.near_segment.at(static_cast<std::uint64_t>(i) * 64 % mebibytes(1).count), 8);
}

TEST(TwoHosts, SteadyStateAllocatesNothing) {
  for (const auto& [stack, memory] : std::initializer_list<StackAndMemory>{
           {Stack::kUbLoadStore, MemorySystem::kFlat},
           {Stack::kUbUrma, MemorySystem::kFlat},
           {Stack::kRoceBlueFlame, MemorySystem::kFlat},
           {Stack::kRoceDma, MemorySystem::kFlat},
           {Stack::kUet, MemorySystem::kFlat},
           {Stack::kUbLoadStore, MemorySystem::kCoherent},
           {Stack::kRoceDma, MemorySystem::kCoherent},
           {Stack::kUet, MemorySystem::kCoherent},
       }) {
    TwoHostsConfig config = mechanism(stack);
    config.host.memory.system = memory;
    config.record_limit = 0;
    const bool is_load_store = stack == Stack::kUbLoadStore;
    if (is_load_store) config.host.cache.llc.shape = {0, 0};  // Misses, not hits.
    Pair pair(config);
    std::uint64_t good = 0;
    const auto program = [&](int count) {
      return is_load_store ? many_loads(pair, count) : many_reads(pair, count, &good);
    };
    pair.run(program(40'000));
    // One program with a warm system: its frame is made outside what is counted.
    pair.two->host(0).core().spawn(program(5'000));
    allocations = 0;
    count_allocations = true;
    pair.two->run();
    count_allocations = false;
    EXPECT_TRUE(pair.two->programs_ended());
    EXPECT_EQ(allocations, 0U) << name(stack);
  }
}

TEST(TwoHosts, WhatAnEngineReportsUnaskedIsCountedAndTraced) {
  TwoHostsConfig config = mechanism(Stack::kRoceDma);
  config.link.faults.loss = 1;
  std::get<roce::RoceConfig>(config.engines).retry_count = 2;
  Pair pair(config);
  trace::RingSink events(8);
  pair.two->world().attach(events, trace::bit(trace::EventKind::kAsyncEvent));
  CompletionStatus status = CompletionStatus::kSuccess;
  pair.run(testing::do_once(pair, {Verb::kWrite, 64}, status));
  EXPECT_EQ(status, CompletionStatus::kRetryExhausted);
  // Two tries more, then the peer is given up and its queue with it: once each.
  EXPECT_EQ(pair.two->host(0).nic().counters().peers_unreachable, 1U);
  EXPECT_EQ(pair.two->host(0).nic().counters().queue_errors, 1U);
  EXPECT_EQ(pair.two->host(1).nic().counters().peers_unreachable, 0U);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].a, static_cast<std::uint64_t>(engine::AsyncEventKind::kPeerUnreachable));
  EXPECT_EQ(events[0].host, 0U);
}

}  // namespace
}  // namespace wharf::sim
