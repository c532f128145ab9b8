// SPDX-License-Identifier: Apache-2.0
// Known traps of such a worker, each with the behaviour that avoids it. Each test is named after its trap.
#include <gtest/gtest.h>

#include "engine/rdmo/worker_world_test_support.h"

namespace wharf::rdmo {
namespace {

using wire::DocaError;
using wire::RdmoCommandType;

/// One target with a log: the cell at its base, the bytes behind it; one initiator.
class Defects : public ::testing::Test {
 protected:
  void SetUp() override { make(WorkerWorld::small_config()); }
  void make(const WorkerConfig& config, bool direct = true, std::uint64_t bytes = 4096) {
    world.emplace(config);
    world->direct = direct;
    target = world->add_target(bytes);
    cell = world->targets[0].base;
    log = cell + 8;
    world->targets[0].set_word(cell, log);
    key = world->add_memory(target);
    peer = world->connect(target, "initiator");
  }
  std::string text(std::size_t length) { return world->targets[0].text(log, length); }
  std::uint64_t tail() { return world->targets[0].word(cell); }
  wire::RdmoExtendedRequest extended() const { return WorkerWorld::extended_append(target, cell, key); }
  std::vector<std::byte> entry(std::uint64_t address, std::uint64_t region, std::string_view data) {
    std::vector<std::byte> bytes(wire::kRdmoEntryBytes);
    encode(wire::RdmoEntry{address, region, static_cast<std::uint16_t>(data.size())}, bytes.data());
    const std::vector<std::byte> more = bytes_of(data);
    bytes.insert(bytes.end(), more.begin(), more.end());
    return bytes;
  }
  RdmoStatus scatter(const std::vector<std::byte>& payload, std::uint64_t count, bool rendezvous = false) {
    wire::RdmoExtendedRequest request;
    request.operation = Operation::kScatter;
    request.client = 100;
    request.count = count;
    world->ask(peer, request, {reinterpret_cast<const char*>(payload.data()), payload.size()}, rendezvous);
    world->run();
    return world->last_status();
  }

  std::optional<WorkerWorld> world;
  std::uint32_t target = 0;
  std::uint64_t cell = 0;
  std::uint64_t log = 0;
  std::uint64_t key = 0;
  PeerId peer = 0;
};

TEST_F(Defects, D01OutOfRangeAppendLeavesTheTailAndNothingHangs) {
  make(WorkerWorld::small_config(), true, 8 + 10);
  world->append(peer, target, cell, key, "12345678");
  world->run();
  world->ask(peer, extended(), "abc");
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kNoRoom);
  EXPECT_EQ(world->last_place(), log + 8);
  world->ask(peer, extended(), "ab");  // What still fits does.
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  world->ask(peer, WorkerWorld::extended_flush(target));
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kEarlierFailed);  // It says so, once.
  EXPECT_EQ(world->last_place(), 1U);
  EXPECT_EQ(tail(), log + 10);
  world->ask(peer, WorkerWorld::extended_flush(target));
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(world->worker.held(), 0U);
}

TEST_F(Defects, D02ACellThatIsReadAtOnceIsRead) {
  // The host answers inside the drain of the very call that asked.
  world->append(peer, target, cell, key, "now");
  ASSERT_EQ(world->pending.size(), 1U);
  world->answer(0);
  world->run();
  EXPECT_EQ(text(3), "now");
}

TEST_F(Defects, D03DirectMemoryAndRendezvousReserveThroughOnePath) {
  world->append(peer, target, cell, key, "first ");
  world->append(peer, target, cell, key, "second ", false, true);
  world->append(peer, target, cell, key, "third");
  world->flush(peer, target, 1);
  world->run();
  EXPECT_EQ(text(18), "first second third");
  EXPECT_EQ(tail(), log + 18);
}

TEST_F(Defects, D04SharedCellsAdvanceByCompareAndSwap) {
  WorkerConfig config = WorkerWorld::small_config();
  config.holding = CellHolding::kShared;
  make(config);
  world->ask(peer, extended(), "one");
  world->run();
  EXPECT_EQ(tail(), log + 3);  // At once, without a flush.
  // Somebody else appends in between: the worker's own idea of the tail is void.
  world->targets[0].set_word(cell, log + 10);
  world->ask(peer, extended(), "two");
  world->run();
  EXPECT_EQ(world->last_place(), log + 10);
  EXPECT_EQ(tail(), log + 13);
  EXPECT_EQ(text(13), "one.......two");
  EXPECT_EQ(world->waiting(AccessKind::kWriteCell), 0U);
  world->ask(peer, WorkerWorld::extended_flush(target));
  world->run();
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(tail(), log + 13);
}

