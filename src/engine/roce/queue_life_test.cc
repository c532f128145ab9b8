// SPDX-License-Identifier: Apache-2.0
// What a queue pair does in each of its states, and how it stands still: the rows of the tables in
// docs/protocol/roce.md. [IBTA vol 1 10.3.1]
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "engine/roce/roce_engine.h"
#include "tests/support/generated_block.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using engine::AsyncEventKind;
using engine::PostStatus;
using test::RocePair;
using test::RunEnd;
using verbs::CompletionStatus;
using verbs::Verb;
using wire::RoceOpcode;

/// Packets of 256 bytes, four of them ahead, a time-out of 65.5 us.
RoceConfig small_steps() {
  RoceConfig config;
  config.path_mtu = 256;
  config.window_packets = 4;
  config.ack_timeout = 4;
  config.starting_psn = 100;
  return config;
}

engine::QueueConfig of_service(engine::ServiceMode mode) {
  engine::QueueConfig config;
  config.service = mode;
  return config;
}

RoceEngine& engine_of(RocePair& world, std::uint32_t host = 0) { return world.pair.engine(host); }

std::size_t events(RocePair& world, AsyncEventKind kind, std::uint32_t host = 0) {
  const auto& all = world.pair.host(host).events;
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [kind](const auto& event) { return event.kind == kind; }));
}

std::vector<CompletionStatus> statuses(RocePair& world, std::uint32_t host = 0) {
  std::vector<CompletionStatus> all;
  for (const auto& completion : world.completions(host)) all.push_back(completion.status);
  return all;
}

/// A request whose data is nowhere.
verbs::WorkRequest broken(RocePair& world, Verb verb = Verb::kWrite) {
  verbs::WorkRequest request = world.request(verb, 0, 0, 64);
  request.local[0].address = 0x10;
  return request;
}

/// A world whose queue pair 0 of host 0 has just come into `state`; its peer can still send.
std::unique_ptr<RocePair> in_state(QueueState state) {
  const bool unreliable = state == QueueState::kSendError;
  auto world = std::make_unique<RocePair>(
      small_steps(), test::EnginePairOptions{}, 1,
      of_service(unreliable ? engine::ServiceMode::kUnreliable : engine::ServiceMode::kDefault));
  world->watch();
  RoceEngine& engine = engine_of(*world);
  switch (state) {
    case QueueState::kInit:
      EXPECT_TRUE(engine.disconnect(world->pair.now(), 0, 0).ok());
      break;
    case QueueState::kReadyToSend:
      break;
    case QueueState::kError:
      EXPECT_TRUE(engine.fail_queue(world->pair.now(), 0).ok());
      break;
    case QueueState::kDraining:
      EXPECT_TRUE(engine.suspend_queue(world->pair.now(), 0).ok());
      break;
    case QueueState::kSendError:
      EXPECT_EQ(world->pair.post(0, 0, broken(*world)), PostStatus::kOk);
      break;
    case QueueState::kReset:
    case QueueState::kReadyToReceive:
      ADD_FAILURE() << "nobody sees a queue pair in this state";
  }
  world->pair.drain(0);
  EXPECT_EQ(engine.state(0), state);
  return world;
}

constexpr QueueState kSeen[] = {QueueState::kInit, QueueState::kReadyToSend, QueueState::kError,
                                QueueState::kDraining, QueueState::kSendError};

// A stranger reads the rules in the document and finds them here.
TEST(RoceQueueLife, TheDocumentHasTheRules) {
  std::string text =
      "| state | takes requests | takes receives | begins requests | goes on with those begun | serves the "
      "peer |\n|---|---|---|---|---|---|\n";
  for (int number = 0; number < kQueueStateCount; ++number) {
    const auto state = static_cast<QueueState>(number);
    const StateRules rules = rules_of(state);
    text += std::string("| ") + name(state);
    for (const bool rule : {rules.takes_requests, rules.takes_receives, rules.begins_requests,
                            rules.ends_requests, rules.serves_peers}) {
      text += rule ? " | yes" : " | no";
    }
    text += " |\n";
  }
  test::expect_generated_block("docs/protocol/roce.md", "queue pair rules", text);
}

