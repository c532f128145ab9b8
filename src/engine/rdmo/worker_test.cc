// SPDX-License-Identifier: Apache-2.0
// The worker's rules, one test each: appends, queues, flushes, fences, limits, endings.
#include "engine/rdmo/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/rdmo/worker_world_test_support.h"

namespace wharf::rdmo {
namespace {

using wire::DocaError;
using wire::RdmoFlag;

class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override { make(WorkerWorld::small_config()); }
  void make(const WorkerConfig& config, bool direct = true) {
    world.emplace(config);
    world->direct = direct;
    target = world->add_target();
    cell = world->targets[0].base;
    log = cell + 8;
    queue = cell + 1024;
    first = cell + 2048;
    world->targets[0].set_word(cell, log);
    key = world->add_memory(target);
    peer = world->connect(target, "one");
  }
  std::uint64_t tail() { return world->targets[0].word(cell); }
  std::string text(std::size_t length) { return world->targets[0].text(log, length); }
  wire::RdmoExtendedRequest append() const { return WorkerWorld::extended_append(target, cell, key); }
  void append(std::string_view data, std::uint16_t flags = 0) {
    wire::RdmoExtendedRequest request = append();
    request.flags = flags;
    world->ask(peer, request, data);
  }
  /// A queue of ten bytes, of which so many have been written and consumed.
  void lay_out_queue(std::uint64_t consumed) {
    TestTarget& memory = world->targets[0];
    for (const std::uint64_t at : {0U, 8U}) memory.set_word(queue + at, consumed);
    memory.set_word(queue + 16, first);
    memory.set_word(queue + 24, 10);
  }
  void flush(std::uint64_t cookie = 0) { world->ask(peer, WorkerWorld::extended_flush(target, cookie)); }
  void pass(TimePs time) {
    world->now = world->now + time;
    world->worker.expire(world->now);
    world->drain_outputs();
  }

  std::optional<WorkerWorld> world;
  std::uint32_t target = 0;
  std::uint64_t cell = 0;
  std::uint64_t log = 0;
  std::uint64_t queue = 0;
  std::uint64_t first = 0;  ///< Where the bytes of the queue begin.
  std::uint64_t key = 0;
  PeerId peer = 0;
};

// --- Appends
// ----------------------------------------------------------------------------------------------------

TEST_F(WorkerTest, PublishedAppendsAdvanceTheCellByTheirLength) {
  world->append(peer, target, cell, key, "hello ");
  world->append(peer, target, cell, key, "world");
  world->run();
  EXPECT_EQ(text(11), "hello world");
  EXPECT_EQ(tail(), log) << "the tail is written back by a flush alone";
  EXPECT_EQ(world->worker.counters().cell_reads, 1U) << "read once, then kept";
  world->flush(peer, target, 9);
  world->run();
  EXPECT_EQ(tail(), log + 11);
  ASSERT_EQ(world->heard.size(), 1U);
  EXPECT_EQ(world->heard[0].flush_id, 9U);
}

// The guide gives append and scatter no answer, and flush one.
TEST_F(WorkerTest, PublishedAppendsAndScattersAreNotAnswered) {
  world->append(peer, target, cell, key, "abc");
  std::vector<std::byte> entry(wire::kRdmoEntryBytes);
  wire::encode(wire::RdmoEntry{log + 100, key, 2}, entry.data());
  const std::string payload = std::string(reinterpret_cast<const char*>(entry.data()), entry.size()) + "de";
  world->send_published(
      peer, {.client = 100 + target, .operation = wire::RdmoOperation::kScatter, .count = 1}, payload);
  world->run();
  EXPECT_EQ(text(3), "abc");
  EXPECT_EQ(world->targets[0].text(log + 100, 2), "de");
  EXPECT_TRUE(world->heard.empty());
  world->flush(peer, target, 4);
  world->run();
  EXPECT_EQ(world->heard.size(), 1U);
}

// ptr_rkey and data_rkey are two fields, and may name two pieces of memory.
TEST_F(WorkerTest, CellAndDataMayLieInDifferentMemory) {
  const std::uint64_t cells = world->add_memory(target, cell, 64);
  const std::uint64_t data = world->add_memory(target, cell + 64, 100);
  world->targets[0].set_word(cell, cell + 64);
  wire::RdmoExtendedRequest request = append();
  request.cell_key = cells;
  request.data_key = data;
  world->ask(peer, request, std::string(60, 'a'));
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(world->last_place(), cell + 64);
  world->ask(peer, request, std::string(60, 'b'));
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kNoRoom) << "the end is that of the data's memory";
  flush();
  world->run();
  EXPECT_EQ(tail(), cell + 124);
}

