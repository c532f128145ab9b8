// SPDX-License-Identifier: Apache-2.0
// In steady state the engine takes no memory per packet, and it accounts for all that it takes. Apart from
// the other tests because it replaces the allocator of its program.

#include "tests/support/counting_allocator.h"
#include "tests/support/ub_back_to_back.h"

namespace wharf::ub {
namespace {

using test::allocations;

// From the first operation on: what the engine needs it takes when queues and channels are made.
TEST(UbSteadyState, TakesNoMemoryPerPacket) {
  for (const bool bytes : {false, true}) {
    for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kFetchAdd}) {
      test::UbBackToBack world(bytes);
      world.stock_pool(128, 8);  // Results of atomics.
      const std::uint64_t before = allocations;
      world.run(verb, 1000);
      EXPECT_EQ(allocations, before) << verbs::name(verb);
    }
  }
}

/// Two engines that are under control.
class Controlled : private Arena, public test::BackToBackEngines<UbEngine> {
 public:
  explicit Controlled(const congestion::ControllerConfig& controller)
      : BackToBackEngines(true, [&](std::uint32_t host, wire::PayloadPool& pool) {
          UbConfig config;
          config.host = {host};
          config.congestion = controller;
          config.min_time_between_cnps = microseconds(50);
          Arena& arena = *this;
          return std::make_unique<UbEngine>(std::move(UbEngine::create(config, pool, arena).value()));
        }) {
    step = nanoseconds(100);
  }
};

TEST(UbSteadyState, TakesNoMemoryPerPacketUnderControl) {
  for (const congestion::ControllerConfig& controller :
       {congestion::ControllerConfig(congestion::CaqmConfig{}),
        congestion::ControllerConfig(congestion::DcqcnConfig{.link = gigabits_per_second(10)}),
        congestion::ControllerConfig(congestion::LdcpConfig{}),
        congestion::ControllerConfig(congestion::SwiftConfig{})}) {
    Controlled world(controller);
    const std::uint64_t before = allocations;
    world.run(verbs::Verb::kWrite, 1000);
    EXPECT_EQ(allocations, before) << controller.index();
  }
}

