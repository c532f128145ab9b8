// SPDX-License-Identifier: Apache-2.0
// What a program sees: every verb does what it says, at every length, and leaves nothing behind.
#include "engine/ub/ub_engine.h"

#include "engine/ub/exchange.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

class Lengths : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Lengths, WriteMovesTheBytes) {
  World world;
  world.fill(0, World::kLocal, GetParam());
  const auto done = world.finish(world.request(Verb::kWrite, GetParam()));
  EXPECT_EQ(done.status, CompletionStatus::kSuccess);
  EXPECT_EQ(done.length, GetParam());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, GetParam()));
  EXPECT_EQ(world.pair().memory(1).at(World::kRemote + GetParam(), 1)[0], std::byte{0});
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

TEST_P(Lengths, ReadMovesTheBytes) {
  World world;
  world.fill(1, World::kRemote, GetParam());
  const auto done = world.finish(world.request(Verb::kRead, GetParam()));
  EXPECT_EQ(done.status, CompletionStatus::kSuccess);
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, GetParam()));
  EXPECT_EQ(world.pair().memory(0).at(World::kLocal + GetParam(), 1)[0], std::byte{0});
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Lengths,
                         ::testing::Values(0, 1, 64, 4095, 4096, 4097, 10'000, 65'535, 65'536, 65'537,
                                           200'000));

TEST(UbEngine, SendLandsInTheReceiveEntry) {
  World world;
  world.fill(0, World::kLocal, 9000);
  verbs::ReceiveRequest receive{.id = 55, .local_count = 2};
  receive.local[0] = {World::kRemote, 5000};
  receive.local[1] = {World::kRemote + 6000, 5000};
  world.pair().post_receive(1, world.queue(1), receive);
  auto request = world.request(Verb::kSendImm, 9000);
  request.immediate = 0x1122334455667788;
  EXPECT_TRUE(world.finish(request).ok());
  ASSERT_EQ(world.pair().host(1).completions.size(), 1u);
  const auto& received = world.pair().host(1).completions[0];
  EXPECT_EQ(received.id, 55u);
  EXPECT_EQ(received.kind, verbs::CompletionKind::kReceive);
  EXPECT_EQ(received.verb, Verb::kSendImm);
  EXPECT_EQ(received.length, 9000u);
  EXPECT_TRUE(received.has_immediate);
  EXPECT_EQ(received.immediate, 0x1122334455667788u);
  EXPECT_EQ(received.remote_host, 0u);
  EXPECT_EQ(received.remote_queue, world.queue(0));
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 5000));
  EXPECT_TRUE(world.same(World::kLocal + 5000, World::kRemote + 6000, 4000));
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

TEST(UbEngine, ASendWithoutTheJettysTokenIsRefused) {
  World world;
  engine::QueueConfig secret;
  secret.token = 0x5ec4e7;
  const engine::QueueId jetty = world.engine(1).create_queue(world.now(), secret).value();
  const engine::ExchangeBlob known = world.engine(1).export_queue(jetty).value();
  QueueBlob guessed = decode_queue_blob(known).value();
  EXPECT_EQ(guessed.token, secret.token);
  guessed.token = 0;
  for (const engine::ExchangeBlob& blob : {known, encode(guessed)}) {
    world.pair().post_receive(1, jetty, {.id = 1, .local_count = 1, .local = {{{World::kRemote, 64}}}});
    verbs::WorkRequest send = world.request(Verb::kSend, 64);
    send.peer = world.engine(0).connect(world.now(), world.queue(0), blob).value();
    EXPECT_EQ(world.finish(send).status,
              blob == known ? CompletionStatus::kSuccess : CompletionStatus::kRemoteAccess);
  }
}