TEST_F(WorkerTest, AFlushLetsGoOfTheTailSoThatTheConsumerMayResetIt) {
  append("abc");
  flush();
  world->run();
  EXPECT_EQ(world->worker.cells(), 0U);
  world->targets[0].set_word(cell, log);
  append("xy");
  world->run();
  EXPECT_EQ(world->last_place(), log);
  EXPECT_EQ(text(3), "xyc");
}

// A refused append leaves a tail that did not move: a flush lets go of that, too, and so of one that was
// written back before it.
TEST_F(WorkerTest, AFlushLetsGoOfTailsThatDidNotMove) {
  append("abc");
  flush();
  world->run();
  wire::RdmoExtendedRequest refused = append();
  refused.flags = RdmoFlag::kCompare;
  refused.expected = log;
  world->ask(peer, refused, "no");
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kTailMoved);
  EXPECT_EQ(world->worker.cells(), 1U);
  flush();
  world->run();
  EXPECT_EQ(world->worker.cells(), 0U);
  world->targets[0].set_word(cell, log);
  append("xy");
  world->run();
  EXPECT_EQ(world->last_place(), log);
  wire::RdmoCommand destroy;
  destroy.type = wire::RdmoCommandType::kRqDestroy;
  destroy.queue = 1;
  world->connect(target, "another");
  EXPECT_EQ(world->command(destroy).status, DocaError::kSuccess);
  EXPECT_EQ(tail(), log + 2);
  EXPECT_EQ(world->worker.cells(), 1U) << "written back, and held: nobody has flushed";
  flush();
  world->run();
  EXPECT_EQ(world->worker.cells(), 0U);
}

TEST_F(WorkerTest, NeighboursAreGatheredWhileAWriteIsUnderWay) {
  make(WorkerWorld::small_config(), false);
  append("a");
  world->answer(0);  // The cell.
  append("b");
  append("c");
  append("d");
  ASSERT_EQ(world->pending.size(), 1U) << "one write is under way, the others gather";
  world->answer(0);
  ASSERT_EQ(world->pending.size(), 1U);
  EXPECT_EQ(world->pending[0].length, 3U);
  EXPECT_EQ(world->worker.counters().coalesced, 2U);
  world->run();
  world->targets[0].show_all();
  EXPECT_EQ(text(4), "abcd");
}

TEST_F(WorkerTest, GatheringEndsByTimeSizeAndFence) {
  WorkerConfig config = WorkerWorld::small_config();
  config.coalesce_delay = microseconds(2);
  config.coalesce_bytes = 4;
  make(config, false);
  append("a");
  world->answer(0);
  EXPECT_TRUE(world->pending.empty()) << "waits for neighbours";
  pass(microseconds(2));
  ASSERT_EQ(world->pending.size(), 1U) << "not longer than told";
  world->run();
  append("bb");
  append("cc");
  ASSERT_EQ(world->pending.size(), 1U) << "full";
  EXPECT_EQ(world->pending[0].length, 4U) << "what fills it belongs to it";
  append("d");
  EXPECT_EQ(world->pending.size(), 1U);
  append("e", RdmoFlag::kFence);
  EXPECT_EQ(world->pending.size(), 2U) << "a fence does not wait for time";
}

TEST_F(WorkerTest, SmallAppendsDoNotGatherBehindASlowSender) {
  make(WorkerWorld::small_config(), false);
  const PeerId slow = world->connect(target, "slow");
  world->ask(slow, append(), std::string(300, 's'), true);
  world->answer(0);  // The cell; its data is still with the slow one.
  append("b");
  EXPECT_EQ(world->waiting(AccessKind::kWrite), 2U);
  world->lost_payloads.push_back(world->pending[0].payload);
  world->run();  // The hole is filled.
  append("c");
  world->run();
  world->targets[0].show_all();
  EXPECT_EQ(text(302), std::string(300, '\0') + "bc");
}

TEST_F(WorkerTest, ABusyCellHoldsUpNoGatheringBehindIt) {
  WorkerConfig config = WorkerWorld::small_config();
  config.coalesce_delay = microseconds(2);
  config.coalesce_bytes = 4;
  make(config, false);
  const std::uint64_t other = cell + 1024;
  world->targets[0].set_word(other, other + 8);
  append("aaa");
  world->answer(0);
  world->ask(peer, WorkerWorld::extended_append(target, other, key), "b");
  world->answer(0);
  EXPECT_TRUE(world->pending.empty());
  for (int i = 0; i < 2; ++i) {
    append("aaa");  // No room beside the one before it: that goes, and this one gathers.
    pass(microseconds(1));
  }
  const auto is_other = [&](const Access& access) { return access.address == other + 8; };
  EXPECT_EQ(std::count_if(world->pending.begin(), world->pending.end(), is_other), 1);
}