TEST_F(Defects, D05UnknownKeysAndTargetsAreCountedAndReported) {
  wire::RdmoExtendedRequest request = extended();
  request.data_key = key + 1;
  world->ask(peer, request, "x");
  EXPECT_EQ(world->last_status(), RdmoStatus::kBadKey);
  request = extended();
  request.client = 999;
  world->ask(peer, request, "x");
  EXPECT_EQ(world->last_status(), RdmoStatus::kUnknownClient);
  EXPECT_EQ(world->worker.counters().refused[static_cast<std::size_t>(RdmoStatus::kBadKey)], 1U);
  EXPECT_EQ(world->worker.counters().refused[static_cast<std::size_t>(RdmoStatus::kUnknownClient)], 1U);
  // A published initiator cannot be told; its next flush ends the connection instead of lying.
  const PeerId published = world->connect(target, "published");
  world->append(published, target, cell, key + 1, "x");
  world->flush(published, target, 5);
  world->run();
  EXPECT_TRUE(world->heard_by(published).empty());
  EXPECT_EQ(world->closed_peers, std::vector<PeerId>{published});
  EXPECT_EQ(tail(), log);
}

TEST_F(Defects, D06StatusesOfMemoryReachTheInitiator) {
  world->ask(peer, extended(), "x");
  world->answer(0, AccessStatus::kMemoryFailed);
  EXPECT_EQ(world->last_status(), RdmoStatus::kMemoryFailed);
  world->ask(peer, extended(), "abc");
  world->answer(0);                               // The cell.
  world->answer(0, AccessStatus::kMemoryFailed);  // The data.
  EXPECT_EQ(world->last_status(), RdmoStatus::kMemoryFailed);
  world->run();  // The hole is filled, so the tail can move on.
  world->ask(peer, extended(), "def");
  world->run();
  EXPECT_EQ(world->last_place(), log + 3);
  world->ask(peer, WorkerWorld::extended_flush(target));
  world->run();
  EXPECT_EQ(text(6), std::string(3, '\0') + "def");
  EXPECT_EQ(tail(), log + 6);
}

TEST_F(Defects, D07ScatterIsValidatedBeforeItsFirstByteMoves) {
  const std::uint64_t end = cell + 4096;
  std::vector<std::byte> good = entry(log, key, "aa");
  const auto with = [&](const std::vector<std::byte>& second) {
    std::vector<std::byte> both = good;
    both.insert(both.end(), second.begin(), second.end());
    return both;
  };
  EXPECT_EQ(scatter(with(entry(end - 1, key, "bb")), 2), RdmoStatus::kBadAddress);
  EXPECT_EQ(scatter(with(entry(~std::uint64_t{0}, key, "bb")), 2), RdmoStatus::kBadAddress);  // Wraps.
  EXPECT_EQ(scatter(with(entry(log, key + 1, "bb")), 2), RdmoStatus::kBadKey);
  EXPECT_EQ(scatter(with(entry(log + 2, key, "bb")), 3), RdmoStatus::kMalformed);  // Fewer than it says.
  EXPECT_EQ(scatter(with(entry(log + 2, key, "bb")), 1), RdmoStatus::kMalformed);
  std::vector<std::byte> cut = with(entry(log + 2, key, "bb"));
  cut.pop_back();
  EXPECT_EQ(scatter(cut, 2), RdmoStatus::kMalformed);
  EXPECT_EQ(scatter(good, ~std::uint64_t{0}), RdmoStatus::kMalformed);
  EXPECT_EQ(text(4), "....") << "nothing has moved";
  EXPECT_EQ(scatter(with(entry(end - 2, key, "bb")), 2), RdmoStatus::kDone);
  EXPECT_EQ(text(2), "aa");
  EXPECT_EQ(world->targets[0].text(end - 2, 2), "bb");
  EXPECT_EQ(scatter({}, 0), RdmoStatus::kDone);
}

TEST_F(Defects, D08ScatterByRendezvousIsBroughtHereFirst) {
  EXPECT_EQ(scatter(entry(log, key, "rendezvous"), 1, true), RdmoStatus::kDone);
  EXPECT_EQ(text(10), "rendezvous");
  EXPECT_EQ(world->worker.counters().payload_fetches, 1U);
  EXPECT_TRUE(world->payloads.empty());
}

TEST_F(Defects, D09EveryClientInitIsAnswered) {
  wire::RdmoCommand init;
  init.type = RdmoCommandType::kClientInit;
  init.context = 42;
  init.id = 100;
  const std::vector<std::byte> address = bytes_of("target0");
  init.peer = address;
  const wire::RdmoNotification used = world->command(init, 1);
  EXPECT_EQ(used.status, DocaError::kInUse);  // The id is another target's.
  EXPECT_EQ(used.context, 42U);
  init.id = 500;
  EXPECT_EQ(world->command(init, 0).status, DocaError::kAlreadyExist);  // This channel has a target.
  init.peer = {};
  EXPECT_EQ(world->command(init, 2).status, DocaError::kInvalidValue);
}

