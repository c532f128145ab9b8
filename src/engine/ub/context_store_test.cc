// SPDX-License-Identifier: Apache-2.0
// The context cache: records really leave and come back, and a small cache changes nothing but time.
#include "engine/ub/context_store.h"

#include <cstring>

#include "engine/ub/context_records.h"
#include "engine/ub/exchange.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::Verb;

UbConfig with_cache(std::uint32_t entries) {
  UbConfig config;
  config.context_cache_entries = entries;
  return config;
}

TEST(ContextCache, UnlimitedCacheNeverGoesToMemory) {
  World world;
  EXPECT_TRUE(world.finish(world.request(Verb::kRead, 64)).ok());
  for (const std::uint32_t host : {0u, 1u}) {
    EXPECT_EQ(world.pair().memory(host).count(engine::AccessKind::kFetchContext), 0u);
    EXPECT_EQ(world.pair().memory(host).count(engine::AccessKind::kWriteContext), 0u);
  }
}

TEST(ContextCache, ACacheThatHoldsAllMissesNothing) {
  World world(with_cache(3));
  EXPECT_TRUE(world.finish(world.request(Verb::kRead, 64)).ok());
  EXPECT_EQ(world.counters(0).context_fetches, 0u);
}

TEST(ContextCache, OneEntryMissesAndGivesTheSameResults) {
  World world(with_cache(1));
  world.fill(0, World::kLocal, 5000);
  EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 5000)).ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 5000));
  auto add = world.request(Verb::kFetchAdd, 8, 0x8000);
  add.operand[0] = 7;
  EXPECT_TRUE(world.finish(add).ok());
  EXPECT_EQ(world.finish(add).atomic_result[0], 7u);
  EXPECT_GT(world.counters(0).context_fetches, 0u);
  EXPECT_GT(world.counters(1).context_evictions, 0u);
  EXPECT_EQ(world.pair().memory(0).count(engine::AccessKind::kFetchContext),
            world.counters(0).context_fetches);
}

TEST(ContextCache, LoadsAndStoresWaitForTheSegmentRecord) {
  World world(with_cache(1));
  verbs::LoadStore access;
  access.peer = world.peer(0);
  access.remote = {World::kRemote, world.token(1)};
  for (std::uint32_t i = 0; i < 4; ++i) {
    access.tag = i;
    access.verb = i % 2 == 0 ? Verb::kStore : Verb::kLoad;
    access.data = i % 2 == 0 ? wire::pattern_payload(1, 0, 64) : wire::Payload{};
    EXPECT_EQ(world.pair().issue(0, access), engine::PostStatus::kOk);
    world.run();
    EXPECT_TRUE(world.finish(world.request(Verb::kWrite, 64, 4096)).ok());
  }
  EXPECT_EQ(world.pair().host(0).load_store_results.size(), 4u);
  EXPECT_GE(world.counters(1).context_fetches, 4u);
}