// Others move the cell, too: what it said some time ago refuses nothing.
TEST_F(WorkerTest, ASharedCellIsReadAgainBeforeAnAppendIsRefused) {
  WorkerConfig config = WorkerWorld::small_config();
  config.holding = CellHolding::kShared;
  make(config);
  append("one");
  world->run();
  const auto compare = [&](std::uint64_t expected, std::string_view data) {
    wire::RdmoExtendedRequest request = append();
    request.flags = RdmoFlag::kCompare;
    request.expected = expected;
    world->ask(peer, request, data);
    world->run();
    return world->last_status();
  };
  world->targets[0].set_word(cell, log + 64);
  EXPECT_EQ(compare(log + 64, "two"), RdmoStatus::kDone);
  EXPECT_EQ(world->last_place(), log + 64);
  world->targets[0].set_word(cell, log + 80);
  EXPECT_EQ(compare(log + 67, ""), RdmoStatus::kTailMoved) << "nothing is appended, and still it is asked";
  EXPECT_EQ(world->last_place(), log + 80);
  append(std::string(3900, 'x'));
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  world->targets[0].set_word(cell, log);
  append(std::string(3900, 'y'));
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone) << "there is room again";
  EXPECT_EQ(world->last_place(), log);
  EXPECT_EQ(tail(), log + 3900);
  append(std::string(3900, 'z'));
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kNoRoom);
}

TEST_F(WorkerTest, CompareAppendsOnlyAtTheExpectedTail) {
  wire::RdmoExtendedRequest request = append();
  request.flags = RdmoFlag::kCompare;
  request.expected = log;
  world->ask(peer, request, "abc");
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  world->ask(peer, request, "def");
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kTailMoved);
  EXPECT_EQ(world->last_place(), log + 3) << "says where the tail is";
  EXPECT_EQ(text(6), "abc...");
}

TEST_F(WorkerTest, CellsMustBeAlignedAndInsideTheirMemory) {
  for (const std::uint64_t at : {cell + 4, cell + 4096, cell + 4092, cell - 8, ~std::uint64_t{7}}) {
    wire::RdmoExtendedRequest request = append();
    request.cell = at;
    world->ask(peer, request, "x");
    EXPECT_EQ(world->last_status(), RdmoStatus::kBadAddress) << at;
  }
  world->targets[0].set_word(cell, cell - 100);  // What the cell says is not trusted either.
  append("x");
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kBadAddress);
}

TEST_F(WorkerTest, AConnectionReachesOnlyItsOwnTarget) {
  const std::uint32_t other = world->add_target();
  const std::uint64_t other_key = world->add_memory(other);
  wire::RdmoExtendedRequest request = append();
  request.cell = world->targets[1].base;
  request.cell_key = request.data_key = other_key;
  world->ask(peer, request, "x");
  EXPECT_EQ(world->last_status(), RdmoStatus::kBadKey);
  request.client = 100 + other;
  world->ask(peer, request, "x");
  EXPECT_EQ(world->last_status(), RdmoStatus::kUnknownClient) << "that target has not let it in";
}

// --- Queues with a consumer
// -------------------------------------------------------------------------------------

TEST_F(WorkerTest, QueuesWrapAndAreFullUntilTheirConsumerMovesOn) {
  TestTarget& memory = world->targets[0];
  lay_out_queue(0);
  const auto put = [&](std::string_view data, bool rendezvous = false) {
    wire::RdmoExtendedRequest request = append();
    request.cell = queue;
    request.flags = RdmoFlag::kQueue;
    world->ask(peer, request, data, rendezvous);
    world->run();
  };
  put("1234567");
  EXPECT_EQ(world->last_place(), 0U);
  put("89ab");
  EXPECT_EQ(world->last_status(), RdmoStatus::kNoRoom);
  EXPECT_EQ(world->last_place(), 7U);
  memory.set_word(queue + 8, 7);  // The consumer has read seven bytes.
  put("89ab");
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(memory.text(first, 11), "b23456789a.") << "byte n lies at n mod 10, and nothing behind the end";
  memory.set_word(queue + 8, 11);
  put("cdefghijk");
  EXPECT_EQ(world->last_place(), 11U);
  memory.set_word(queue + 8, 20);
  put("LMN");
  EXPECT_EQ(memory.text(first, 11), "LMNefghijk.");
  memory.set_word(queue + 8, 23);
  put("opqrstuvw", true);  // By rendezvous, to two places.
  EXPECT_EQ(memory.text(first, 11), "vwNopqrstu.");
  EXPECT_EQ(world->worker.counters().payload_fetches, 1U);
  flush();
  world->run();
  EXPECT_EQ(memory.word(queue), 32U);
  put("12345678901");
  EXPECT_EQ(world->last_status(), RdmoStatus::kNoRoom) << "longer than the queue";
}