TEST_F(Defects, D10AMemoryHandleThatIsNotThereIsNotImported) {
  wire::RdmoCommand reg;
  reg.type = RdmoCommandType::kMrRegister;
  reg.address = cell;
  reg.length = 64;
  const std::vector<std::byte> rkey = bytes_of("key");
  reg.rkey = rkey;
  std::vector<std::byte> bytes;
  wire::encode(reg, bytes);
  world->worker.command(world->now, target, bytes);
  world->drain_outputs();
  ASSERT_EQ(world->actions.size(), 1U);
  EXPECT_EQ(world->actions[0].bytes, rkey);
  EXPECT_TRUE(world->actions[0].more.empty());
  world->run();
  EXPECT_EQ(world->notices.size(), 1U);
}

TEST_F(Defects, D11DeregistrationWaitsWritesBackAndThenForgets) {
  make(WorkerWorld::small_config(), false);
  world->append(peer, target, cell, key, "kept");
  world->answer(0);  // The cell; the data is under way.
  wire::RdmoCommand dereg;
  dereg.type = RdmoCommandType::kMrDeregister;
  dereg.key = key;
  std::vector<std::byte> bytes;
  wire::encode(dereg, bytes);
  world->worker.command(world->now, target, bytes);
  world->drain_outputs();
  EXPECT_TRUE(world->actions.empty()) << "a write still uses it";
  EXPECT_TRUE(world->notices.empty());
  world->ask(peer, extended(), "late");
  EXPECT_EQ(world->last_status(), RdmoStatus::kBadKey);
  world->run();
  ASSERT_EQ(world->notices.size(), 1U);
  EXPECT_TRUE(world->memories[0].forgotten);
  world->targets[0].show_all();
  EXPECT_EQ(tail(), log + 4);
  EXPECT_EQ(text(8), "kept....");
  EXPECT_EQ(world->worker.regions(), 0U);
}

TEST_F(Defects, D12QueueDestroyDrainsFlushesClosesThenNotifies) {
  make(WorkerWorld::small_config(), false);
  world->append(peer, target, cell, key, "a");
  wire::RdmoCommand destroy;
  destroy.type = RdmoCommandType::kRqDestroy;
  destroy.queue = 0;
  std::vector<std::byte> bytes;
  wire::encode(destroy, bytes);
  world->worker.command(world->now, target, bytes);
  world->drain_outputs();
  EXPECT_TRUE(world->notices.empty());
  EXPECT_TRUE(world->actions.empty());
  while (!world->pending.empty()) world->answer(0);
  ASSERT_EQ(world->actions.size(), 1U);
  EXPECT_EQ(world->actions[0].kind, ActionKind::kClosePeer);
  world->targets[0].show_all();
  EXPECT_EQ(tail(), log + 1) << "flushed before it closes";
  EXPECT_TRUE(world->notices.empty()) << "told only when it is closed";
  world->run();
  ASSERT_EQ(world->notices.size(), 1U);
  EXPECT_EQ(world->worker.connections(), 0U);
  world->notices.clear();
  EXPECT_EQ(world->command(destroy).status, DocaError::kNotFound);
}

TEST_F(Defects, D13HeadersAreMeasuredBeforeTheyAreRead) {
  for (const std::size_t bytes : {0U, 1U, 15U, 16U, 23U, 65U, 4096U}) {
    world->send(peer, wire::kRdmoMessageId, std::vector<std::byte>(bytes), "payload");
    world->send(peer, wire::kRdmoExtendedMessageId, std::vector<std::byte>(bytes), "payload");
  }
  EXPECT_EQ(world->worker.held(), 0U);
  EXPECT_TRUE(world->payloads.empty());
  EXPECT_GE(world->worker.counters().malformed, 7U);
  EXPECT_EQ(world->send(peer, 9, std::vector<std::byte>(24), ""), Taken::kDone);
  EXPECT_EQ(world->worker.counters().unknown_message, 1U);
  EXPECT_EQ(world->send(77, 0, std::vector<std::byte>(24), ""), Taken::kDone);
  EXPECT_EQ(world->worker.counters().unknown_peer, 1U);
}

TEST_F(Defects, D14AReadOfOneCellHoldsUpThatCellAlone) {
  const std::uint64_t other = cell + 1024;
  world->targets[0].set_word(other, other + 8);
  world->append(peer, target, cell, key, "waits");
  world->ask(peer, WorkerWorld::extended_append(target, other, key), "goes on");
  ASSERT_EQ(world->pending.size(), 2U);
  world->answer(1);  // The other cell.
  while (world->pending.size() > 1) world->answer(1);
  EXPECT_EQ(world->last_status(), RdmoStatus::kDone);
  EXPECT_EQ(world->targets[0].text(other + 8, 7), "goes on");
  EXPECT_EQ(text(5), ".....");
  world->run();
  EXPECT_EQ(text(5), "waits");
}

TEST_F(Defects, D15TheFlushIdIsCopiedByteByByte) {
  world->flush(peer, target, 0x0102'0304'0506'0708);
  world->run();
  ASSERT_EQ(world->heard.size(), 1U);
  EXPECT_FALSE(world->heard[0].extended);
  EXPECT_EQ(world->heard[0].flush_id, 0x0102'0304'0506'0708U);
}

}  // namespace
}  // namespace wharf::rdmo