TEST(RoceQueueLife, Ibta_10_3_1_RequestsAreTakenAsTheStateSays) {
  for (const QueueState state : kSeen) {
    SCOPED_TRACE(name(state));
    const auto world = in_state(state);
    const StateRules rules = rules_of(state);
    world->sent.clear();
    const PostStatus status = world->pair.post(0, 0, world->request(Verb::kWrite, 0, 0, 64));
    EXPECT_EQ(status, rules.takes_requests ? PostStatus::kOk : PostStatus::kBadQueue);
    EXPECT_EQ(world->sent.size(), rules.begins_requests ? 1U : 0U);
  }
}

TEST(RoceQueueLife, Ibta_10_3_1_ReceivesAreTakenAsTheStateSays) {
  for (const QueueState state : kSeen) {
    SCOPED_TRACE(name(state));
    const auto world = in_state(state);
    const PostStatus status = world->pair.post_receive(0, 0, world->receive(0, 64));
    EXPECT_EQ(status, rules_of(state).takes_receives ? PostStatus::kOk : PostStatus::kBadQueue);
  }
}

TEST(RoceQueueLife, Ibta_10_3_1_PeersAreServedAsTheStateSays) {
  for (const QueueState state : kSeen) {
    SCOPED_TRACE(name(state));
    const auto world = in_state(state);
    world->fill(1, 0, 64, 7);
    const std::uint64_t dropped = engine_of(*world).counters().dropped_not_ready;
    ASSERT_EQ(world->pair.post(1, 0, world->request(Verb::kWrite, 0, 4096, 64, 1)), PostStatus::kOk);
    world->pair.run_to(world->pair.now() + microseconds(20));
    EXPECT_EQ(world->holds(0, 4096, 64, 7), rules_of(state).serves_peers);
    EXPECT_EQ(engine_of(*world).counters().dropped_not_ready,
              dropped + (rules_of(state).serves_peers ? 0 : 1));
  }
}

TEST(RoceQueueLife, TheContractsStates) {
  using Neutral = engine::QueueState;
  constexpr Neutral kNeutral[] = {Neutral::kIdle, Neutral::kReady, Neutral::kError, Neutral::kSuspended,
                                  Neutral::kSuspended};
  for (std::size_t at = 0; at < std::size(kSeen); ++at)
    EXPECT_EQ(engine_of(*in_state(kSeen[at])).queue_state(0), kNeutral[at]) << name(kSeen[at]);
}

TEST(RoceQueueLife, Ibta_10_3_1_TransitionsAreRefusedWhereTheTableHasNone) {
  for (const QueueState state : kSeen) {
    SCOPED_TRACE(name(state));
    const auto world = in_state(state);
    RoceEngine& engine = engine_of(*world);
    const TimePs now = world->pair.now();
    const bool suspends = next_state(state, QueueEvent::kSuspend).has_value();
    const auto suspended = engine.suspend_queue(now, 0);
    EXPECT_EQ(suspended.ok(), suspends);
    if (!suspends) {
      EXPECT_EQ(suspended.error().message,
                std::string("queue pair 0 is in state ") + name(state) + ", expected rts");
      EXPECT_EQ(engine.state(0), state);
    }
    const auto again = in_state(state);
    const bool resumes = next_state(state, QueueEvent::kResume).has_value();
    const auto resumed = engine_of(*again).resume_queue(again->pair.now(), 0);
    EXPECT_EQ(resumed.ok(), resumes);
    EXPECT_EQ(engine_of(*again).state(0), resumes ? QueueState::kReadyToSend : state);
    const auto third = in_state(state);
    const auto blob = engine_of(*third, 1).export_queue(0).value();
    EXPECT_EQ(engine_of(*third).connect(third->pair.now(), 0, blob).ok(), state == QueueState::kInit);
    EXPECT_TRUE(engine_of(*third).reset(third->pair.now(), 0).ok());
    EXPECT_EQ(engine_of(*third).state(0), QueueState::kInit);
  }
  RocePair world;
  EXPECT_FALSE(engine_of(world).suspend_queue(kTimeZero, 9).ok());
  EXPECT_FALSE(engine_of(world).resume_queue(kTimeZero, 9).ok());
  EXPECT_FALSE(engine_of(world).change_queue(kTimeZero, 9, {}).ok());
}