// The last length that fits: what the consumer has read since is looked up before it is refused.
TEST_F(WorkerTest, AnAppendAsLongAsItsQueueFitsWhenAllWasConsumed) {
  TestTarget& memory = world->targets[0];
  lay_out_queue(0);
  wire::RdmoExtendedRequest request = append();
  request.cell = queue;
  request.flags = RdmoFlag::kQueue;
  world->ask(peer, request, "1234567");
  world->run();
  ASSERT_EQ(world->last_status(), RdmoStatus::kDone);
  memory.set_word(queue + 8, 7);
  world->ask(peer, request, "abcdefghij");
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(memory.text(first, 11), "defghijabc.");
}

// The host gives the number of a target that is lost to another: nothing is asked of it any more.
TEST_F(WorkerTest, DataThatComesAfterItsTargetIsLostGoesNowhere) {
  lay_out_queue(7);
  wire::RdmoExtendedRequest request = append();
  request.cell = queue;
  request.flags = RdmoFlag::kQueue;
  world->ask(peer, request, "89abc", true);
  world->answer(0);  // The header. The data passes the queue's end, so it is brought here first.
  wire::RdmoExtendedRequest scatter;
  scatter.operation = Operation::kScatter;
  scatter.client = 100 + target;
  scatter.count = 1;
  std::vector<std::byte> entry(wire::kRdmoEntryBytes);
  wire::encode(wire::RdmoEntry{log, key, 2}, entry.data());
  world->ask(peer, scatter, std::string(reinterpret_cast<const char*>(entry.data()), entry.size()) + "de",
             true);
  ASSERT_EQ(world->waiting(AccessKind::kFetch), 2U);
  world->worker.target_lost(world->now, 0);
  world->drain_outputs();
  while (!world->actions.empty()) world->act();
  for (std::size_t heard = 1; heard <= 2; ++heard) {
    world->answer(world->index_of(AccessKind::kFetch));
    EXPECT_EQ(world->heard.size(), heard);
    EXPECT_EQ(world->last_status(), RdmoStatus::kTargetLost);
    EXPECT_EQ(world->pending.size(), 2 - heard);
  }
  world->run();
  EXPECT_EQ(world->worker.targets(), 0U);
}

TEST_F(WorkerTest, AQueueThatMakesNoSenseIsRefused) {
  const std::uint64_t queue = cell + 1024;
  const auto put = [&](std::uint64_t tail, std::uint64_t head, std::uint64_t first, std::uint64_t capacity) {
    std::uint64_t at = queue;
    for (const std::uint64_t value : {tail, head, first, capacity}) {
      world->targets[0].set_word(at, value);
      at += 8;
    }
    wire::RdmoExtendedRequest request = append();
    request.cell = queue;
    request.flags = RdmoFlag::kQueue;
    world->ask(peer, request, "x");
    world->run();
    const RdmoStatus status = world->last_status();
    flush();
    world->run();
    return status;
  };
  EXPECT_EQ(put(5, 6, log, 10), RdmoStatus::kDamaged) << "consumed more than there was";
  EXPECT_EQ(put(20, 5, log, 10), RdmoStatus::kDamaged) << "holds more than it can";
  EXPECT_EQ(put(0, 0, log, 0), RdmoStatus::kDamaged);
  EXPECT_EQ(put(0, 0, cell + 4090, 10), RdmoStatus::kBadAddress) << "outside the memory";
  EXPECT_EQ(put(0, 0, ~std::uint64_t{4}, 10), RdmoStatus::kBadAddress);
}

// --- Flush and fence
// --------------------------------------------------------------------------------------------

TEST_F(WorkerTest, AFlushOrdersDataBeforeTheTailAndTheTailBeforeItsAnswer) {
  WorkerConfig config = WorkerWorld::small_config();
  config.read_back = true;
  make(config, false);
  append("abc");
  flush(7);
  std::vector<AccessKind> kinds;
  while (!world->pending.empty()) {
    kinds.push_back(world->pending[0].kind);
    EXPECT_LE(world->heard.size(), 1U) << "no answer before the last step";
    world->answer(0);
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre(AccessKind::kRead, AccessKind::kWrite, AccessKind::kOrder,
                                            AccessKind::kWriteCell, AccessKind::kOrder, AccessKind::kRead));
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(tail(), log + 3);
}

TEST_F(WorkerTest, WhatCouldNotBeOrderedIsOrderedByTheNextFlush) {
  make(WorkerWorld::small_config(), false);
  append("abc");
  world->answer(0);
  world->answer(0);
  flush();
  ASSERT_EQ(world->pending.at(0).kind, AccessKind::kOrder);
  world->answer(0, AccessStatus::kMemoryFailed);
  EXPECT_EQ(world->last_status(), RdmoStatus::kMemoryFailed);
  flush();
  ASSERT_EQ(world->pending.size(), 1U);
  EXPECT_EQ(world->pending[0].kind, AccessKind::kOrder) << "the tail must not pass the data";
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(tail(), log + 3);
}

