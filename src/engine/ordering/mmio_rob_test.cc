// SPDX-License-Identifier: Apache-2.0
// "Efficient Remote Memory Ordering for Non-Coherent Interconnects" (ASPLOS '26), 4.2, 5.2 and 6.8, rule by
// rule, and any arrival order of any threads as a property.
#include "engine/ordering/mmio_rob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>

#include "engine/ordering/mmio_random_run_test_support.h"

namespace wharf::ordering {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MmioOperation numbered(MmioKind kind, std::uint32_t number, std::uint32_t ordered_after = 0) {
  MmioOperation operation;
  operation.kind = kind;
  operation.number = number;
  operation.ordered_after = kind == MmioKind::kRelease ? number : ordered_after;
  operation.address = std::uint64_t{number} * kLineBytes;
  operation.length = 64;
  return operation;
}

MmioOperation store(std::uint32_t number) { return numbered(MmioKind::kStore, number); }
MmioOperation release(std::uint32_t number) { return numbered(MmioKind::kRelease, number); }

MmioRobConfig refined() {
  MmioRobConfig config;
  config.rule = ReleaseRule::kRefined;
  return config;
}

/// Numbers of everything that may leave, in the order in which it does.
std::vector<std::uint32_t> drain(MmioRob& rob, MmioLinkRoom room = {}) {
  std::vector<std::uint32_t> numbers;
  MmioOperation out;
  while (rob.next_dispatch(out, room)) numbers.push_back(out.number);
  return numbers;
}

std::vector<std::byte> state_of(const MmioRob& rob) {
  std::vector<std::byte> state;
  rob.append_state(state);
  return state;
}

// 5.2: a number that is next leaves with every directly following one; a later one waits.
TEST(MmioRob, StrictHandsOnInTheOrderOfNumbers) {
  MmioRob rob{MmioRobConfig{}};
  EXPECT_EQ(rob.accept(store(2)), MmioArrival::kAccepted);
  EXPECT_EQ(rob.accept(release(1)), MmioArrival::kAccepted);
  EXPECT_THAT(drain(rob), IsEmpty());
  EXPECT_EQ(rob.missing_number(0), 0U);
  EXPECT_EQ(rob.accept(store(0)), MmioArrival::kAccepted);
  EXPECT_THAT(drain(rob), ElementsAre(0, 1, 2));
  EXPECT_EQ(rob.next_number(0), 3U);
  EXPECT_EQ(rob.missing_number(0), std::nullopt);
}

// 4.2: a relaxed store has no order; a release waits for every lower number.
TEST(MmioRob, RefinedStoreOvertakesAndReleaseWaitsForAll) {
  MmioRob rob(refined());
  rob.accept(store(1));
  EXPECT_THAT(drain(rob), ElementsAre(1));
  rob.accept(release(3));
  EXPECT_THAT(drain(rob), IsEmpty());
  rob.accept(store(0));
  EXPECT_THAT(drain(rob), ElementsAre(0));
  rob.accept(store(2));
  EXPECT_THAT(drain(rob), ElementsAre(2, 3));
}

// 4.2, RISC-V: what follows a fence comes after all that precedes it, releases or not.
TEST(MmioRob, RefinedStoreAfterAFenceWaits) {
  MmioRob rob(refined());
  rob.accept(numbered(MmioKind::kStore, 2, 1));
  EXPECT_THAT(drain(rob), IsEmpty());
  rob.accept(store(0));
  EXPECT_THAT(drain(rob), ElementsAre(0, 2));
}

// 5.2: a number below `next`, or seen twice ahead of it, is an error; so is one beyond the slots.
TEST(MmioRob, ReportsDuplicatesAndNumbersTooFarAhead) {
  MmioRob rob{MmioRobConfig{}};
  rob.accept(store(0));
  EXPECT_EQ(rob.accept(store(0)), MmioArrival::kDuplicate);
  EXPECT_THAT(drain(rob), ElementsAre(0));
  EXPECT_EQ(rob.accept(store(0)), MmioArrival::kDuplicate);
  rob.accept(store(2));
  EXPECT_EQ(rob.accept(release(2)), MmioArrival::kDuplicate);
  EXPECT_EQ(rob.accept(store(17)), MmioArrival::kTooFar);
  EXPECT_EQ(rob.accept(store(16)), MmioArrival::kAccepted);
  EXPECT_EQ(rob.accept(numbered(MmioKind::kStore, 200, 200)), MmioArrival::kDuplicate)
      << "more than half a turn ahead is behind";
  EXPECT_EQ(rob.errors().duplicates, 4U);
  EXPECT_EQ(rob.errors().too_far, 1U);
}

TEST(MmioRob, RefinedRemembersWhatLeftAheadAgainstDuplicates) {
  MmioRob rob(refined());
  rob.accept(store(5));
  EXPECT_THAT(drain(rob), ElementsAre(5));
  EXPECT_EQ(rob.accept(store(5)), MmioArrival::kDuplicate);
}

TEST(MmioRob, RefusesWhatHasNoNumberOrAnImpossibleOne) {
  MmioRob rob(refined());
  EXPECT_EQ(rob.accept(numbered(MmioKind::kUncachedStore, 0)), MmioArrival::kMalformed);
  EXPECT_EQ(rob.accept(numbered(MmioKind::kStore, 3, 4)), MmioArrival::kMalformed);
  MmioOperation foreign = store(0);
  foreign.thread = 1;
  EXPECT_EQ(rob.accept(foreign), MmioArrival::kMalformed);
  EXPECT_EQ(rob.errors().malformed, 3U);
}

// 5.2: the thread is part of the number.
TEST(MmioRob, ThreadsDoNotWaitForEachOther) {
  MmioRobConfig config;
  config.numbering.threads = 2;
  MmioRob rob(config);
  rob.accept(store(1));
  MmioOperation other = store(0);
  other.thread = 1;
  rob.accept(other);
  EXPECT_THAT(drain(rob), ElementsAre(0));
  EXPECT_EQ(rob.waiting(0), 1U);
  EXPECT_EQ(rob.next_number(1), 1U);
}

// Numbers are finite: the turn from the last to the first is one like any other.
TEST(MmioRob, WrapsAtTheWidthOfTheNumber) {
  for (const ReleaseRule rule : {ReleaseRule::kStrict, ReleaseRule::kRefined}) {
    MmioRobConfig config;
    config.rule = rule;
    config.numbering.bits = 5;
    MmioRob rob(config);
    for (std::uint32_t i = 0; i < 200; i += 2) {
      EXPECT_EQ(rob.accept(release((i + 1) % 32)), MmioArrival::kAccepted) << i;
      EXPECT_THAT(drain(rob), IsEmpty());
      EXPECT_EQ(rob.accept(numbered(MmioKind::kStore, i % 32, i % 32)), MmioArrival::kAccepted) << i;
      EXPECT_THAT(drain(rob), ElementsAre(i % 32, (i + 1) % 32));
    }
  }
}

// PCIe: a posted write passes a read that cannot leave; a read never passes the write before it.
TEST(MmioRob, ABlockedLoadHoldsBackNoStore) {
  for (const ReleaseRule rule : {ReleaseRule::kStrict, ReleaseRule::kRefined}) {
    MmioRobConfig config;
    config.rule = rule;
    MmioRob rob(config);
    rob.accept(numbered(MmioKind::kLoad, 0));
    rob.accept(numbered(MmioKind::kAcquire, 1));
    rob.accept(release(2));
    EXPECT_THAT(drain(rob, {.posted = true, .non_posted = false}), ElementsAre(2));
    rob.accept(numbered(MmioKind::kLoad, 4, 4));
    EXPECT_THAT(drain(rob), ElementsAre(0, 1)) << "load 4 comes after store 3";
    rob.accept(store(3));
    EXPECT_THAT(drain(rob), ElementsAre(3, 4));
  }
}

// 6.8: two networks of 16 entries of 64 bytes, 2048 bytes in all.
TEST(MmioRob, HoldsTwoNetworksOfSixteenLines) {
  EXPECT_EQ(MmioRob(MmioRobConfig{}).storage_bytes(), 2048U);
  MmioRob rob(refined());
  for (std::uint32_t number = 1; number <= 15; ++number) {
    EXPECT_EQ(rob.accept(release(number)), MmioArrival::kAccepted);
  }
  EXPECT_EQ(rob.waiting(), 15U);
  rob.accept(store(0));
  EXPECT_THAT(drain(rob), testing::SizeIs(16));
}

/// Sends stores and releases over as many channels as the buffer has networks for them; releases overtake
/// stores. The core keeps to no window. True when all leave.
bool drains_without_credits(bool shared_network) {
  MmioRobConfig config = refined();
  config.overflow = RobOverflow::kHold;
  config.shared_network = shared_network;
  MmioRob rob(config);
  std::array<std::deque<MmioOperation>, kMmioNetworks> channels;
  for (std::uint32_t number = 1; number <= 24; ++number) {
    channels[static_cast<std::size_t>(rob.network(MmioKind::kRelease))].push_back(release(number));
  }
  channels[static_cast<std::size_t>(rob.network(MmioKind::kStore))].push_back(store(0));
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& channel : channels) {
      if (channel.empty() || rob.accept(channel.front()) != MmioArrival::kAccepted) continue;
      channel.pop_front();
      moved = true;
    }
    moved = !drain(rob).empty() || moved;
  }
  return rob.next_number(0) == 25;
}

