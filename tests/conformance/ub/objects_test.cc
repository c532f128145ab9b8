// SPDX-License-Identifier: Apache-2.0
// The objects of the URMA API over the engine: jetty groups, well-known numbers, the life of a jetty with
// suspend, faults and drain marks, asynchronous events. [URMA API; UB-Base 2.0.1 8.2]
#include <algorithm>
#include <array>
#include <string>

#include "engine/ub/exchange.h"
#include "engine/ub/jetty_groups.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using engine::AsyncEventKind;
using engine::FaultMode;
using engine::GroupPolicy;
using engine::QueueState;
using verbs::CompletionStatus;
using verbs::DrainMark;
using verbs::OrderTag;
using verbs::Verb;

verbs::ReceiveRequest entry(std::uint64_t id) {
  verbs::ReceiveRequest receive{.id = id, .local_count = 1};
  receive.local[0] = {World::kRemote + 0x10000 + id * 64, 64};
  return receive;
}

std::vector<AsyncEventKind> events_of(World& world, std::uint32_t host, engine::QueueId queue) {
  std::vector<AsyncEventKind> kinds;
  for (const engine::AsyncEvent& event : world.pair().host(host).events) {
    if (event.queue == queue) kinds.push_back(event.kind);
  }
  return kinds;
}

// --- Groups

/// Host 1 has a group of some jetties; host 0's jetty sends to it.
class Groups : public ::testing::Test {
 protected:
  void make(GroupPolicy policy, int members, int entries = 16) {
    group_ = *world_.engine(1).create_group(world_.now(), {.policy = policy, .token = 5});
    for (int i = 0; i < members; ++i) {
      engine::QueueConfig config;
      config.group = group_;
      config.token = 5;
      members_.push_back(*world_.engine(1).create_queue(world_.now(), config));
      for (int each = 0; each < entries; ++each)
        world_.pair().post_receive(1, members_.back(), entry(static_cast<std::uint64_t>(each)));
    }
    peer_ = *world_.engine(0).connect(world_.now(), world_.queue(0), *world_.engine(1).export_queue(group_));
  }
  engine::PostStatus send(std::uint8_t hint, Verb verb = Verb::kSend, std::uint32_t length = 64) {
    auto request = world_.request(verb, length);
    request.peer = peer_;
    request.hint = hint;
    return world_.post(request);
  }
  /// Messages by member.
  std::vector<int> taken() {
    std::vector<int> counts(members_.size());
    for (const auto& completion : world_.pair().host(1).completions) {
      const auto at = std::find(members_.begin(), members_.end(), completion.queue);
      if (at != members_.end() && completion.ok()) ++counts[static_cast<std::size_t>(at - members_.begin())];
    }
    return counts;
  }

  World world_;
  engine::QueueId group_ = 0;
  std::vector<engine::QueueId> members_;
  verbs::PeerId peer_ = 0;
};

TEST_F(Groups, RoundRobinGivesEachMemberItsTurn) {
  make(GroupPolicy::kRoundRobin, 3);
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(send(9), engine::PostStatus::kOk);
    world_.run();
  }
  EXPECT_EQ(taken(), (std::vector<int>{3, 2, 2}));
}

TEST_F(Groups, TheHintNamesTheMember) {
  make(GroupPolicy::kHint, 3);
  for (const std::uint8_t hint : {0, 1, 4, 7, 255}) ASSERT_EQ(send(hint), engine::PostStatus::kOk);
  world_.run();
  EXPECT_EQ(taken(), (std::vector<int>{2, 3, 0}));
}

TEST_F(Groups, TheShallowestMemberTakesTheMessage) {
  make(GroupPolicy::kShallowest, 3);
  // Nobody has anything to do between messages that are waited for.
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(send(0), engine::PostStatus::kOk);
    world_.run();
  }
  EXPECT_EQ(taken(), (std::vector<int>{3, 0, 0}));
}