// --- SQD

// What was begun is repeated until it is done; what was not begun stays; later requests wait behind it.
TEST(RoceQueueLife, Ibta_10_3_1_5_DrainingEndsWhatWasBegunAndKeepsTheRest) {
  RocePair world(small_steps());
  world.watch();
  bool deaf = true;
  world.lose = [&](const wire::Packet&) { return deaf; };
  world.fill(0, 0, 3000, 3);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 1100)), PostStatus::kOk);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 2000, 16384, 100)), PostStatus::kOk);
  ASSERT_TRUE(engine_of(world).suspend_queue(world.pair.now(), 0).ok());
  world.pair.drain(0);
  EXPECT_EQ(events(world, AsyncEventKind::kQueueDrained), 0U);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 2000, 32768, 100)), PostStatus::kOk);
  deaf = false;
  ASSERT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(statuses(world), (std::vector{CompletionStatus::kSuccess}));
  EXPECT_EQ(events(world, AsyncEventKind::kQueueDrained), 1U);
  EXPECT_EQ(engine_of(world).state(0), QueueState::kDraining);
  const std::size_t sent = world.sent.size();
  world.pair.run_to(world.pair.now() + seconds(1));
  EXPECT_EQ(world.sent.size(), sent);
  ASSERT_TRUE(engine_of(world).resume_queue(world.pair.now(), 0).ok());
  world.pair.drain(0);
  ASSERT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(statuses(world), std::vector(3, CompletionStatus::kSuccess));
  EXPECT_EQ(events(world, AsyncEventKind::kQueueDrained), 1U);
  EXPECT_EQ(engine_of(world).counters().retries_exhausted, 0U);
}

// One that has nothing begun is drained at once, whatever was posted, and each time anew.
TEST(RoceQueueLife, Ibta_10_3_1_5_DrainedIsReportedOncePerDraining) {
  RocePair world(small_steps());
  for (std::size_t time = 1; time <= 3; ++time) {
    ASSERT_TRUE(engine_of(world).suspend_queue(world.pair.now(), 0).ok());
    ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
    world.pair.run_until_idle();
    EXPECT_EQ(events(world, AsyncEventKind::kQueueDrained), time);
    ASSERT_TRUE(engine_of(world).resume_queue(world.pair.now(), 0).ok());
    world.pair.drain(0);
    world.pair.run_until_idle();
    EXPECT_EQ(world.completions(0).size(), time);
  }
}

// The data of READs is in memory when the event comes.
TEST(RoceQueueLife, Ibta_10_3_1_5_DrainedComesBehindTheDataOfReads) {
  test::EnginePairOptions slow;
  slow.access_shortest = nanoseconds(500);
  slow.access_longest = microseconds(5);
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    slow.seed = seed;
    RocePair world(small_steps(), slow);
    world.fill(1, 0, 1024, 9);
    ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kRead, 4096, 0, 1024)), PostStatus::kOk);
    world.pair.run_until([&] { return engine_of(world, 1).counters().packets_received > 0; });
    ASSERT_TRUE(engine_of(world).suspend_queue(world.pair.now(), 0).ok());
    world.pair.run_until([&] { return events(world, AsyncEventKind::kQueueDrained) > 0; });
    EXPECT_EQ(events(world, AsyncEventKind::kQueueDrained), 1U) << seed;
    EXPECT_TRUE(world.holds(0, 4096, 1024, 9)) << seed;
    world.pair.run_until_idle();
    EXPECT_EQ(events(world, AsyncEventKind::kQueueDrained), 1U) << seed;
    EXPECT_EQ(world.completions(0).size(), 1U);
  }
}