// 6.8: why there are two networks. Releases that wait for a store fill a shared one, and the store stands
// behind them.
TEST(MmioRob, ASharedNetworkDeadlocksAndTwoDoNot) {
  EXPECT_TRUE(drains_without_credits(false));
  EXPECT_FALSE(drains_without_credits(true));
}

TEST(MmioRob, HoldsWhatDoesNotFitUntilSomethingLeaves) {
  MmioRobConfig config;
  config.overflow = RobOverflow::kHold;
  MmioRob rob(config);
  EXPECT_EQ(rob.accept(store(16)), MmioArrival::kHeld);
  EXPECT_EQ(rob.accept(store(0)), MmioArrival::kAccepted);
  EXPECT_EQ(rob.accept(store(16)), MmioArrival::kHeld);
  EXPECT_THAT(drain(rob), ElementsAre(0));
  EXPECT_EQ(rob.accept(store(16)), MmioArrival::kAccepted);
  EXPECT_EQ(rob.errors().too_far, 0U);
}

TEST(MmioRob, OneCreditPerDomainThatMoved) {
  MmioRobConfig config;
  config.numbering.threads = 2;
  MmioRob rob(config);
  MmioCredit credit;
  EXPECT_FALSE(rob.next_credit(credit));
  rob.accept(store(0));
  EXPECT_FALSE(rob.next_credit(credit)) << "arrived is not left";
  rob.accept(store(1));
  drain(rob);
  ASSERT_TRUE(rob.next_credit(credit));
  EXPECT_EQ(credit.domain, 0U);
  EXPECT_EQ(credit.next, 2U);
  EXPECT_FALSE(rob.next_credit(credit));
}

