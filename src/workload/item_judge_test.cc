// SPDX-License-Identifier: Apache-2.0
// Gets judged from the records of several parties, whoever recorded first and however the run was cut.
#include "workload/item_judge.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "workload/run_test_support.h"

namespace wharf::workload {
namespace {

using What = ItemRecord::What;

ItemRecord at(std::int64_t nanosecond, What what, std::uint64_t version = 0, std::uint32_t worker = 0) {
  return {
      .at = nanoseconds(nanosecond), .version = version, .worker = worker, .what = what, .accepted = true};
}

/// Two parties: the first reads, the second writes.
struct Parties {
  std::array<ItemGetsResult, 2> results;
  void judge(ItemJudge& judge, TimePs until = kNever) {
    const std::array<ItemGetsResult*, 2> all{&results[0], &results[1]};
    judge.judge(all, until);
  }
};

TEST(ItemJudge, FindsAGetThatMissesAPutOfAnotherParty) {
  Parties parties;
  parties.results[1].records = {at(10, What::kPutBegins), at(20, What::kPutEnds, 2)};
  parties.results[0].records = {at(21, What::kGetBegins), at(30, What::kGetEnds, 0)};
  ItemJudge judge(1);
  parties.judge(judge);
  EXPECT_EQ(parties.results[0].stale, 1U);
  EXPECT_EQ(parties.results[0].overlaps, 0U);
  EXPECT_EQ(parties.results[0].loop.verdict.first.what, "stale item");
  EXPECT_TRUE(parties.results[0].records.empty());
}

TEST(ItemJudge, AllowsEitherVersionBesideAPut) {
  for (const std::uint64_t version : {0U, 2U}) {
    Parties parties;
    parties.results[1].records = {at(10, What::kPutBegins), at(20, What::kPutEnds, 2)};
    parties.results[0].records = {at(5, What::kGetBegins), at(30, What::kGetEnds, version)};
    ItemJudge judge(1);
    parties.judge(judge);
    EXPECT_EQ(parties.results[0].stale, 0U);
    EXPECT_EQ(parties.results[0].overlaps, 1U);
  }
}

TEST(ItemJudge, HoldsAGetToWhatAnotherReturnedBefore) {
  Parties parties;
  parties.results[1].records = {at(1, What::kGetBegins), at(5, What::kGetEnds, 4)};
  parties.results[0].records = {at(6, What::kGetBegins), at(9, What::kGetEnds, 2)};
  ItemJudge judge(1);
  parties.judge(judge);
  EXPECT_EQ(parties.results[0].stale, 1U);
  EXPECT_EQ(parties.results[1].stale, 0U);
}

TEST(ItemJudge, CountsTornGetsAndLearnsNothingFromThem) {
  Parties parties;
  ItemRecord torn = at(5, What::kGetEnds, 8);
  torn.torn = true;
  torn.other = 6;
  parties.results[1].records = {at(1, What::kGetBegins), torn};
  parties.results[0].records = {at(6, What::kGetBegins), at(9, What::kGetEnds, 2)};
  ItemJudge judge(1);
  parties.judge(judge);
  EXPECT_EQ(parties.results[1].torn, 1U);
  // The sentence names both versions.
  EXPECT_EQ(parties.results[1].loop.verdict.first.expected, 8U);
  EXPECT_EQ(parties.results[1].loop.verdict.first.found, 6U);
  EXPECT_EQ(parties.results[0].stale, 0U);
}

/// What became of a party.
std::array<std::uint64_t, 4> sums(const ItemGetsResult& result) {
  return {result.overlaps, result.torn, result.stale, result.loop.verdict.violations};
}

TEST(ItemJudge, GivesTheSameInSlicesOfAnyLength) {
  RandomStream random(7, "records");
  Parties whole;
  std::int64_t now = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool reads = i % 2 == 0;
    ItemGetsResult& party = whole.results.at(reads ? 0 : 1);
    now += static_cast<std::int64_t>(random.below(3));  // Some at one instant.
    const auto put = static_cast<std::uint64_t>(i) / 4;
    party.records.push_back(at(now, reads ? What::kGetBegins : What::kPutBegins));
    party.records.push_back(reads ? at(now, What::kGetEnds, 2 * random.below(put + 1))
                                  : at(now, What::kPutEnds, 2 * put));
  }
  Parties cut = whole;
  ItemJudge one(1);
  whole.judge(one);
  ItemJudge several(1);
  for (std::int64_t until = 0; until <= now; until += 37) cut.judge(several, nanoseconds(until));
  cut.judge(several);
  for (std::size_t party = 0; party < 2; ++party)
    EXPECT_EQ(sums(whole.results.at(party)), sums(cut.results.at(party)));
  EXPECT_GT(whole.results[0].stale, 0U);
}

// The records of two parties tell more than each knows by itself.
TEST(ItemJudge, SeesStaleGetsOfProgramsThatWriteElsewhere) {
  ItemGetsConfig config;
  config.protocol = GetProtocol::kFarm;
  config.items = 1;
  config.loop.operations = 2000;
  config.loop.concurrency = 2;
  config.writers = 1;
  config.write_gap = microseconds(2);
  config.judging = GetJudging::kTogether;
  FakeRun sound = fake_run(config, 2);
  FakeRun broken = fake_run(config, 2, {.stale_reads = true});
  const auto judged = [&](FakeRun& run) {
    std::vector<ItemGetsResult> results;
    for (const WorkloadResult& result : run.results) results.push_back(std::get<ItemGetsResult>(result));
    judge_gets(config, results);
    EXPECT_GT(results[0].overlaps, 0U);
    return results[0].stale + results[1].stale;
  };
  EXPECT_EQ(judged(sound), 0U);
  EXPECT_GT(judged(broken), 0U);
}

}  // namespace
}  // namespace wharf::workload