TEST(RoceQueueLife, Ibta_10_3_1_5_FailingFlushesWhatWasKept) {
  const auto world = in_state(QueueState::kDraining);
  for (int each = 0; each < 3; ++each) {
    ASSERT_EQ(world->pair.post(0, 0, world->request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
    ASSERT_EQ(world->pair.post_receive(0, 0, world->receive(0, 64)), PostStatus::kOk);
  }
  ASSERT_TRUE(engine_of(*world).fail_queue(world->pair.now(), 0).ok());
  world->pair.drain(0);
  EXPECT_EQ(statuses(*world), std::vector(6, CompletionStatus::kFlushed));
  EXPECT_EQ(engine_of(*world).state(0), QueueState::kError);
}

TEST(RoceQueueLife, Ibta_10_3_1_5_AFaultWhileDrainingIsAnError) {
  RoceConfig config = small_steps();
  config.retry_count = 1;
  RocePair world(config);
  world.watch();
  world.lose = [](const wire::Packet&) { return true; };
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
  ASSERT_TRUE(engine_of(world).suspend_queue(world.pair.now(), 0).ok());
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
  ASSERT_EQ(world.pair.run_until_idle(), RunEnd::kDone);
  EXPECT_EQ(statuses(world), (std::vector{CompletionStatus::kRetryExhausted, CompletionStatus::kFlushed}));
  EXPECT_EQ(engine_of(world).state(0), QueueState::kError);
  EXPECT_EQ(events(world, AsyncEventKind::kQueueError), 1U);
  EXPECT_EQ(events(world, AsyncEventKind::kQueueDrained), 0U);
}

// A bad request that was not begun says nothing before its turn comes.
TEST(RoceQueueLife, Ibta_10_3_1_5_ABadRequestWaitsForItsTurn) {
  const auto world = in_state(QueueState::kDraining);
  ASSERT_EQ(world->pair.post(0, 0, broken(*world)), PostStatus::kOk);
  world->pair.run_until_idle();
  EXPECT_TRUE(world->completions(0).empty());
  ASSERT_TRUE(engine_of(*world).resume_queue(world->pair.now(), 0).ok());
  world->pair.drain(0);
  EXPECT_EQ(statuses(*world), (std::vector{CompletionStatus::kLocalAccess}));
  EXPECT_EQ(engine_of(*world).state(0), QueueState::kError);
}

// The driver takes no access from an engine that had no packet to send: nothing may be left with it.
TEST(RoceQueueLife, ALoneRequestWithoutItsDataIsReported) {
  RocePair world(small_steps());
  ASSERT_EQ(world.pair.post(0, 0, broken(world)), PostStatus::kOk);
  EXPECT_EQ(statuses(world), (std::vector{CompletionStatus::kLocalAccess}));
}

// Announced entries of rings in memory are not fetched while the queue pair stands still.
TEST(RoceQueueLife, Ibta_10_3_1_5_NothingIsFetchedWhileDraining) {
  engine::QueueConfig rings;
  rings.send_ring = 0x100;
  RocePair world(small_steps(), test::EnginePairOptions{}, 1, rings);
  ASSERT_TRUE(engine_of(world).suspend_queue(world.pair.now(), 0).ok());
  const auto fetches = [&] {
    return world.pair.memory(0).counts()[static_cast<std::size_t>(engine::AccessKind::kFetchWorkRequest)];
  };
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64), engine::Submission::kDoorbell),
            PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_EQ(fetches(), 0U);
  ASSERT_TRUE(engine_of(world).resume_queue(world.pair.now(), 0).ok());
  world.pair.drain(0);
  world.pair.run_until_idle();
  EXPECT_EQ(fetches(), 1U);
  EXPECT_EQ(statuses(world), (std::vector{CompletionStatus::kSuccess}));
}