// The same for loads and stores, and with a context cache that misses.
TEST(UbSteadyState, LoadsStoresAndContextMissesTakeNone) {
  constexpr std::uint64_t kRegion = 0x4000'0000;
  static std::array<std::array<std::byte, kContextStride>, 64> records[2];
  wire::PayloadPool pool;
  Arena arena;
  UbConfig config;
  config.context_cache_entries = 1;
  config.context_region = kRegion;
  config.context_records_max = 16;
  std::vector<UbEngine> engines;
  engine::QueueId queue[2];
  engine::ExchangeBlob blob[2];
  verbs::PeerId peer = 0;
  verbs::SegmentToken token;
  for (std::uint32_t host = 0; host < 2; ++host) {
    config.host = {host};
    engines.push_back(std::move(*UbEngine::create(config, pool, arena)));
    queue[host] = *engines[host].create_queue({}, {});
    token = *engines[host].register_segment({}, {.base = 0x10000, .length = 4096});
    blob[host] = *engines[host].export_queue(queue[host]);
  }
  for (const std::uint32_t host : {1u, 0u}) peer = *engines[host].connect({}, queue[host], blob[1 - host]);
  TimePs now;
  static std::array<std::byte, 4096> memory;
  /// A host as the driver sees it.
  struct Host {
    bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
      const auto record = [&]() -> auto& {
        return records[number][(access.address - kRegion) / kContextStride];
      };
      if (access.kind == engine::AccessKind::kWriteContext) {
        wire::fill(access.data, record());
      } else if (access.kind == engine::AccessKind::kFetchContext) {
        result.data = wire::bytes_payload(record().data(), access.length);
      } else if (access.kind == engine::AccessKind::kRead) {
        result.data = wire::bytes_payload(memory.data(), access.length);
      }
      return true;
    }
    wire::TrafficClassMask open(TimePs) { return wire::kAllTrafficClasses; }
    void send(TimePs instant, const wire::Packet& packet) {
      other->receive(instant, 0, packet);
      pool->release(packet.payload.buffer);
    }
    void completed(TimePs, const verbs::Completion& completion) { done += completion.ok() ? 1 : 100'000; }
    void answered(TimePs, const verbs::LoadStoreResult& result) {
      ++done;
      pool->release(result.data.buffer);
    }
    std::uint32_t number;
    UbEngine* other;
    wire::PayloadPool* pool;
    std::uint32_t done = 0;
  };
  Host hosts[2] = {{0, &engines[1], &pool}, {1, &engines[0], &pool}};
  const auto drain = [&](std::uint32_t host) {
    engine::EngineDriver(engines[host], hosts[host], hosts[host], hosts[host]).settle(now);
  };
  const auto done = [&] { return hosts[0].done + hosts[1].done; };
  drain(0);
  drain(1);
  pool.release(pool.acquire(4096));  // The pool of payload buffers is the host's, and keeps what it once had.
  for (int i = 0; i < 8; ++i) pool.release(pool.acquire(64U << (i % 4)));
  verbs::WorkRequest request;
  request.peer = peer;
  request.verb = verbs::Verb::kRead;
  request.length = 64;
  request.local_count = 1;
  request.local[0] = {0x10000, 64};
  request.remote = {0x10000, token};
  verbs::LoadStore store;
  store.peer = peer;
  store.verb = verbs::Verb::kStore;
  store.remote = request.remote;
  store.data = wire::bytes_payload(memory.data(), 64);
  const std::uint64_t before = allocations;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    request.id = i;
    if (i % 2 == 0) {
      ASSERT_EQ(engines[0].post(now, queue[0], request, engine::Submission::kInHand),
                engine::PostStatus::kOk);
    } else {
      store.verb = i % 4 == 1 ? verbs::Verb::kStore : verbs::Verb::kLoad;
      ASSERT_EQ(engines[0].issue(now, store), engine::PostStatus::kOk);
    }
    if (i % 10 != 9) continue;
    now += nanoseconds(100);
    while (done() <= i) {
      drain(0);
      drain(1);
    }
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(done(), 2000u);
}

class UbMemoryUse : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Controlled, UbMemoryUse, ::testing::Bool());

TEST_P(UbMemoryUse, IsWhatTheAllocatorGave) {
  wire::PayloadPool pool;
  Arena arena;
  Arena other_arena;
  const auto make = [&pool](std::uint32_t host, Arena& memory) {
    UbConfig config;
    config.host = {host};
    if (GetParam()) config.congestion = congestion::CaqmConfig{};
    return UbEngine::create(config, pool, memory).value();
  };
  UbEngine other = make(2, other_arena);
  const auto blob = other.export_queue(other.create_queue({}, {}).value()).value();
  const std::uint64_t before = test::heap_bytes;
  const auto engine = std::make_unique<UbEngine>(make(1, arena));
  for (int jetty = 0; jetty < 5; ++jetty) {
    const engine::QueueId queue = engine->create_queue({}, {.send_depth = 32, .receive_depth = 16}).value();
    const verbs::PeerId peer = engine->connect({}, queue, blob).value();
    ASSERT_TRUE(engine->register_segment({}, {.base = 4096, .length = 4096}).ok());
    for (int each = 0; each < 20; ++each) {
      verbs::WorkRequest request;
      request.verb = verbs::Verb::kFetchAdd;
      request.peer = peer;
      ASSERT_EQ(engine->post({}, queue, request, engine::Submission::kInHand), engine::PostStatus::kOk);
    }
  }
  const auto taken = test::heap_bytes - before - arena.bytes_held() + arena.bytes_used();
  std::uint64_t told = 0;
  for (const MemoryUse& use : engine->memory_use()) told += use.bytes;
  // The arena's own list of blocks and the gaps before aligned spans are nobody's.
  EXPECT_LE(told, taken);
  EXPECT_GE(told + 256, taken);
}

}  // namespace
}  // namespace wharf::ub