TEST_F(WorkerTest, ADamagedCellDoesNotHideThatNothingWasOrdered) {
  make(WorkerWorld::small_config(), false);
  append("lost");
  world->answer(0);
  world->answer(0, AccessStatus::kMemoryFailed);
  world->answer(0, AccessStatus::kMemoryFailed);  // The zeros, too.
  const std::uint64_t other = cell + 1024;
  world->targets[0].set_word(other, other + 8);
  world->ask(peer, WorkerWorld::extended_append(target, other, key), "kept");
  world->run();
  flush();
  world->answer(world->index_of(AccessKind::kOrder), AccessStatus::kMemoryFailed);
  EXPECT_TRUE(world->pending.empty()) << "no tail is stored before its data";
  EXPECT_EQ(world->last_status(), RdmoStatus::kMemoryFailed);
  flush();
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDamaged);
  EXPECT_EQ(world->targets[0].word(other), other + 8 + 4);
}

// The guide has such a flush order nothing; here it is answered when all places that were taken before it are
// shown.
TEST_F(WorkerTest, AFlushWithoutAFenceWaitsForWhatWasReservedAndHoldsNothingUp) {
  world->append(peer, target, cell, key, std::string(500, 's'), false, true);
  world->answer(0);  // The cell; the data is still with its sender.
  world->flush(peer, target, 5, false);
  const std::size_t before = world->pending.size();
  world->append(peer, target, cell, key, "behind it");
  EXPECT_GT(world->pending.size(), before) << "what is behind it moves";
  EXPECT_TRUE(world->heard.empty());
  EXPECT_EQ(tail(), log);
  world->run();
  ASSERT_EQ(world->heard.size(), 1U);
  EXPECT_EQ(world->heard[0].flush_id, 5U);
  EXPECT_GE(tail(), log + 500);
}

TEST_F(WorkerTest, AFlushWaitsForTheReadOfACellThatAnAppendBeforeItNeeds) {
  world->append(peer, target, cell, key, "abc");
  world->flush(peer, target, 5);
  ASSERT_EQ(world->pending.size(), 1U);
  EXPECT_EQ(world->pending[0].kind, AccessKind::kRead);
  EXPECT_TRUE(world->heard.empty());
  world->run();
  EXPECT_EQ(world->heard.size(), 1U);
  EXPECT_EQ(tail(), log + 3);
}

TEST_F(WorkerTest, TheTailNeverPassesAnotherInitiatorsAppendThatIsStillMoving) {
  const PeerId slow = world->connect(target, "slow");
  world->ask(slow, append(), std::string(500, 's'), true);
  world->answer(0);  // The cell; its data is still with the slow one.
  append("quick");
  flush();
  world->answer(1);  // The quick one's data is there.
  EXPECT_TRUE(world->heard_by(peer).size() == 1) << "the append is answered";
  EXPECT_EQ(tail(), log) << "and not shown, for bytes before it are missing";
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(tail(), log + 505);
}

TEST_F(WorkerTest, AFencedRequestStartsWhenAllBeforeItHaveEndedAndHoldsThoseBehind) {
  append("a");
  append("b", RdmoFlag::kFence);
  append("c");
  world->answer(0);  // The cell.
  ASSERT_EQ(world->pending.size(), 1U) << "only the first one's data moves";
  world->run();
  EXPECT_EQ(text(3), "abc");
}

TEST_F(WorkerTest, AFenceHoldsNobodyElse) {
  const PeerId other = world->connect(target, "other");
  append("a");
  append("b", RdmoFlag::kFence);
  wire::RdmoExtendedRequest request = append();
  request.cell = cell + 1024;
  world->targets[0].set_word(request.cell, request.cell + 8);
  world->ask(other, request, "o");
  ASSERT_EQ(world->pending.size(), 2U);
  world->answer(1);
  world->answer(1);
  EXPECT_EQ(world->heard_by(other).size(), 1U);
}

TEST_F(WorkerTest, FlushesOfManyShareARound) {
  std::vector<PeerId> others;
  for (int i = 0; i < 4; ++i) others.push_back(world->connect(target, "flusher" + std::to_string(i)));
  make(WorkerWorld::small_config(), false);
  for (int i = 0; i < 4; ++i) others[i] = world->connect(target, "flusher" + std::to_string(i));
  append("abc");
  world->answer(0);
  for (const PeerId each : others) world->ask(each, WorkerWorld::extended_flush(target));
  const std::uint64_t before = world->worker.counters().rounds;
  world->run();
  EXPECT_LE(world->worker.counters().rounds - before, 1U) << "the first began one, the others share the next";
  for (const PeerId each : others) EXPECT_EQ(world->heard_by(each).size(), 1U);
}