// The record of a queue pair that is not on the interface says that it is in RTS until it comes back.
TEST(RoceQueueLife, DrainsWhereItsRecordIsInMemory) {
  RoceConfig config = small_steps();
  config.queue_cache_entries = 1;
  test::EnginePairOptions slow;
  slow.access_shortest = nanoseconds(100);
  slow.access_longest = nanoseconds(200);
  RocePair world(config, slow, 3);
  const auto write = [&](engine::QueueId queue) {
    ASSERT_EQ(world.pair.post(0, queue, world.request(Verb::kWrite, 0, 4096, 64)), PostStatus::kOk);
  };
  for (const engine::QueueId queue : {0U, 1U, 2U}) write(queue);
  world.pair.run_until_idle();
  ASSERT_EQ(world.completions(0).size(), 3U);
  ASSERT_TRUE(engine_of(world).suspend_queue(world.pair.now(), 0).ok());  // Evicted: two others came since.
  write(0);
  write(1);
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 4U);
  EXPECT_EQ(events(world, AsyncEventKind::kQueueDrained), 1U);
  ASSERT_TRUE(engine_of(world).change_queue(world.pair.now(), 0, {.max_read_atomic = 1}).ok());
  ASSERT_TRUE(engine_of(world).resume_queue(world.pair.now(), 0).ok());
  world.pair.drain(0);
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).size(), 5U);
}

// --- SQE

TEST(RoceQueueLife, Ibta_10_3_1_6_AFailedRequestOfUnreliableServiceStopsRequestsAlone) {
  RocePair world(small_steps(), test::EnginePairOptions{}, 1, of_service(engine::ServiceMode::kUnreliable));
  world.watch();
  ASSERT_EQ(world.pair.post_receive(0, 0, world.receive(4096, 64)), PostStatus::kOk);
  ASSERT_TRUE(engine_of(world).suspend_queue(world.pair.now(), 0).ok());
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
  ASSERT_EQ(world.pair.post(0, 0, broken(world)), PostStatus::kOk);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
  ASSERT_TRUE(engine_of(world).resume_queue(world.pair.now(), 0).ok());
  world.pair.drain(0);
  world.pair.run_until_idle();
  EXPECT_EQ(statuses(world), (std::vector{CompletionStatus::kSuccess, CompletionStatus::kLocalAccess,
                                          CompletionStatus::kFlushed}));
  EXPECT_EQ(engine_of(world).state(0), QueueState::kSendError);
  EXPECT_EQ(events(world, AsyncEventKind::kQueueSuspended), 1U);
  EXPECT_EQ(events(world, AsyncEventKind::kQueueError), 0U);
  // The receive entry is still there, and serves the peer.
  ASSERT_EQ(world.pair.post(1, 0, world.request(Verb::kSend, 0, 0, 64, 1)), PostStatus::kOk);
  world.pair.run_until_idle();
  ASSERT_EQ(world.completions(0).size(), 4U);
  EXPECT_EQ(world.completions(0).back().kind, verbs::CompletionKind::kReceive);
  EXPECT_TRUE(world.completions(0).back().ok());
}