TEST(UbEngine, WriteImmTakesAnEntryForTheImmediateOfItsLastSegment) {
  World world;
  world.fill(0, World::kLocal, 150'000);
  world.pair().post_receive(1, world.queue(1), {.id = 9});
  auto request = world.request(Verb::kWriteImm, 150'000);
  request.immediate = 42;
  EXPECT_TRUE(world.finish(request).ok());
  ASSERT_EQ(world.pair().host(1).completions.size(), 1u);
  EXPECT_EQ(world.pair().host(1).completions[0].immediate, 42u);
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 150'000));
}

TEST(UbEngine, WriteNotifyStoresItsWordAfterTheData) {
  World world;
  world.fill(0, World::kLocal, 10'000);
  auto request = world.request(Verb::kWriteNotify, 10'000);
  request.notify = {World::kRemote + 0x10000, world.token(1)};
  request.immediate = 0xabcdef;
  EXPECT_TRUE(world.finish(request).ok());
  EXPECT_EQ(world.pair().memory(1).load64(World::kRemote + 0x10000), 0xabcdefu);
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 10'000));
  EXPECT_TRUE(world.pair().host(1).completions.empty());
}

TEST(UbEngine, SendInvalidateRevokesTheToken) {
  World world;
  const auto other = *world.engine(1).register_segment(
      world.now(), {.base = World::kRemote, .length = 64, .token_value = 5});
  world.pair().post_receive(1, world.queue(1), {});
  auto request = world.request(Verb::kSendInvalidate, 0);
  request.invalidate = other;
  EXPECT_TRUE(world.finish(request).ok());
  ASSERT_EQ(world.pair().host(1).completions.size(), 1u);
  EXPECT_TRUE(world.pair().host(1).completions[0].has_immediate) << "the receiver is told the token";
  EXPECT_EQ(world.pair().host(1).completions[0].immediate, other.id);
  auto read = world.request(Verb::kRead, 8);
  read.remote.token = other;
  EXPECT_EQ(world.finish(read).status, CompletionStatus::kRemoteAccess);
}

// [URMA API, access rules of segments] Who does not know a segment's token value does not end it.
TEST(UbEngine, SendInvalidateWithAnotherValueRevokesNothing) {
  World world;
  const auto other = *world.engine(1).register_segment(
      world.now(), {.base = World::kRemote, .length = 64, .token_value = 5});
  for (int change = 0; change < 2; ++change) {
    world.pair().post_receive(1, world.queue(1), {});
    auto request = world.request(Verb::kSendInvalidate, 0);
    request.invalidate = other;
    if (change == 0) request.invalidate.value = 6;
    if (change == 1) request.invalidate.id += 0x1000;
    EXPECT_EQ(world.finish(request).status, CompletionStatus::kRemoteAccess);
    for (const verbs::Completion& told : world.pair().host(1).completions)
      EXPECT_FALSE(told.has_immediate) << "no token has ended";
    auto read = world.request(Verb::kRead, 8);
    read.remote.token = other;
    EXPECT_TRUE(world.finish(read).ok());
  }
}

// [UB-Base 2.0.1 7.3] Who gives no value has not guessed a small one, though others gave it before.
TEST(UbEngine, AWriteWithoutATokenValueIsRefused) {
  World world;
  const auto other = *world.engine(1).register_segment(
      world.now(), {.base = World::kRemote, .length = 64, .token_value = 1});
  bool strips = false;
  world.pair().wire().options().transform = [&strips](wire::Packet& packet, bool, RandomStream&,
                                                      wire::PayloadPool&) {
    if (!strips || packet.ub.transaction != wire::UbTransaction::kRequest) return true;
    packet.ub.request.token_value_present = false;
    packet.ub.extension.token_value = 0;
    return true;
  };
  auto write = world.request(Verb::kWrite, 8);
  write.remote.token = other;
  for (int count = 0; count < 3; ++count) EXPECT_TRUE(world.finish(write).ok());
  strips = true;
  EXPECT_EQ(world.finish(write).status, CompletionStatus::kRemoteAccess);
}

// A Read that is being answered when its token ends is not answered any further. [UB-Base 2.0.1 7.3]
TEST(UbEngine, SendInvalidateEndsRunningReads) {
  test::EnginePairOptions options;
  options.packet_interval = microseconds(1);
  World world({.mtu = 1024, .segment_bytes = 65536, .fetch_ahead_packets = 2}, options);
  const auto other = *world.engine(1).register_segment(
      world.now(), {.base = World::kRemote, .length = 65536, .token_value = 5});
  world.pair().post_receive(1, world.queue(1), {});
  auto read = world.request(Verb::kRead, 65536);
  read.remote.token = other;
  ASSERT_EQ(world.post(read), engine::PostStatus::kOk);
  world.pair().run_to(microseconds(10));
  auto send = world.request(Verb::kSendInvalidate, 0);
  send.invalidate = other;
  ASSERT_EQ(world.post(send), engine::PostStatus::kOk);
  world.run();
  const std::uint64_t fetched = world.pair().memory(1).count(engine::AccessKind::kRead);
  EXPECT_LT(fetched, 40u) << "memory is read after its token has ended";
  ASSERT_EQ(world.pair().host(0).completions.size(), 2u);
  EXPECT_EQ(world.pair().host(0).completions[0].status, CompletionStatus::kRemoteAccess);
}

struct AtomicCase {
  Verb verb;
  std::uint64_t after;
};
class Atomics : public ::testing::TestWithParam<AtomicCase> {};

TEST_P(Atomics, ChangeMemoryAndGiveTheOldValue) {
  for (const std::uint32_t width : {4u, 8u}) {
    World world;
    world.pair().memory(1).store64(World::kRemote, 0xf0f0);
    auto request = world.request(GetParam().verb, width);
    request.operand[0] = 0x1234;
    request.compare[0] = 0xf0f0;
    request.local_count = 1;
    request.local[0] = {World::kLocal, width};
    const auto done = world.finish(request);
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(done.atomic_result[0], 0xf0f0u);
    EXPECT_EQ(world.pair().memory(0).load64(World::kLocal), 0xf0f0u);
    EXPECT_EQ(world.pair().memory(1).load64(World::kRemote),
              width == 8 ? GetParam().after : GetParam().after & 0xffff'ffffu);
    EXPECT_EQ(world.pair().pool().in_use(), 0u);
  }
}
INSTANTIATE_TEST_SUITE_P(All, Atomics,
                         ::testing::Values(AtomicCase{Verb::kCompareSwap, 0x1234},
                                           AtomicCase{Verb::kSwap, 0x1234},
                                           AtomicCase{Verb::kAtomicStore, 0x1234},
                                           AtomicCase{Verb::kAtomicLoad, 0xf0f0},
                                           AtomicCase{Verb::kFetchAdd, 0xf0f0 + 0x1234},
                                           AtomicCase{Verb::kFetchSub, 0xf0f0 - 0x1234},
                                           AtomicCase{Verb::kFetchAnd, 0xf0f0 & 0x1234},
                                           AtomicCase{Verb::kFetchOr, 0xf0f0 | 0x1234},
                                           AtomicCase{Verb::kFetchXor, 0xf0f0 ^ 0x1234}));

TEST(UbEngine, SixteenByteCompareSwap) {
  World world;
  world.pair().memory(1).store64(World::kRemote, 1);
  world.pair().memory(1).store64(World::kRemote + 8, 2);
  auto request = world.request(Verb::kCompareSwap, 16);
  request.compare = {1, 2};
  request.operand = {3, 4};
  const auto done = world.finish(request);
  EXPECT_EQ(done.atomic_result, (std::array<std::uint64_t, 2>{1, 2}));
  EXPECT_EQ(world.pair().memory(1).load64(World::kRemote), 3u);
  EXPECT_EQ(world.pair().memory(1).load64(World::kRemote + 8), 4u);
}

TEST(UbEngine, GathersAndScattersLocalPieces) {
  World world;
  world.fill(0, World::kLocal, 9000);
  auto write = world.request(Verb::kWrite, 9000);
  write.local_count = 3;
  write.local[0] = {World::kLocal, 100};
  write.local[1] = {World::kLocal + 100, 5000};
  write.local[2] = {World::kLocal + 5100, 3900};
  EXPECT_TRUE(world.finish(write).ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote, 9000));
  auto read = write;
  read.verb = Verb::kRead;
  for (auto& piece : read.local) piece.address += 0x10000;
  EXPECT_TRUE(world.finish(read).ok());
  EXPECT_TRUE(world.same(World::kLocal + 0x10000, World::kRemote, 9000));
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

TEST(UbEngine, InlineDataIsNotFetched) {
  World world;
  auto request = world.request(Verb::kWrite, 64);
  request.local_count = 0;
  request.inline_data = wire::pattern_payload(3, 0, 64);
  EXPECT_TRUE(world.finish(request).ok());
  EXPECT_EQ(world.pair().memory(0).count(engine::AccessKind::kRead), 0u);
  EXPECT_EQ(world.pair().memory(1).at(World::kRemote, 64)[5], wire::pattern_byte(3, 5));
}

TEST(UbEngine, DoorbellFetchesTheEntryFirst) {
  World world;
  EXPECT_EQ(world.post(world.request(Verb::kWrite, 64), engine::Submission::kDoorbell),
            engine::PostStatus::kOk);
  world.run();
  EXPECT_EQ(world.pair().memory(0).count(engine::AccessKind::kFetchWorkRequest), 1u);
  ASSERT_EQ(world.pair().host(0).completions.size(), 1u);
  EXPECT_EQ(world.pair().memory(0).count(engine::AccessKind::kWriteCompletion), 1u);
}

TEST(UbEngine, LoadsAndStoresMoveLines) {
  World world;
  world.fill(1, World::kRemote, 128);
  std::vector<std::byte> loaded(128);
  world.pair().on_load_store = [&](std::uint32_t, const verbs::LoadStoreResult& result) {
    if (result.tag == 1) wire::fill(result.data, loaded);
  };
  verbs::LoadStore access;
  access.tag = 1;
  access.peer = world.peer(0);
  access.remote = {World::kRemote, world.token(1)};
  access.length = 128;
  EXPECT_EQ(world.pair().issue(0, access), engine::PostStatus::kOk);
  world.run();
  EXPECT_EQ(std::memcmp(loaded.data(), world.pair().memory(1).at(World::kRemote, 128).data(), 128), 0);
  access.tag = 2;
  access.verb = Verb::kStore;
  access.length = 64;
  access.data = wire::pattern_payload(9, 0, 64);
  access.byte_mask = 0x8000'0000'0000'00f1;
  EXPECT_EQ(world.pair().issue(0, access), engine::PostStatus::kOk);
  world.run();
  const auto line = world.pair().memory(1).at(World::kRemote, 64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    const bool enabled = (access.byte_mask >> i & 1U) != 0;
    EXPECT_EQ(line[i], enabled ? wire::pattern_byte(9, i) : loaded[i]) << i;
  }
  ASSERT_EQ(world.pair().host(0).load_store_results.size(), 2u);
  EXPECT_EQ(world.pair().host(0).load_store_results[1].status, CompletionStatus::kSuccess);
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

TEST(UbEngine, RefusesWhatItCannotExpress) {
  World world;
  auto request = world.request(Verb::kWrite, 64);
  request.length = 65;
  EXPECT_EQ(world.post(request), engine::PostStatus::kBadRequest);
  request = world.request(Verb::kFetchAdd, 3);
  EXPECT_EQ(world.post(request), engine::PostStatus::kBadRequest);
  request = world.request(Verb::kFetchAdd, 16);
  EXPECT_EQ(world.post(request), engine::PostStatus::kBadRequest);
  request = world.request(Verb::kSend, 65'537);
  EXPECT_EQ(world.post(request), engine::PostStatus::kBadRequest);
  request = world.request(Verb::kRead, 8);
  request.peer = 17;
  EXPECT_EQ(world.post(request), engine::PostStatus::kBadRequest);
  EXPECT_EQ(world.pair().post(0, 999, world.request(Verb::kRead, 8)), engine::PostStatus::kBadQueue);
  verbs::LoadStore access;
  access.verb = Verb::kFetchAdd;
  access.peer = world.peer(0);
  EXPECT_EQ(world.pair().issue(0, access), engine::PostStatus::kUnsupported);
  access.verb = Verb::kLoad;
  access.remote = {World::kRemote + 8, world.token(1)};
  EXPECT_EQ(world.pair().issue(0, access), engine::PostStatus::kBadRequest);
}

}  // namespace
}  // namespace wharf::ub