// A message of several packets has one member, and an immediate of a Write, too.
TEST_F(Groups, OneMemberTakesAWholeMessage) {
  UbConfig config;
  config.mtu = 64;
  World world(config);
  const auto group = *world.engine(1).create_group(world.now(), {});
  std::vector<engine::QueueId> members;
  for (int i = 0; i < 2; ++i) {
    engine::QueueConfig member;
    member.group = group;
    members.push_back(*world.engine(1).create_queue(world.now(), member));
    verbs::ReceiveRequest receive{.id = 1, .local_count = 1};
    receive.local[0] = {World::kRemote + 0x20000 + static_cast<std::uint64_t>(i) * 4096, 1024};
    world.pair().post_receive(1, members.back(), receive);
  }
  const auto peer =
      *world.engine(0).connect(world.now(), world.queue(0), *world.engine(1).export_queue(group));
  world.fill(0, World::kLocal, 1000);
  auto request = world.request(Verb::kSend, 1000);
  request.peer = peer;
  EXPECT_TRUE(world.finish(request).ok());
  EXPECT_TRUE(world.same(World::kLocal, World::kRemote + 0x20000, 1000));
  request = world.request(Verb::kWriteImm, 64);
  request.peer = peer;
  EXPECT_TRUE(world.finish(request).ok());
  EXPECT_EQ(world.pair().host(1).completions.back().queue, members[1]);
}

// A member without an entry is not ready; the message comes again and is dispatched again.
TEST_F(Groups, AMemberThatIsNotReadyPassesTheTurnOn) {
  make(GroupPolicy::kRoundRobin, 2, 0);
  world_.pair().post_receive(1, members_[1], entry(3));
  ASSERT_EQ(send(0), engine::PostStatus::kOk);
  world_.run();
  EXPECT_EQ(taken(), (std::vector<int>{0, 1}));
}

TEST_F(Groups, MembersHaveTheTokenOfTheirGroupAndKeepIt) {
  make(GroupPolicy::kRoundRobin, 1);
  engine::QueueConfig config;
  config.group = group_;
  config.token = 6;
  EXPECT_FALSE(world_.engine(1).create_queue(world_.now(), config).ok());
  EXPECT_FALSE(world_.engine(1).destroy_queue(world_.now(), group_).ok()) << "it has a member";
  ASSERT_TRUE(world_.engine(1).destroy_queue(world_.now(), members_[0]).ok());
  ASSERT_EQ(send(0), engine::PostStatus::kOk);
  world_.run();
  EXPECT_EQ(world_.pair().host(0).completions.back().status, CompletionStatus::kRemoteOperation);
  EXPECT_TRUE(world_.engine(1).destroy_queue(world_.now(), group_).ok());
  EXPECT_FALSE(world_.engine(1).export_queue(group_).ok());
}

TEST_F(Groups, AGroupHasAtMostThirtyTwoMembers) {
  make(GroupPolicy::kHint, static_cast<int>(JettyGroups::kMembersMost), 0);
  engine::QueueConfig config;
  config.group = group_;
  config.token = 5;
  EXPECT_FALSE(world_.engine(1).create_queue(world_.now(), config).ok());
}

// --- Well-known numbers

TEST(PublicJetties, AreReachedByNumberAndGivenOnce) {
  World world;
  engine::QueueConfig config;
  config.public_id = 7;
  const auto service = *world.engine(1).create_queue(world.now(), config);
  EXPECT_GE(service, kFirstJettyId) << "allocated numbers are not well-known ones";
  EXPECT_FALSE(world.engine(1).create_queue(world.now(), config).ok());
  config.public_id = kFirstJettyId;
  EXPECT_FALSE(world.engine(1).create_queue(world.now(), config).ok());
  const auto blob = *world.engine(1).export_queue(service);
  EXPECT_EQ(decode_queue_blob(blob)->jetty, 7u);
  world.pair().post_receive(1, service, entry(1));
  auto request = world.request(Verb::kSend, 64);
  request.peer = *world.engine(0).connect(world.now(), world.queue(0), blob);
  EXPECT_TRUE(world.finish(request).ok());
  ASSERT_EQ(world.pair().host(1).completions.size(), 1u);
  EXPECT_EQ(world.pair().host(1).completions[0].queue, service);
  // Its number is nobody's any more.
  ASSERT_TRUE(world.engine(1).destroy_queue(world.now(), service).ok());
  EXPECT_EQ(world.finish(request).status, CompletionStatus::kRemoteOperation);
}