TEST_F(WorkerTest, AFlushEndsWhenTheTargetIsSilent) {
  append("abc");
  flush();
  world->targets[0].silent = true;
  pass(world->worker.config().memory_time_max);
  ASSERT_EQ(world->heard.size(), 2U);
  EXPECT_EQ(world->heard[0].answer.status, RdmoStatus::kTargetLost);
  EXPECT_EQ(world->heard[1].answer.status, RdmoStatus::kTargetLost);
  world->run();
  EXPECT_EQ(world->worker.targets(), 0U);
  EXPECT_EQ(world->worker.connections(), 0U) << "its initiators are told by the end of their connections";
}

TEST_F(WorkerTest, AFlushEndsWhenTheTargetDies) {
  append("abc");
  world->run();
  flush();
  world->targets[0].lost = true;
  append("more");
  world->worker.target_lost(world->now, 0);
  world->run();
  for (const Heard& each : world->heard) EXPECT_NE(each.answer.status, RdmoStatus::kTimedOut);
  EXPECT_EQ(world->worker.held(), 0U);
  EXPECT_EQ(world->add_target(), 1U);  // Another target may come.
}

TEST_F(WorkerTest, DataThatNeverComesLeavesAHoleOfZeros) {
  const PeerId dying = world->connect(target, "dying");
  world->ask(dying, append(), std::string(300, 'd'), true);
  world->answer(0);
  append("after");
  world->worker.peer_lost(world->now, dying);
  world->lost_payloads.push_back(world->pending[0].payload);
  world->run();
  flush();
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(tail(), log + 305);
  EXPECT_EQ(text(305), std::string(300, '\0') + "after");
  EXPECT_EQ(world->worker.counters().holes_filled, 1U);
}

TEST_F(WorkerTest, ASenderThatTakesTooLongIsLost) {
  const PeerId slow = world->connect(target, "slow");
  world->ask(slow, append(), std::string(300, 's'), true);
  world->answer(0);
  pass(world->worker.config().sender_time_max);
  ASSERT_EQ(world->actions.size(), 1U);
  EXPECT_EQ(world->actions[0].kind, ActionKind::kClosePeer) << "so that the fetch fails";
  world->lost_payloads.push_back(world->pending[0].payload);
  world->run();
  EXPECT_EQ(world->worker.held(), 0U);
  EXPECT_EQ(world->worker.connections(), 1U);
}

TEST_F(WorkerTest, WhatNeverComesIsNotKeptAliveByWhatDoes) {
  const PeerId slow = world->connect(target, "slow");
  world->ask(slow, append(), std::string(300, 'n'), true);
  world->answer(0);
  for (int i = 0; i < 4 && world->actions.empty(); ++i) {
    world->ask(slow, append(), std::string(300, 'y'), true);
    world->answer(1);
    pass(world->worker.config().sender_time_max / 2);
  }
  ASSERT_EQ(world->actions.size(), 1U);
  EXPECT_EQ(world->actions[0].kind, ActionKind::kClosePeer);
  EXPECT_EQ(world->now, world->worker.config().sender_time_max);
}

TEST_F(WorkerTest, ASlowSenderOfMuchIsNotLostWhileTheOldestComes) {
  for (int i = 0; i < 4; ++i) world->ask(peer, append(), std::string(300, 's'), true);
  world->answer(0);
  ASSERT_EQ(world->pending.size(), 4U);
  for (int i = 0; i < 4; ++i) {
    pass(world->worker.config().sender_time_max / 4 * 3);
    ASSERT_TRUE(world->actions.empty());
    world->answer(0);
  }
  EXPECT_EQ(world->worker.held(), 0U);
}

TEST_F(WorkerTest, TailsArePublishedByTimeIfToldTo) {
  WorkerConfig config = WorkerWorld::small_config();
  config.publish_delay = microseconds(3);
  make(config);
  append("abc");
  world->run();
  EXPECT_EQ(tail(), log);
  pass(microseconds(3));
  world->run();
  EXPECT_EQ(tail(), log + 3);
  EXPECT_EQ(world->worker.cells(), 1U) << "and still held: only a flush lets go";
  flush();
  world->run();
  EXPECT_EQ(world->worker.cells(), 0U);
}

TEST_F(WorkerTest, WhatCannotBeFilledDamagesTheQueueForGood) {
  append("abc");
  world->answer(0);
  world->answer(0, AccessStatus::kMemoryFailed);
  world->answer(0, AccessStatus::kMemoryFailed);  // The zeros, too.
  append("d");
  EXPECT_EQ(world->last_status(), RdmoStatus::kDamaged);
  for (int i = 0; i < 2; ++i) {
    flush();
    world->run();
    EXPECT_EQ(world->last_status(), RdmoStatus::kDamaged) << "every flush says so";
  }
  EXPECT_EQ(tail(), log);
}