// A message that had begun when the fault came is the peer's to drop; PSNs go on without a gap.
TEST(RoceQueueLife, Ibta_10_3_1_6_GoesOnWhereItStopped) {
  RocePair world(small_steps(), test::EnginePairOptions{}, 1, of_service(engine::ServiceMode::kUnreliable));
  world.watch();
  verbs::WorkRequest half = world.request(Verb::kWrite, 0, 4096, 1024);
  half.local_count = 2;
  half.local[0].length = 512;
  half.local[1] = {0x10, 512};  // The third packet has no data.
  ASSERT_EQ(world.pair.post(0, 0, half), PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_EQ(world.sent.size(), 2U);
  EXPECT_EQ(engine_of(world).state(0), QueueState::kSendError);
  ASSERT_TRUE(engine_of(world).resume_queue(world.pair.now(), 0).ok());
  world.fill(0, 0, 600, 5);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 8192, 600)), PostStatus::kOk);
  world.pair.run_until_idle();
  ASSERT_EQ(world.sent.size(), 5U);
  for (std::size_t at = 0; at < 5; ++at) EXPECT_EQ(world.sent[at].roce.bth.psn, 100 + at);
  EXPECT_TRUE(world.holds(1, 8192, 600, 5));
  EXPECT_EQ(engine_of(world, 1).counters().messages_cut, 1U);
}

// --- Changes

struct Change {
  const char* what;
  QueueChanges changes;
  bool when_drained;  ///< Only then; else in INIT, RTS, SQD and SQE.
};

// [IBTA vol 1 11.2.4.2, table 91: attributes by transition]
TEST(RoceQueueLife, Ibta_11_2_4_2_ChangesByState) {
  const Change kChanges[] = {
      {"rights", {.rights = verbs::kReadOnly}, false}, {"min_rnr_timer", {.min_rnr_timer = 3}, false},
      {"ack_timeout", {.ack_timeout = 9}, true},       {"retry_count", {.retry_count = 1}, true},
      {"rnr_retry", {.rnr_retry = 1}, true},           {"max_read_atomic", {.max_read_atomic = 2}, true}};
  for (const Change& change : kChanges) {
    for (const QueueState state : kSeen) {
      SCOPED_TRACE(std::string(change.what) + " in " + name(state));
      const auto world = in_state(state);
      bool allowed = state == QueueState::kDraining || (!change.when_drained && state != QueueState::kError);
      // SQE is of unreliable service, which has no receiver-not-ready.
      if (state == QueueState::kSendError && !change.changes.rights) allowed = false;
      EXPECT_EQ(engine_of(*world).change_queue(world->pair.now(), 0, change.changes).ok(), allowed);
    }
  }
}

TEST(RoceQueueLife, Ibta_11_2_4_2_RequestsChangeOnceDrained) {
  RocePair world(small_steps());
  world.watch();
  bool deaf = true;
  world.lose = [&](const wire::Packet&) { return deaf; };
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
  ASSERT_TRUE(engine_of(world).suspend_queue(world.pair.now(), 0).ok());
  world.pair.drain(0);
  EXPECT_FALSE(engine_of(world).change_queue(world.pair.now(), 0, {.retry_count = 0}).ok());
  deaf = false;
  world.pair.run_until_idle();
  const QueueChanges wanted{.ack_timeout = 10, .retry_count = 0};
  ASSERT_TRUE(engine_of(world).change_queue(world.pair.now(), 0, wanted).ok());
  ASSERT_TRUE(engine_of(world).resume_queue(world.pair.now(), 0).ok());
  deaf = true;
  const TimePs begun = world.pair.now();
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_EQ(world.completions(0).back().status, CompletionStatus::kRetryExhausted);
  EXPECT_EQ(world.pair.now() - begun, ack_timeout_duration(10));  // No second try.
}

// 0: none [IBTA vol 1 9.7.6.1.3]. One that adapts begins with the one that was configured.
TEST(RoceQueueLife, NoTimeoutCanBeChosenUnlessItAdapts) {
  for (const bool adapts : {false, true}) {
    RoceConfig config = small_steps();
    if (adapts) config.timeout_floor = ack_timeout_duration(config.ack_timeout) / 2;
    RocePair world(config);
    RoceEngine& engine = engine_of(world);
    ASSERT_TRUE(engine.suspend_queue(world.pair.now(), 0).ok());
    world.pair.drain(0);
    EXPECT_EQ(engine.change_queue(world.pair.now(), 0, {.ack_timeout = 0}).ok(), !adapts);
    EXPECT_TRUE(engine.change_queue(world.pair.now(), 0, {.ack_timeout = 1}).ok());
  }
}