// 8.2.5: its number is an address of messages to it; its own requests come from the jetty that it is.
TEST(PublicJetties, MaySendInEveryMode) {
  for (const auto service : {engine::ServiceMode::kOrderedByInitiator, engine::ServiceMode::kOrderedByTarget,
                             engine::ServiceMode::kOrderedByTransport, engine::ServiceMode::kUnordered}) {
    World world;
    engine::QueueConfig config;
    config.service = service;
    engine::QueueId queue[2];
    for (std::uint32_t host = 0; host < 2; ++host) {
      config.public_id = 7 + host;
      queue[host] = *world.engine(host).create_queue(world.now(), config);
    }
    verbs::PeerId peer[2] = {};
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto blob = *world.engine(1 - host).export_queue(queue[1 - host]);
      EXPECT_EQ(decode_queue_blob(blob)->requester_id(), queue[1 - host]);
      peer[host] = *world.engine(host).connect(world.now(), queue[host], blob);
    }
    world.pair().post_receive(1, queue[1], entry(1));
    for (const Verb verb : {Verb::kWrite, Verb::kSend}) {
      auto request = world.request(verb, 64);
      request.peer = peer[0];
      if (service != engine::ServiceMode::kUnordered) request.order = OrderTag::kStrong;
      ASSERT_EQ(world.pair().post(0, queue[0], request), engine::PostStatus::kOk);
      world.run();
      EXPECT_TRUE(world.pair().host(0).completions.back().ok()) << engine::name(service);
    }
    ASSERT_EQ(world.pair().host(1).completions.size(), 1u) << engine::name(service);
    EXPECT_EQ(world.pair().host(1).completions[0].remote_queue, queue[0]);
  }
}

// --- Life

/// A queue of host 0 with drain marks, connected to host 1's.
class Life : public ::testing::Test {
 protected:
  void make(FaultMode on_fault = FaultMode::kRequestAlone, UbConfig config = {}) {
    config.min_rnr_timer = 1;
    world_ = std::make_unique<World>(config);
    engine::QueueConfig queue;
    queue.on_fault = on_fault;
    queue.drain_marks = true;
    queue_ = *engine().create_queue(world_->now(), queue);
    peer_ = *engine().connect(world_->now(), queue_, *world_->engine(1).export_queue(world_->queue(1)));
  }
  UbEngine& engine() { return world_->engine(0); }
  std::uint64_t post(Verb verb, OrderTag order = OrderTag::kNone) {
    auto request = world_->request(verb, 64);
    request.peer = peer_;
    request.order = order;
    EXPECT_EQ(world_->pair().post(0, queue_, request), engine::PostStatus::kOk);
    return request.id;
  }
  std::vector<std::pair<std::uint64_t, CompletionStatus>> completions() {
    std::vector<std::pair<std::uint64_t, CompletionStatus>> seen;
    for (const auto& completion : world_->pair().host(0).completions)
      seen.emplace_back(completion.id, completion.status);
    return seen;
  }
  DrainMark last_mark() { return world_->pair().host(0).completions.back().drain; }

  std::unique_ptr<World> world_;
  engine::QueueId queue_ = 0;
  verbs::PeerId peer_ = 0;
};