TEST_F(WorkerTest, ADamagedLogIsNotWrittenBackAgainAndAgain) {
  WorkerConfig config = WorkerWorld::small_config();
  config.publish_delay = microseconds(3);
  make(config);
  append("abc");
  world->answer(0);
  world->answer(0, AccessStatus::kMemoryFailed);
  world->answer(0, AccessStatus::kMemoryFailed);
  pass(microseconds(3));
  const std::uint64_t rounds = world->worker.counters().rounds;
  for (int i = 0; i < 5; ++i) pass(microseconds(3));
  EXPECT_EQ(world->worker.counters().rounds, rounds);
  for (int i = 0; i < 2; ++i) {
    flush();
    world->run();
    EXPECT_EQ(world->last_status(), RdmoStatus::kDamaged);
  }
  wire::RdmoCommand withdraw;
  withdraw.type = wire::RdmoCommandType::kMrDeregister;
  withdraw.key = key;
  EXPECT_EQ(world->command(withdraw).status, DocaError::kSuccess);
  key = world->add_memory(target);
  append("abc");
  flush();
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone) << "the memory is registered anew";
  EXPECT_EQ(tail(), log + 3);
}

// --- Limits
// -----------------------------------------------------------------------------------------------------

TEST_F(WorkerTest, CreditsBoundWhatAnInitiatorHasUnderWay) {
  WorkerConfig config = WorkerWorld::small_config();
  config.window = 2;
  make(config);
  append("a");
  append("b");
  append("c");
  EXPECT_EQ(world->last_status(), RdmoStatus::kNoCredit);
  EXPECT_EQ(world->worker.held(), 2U);
  world->sequences[{peer, 100}] = 2;  // The refused one used up no number.
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(world->heard.back().answer.credit_limit, 4U);
  append("c");
  world->run();
  EXPECT_EQ(text(3), "abc");
}

TEST_F(WorkerTest, QuietRequestsGiveCreditsBackToo) {
  WorkerConfig config = WorkerWorld::small_config();
  config.window = 4;
  make(config);
  for (int i = 0; i < 4; ++i) {
    append("x", RdmoFlag::kQuiet);
    world->run();
  }
  ASSERT_FALSE(world->heard.empty());
  for (const Heard& each : world->heard) EXPECT_EQ(each.answer.operation, Operation::kCredit);
  EXPECT_GE(world->heard.back().answer.credit_limit, 6U);
}

TEST_F(WorkerTest, PublishedInitiatorsThatFloodAreNotReadFurther) {
  WorkerConfig config = WorkerWorld::small_config();
  config.window = 2;
  make(config);
  world->append(peer, target, cell, key, "a");
  world->append(peer, target, cell, key, "b");
  EXPECT_EQ(world->append(peer, target, cell, key, "c"), Taken::kNoRoom);
  world->run();
  world->append(peer, target, cell, key, "c");
  world->run();
  EXPECT_EQ(text(3), "abc") << "nothing was lost";
}

TEST_F(WorkerTest, SequencesAreLeftOutOrRepeatedByNobody) {
  append("a");
  world->sequences[{peer, 100}] = 5;
  append("b");
  EXPECT_EQ(world->last_status(), RdmoStatus::kBadSequence);
  const std::size_t heard = world->heard.size();
  world->sequences[{peer, 100}] = 0;
  append("c");
  world->run();
  EXPECT_EQ(world->heard.size(), heard + 1)
      << "the first one is answered; a second answer would contradict it";
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(world->worker.counters().refused[static_cast<std::size_t>(RdmoStatus::kBadSequence)], 2U);
}

TEST_F(WorkerTest, MessagesThatComeTwiceAreDoneAndAnsweredOnce) {
  world->twice = true;
  for (const char* record : {"a", "b", "c"}) append(record);
  flush();
  world->run();
  EXPECT_EQ(text(4), "abc.");
  EXPECT_EQ(tail(), log + 3);
  ASSERT_EQ(world->heard.size(), 4U);
  for (const Heard& each : world->heard) EXPECT_EQ(each.answer.status, RdmoStatus::kDone);
  EXPECT_TRUE(world->payloads.empty());
}

TEST_F(WorkerTest, TheRateOfAConnectionIsBounded) {
  WorkerConfig config = WorkerWorld::small_config();
  config.window = 2;
  config.requests_per_second_max = 1'000'000;
  make(config);
  world->now = seconds(1);
  for (int i = 0; i < 6; ++i) {
    append("x");
    world->run();
    if (world->worker.held() > 0) break;
  }
  EXPECT_EQ(world->worker.held(), 1U) << "a burst of the window, and one, then it waits";
  pass(microseconds(1));
  world->run();
  EXPECT_EQ(world->worker.held(), 0U);
}