TEST(RoceQueueLife, Ibta_11_2_4_2_RightsAndTheReceiverNotReadyTimerChangeAtOnce) {
  RocePair world(small_steps());
  world.watch();
  ASSERT_TRUE(engine_of(world, 1).change_queue(kTimeZero, 0, {.min_rnr_timer = 5}).ok());
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kSend, 0, 0, 64)), PostStatus::kOk);
  world.pair.run_to(world.pair.now() + microseconds(20));
  ASSERT_EQ(world.sent_of(RoceOpcode::kRcAcknowledge).size(), 1U);
  EXPECT_EQ(world.sent_of(RoceOpcode::kRcAcknowledge)[0].roce.ack.aeth.syndrome, wire::rnr_syndrome(5));
  ASSERT_EQ(world.pair.post_receive(1, 0, world.receive(0, 64)), PostStatus::kOk);
  world.pair.run_until_idle();
  ASSERT_TRUE(engine_of(world, 1).change_queue(world.pair.now(), 0, {.rights = verbs::kReadOnly}).ok());
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 64)), PostStatus::kOk);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_EQ(statuses(world), (std::vector{CompletionStatus::kSuccess, CompletionStatus::kSuccess,
                                          CompletionStatus::kRemoteUnsupportedRequest}));
  // A reset forgets the change.
  for (const std::uint32_t host : {0U, 1U})
    ASSERT_TRUE(engine_of(world, host).reset(world.pair.now(), 0).ok());
  world.connect(0);
  ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 0, 64)), PostStatus::kOk);
  world.pair.run_until_idle();
  EXPECT_TRUE(world.completions(0).back().ok());
}

TEST(RoceQueueLife, Ibta_11_2_4_2_FewerReadsAtATime) {
  RocePair world(small_steps());
  world.watch();
  ASSERT_TRUE(engine_of(world).suspend_queue(kTimeZero, 0).ok());
  world.pair.drain(0);
  EXPECT_FALSE(engine_of(world).change_queue(kTimeZero, 0, {.max_read_atomic = 17}).ok());
  EXPECT_FALSE(engine_of(world).change_queue(kTimeZero, 0, {.max_read_atomic = 0}).ok());
  ASSERT_TRUE(engine_of(world).change_queue(kTimeZero, 0, {.max_read_atomic = 1}).ok());
  ASSERT_TRUE(engine_of(world).resume_queue(kTimeZero, 0).ok());
  for (int each = 0; each < 3; ++each)
    ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kRead, 0, 0, 64)), PostStatus::kOk);
  EXPECT_EQ(world.sent.size(), 1U);
  world.pair.run_until_idle();
  EXPECT_EQ(statuses(world), std::vector(3, CompletionStatus::kSuccess));
}

TEST(RoceQueueLife, ChangesOfAnotherServiceAreRefused) {
  RocePair datagrams(small_steps(), test::EnginePairOptions{}, 1,
                     of_service(engine::ServiceMode::kUnordered));
  RoceEngine& engine = engine_of(datagrams);
  EXPECT_FALSE(engine.change_queue(kTimeZero, 0, {.rights = verbs::kReadOnly}).ok());
  EXPECT_FALSE(engine.change_queue(kTimeZero, 0, {.retry_count = 1}).ok());
  EXPECT_TRUE(engine.change_queue(kTimeZero, 0, {.queue_key = 1}).ok());
  RocePair connected(small_steps());
  EXPECT_FALSE(engine_of(connected).change_queue(kTimeZero, 0, {.queue_key = 1}).ok());
  EXPECT_FALSE(engine_of(connected).change_queue(kTimeZero, 0, {.min_rnr_timer = 32}).ok());
}

}  // namespace
}  // namespace wharf::roce