// S1: what was begun ends as it does, its last completion says so; what was not is given back, then the queue
// goes on.
TEST_F(Life, ASuspendedQueueFinishesWhatItHasBegunAndGivesTheRestBack) {
  make();
  const auto send = post(Verb::kSend, OrderTag::kStrong);  // Not ready: begun, and strong ones wait for it.
  const auto kept = post(Verb::kWrite, OrderTag::kStrong);
  const auto free = post(Verb::kWrite);
  world_->pair().run_to(world_->now() + microseconds(3));
  ASSERT_TRUE(engine().suspend_queue(world_->now(), queue_).ok());
  world_->pair().drain(0);
  EXPECT_EQ(engine().queue_state(queue_), QueueState::kSuspended);
  EXPECT_EQ(
      engine().post(world_->now(), queue_, world_->request(Verb::kWrite, 8), engine::Submission::kInHand),
      engine::PostStatus::kBadQueue);
  std::array<verbs::Completion, 4> back;
  EXPECT_EQ(*engine().take_back(world_->now(), queue_, back), 0u) << "before it stands still";
  world_->pair().post_receive(1, world_->queue(1), entry(1));
  world_->run();
  EXPECT_EQ(completions(), (std::vector<std::pair<std::uint64_t, CompletionStatus>>{
                               {send, CompletionStatus::kSuccess}, {free, CompletionStatus::kSuccess}}));
  EXPECT_EQ(last_mark(), DrainMark::kSuspendDone);
  EXPECT_EQ(world_->pair().host(0).completions.front().drain, DrainMark::kNone);
  ASSERT_EQ(*engine().take_back(world_->now(), queue_, back), 1u);
  EXPECT_EQ(back[0].id, kept);
  EXPECT_EQ(back[0].status, CompletionStatus::kUnhandled);
  EXPECT_EQ(*engine().take_back(world_->now(), queue_, back), 0u);
  ASSERT_TRUE(engine().resume_queue(world_->now(), queue_).ok());
  const auto next = post(Verb::kWrite);
  world_->run();
  EXPECT_EQ(completions().back(),
            (std::pair<std::uint64_t, CompletionStatus>{next, CompletionStatus::kSuccess}));
}

// The program has room for as many as it likes at a time.
TEST_F(Life, ASuspendedQueueGivesItsRequestsBackInPieces) {
  make();
  const auto send = post(Verb::kSend, OrderTag::kStrong);
  std::vector<std::uint64_t> kept;
  for (int each = 0; each < 5; ++each) kept.push_back(post(Verb::kWrite, OrderTag::kStrong));
  world_->pair().run_to(world_->now() + microseconds(3));
  ASSERT_TRUE(engine().suspend_queue(world_->now(), queue_).ok());
  world_->pair().post_receive(1, world_->queue(1), entry(1));
  world_->run();
  ASSERT_EQ(completions(),
            (std::vector<std::pair<std::uint64_t, CompletionStatus>>{{send, CompletionStatus::kSuccess}}));
  std::array<verbs::Completion, 2> back;
  std::vector<std::uint64_t> given;
  while (const std::size_t count = *engine().take_back(world_->now(), queue_, back)) {
    for (std::size_t at = 0; at < count; ++at) given.push_back(back[at].id);
  }
  EXPECT_EQ(given, kept);
  EXPECT_EQ(completions().size(), 1U) << "they have no records";
  ASSERT_TRUE(engine().resume_queue(world_->now(), queue_).ok());
  const auto next = post(Verb::kWrite, OrderTag::kStrong);
  world_->run();
  EXPECT_EQ(completions().back(),
            (std::pair<std::uint64_t, CompletionStatus>{next, CompletionStatus::kSuccess}));
}

// S2: nothing was begun: a completion of its own says that the queue stands still.
TEST_F(Life, AnIdleQueueThatIsSuspendedSaysSo) {
  make();
  ASSERT_TRUE(engine().suspend_queue(world_->now(), queue_).ok());
  world_->pair().drain(0);
  world_->run();
  ASSERT_EQ(completions().size(), 1u);
  EXPECT_EQ(completions()[0].second, CompletionStatus::kSuspendDone);
  EXPECT_EQ(last_mark(), DrainMark::kSuspendDone);
  EXPECT_FALSE(engine().suspend_queue(world_->now(), queue_).ok());
  EXPECT_EQ(events_of(*world_, 0, queue_), (std::vector{AsyncEventKind::kQueueDrained}));
}