// What an explorer needs: every choice can be taken, and states that differ by a shift of all numbers are
// one.
TEST(MmioRob, EnumeratesWhatMayLeave) {
  MmioRob rob(refined());
  rob.accept(store(0));
  rob.accept(store(1));
  rob.accept(release(2));
  ASSERT_EQ(rob.dispatch_choices(), 2U);
  MmioRob copy = rob;
  EXPECT_EQ(copy.take_dispatch(1).number, 1U);
  EXPECT_EQ(copy.dispatch_choices(), 1U);
  EXPECT_EQ(rob.dispatch_choices(), 2U) << "a copy is its own";
  EXPECT_NE(state_of(copy), state_of(rob));
}

TEST(MmioRob, StateHasNoAbsoluteNumbers) {
  const auto with_waiting = [](std::uint32_t first) {
    MmioRob rob(refined());
    MmioCredit credit;
    for (std::uint32_t number = 0; number < first; ++number) {
      rob.accept(numbered(MmioKind::kStore, number % 256, number % 256));
      drain(rob);
      rob.next_credit(credit);
    }
    for (const std::uint32_t ahead : {3U, 5U}) {
      MmioOperation waiting = release((first + ahead) % 256);
      waiting.address = 0;
      rob.accept(waiting);
    }
    rob.accept(numbered(MmioKind::kStore, (first + 4) % 256, first % 256));
    drain(rob);
    rob.next_credit(credit);
    return state_of(rob);
  };
  EXPECT_EQ(with_waiting(0), with_waiting(1));
  EXPECT_EQ(with_waiting(0), with_waiting(253));
}

