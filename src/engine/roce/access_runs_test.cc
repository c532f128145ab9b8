// SPDX-License-Identifier: Apache-2.0
// Accesses that are a run inside the engine, and requests that are prepared together: the host sees what it
// would see of each alone.
#include <cstddef>
#include <functional>
#include <vector>

#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using engine::Access;
using engine::AccessKind;
using engine::AccessResult;
using engine::AccessStatus;
using engine::PostStatus;
using engine::Submission;
using test::RocePair;
using verbs::CompletionStatus;
using verbs::Verb;

/// Memory as RoceEngine::perform() sees it.
struct Host {
  std::vector<Access> asked{};
  std::function<bool(std::size_t, AccessResult&)> answer{};  ///< By number of the access; empty: at once.
  std::size_t told_of = 0;

  bool begin(Access& access, AccessResult& result) {
    static const std::byte kBytes[64] = {};
    const std::size_t number = asked.size();
    asked.push_back(access);
    if (access.kind == AccessKind::kRead) result.data = wire::bytes_payload(kBytes, access.length);
    return !answer || answer(number, result);
  }
  void told(AccessResult&) { ++told_of; }
};

class RoceAccessRuns : public ::testing::Test {
 protected:
  RoceEngine& engine(std::uint32_t host) { return world.pair.engine(host); }
  void post(std::uint32_t host, engine::QueueId queue, int count = 1) {
    for (int i = 0; i < count; ++i) {
      const verbs::WorkRequest request = world.request(Verb::kWrite, 0, 4096, 64, host);
      ASSERT_EQ(engine(host).post(now, queue, request, Submission::kInHand), PostStatus::kOk);
    }
  }
  /// How many packets of `from` have left, and reached the other end.
  int pass_packets(std::uint32_t from) {
    wire::Packet packet;
    int count = 0;
    for (; engine(from).transmit(now, 0, wire::kAllTrafficClasses, packet); ++count) {
      engine(1 - from).receive(now, 0, packet);
    }
    return count;
  }
  std::vector<CompletionStatus> completions(engine::QueueId queue) {
    std::vector<CompletionStatus> all;
    verbs::Completion completion;
    while (engine(0).poll(queue, completion)) all.push_back(completion.status);
    return all;
  }

  static constexpr std::uint64_t kRing = 0x9000;
  RocePair world{{}, {}, 2, {.send_depth = 8, .receive_depth = 4, .completion_ring = kRing}};
  TimePs now = world.pair.now();
};

TEST_F(RoceAccessRuns, LateAnswersAndFaultsConcernOneAccess) {
  post(0, 0, 6);
  Host memory;
  memory.answer = [](std::size_t number, AccessResult& result) {
    if (number == 3) result.status = AccessStatus::kFault;
    return number != 1;
  };
  EXPECT_TRUE(engine(0).perform(now, memory));
  ASSERT_EQ(memory.asked.size(), 6U);
  EXPECT_EQ(memory.told_of, 5U);
  EXPECT_EQ(pass_packets(0), 1);
  AccessResult late;
  const std::byte bytes[64] = {};
  late.data = wire::bytes_payload(bytes);
  engine(0).access_done(now, memory.asked[1].id, late);
  engine(0).access_done(now, memory.asked[1].id, late);  // Once is enough.
  EXPECT_EQ(pass_packets(0), 2);
  // The fourth fails when those before it are complete.
  Host there;
  EXPECT_TRUE(engine(1).perform(now, there));
  EXPECT_EQ(there.asked.size(), 3U);
  EXPECT_EQ(pass_packets(1), 1);
  EXPECT_TRUE(engine(0).perform(now, memory));
  EXPECT_EQ(completions(0),
            (std::vector<CompletionStatus>{CompletionStatus::kSuccess, CompletionStatus::kSuccess,
                                           CompletionStatus::kSuccess, CompletionStatus::kLocalAccess,
                                           CompletionStatus::kFlushed, CompletionStatus::kFlushed}));
}