// Requests that were kept go on by themselves when the queue resumes, and are reported once.
TEST_F(Life, AResumedQueueGoesOnWithWhatItKept) {
  make();
  const auto send = post(Verb::kSend, OrderTag::kStrong);
  const auto kept = post(Verb::kWrite, OrderTag::kStrong);
  const auto free = post(Verb::kWrite);
  world_->pair().run_to(world_->now() + microseconds(3));
  ASSERT_TRUE(engine().suspend_queue(world_->now(), queue_).ok());
  world_->pair().post_receive(1, world_->queue(1), entry(1));
  world_->run();
  ASSERT_TRUE(engine().resume_queue(world_->now(), queue_).ok());
  world_->pair().drain(0);
  world_->run();
  EXPECT_EQ(completions(),
            (std::vector<std::pair<std::uint64_t, CompletionStatus>>{{send, CompletionStatus::kSuccess},
                                                                     {free, CompletionStatus::kSuccess},
                                                                     {kept, CompletionStatus::kSuccess}}));
}

// E1 and E2: flushed requests, the last of which says so, or a completion of its own.
TEST_F(Life, AFailedQueueSaysWhenEverythingIsFlushed) {
  make();
  const auto send = post(Verb::kSend);
  const auto behind = post(Verb::kSend);
  world_->pair().run_to(world_->now() + microseconds(3));
  ASSERT_TRUE(engine().fail_queue(world_->now(), queue_).ok());
  world_->pair().drain(0);
  world_->run();
  EXPECT_EQ(completions(), (std::vector<std::pair<std::uint64_t, CompletionStatus>>{
                               {send, CompletionStatus::kFlushed}, {behind, CompletionStatus::kFlushed}}));
  EXPECT_EQ(last_mark(), DrainMark::kFlushDone);
  ASSERT_TRUE(engine().reset_queue(world_->now(), queue_).ok());
  ASSERT_TRUE(engine().fail_queue(world_->now(), queue_).ok());
  world_->pair().drain(0);
  world_->run();
  EXPECT_EQ(completions().back().second, CompletionStatus::kFlushDone);
}

// Exception modes: a fault of the transport ends its request alone, suspends the queue, or fails it.
TEST_F(Life, AFaultOfTheTransportDoesWhatTheQueueWasMadeFor) {
  for (const FaultMode mode : {FaultMode::kRequestAlone, FaultMode::kSuspend, FaultMode::kError}) {
    UbConfig config;
    config.rnr_retry = 1;
    make(mode, config);
    const auto send = post(Verb::kSend, OrderTag::kStrong);
    const auto behind = post(Verb::kWrite, OrderTag::kStrong);
    world_->run();
    ASSERT_FALSE(completions().empty());
    EXPECT_EQ(completions()[0],
              (std::pair<std::uint64_t, CompletionStatus>{send, CompletionStatus::kReceiverNotReady}));
    const std::vector<AsyncEventKind> events = events_of(*world_, 0, queue_);
    std::array<verbs::Completion, 2> back;
    switch (mode) {
      case FaultMode::kRequestAlone:
        EXPECT_EQ(engine().queue_state(queue_), QueueState::kReady);
        EXPECT_EQ(completions()[1],
                  (std::pair<std::uint64_t, CompletionStatus>{behind, CompletionStatus::kSuccess}));
        EXPECT_TRUE(events.empty());
        break;
      case FaultMode::kSuspend:
        EXPECT_EQ(engine().queue_state(queue_), QueueState::kSuspended);
        EXPECT_EQ(events.front(), AsyncEventKind::kQueueSuspended);
        ASSERT_EQ(*engine().take_back(world_->now(), queue_, back), 1u);
        EXPECT_EQ(back[0].id, behind);
        break;
      case FaultMode::kError:
        EXPECT_EQ(engine().queue_state(queue_), QueueState::kError);
        EXPECT_EQ(events.front(), AsyncEventKind::kQueueError);
        EXPECT_EQ(completions()[1],
                  (std::pair<std::uint64_t, CompletionStatus>{behind, CompletionStatus::kFlushed}));
        break;
    }
  }
}