TEST_F(WorkerTest, TargetsHaveLimitsOnMemoryAndQueues) {
  WorkerConfig config = WorkerWorld::small_config();
  config.regions_per_client_max = 2;
  config.bytes_per_client_max = 8192;
  config.connections_per_client_max = 2;
  make(config);
  wire::RdmoCommand reg;
  reg.type = wire::RdmoCommandType::kMrRegister;
  const std::vector<std::byte> name = bytes_of("k");
  reg.rkey = name;
  reg.address = 64;
  reg.length = 4097;
  EXPECT_EQ(world->command(reg).status, DocaError::kTooBig);
  reg.length = 64;
  EXPECT_EQ(world->command(reg).status, DocaError::kSuccess);
  EXPECT_EQ(world->command(reg).status, DocaError::kFull);
  reg.address = ~std::uint64_t{10};
  EXPECT_EQ(world->command(reg).status, DocaError::kInvalidValue) << "wraps";
  reg.length = 0;
  EXPECT_EQ(world->command(reg).status, DocaError::kInvalidValue);
  wire::RdmoCommand queue;
  queue.type = wire::RdmoCommandType::kRqCreate;
  const std::vector<std::byte> one = bytes_of("one");
  queue.peer = one;
  EXPECT_EQ(world->command(queue).status, DocaError::kAlreadyExist) << "two queues could not be told apart";
  const std::vector<std::byte> two = bytes_of("two");
  queue.peer = two;
  const wire::RdmoNotification made = world->command(queue);
  EXPECT_EQ(made.status, DocaError::kSuccess);
  EXPECT_EQ(made.value, 1U) << "numbers count from 0 for each target";
  const std::vector<std::byte> three = bytes_of("three");
  queue.peer = three;
  EXPECT_EQ(world->command(queue).status, DocaError::kFull);
}

// --- The control path
// -------------------------------------------------------------------------------------------

TEST_F(WorkerTest, CommandsBeforeClientInitFindNothing) {
  for (std::uint64_t type = 1; type < wire::kRdmoCommandTypes; ++type) {
    wire::RdmoCommand command;
    command.type = static_cast<wire::RdmoCommandType>(type);
    command.context = 99;
    const std::vector<std::byte> name = bytes_of("x");
    if (command.type == wire::RdmoCommandType::kRqCreate) command.peer = name;
    if (command.type == wire::RdmoCommandType::kMrRegister) command.rkey = name;
    const wire::RdmoNotification answer = world->command(command, 3);
    EXPECT_EQ(answer.status, DocaError::kNotFound) << type;
    EXPECT_EQ(answer.context, 99U);
  }
}

TEST_F(WorkerTest, MalformedCommandsAreAnsweredIfTheyCanBe) {
  wire::RdmoCommand command;
  command.type = wire::RdmoCommandType::kRqDestroy;
  std::vector<std::byte> bytes;
  wire::encode(command, bytes);
  bytes.push_back(std::byte{0});
  EXPECT_EQ(world->raw_command(bytes).status, DocaError::kInvalidValue);
  world->worker.command(world->now, 0, std::vector<std::byte>(23));
  world->drain_outputs();
  EXPECT_TRUE(world->notices.empty());
  EXPECT_EQ(world->worker.counters().commands_unanswerable, 1U);
}

TEST_F(WorkerTest, AFailingHostFailsTheCommand) {
  world->next_action_status = DocaError::kInputOutputFailed;
  wire::RdmoCommand queue;
  queue.type = wire::RdmoCommandType::kRqCreate;
  const std::vector<std::byte> name = bytes_of("unreachable");
  queue.peer = name;
  EXPECT_EQ(world->command(queue).status, DocaError::kInputOutputFailed);
  EXPECT_EQ(world->worker.connections(), 1U);
}

TEST_F(WorkerTest, KeysOfTheGuidesLayoutHaveSixteenBits) {
  WorkerConfig config = WorkerWorld::small_config();
  config.layout = wire::RdmoLayout::kGuide;
  make(config);
  EXPECT_LE(key, 0xffffU);
  EXPECT_NE(key, 0U);
  world->append(peer, target, cell, key, "abc");
  world->flush(peer, target, 3);
  world->run();
  EXPECT_EQ(text(3), "abc");
  EXPECT_EQ(world->heard[0].flush_id, 3U);
  append("def");  // An initiator of the extended form works beside it.
  world->run();
  EXPECT_EQ(text(6), "abcdef");
}

TEST_F(WorkerTest, StoppingWritesBackClosesAndRefuses) {
  make(WorkerWorld::small_config(), false);
  append("abc");
  world->run();
  world->worker.stop(world->now);
  append("late");
  EXPECT_EQ(world->last_status(), RdmoStatus::kStopped);
  world->run();
  EXPECT_TRUE(world->worker.stopped());
  EXPECT_EQ(tail(), log + 3);
  EXPECT_EQ(world->closed_peers.size(), 1U);
  wire::RdmoCommand init;
  const std::vector<std::byte> name = bytes_of("target0");
  init.peer = name;
  EXPECT_EQ(world->command(init).status, DocaError::kShutdown);
}

}  // namespace
}  // namespace wharf::rdmo