// A completion whose record memory does not keep says so, and the others are what they were.
TEST_F(RoceAccessRuns, LostRecordIsOneCompletion) {
  post(0, 0, 4);
  Host memory;
  EXPECT_TRUE(engine(0).perform(now, memory));
  EXPECT_EQ(pass_packets(0), 4);
  Host there;
  EXPECT_TRUE(engine(1).perform(now, there));
  EXPECT_EQ(pass_packets(1), 1);
  Host again;
  again.answer = [](std::size_t number, AccessResult& result) {
    if (number == 1) result.status = AccessStatus::kFault;
    return number != 2;
  };
  EXPECT_TRUE(engine(0).perform(now, again));
  EXPECT_EQ(completions(0),
            (std::vector<CompletionStatus>{CompletionStatus::kSuccess, CompletionStatus::kLocalOperation}));
  engine(0).access_done(now, again.asked[2].id, {});
  EXPECT_EQ(completions(0),
            (std::vector<CompletionStatus>{CompletionStatus::kSuccess, CompletionStatus::kSuccess}));
}

TEST_F(RoceAccessRuns, RecordsLieBackToBackAndBeginAgain) {
  const std::uint32_t bytes = RoceConfig{}.completion_bytes;
  std::vector<Access> records;
  for (int round = 0; round < 9; ++round) {
    post(0, 0, 5);
    Host memory;
    EXPECT_TRUE(engine(0).perform(now, memory));
    EXPECT_EQ(pass_packets(0), 5);
    Host there;
    EXPECT_TRUE(engine(1).perform(now, there));
    EXPECT_EQ(pass_packets(1), 1);
    if (round % 2 == 0) {
      Host again;
      EXPECT_TRUE(engine(0).perform(now, again));
      records.insert(records.end(), again.asked.begin(), again.asked.end());
    } else {
      Access access;
      std::vector<Access> taken;
      while (engine(0).next_access(access)) taken.push_back(access);
      for (const Access& each : taken) engine(0).access_done(now, each.id, {});
      records.insert(records.end(), taken.begin(), taken.end());
    }
    EXPECT_EQ(completions(0).size(), 5U);
  }
  ASSERT_EQ(records.size(), 45U);
  for (std::size_t at = 0; at < records.size(); ++at) {
    EXPECT_EQ(records[at].kind, AccessKind::kWriteCompletion);
    EXPECT_EQ(records[at].address, kRing + (at % 12) * bytes) << at;
    EXPECT_EQ(records[at].length, bytes);
    EXPECT_EQ(records[at].order, verbs::AccessOrder::kRelease);
  }
}

// Accesses come in the order of the inputs that ask for them.
TEST_F(RoceAccessRuns, QueuesAndInputsKeepTheirOrder) {
  for (const engine::QueueId queue : {0U, 1U, 0U, 0U, 1U}) post(0, queue);
  post(1, 0);
  Host there;
  EXPECT_TRUE(engine(1).perform(now, there));
  EXPECT_EQ(pass_packets(1), 1);
  post(0, 0);
  Host memory;
  EXPECT_TRUE(engine(0).perform(now, memory));
  std::vector<engine::QueueId> queues;
  std::vector<AccessKind> kinds;
  for (const Access& each : memory.asked) {
    queues.push_back(each.queue);
    kinds.push_back(each.kind);
  }
  EXPECT_EQ(queues, (std::vector<engine::QueueId>{0, 1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(kinds, (std::vector<AccessKind>{AccessKind::kRead, AccessKind::kRead, AccessKind::kRead,
                                            AccessKind::kRead, AccessKind::kRead, AccessKind::kWrite,
                                            AccessKind::kRead}));
}

TEST_F(RoceAccessRuns, ResetQueueAsksForNothing) {
  post(0, 0, 3);
  Access first;
  ASSERT_TRUE(engine(0).next_access(first));
  post(0, 0, 2);
  ASSERT_TRUE(engine(0).reset(now, 0).ok());
  Access other;
  EXPECT_FALSE(engine(0).next_access(other));
  engine(0).access_done(now, first.id, {});
  // What is posted afterwards is not mistaken for it.
  ASSERT_TRUE(engine(1).reset(now, 0).ok());
  world.connect(0);
  post(0, 0, 2);
  Host memory;
  EXPECT_TRUE(engine(0).perform(now, memory));
  EXPECT_EQ(memory.asked.size(), 2U);
  EXPECT_EQ(pass_packets(0), 2);
}

}  // namespace
}  // namespace wharf::roce