// What peers send to a queue that is not ready is refused with RSPST 3, and taken again afterwards.
TEST_F(Life, ASuspendedQueueTakesNoMessages) {
  World world;
  world.pair().post_receive(1, world.queue(1), entry(1));
  ASSERT_TRUE(world.engine(1).suspend_queue(world.now(), world.queue(1)).ok());
  EXPECT_EQ(world.finish(world.request(Verb::kSend, 64)).status, CompletionStatus::kRemoteOperation);
  ASSERT_TRUE(world.engine(1).resume_queue(world.now(), world.queue(1)).ok());
  EXPECT_TRUE(world.finish(world.request(Verb::kSend, 64)).ok());
}

// JFR_LIMIT: once, when fewer entries are free than the limit says; set again, it is reported again.
TEST(AsyncEvents, AReceiveLimitIsReportedOnce) {
  World world;
  const auto shared = *world.engine(1).create_receive_queue(world.now(), {});
  engine::QueueConfig config;
  config.receive_queue = shared;
  config.receive_completions = *world.engine(1).create_completion_queue(world.now(), {});
  const auto jetty = *world.engine(1).create_queue(world.now(), config);
  const auto peer =
      *world.engine(0).connect(world.now(), world.queue(0), *world.engine(1).export_queue(jetty));
  for (std::uint64_t id = 0; id < 4; ++id) world.pair().post_receive(1, shared, entry(id));
  ASSERT_TRUE(world.engine(1).set_receive_limit(world.now(), shared, 3).ok());
  auto request = world.request(Verb::kSend, 64);
  request.peer = peer;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(world.finish(request).ok());
    EXPECT_EQ(events_of(world, 1, shared).size(), i == 0 ? 0u : 1u) << i;
  }
}

// An arming for solicited completions alone is not answered by others. [URMA API, urma_rearm_jfc]
TEST(SolicitedEvents, WakeWhoAskedForThemAlone) {
  World world;
  const auto queue = *world.engine(1).create_completion_queue(world.now(), {});
  engine::QueueConfig config;
  config.receive_completions = queue;
  const auto jetty = *world.engine(1).create_queue(world.now(), config);
  const auto peer =
      *world.engine(0).connect(world.now(), world.queue(0), *world.engine(1).export_queue(jetty));
  for (std::uint64_t id = 0; id < 2; ++id) world.pair().post_receive(1, jetty, entry(id));
  ASSERT_TRUE(world.engine(1).arm(world.now(), queue, {.solicited_only = true}).ok());
  auto request = world.request(Verb::kSend, 64);
  request.peer = peer;
  EXPECT_TRUE(world.finish(request).ok());
  EXPECT_TRUE(events_of(world, 1, queue).empty());
  request.solicited = true;
  EXPECT_TRUE(world.finish(request).ok());
  EXPECT_EQ(events_of(world, 1, queue), (std::vector{AsyncEventKind::kCompletionReady}));
}

// A receive entry that a message has taken is flushed with the others, before the mark, and its message
// refused.
TEST(Flushing, AnEntryThatIsBeingFilledIsFlushedBeforeTheMark) {
  UbConfig config;
  config.mtu = 256;
  World world(config);
  engine::QueueConfig queue;
  queue.drain_marks = true;
  const auto target = *world.engine(1).create_queue(world.now(), queue);
  world.pair().post_receive(1, target, entry(1));
  auto send = world.request(Verb::kSend, 512);
  send.peer = *world.engine(0).connect(world.now(), world.queue(0), *world.engine(1).export_queue(target));
  int requests = 0;
  bool lost = true;  // Its second packet, for a while.
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    return packet.ub.transaction == wire::UbTransaction::kRequest && requests++ > 0 && lost;
  };
  ASSERT_EQ(world.post(send), engine::PostStatus::kOk);
  world.pair().run_to(world.now() + microseconds(3));
  ASSERT_TRUE(world.pair().host(1).completions.empty());
  ASSERT_TRUE(world.engine(1).fail_queue(world.now(), target).ok());
  world.pair().drain(1);
  lost = false;
  world.run();
  const auto& told = world.pair().host(1).completions;
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].id, 1u);
  EXPECT_EQ(told[0].status, CompletionStatus::kFlushed);
  EXPECT_EQ(told[0].drain, DrainMark::kFlushDone);
  ASSERT_EQ(world.pair().host(0).completions.size(), 1u);
  EXPECT_EQ(world.pair().host(0).completions[0].status, CompletionStatus::kRemoteOperation);
  EXPECT_EQ(world.pair().pool().in_use(), 0u);
}