// The bytes that leave are the record, and the bytes that come back are what counts.
TEST(ContextCache, EvictedBytesAreTheRecordAndRefillTakesTheBytesReturned) {
  wire::PayloadPool pool;
  Arena arena;
  UbConfig config = with_cache(1);
  config.host = {0};
  config.context_region = 0x4000'0000;
  UbEngine engine = std::move(*UbEngine::create(config, pool, arena));
  const auto queue = *engine.create_queue(kTimeZero, {});
  const auto token = *engine.register_segment(kTimeZero, {.base = 0x5000, .length = 0x100, .token_value = 9});
  engine::Access write;
  ASSERT_TRUE(engine.next_access(write));  // The cache was full with the jetty.
  ASSERT_EQ(write.kind, engine::AccessKind::kWriteContext);
  ASSERT_EQ(write.length, sizeof(MrRecord));
  EXPECT_GE(write.address, config.context_region);
  EXPECT_LT(write.address, config.context_region + context_region_bytes(config));
  MrRecord record;
  wire::fill(write.data, std::as_writable_bytes(std::span(&record, 1)));
  EXPECT_EQ(record.va, 0x5000u);
  EXPECT_EQ(record.length, 0x100u);
  EXPECT_EQ(record.token_id, token.id);
  EXPECT_EQ(record.token_value, 9u);
  engine.access_done(kTimeZero, write.id, {});
  // The engine has forgotten it: a load fetches it, evicting nothing that is dirty but the jetty.
  QueueBlob peer{.host = {0},
                 .jetty = queue,
                 .encapsulation = config.encapsulation,
                 .mtu = 4096,
                 .receive_window = 2048,
                 .failures = {}};
  ASSERT_TRUE(engine.connect(kTimeZero, queue, encode(peer)).ok());
  while (engine.next_access(write)) engine.access_done(kTimeZero, write.id, {});
  wire::Packet load;
  load.ub.transport = wire::UbTransport::kBypass;
  load.ub.encapsulation = wire::UbEncapsulation::kMemoryOnLink;
  load.source = load.destination = {0};
  auto& header = wire::use_request(load.ub);
  header.opcode = wire::TaOpcode::kRead;
  header.token_value_present = true;
  load.ub.extension.token_value = 10;
  load.ub.extension.maetah = {0x5000, token.id, 64};
  engine.receive(kTimeZero, 0, load);
  engine::Access fetch;
  bool fetched = false;
  while (engine.next_access(fetch)) {
    engine::AccessResult result;
    if (fetch.kind == engine::AccessKind::kFetchContext) {
      fetched = true;
      EXPECT_TRUE(fetch.at_target);
      record.token_value = 10;  // Somebody changed it in memory: that is now the secret.
      result.data = wire::bytes_payload(std::as_bytes(std::span(&record, 1)));
    } else if (fetch.kind == engine::AccessKind::kRead) {
      result.data = wire::pattern_payload(1, 0, 64);
    }
    engine.access_done(kTimeZero, fetch.id, result);
  }
  EXPECT_TRUE(fetched);
  wire::Packet answer;
  ASSERT_TRUE(engine.transmit(kTimeZero, 0, wire::kAllTrafficClasses, answer));
  EXPECT_EQ(answer.ub.response.status, wire::UbResponseStatus::kSuccess);
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(ContextCache, FullJettyRecordsAreLonger) {
  for (const bool full : {false, true}) {
    wire::PayloadPool pool;
    Arena arena;
    UbConfig config = with_cache(1);
    config.full_jetty_records = full;
    UbEngine engine = std::move(*UbEngine::create(config, pool, arena));
    EXPECT_TRUE(engine.create_queue(kTimeZero, {}).ok());
    EXPECT_TRUE(engine.create_queue(kTimeZero, {}).ok());
    engine::Access access;
    ASSERT_TRUE(engine.next_access(access));
    EXPECT_EQ(access.kind, engine::AccessKind::kWriteContext);
    EXPECT_EQ(access.length, full ? 48u : 20u);
    engine.access_done(kTimeZero, access.id, {});
  }
}

TEST(ContextCache, DeregisteringARecordThatIsAwayWorks) {
  World world(with_cache(1));
  EXPECT_TRUE(world.finish(world.request(Verb::kRead, 64)).ok());
  EXPECT_TRUE(world.engine(1).deregister_segment(world.now(), world.token(1)).ok());
  world.pair().drain(1);
  EXPECT_EQ(world.finish(world.request(Verb::kRead, 64)).status, verbs::CompletionStatus::kRemoteAccess);
}

// A record that takes the number of a removed one does not touch the region before the removed one's transfer
// has ended: memory may answer in any order.
TEST(ContextCache, ANewRecordWaitsForTheTransferOfTheOneItReplaces) {
  wire::PayloadPool pool;
  Arena arena;
  UbEngine engine = std::move(*UbEngine::create(with_cache(1), pool, arena));
  ASSERT_TRUE(engine.create_queue(kTimeZero, {}).ok());  // The cache is full.
  const auto first = *engine.register_segment(kTimeZero, {.base = 0x5000, .length = 64});
  engine::Access leaving;
  ASSERT_TRUE(engine.next_access(leaving));
  ASSERT_TRUE(engine.deregister_segment(kTimeZero, first).ok());
  const auto second = *engine.register_segment(kTimeZero, {.base = 0x6000, .length = 64});
  engine::Access access;
  EXPECT_FALSE(engine.next_access(access));
  engine.access_done(kTimeZero, leaving.id, {});
  ASSERT_TRUE(engine.next_access(access));
  EXPECT_EQ(access.kind, engine::AccessKind::kWriteContext);
  EXPECT_EQ(access.address, leaving.address);
  MrRecord record;
  wire::fill(access.data, std::as_writable_bytes(std::span(&record, 1)));
  EXPECT_EQ(record.token_id, second.id);
  EXPECT_EQ(record.va, 0x6000u);
  engine.access_done(kTimeZero, access.id, {});
  EXPECT_FALSE(engine.next_access(access));
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(ContextCache, RefusesMoreRecordsThanTheRegionHolds) {
  wire::PayloadPool pool;
  Arena arena;
  UbConfig config = with_cache(1);
  config.context_records_max = 2;
  UbEngine engine = std::move(*UbEngine::create(config, pool, arena));
  EXPECT_TRUE(engine.create_queue(kTimeZero, {}).ok());
  EXPECT_TRUE(engine.create_queue(kTimeZero, {}).ok());
  const auto third = engine.create_queue(kTimeZero, {});
  ASSERT_FALSE(third.ok());
  EXPECT_NE(third.error().message.find("context_records_max"), std::string::npos);
}

}  // namespace
}  // namespace wharf::ub