// 4.2, RISC-V, the other encoding: operations of an epoch share its number, and the next epoch says how many
// there were.
TEST(MmioRob, EpochsLeaveOneAfterAnotherByCounting) {
  MmioRobConfig config = refined();
  config.numbering.scheme = NumberingScheme::kEpochCount;
  MmioRob rob(config);
  const auto of_epoch = [](std::uint32_t before, std::uint32_t tag) {
    MmioOperation operation = numbered(MmioKind::kStore, 0, before);
    operation.tag = tag;
    return operation;
  };
  const auto tags = [&] {
    std::vector<std::uint32_t> left;
    MmioOperation out;
    while (rob.next_dispatch(out)) left.push_back(out.tag);
    return left;
  };
  rob.accept(of_epoch(3, 30));
  rob.accept(of_epoch(2, 20));
  EXPECT_THAT(tags(), IsEmpty());
  rob.accept(of_epoch(0, 1));
  EXPECT_THAT(tags(), ElementsAre(1));
  rob.accept(of_epoch(0, 0));
  EXPECT_THAT(tags(), ElementsAre(0, 20, 30));
}

MmioRobConfig random_config(ReleaseRule rule) {
  MmioRobConfig config;
  config.rule = rule;
  config.numbering.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
  config.numbering.bits = *rc::gen::inRange<std::uint32_t>(5, 9);
  return config;
}

RC_GTEST_PROP(MmioRob, AnyArrivalOrderLeavesInThreadOrderUnderTheStrictRule, (std::uint64_t seed)) {
  RC_ASSERT(RobRun(random_config(ReleaseRule::kStrict), true, seed).run(150) == "");
}

RC_GTEST_PROP(MmioRob, AnyArrivalOrderLeavesReleaseAfterAllUnderTheRefinedRule, (std::uint64_t seed)) {
  RC_ASSERT(RobRun(random_config(ReleaseRule::kRefined), true, seed).run(150) == "");
}

RC_GTEST_PROP(MmioRob, AnyArrivalOrderLeavesEpochAfterEpochByCounting, (std::uint64_t seed)) {
  MmioRobConfig config = random_config(ReleaseRule::kRefined);
  config.numbering.scheme = NumberingScheme::kEpochCount;
  config.numbering.bits += 1;  // An epoch and a window have to fit into half of all numbers.
  RC_ASSERT(RobRun(config, true, seed).run(150) == "");
}

// The same without credits: two networks always move on, however small the buffer. Under the refined rule
// stores change places before they enter theirs, as write-combining buffers let them; the link takes reads
// only now and then.
RC_GTEST_PROP(MmioRob, TwoNetworksMoveOnWithoutCredits, (std::uint64_t seed)) {
  MmioRobConfig config;
  config.rule = *rc::gen::element(ReleaseRule::kStrict, ReleaseRule::kRefined);
  config.overflow = RobOverflow::kHold;
  config.entries_per_network = *rc::gen::element(1U, 4U, 16U);
  MmioRob rob(config);
  RandomStream random(seed, "held");
  ReorderingPath buffers(random, config.rule == ReleaseRule::kRefined ? 8 : 1);
  std::array<std::deque<MmioOperation>, kMmioNetworks> channels;
  const auto channel_of = [&](const MmioOperation& operation) -> std::deque<MmioOperation>& {
    return channels[static_cast<std::size_t>(rob.network(operation.kind))];
  };
  constexpr std::array kinds{MmioKind::kStore, MmioKind::kStore, MmioKind::kRelease, MmioKind::kLoad};
  for (std::uint32_t number = 0; number < 100; ++number) {
    const MmioOperation operation = numbered(kinds[draw(random, kinds.size())], number);
    operation.kind == MmioKind::kStore ? buffers.enter(operation)
                                       : channel_of(operation).push_back(operation);
  }
  while (buffers.size() > 0) {
    const MmioOperation operation = buffers.take();
    channel_of(operation).push_back(operation);
  }
  std::uint32_t left = 0;
  for (int step = 0; left < 100; ++step) {
    RC_ASSERT(step < 20000);
    auto& channel = channels[draw(random, kMmioNetworks)];
    if (!channel.empty()) {
      const MmioArrival arrival = rob.accept(channel.front());
      RC_ASSERT(arrival == MmioArrival::kAccepted || arrival == MmioArrival::kHeld);
      if (arrival == MmioArrival::kAccepted) channel.pop_front();
    }
    MmioOperation out;
    while (draw(random, 2) == 0 && rob.next_dispatch(out, {true, draw(random, 8) == 0})) ++left;
  }
}

// One thread's numbers through buffers that leave in any order: the source that really reorders.
RC_GTEST_PROP(MmioRob, NumberedStoresThroughWriteCombiningLeaveInOrder, (std::uint64_t seed)) {
  RC_ASSERT(numbered_path_run(*rc::gen::element(ReleaseRule::kStrict, ReleaseRule::kRefined), seed) == "");
}

}  // namespace
}  // namespace wharf::ordering