// Completions that nobody reads leave no room for one more mark: the newest of them says it.
TEST(Flushing, MarksNeedNoMoreRoomThanThereIs) {
  World world;
  engine::QueueConfig config{.send_depth = 2, .receive_depth = 1};
  config.drain_marks = true;
  UbEngine& engine = world.engine(0);
  const auto queue = *engine.create_queue(world.now(), config);
  const auto peer = *engine.connect(world.now(), queue, *world.engine(1).export_queue(world.queue(1)));
  // Nothing is polled until the end.
  for (int i = 0; i < 3; ++i) {
    auto request = world.request(Verb::kWrite, 0);
    request.peer = peer;
    ASSERT_EQ(engine.post(world.now(), queue, request, engine::Submission::kInHand), engine::PostStatus::kOk);
    wire::Packet packet;
    for (bool any = true; any;) {
      any = false;
      for (std::uint32_t host = 0; host < 2; ++host) {
        while (world.engine(host).transmit(world.now(), 0, wire::kAllTrafficClasses, packet)) {
          world.engine(1 - host).receive(world.now(), 0, packet);
          any = true;
        }
      }
    }
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(engine.suspend_queue(world.now(), queue).ok());
    ASSERT_TRUE(engine.resume_queue(world.now(), queue).ok());
  }
  ASSERT_TRUE(engine.fail_queue(world.now(), queue).ok());
  world.pair().drain(0);
  const auto& told = world.pair().host(0).completions;
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told.back().status, CompletionStatus::kSuspendDone);
  EXPECT_EQ(told.back().drain, DrainMark::kFlushDone);
}

// A full completion queue fails the jetty that cannot report, also one that stands still.
TEST(Flushing, ASuspendedQueueFailsWhenItsCompletionsAreLost) {
  World world;
  UbEngine& engine = world.engine(0);
  engine::QueueConfig config;
  config.send_completions = *engine.create_completion_queue(world.now(), {.depth = 2});
  const auto queue = *engine.create_queue(world.now(), config);
  const auto peer = *engine.connect(world.now(), queue, *world.engine(1).export_queue(world.queue(1)));
  for (int i = 0; i < 3; ++i) {
    auto request = world.request(Verb::kWrite, 64);
    request.peer = peer;
    ASSERT_EQ(engine.post(world.now(), queue, request, engine::Submission::kInHand), engine::PostStatus::kOk);
  }
  ASSERT_TRUE(engine.suspend_queue(world.now(), queue).ok());
  // Its completions are written, and not read.
  for (bool any = true; any;) {
    any = false;
    for (std::uint32_t host = 0; host < 2; ++host) {
      engine::Access access;
      while (world.engine(host).next_access(access)) {
        const auto result = world.pair().memory(host).perform(access, world.pair().pool());
        world.engine(host).access_done(world.now(), access.id, result);
        world.pair().pool().release(result.data.buffer);
        any = true;
      }
      wire::Packet packet;
      while (world.engine(host).transmit(world.now(), 0, wire::kAllTrafficClasses, packet)) {
        world.engine(1 - host).receive(world.now(), 0, packet);
        world.pair().pool().release(packet.payload.buffer);
        any = true;
      }
    }
  }
  EXPECT_EQ(engine.counters().completions_dropped, 1u);
  EXPECT_EQ(engine.queue_state(queue), QueueState::kError);
}

}  // namespace
}  // namespace wharf::ub
