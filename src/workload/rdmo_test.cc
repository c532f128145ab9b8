// SPDX-License-Identifier: Apache-2.0
// The program `rdmo` on a runtime that shuffles everything: every use and protocol ends whole; what is broken
// is noticed; what makes no sense is refused.
#include "workload/rdmo.h"

#include <gtest/gtest.h>

#include "workload/run_test_support.h"

namespace wharf::workload {
namespace {

/// Party 1 is at the memory, or beside it.
struct AttendedRun {
  Verdict verdict;
  std::vector<RdmoResult> results;
  std::vector<std::byte> region;
  std::size_t unfinished = 0;
};

AttendedRun attended_run(const RdmoConfig& config, std::uint32_t parties, std::uint64_t seed = 1,
                         const FakeFaults& faults = {}, const FakeFaults& memory_faults = {}) {
  AttendedRun outcome;
  FakeScheduler scheduler(seed);
  const Party all{0, parties};
  EXPECT_TRUE(check(config, all).ok());
  const bool beside = config.worker_at == RdmoWorkerPlace::kBeside;
  const std::uint64_t needed = config.region_offset + memory_needed(config, all);
  std::vector<std::unique_ptr<FakeCore>> cores;
  std::deque<FakeTarget> targets(parties);
  std::vector<std::uint64_t> own(parties);
  outcome.results.resize(parties);
  for (std::uint32_t party = 0; party < parties; ++party) {
    cores.push_back(std::make_unique<FakeCore>(scheduler));
    const Bytes length{party == 1 ? needed : own_memory_needed(config)};
    own[party] = cores[party]->allocate(length);
    targets[party].elsewhere = cores[party]->bytes(own[party], length);
  }
  const auto region = targets[1].elsewhere.subspan(config.region_offset);
  prepare(config, all, region, seed);
  std::deque<FakeRemote> remotes;
  std::vector<std::vector<FakeRemote*>> tables(parties, std::vector<FakeRemote*>(parties));
  std::vector<FakeRemote*> memory(parties);
  for (std::uint32_t party = 0; party < parties; ++party) {
    if (beside) memory[party] = &remotes.emplace_back(scheduler, *cores[party], targets[1], memory_faults);
    if (party == 1) continue;
    FakeRemote& near = remotes.emplace_back(scheduler, *cores[party], targets[1], faults);
    FakeRemote& far = remotes.emplace_back(scheduler, *cores[1], targets[party], faults);
    near.connect(far);
    far.connect(near);
    tables[party][1] = &near;
    tables[1][party] = &far;
  }
  for (std::uint32_t party = 0; party < parties; ++party) {
    FakeRemote& first = *(party == 1 ? tables[1][0] : tables[party][1]);
    cores[party]->spawn(run(config, Party{party, parties}, seed, first, *cores[party], outcome.results[party],
                            Peers<FakeRemote>{tables[party], own[party], memory[party]}));
  }
  scheduler.run();
  for (const auto& core : cores) outcome.unfinished += core->unfinished();
  outcome.verdict = verify(config, all, region, seed, outcome.results);
  for (const RdmoResult& result : outcome.results) outcome.verdict += result.loop.verdict;
  outcome.region.assign(region.begin(), region.end());
  return outcome;
}

RdmoConfig config_of(RdmoUse use, RdmoWorkerPlace place) {
  RdmoConfig config;
  config.use = use;
  config.worker_at = place;
  config.loop.operations = 60;
  config.loop.concurrency = 3;
  config.eager_most = 1024;
  config.rows = 200;
  config.queue_bytes = 1024;
  return config;
}

void expect_whole(const AttendedRun& run, const char* what) {
  EXPECT_TRUE(run.verdict.holds()) << what << ": " << describe(run.verdict);
  EXPECT_GT(run.verdict.checks, 50U) << what;
  EXPECT_EQ(run.unfinished, 0U) << what;
  for (const RdmoResult& result : run.results) EXPECT_EQ(result.loop.errors, 0U) << what;
}

TEST(Rdmo, EveryUseEndsWholeAtTheTargetAndBesideIt) {
  for (const Choice<RdmoUse>& use : kRdmoUses) {
    for (const Choice<RdmoWorkerPlace>& place : kRdmoWorkerPlaces) {
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        RdmoConfig config = config_of(use.value, place.value);
        for (const std::uint32_t batch : {1U, 4U}) {
          config.batch = batch;
          expect_whole(attended_run(config, 5, seed), use.name.data());
        }
      }
    }
  }
}

TEST(Rdmo, PublishedMessagesAndFlushesEndWhole) {
  for (const RdmoUse use : {RdmoUse::kAppend, RdmoUse::kLog, RdmoUse::kScatter, RdmoUse::kWriteAhead}) {
    RdmoConfig config = config_of(use, RdmoWorkerPlace::kTarget);
    config.messages = RdmoMessages::kPublished;
    config.flush_every = 8;
    const AttendedRun run = attended_run(config, 4);
    expect_whole(run, "published");
    EXPECT_GT(run.results[0].flushes, 1U);
  }
}

TEST(Rdmo, LongRecordsAreFetched) {
  for (const Choice<RdmoWorkerPlace>& place : kRdmoWorkerPlaces) {
    for (const RdmoMessages messages : {RdmoMessages::kExtended, RdmoMessages::kPublished}) {
      RdmoConfig config = config_of(RdmoUse::kAppend, place.value);
      config.messages = messages;
      config.payload = 4096;
      config.eager_most = 512;
      expect_whole(attended_run(config, 3), place.name.data());
    }
  }
}

TEST(Rdmo, AThreadOfTheServerAppendsTheSameRecords) {
  for (const std::uint32_t payload : {16U, 4096U}) {
    RdmoConfig config = config_of(RdmoUse::kAppend, RdmoWorkerPlace::kTarget);
    config.protocol = RdmoProtocol::kServerThread;
    config.payload = payload;
    config.eager_most = 1024;
    config.load_percent = 50;
    expect_whole(attended_run(config, 4), "server thread");
  }
}

TEST(Rdmo, ClientsAloneAppendTheSameRecords) {
  for (const RdmoProtocol protocol : {RdmoProtocol::kTwoStep, RdmoProtocol::kClientLock}) {
    RdmoConfig config = config_of(RdmoUse::kAppend, RdmoWorkerPlace::kTarget);
    config.protocol = protocol;
    config.batch = 2;
    const FakeRun run = fake_run(config, 4);
    EXPECT_TRUE(run.verdict.holds()) << describe(run.verdict);
    EXPECT_EQ(run.unfinished, 0U);
    EXPECT_EQ(run.operations(), 240U);
  }
}

TEST(Rdmo, MessagesThatComeTwiceChangeNothing) {
  for (const Choice<RdmoUse>& use : kRdmoUses) {
    for (const Choice<RdmoWorkerPlace>& place : kRdmoWorkerPlaces) {
      RdmoConfig config = config_of(use.value, place.value);
      expect_whole(attended_run(config, 5, 1, {.double_messages = true}), use.name.data());
    }
  }
  RdmoConfig config = config_of(RdmoUse::kAppend, RdmoWorkerPlace::kTarget);
  config.messages = RdmoMessages::kPublished;
  config.flush_every = 8;
  expect_whole(attended_run(config, 4, 1, {.double_messages = true}), "published");
  config.messages = RdmoMessages::kExtended;
  config.payload = 4096;
  config.eager_most = 512;
  expect_whole(attended_run(config, 3, 1, {.double_messages = true}), "fetched");
  config = config_of(RdmoUse::kAppend, RdmoWorkerPlace::kTarget);
  config.protocol = RdmoProtocol::kServerThread;
  expect_whole(attended_run(config, 4, 1, {.double_messages = true}), "server thread");
}

TEST(RdmoArrivals, GivesEachNumberOnceAndInOrder) {
  RdmoArrivals arrivals(2);
  std::uint32_t entry = 0;
  EXPECT_TRUE(arrivals.arrived(1, 7));
  EXPECT_FALSE(arrivals.arrived(1, 8)) << "while it waits";
  EXPECT_FALSE(arrivals.next(entry));
  EXPECT_TRUE(arrivals.arrived(0, 9));
  ASSERT_TRUE(arrivals.next(entry));
  EXPECT_EQ(entry, 9U);
  ASSERT_TRUE(arrivals.next(entry));
  EXPECT_EQ(entry, 7U);
  EXPECT_FALSE(arrivals.arrived(0, 9)) << "after it was given";
  EXPECT_FALSE(arrivals.arrived(1, 9));
  EXPECT_FALSE(arrivals.next(entry));
}

TEST(Rdmo, ALostWriteIsNoticed) {
  RdmoConfig config = config_of(RdmoUse::kAppend, RdmoWorkerPlace::kBeside);
  EXPECT_FALSE(attended_run(config, 3, 1, {}, {.lose_write_every = 20}).verdict.holds());
  config.use = RdmoUse::kScatter;
  EXPECT_FALSE(attended_run(config, 3, 1, {}, {.lose_write_every = 20}).verdict.holds());
  config.use = RdmoUse::kAppend;
  config.worker_at = RdmoWorkerPlace::kTarget;
  config.protocol = RdmoProtocol::kTwoStep;
  EXPECT_FALSE(fake_run(config, 3, {.lose_write_every = 20}).verdict.holds());
  config.protocol = RdmoProtocol::kClientLock;
  EXPECT_FALSE(fake_run(config, 3, {.compare_swap_ignores_compare = true}).verdict.holds());
}

TEST(Rdmo, ReadersNoticeWhatMemoryShowsWrong) {
  for (const RdmoUse use : {RdmoUse::kLog, RdmoUse::kWriteAhead}) {
    const RdmoConfig config = config_of(use, RdmoWorkerPlace::kBeside);
    EXPECT_FALSE(attended_run(config, 3, 1, {}, {.corrupt_read_every = 3}).verdict.holds());
  }
}

TEST(Rdmo, RefusesWhatCannotBe) {
  const auto sentence = [](auto change, std::uint32_t parties = 4) {
    RdmoConfig config;
    change(config);
    const Result<void> checked = check(config, {0, parties});
    return checked.ok() ? std::string() : checked.error().message;
  };
  EXPECT_EQ(sentence([](RdmoConfig&) {}), "");
  EXPECT_NE(sentence([](RdmoConfig& c) { c.payload = 20; }).find("payload is 20"), std::string::npos);
  EXPECT_NE(sentence([](RdmoConfig& c) {
              c.protocol = RdmoProtocol::kTwoStep;
              c.use = RdmoUse::kQueue;
            }).find("use is queue"),
            std::string::npos);
  EXPECT_NE(sentence([](RdmoConfig& c) {
              c.worker_at = RdmoWorkerPlace::kBeside;
              c.load_percent = 50;
            }).find("load_percent is 50"),
            std::string::npos);
  EXPECT_NE(sentence([](RdmoConfig& c) {
              c.messages = RdmoMessages::kPublished;
              c.batch = 2;
            }).find("batch is 2"),
            std::string::npos);
  EXPECT_NE(sentence([](RdmoConfig& c) {
              c.use = RdmoUse::kQueue;
              c.queue_bytes = 100;
            }).find("queue_bytes is 100"),
            std::string::npos);
  EXPECT_NE(sentence([](RdmoConfig& c) {
              c.use = RdmoUse::kLog;
              c.readers = 3;
            }).find("readers is 3"),
            std::string::npos);
  EXPECT_NE(sentence([](RdmoConfig& c) {
              c.use = RdmoUse::kScatter;
              c.rows = 2;
            }).find("rows is 2"),
            std::string::npos);
  EXPECT_NE(sentence([](RdmoConfig&) {}, 1).find("parties is 1"), std::string::npos);
}

}  // namespace
}  // namespace wharf::workload
