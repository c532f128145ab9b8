// SPDX-License-Identifier: Apache-2.0
// What an engine may expect of its caller, with an engine that follows a script and writes down each call:
// the order of outputs, who is told what, when another round comes, and that nothing is left.
#include "engine/driver/engine_driver.h"

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/driver/described_memory.h"
#include "engine/without_shared_objects.h"

namespace wharf::engine {
namespace {

using testing::ElementsAre;

using Log = std::vector<std::string>;

/// Gives what its queues hold. Calls that gave nothing are not written down, but counted.
class ScriptedEngine : public WithoutSharedObjects {
 public:
  explicit ScriptedEngine(Log& its_log) : log(its_log) {}

  Log& log;
  std::deque<Access> accesses;
  std::deque<wire::TrafficClass> packets;
  std::deque<std::uint64_t> completions;
  std::deque<std::uint32_t> loads;
  std::deque<AsyncEventKind> events;
  /// What inputs and transmit() lead to.
  std::function<void(AccessId)> on_done;
  std::function<void()> on_transmit;
  std::function<void()> on_expire;
  TimePs due = kNever;

  bool left() const {
    return !accesses.empty() || !packets.empty() || !completions.empty() || !loads.empty() || !events.empty();
  }

  static bool supports(verbs::Verb) { return true; }
  static Capabilities capabilities() { return {}; }
  static QueueState queue_state(QueueId) { return QueueState::kReady; }
  static Result<void> fail_queue(TimePs, QueueId) { return {}; }
  static Result<void> reset_queue(TimePs, QueueId) { return {}; }
  static Result<void> forget_host(TimePs, wire::HostAddress) { return {}; }
  static Result<void> cancel_receive(TimePs, QueueId, std::uint64_t) { return {}; }
  Result<QueueId> create_queue(TimePs, const QueueConfig&) { return QueueId{}; }
  Result<void> destroy_queue(TimePs, QueueId) { return {}; }
  Result<verbs::SegmentToken> register_segment(TimePs, const verbs::SegmentConfig&) {
    return verbs::SegmentToken{};
  }
  Result<void> deregister_segment(TimePs, verbs::SegmentToken) { return {}; }
  Result<ExchangeBlob> export_queue(QueueId) { return ExchangeBlob{}; }
  Result<PeerId> connect(TimePs, QueueId, std::span<const std::byte>) { return PeerId{}; }
  Result<void> disconnect(TimePs, QueueId, PeerId) { return {}; }
  PostStatus post(TimePs, QueueId, const verbs::WorkRequest& request, Submission) {
    log.push_back("post " + std::to_string(request.id));
    completions.push_back(request.id);
    return PostStatus::kOk;
  }
  PostStatus post_receive(TimePs, QueueId, const verbs::ReceiveRequest&) { return PostStatus::kOk; }
  PostStatus issue(TimePs, const verbs::LoadStore&) { return PostStatus::kOk; }

  bool next_access(Access& out) {
    if (accesses.empty()) return false;
    out = accesses.front();
    accesses.pop_front();
    log.push_back("access " + std::to_string(out.id));
    return true;
  }
  void access_done(TimePs, AccessId id, const AccessResult& result) {
    log.push_back("done " + std::to_string(id) + (result.status == AccessStatus::kDone ? "" : " fault"));
    if (on_done) on_done(id);
  }
  bool transmit(TimePs, std::uint32_t, wire::TrafficClassMask allowed, wire::Packet& out) {
    if (packets.empty() || (allowed & wire::mask_of(packets.front())) == 0) return false;
    out = wire::roce_packet();
    out.traffic_class = packets.front();
    packets.pop_front();
    log.push_back("transmit");
    if (on_transmit) on_transmit();
    return true;
  }
  bool next_completed_queue(QueueId& out) {
    out = 7;
    return !completions.empty();
  }
  bool poll(QueueId queue, verbs::Completion& out) {
    EXPECT_EQ(queue, 7U);
    if (completions.empty()) return false;
    out = {};
    out.id = completions.front();
    completions.pop_front();
    return true;
  }
  bool poll_load_store(verbs::LoadStoreResult& out) {
    if (loads.empty()) return false;
    out = {};
    out.tag = loads.front();
    loads.pop_front();
    return true;
  }
  bool poll_event(AsyncEvent& out) {
    if (events.empty()) return false;
    out = {.kind = events.front()};
    events.pop_front();
    return true;
  }
  void receive(TimePs, std::uint32_t port, const wire::Packet&) {
    log.push_back("receive at port " + std::to_string(port));
  }
  void expire(TimePs) {
    log.emplace_back("expire");
    due = kNever;
    if (on_expire) on_expire();
  }
  TimePs deadline() const { return due; }
  void describe_waiting(std::vector<std::string>&) const {}
};
static_assert(Engine<ScriptedEngine>);

/// Answers at once, later, or at the end of the round.
struct ScriptedMemory {
  enum class When { kNow, kLater, kAtEndOfRound };
  Log& log;
  When when = When::kNow;
  std::deque<AccessId> due{};
  std::uint32_t reclaimed = 0;

  bool begin(TimePs, const Access& access, AccessResult& result) {
    EXPECT_EQ(result.status, AccessStatus::kDone);
    EXPECT_EQ(result.data.length, 0U);
    if (when == When::kAtEndOfRound) due.push_back(access.id);
    return when == When::kNow;
  }
  bool take_answer(TimePs, AccessId& id, AccessResult& result) {
    if (due.empty()) return false;
    id = due.front();
    due.pop_front();
    result.status = AccessStatus::kFault;
    return true;
  }
  void reclaim(AccessResult&) { ++reclaimed; }
};

/// Takes `room` packets.
struct ScriptedWire {
  Log& log;
  std::uint32_t room = 1000;
  wire::TrafficClassMask classes = wire::kAllTrafficClasses;
  wire::TrafficClassMask open(TimePs) const {
    return room > 0 ? classes : static_cast<wire::TrafficClassMask>(0);
  }
  void send(TimePs, const wire::Packet&) {
    log.emplace_back("send");
    --room;
  }
};

struct ScriptedUser {
  Log& log;
  std::function<bool(Taken)> on_round{};
  TimePs wake = kTimeZero;

  void completed(TimePs, const verbs::Completion& completion) {
    log.push_back("completed " + std::to_string(completion.id));
  }
  void answered(TimePs, const verbs::LoadStoreResult& result) {
    log.push_back("answered " + std::to_string(result.tag));
  }
  void event(TimePs, const AsyncEvent&) { log.emplace_back("event"); }
  bool gave(TimePs, Taken taken) { return on_round && on_round(taken); }
  void sent(const wire::Packet&) { log.emplace_back("sent"); }
  void wake_at(TimePs, TimePs deadline) {
    log.emplace_back("deadline");
    wake = deadline;
  }
};

Access access(AccessId id) {
  Access made;
  made.id = id;
  return made;
}

class Driver : public testing::Test {
 protected:
  EngineDriver<ScriptedEngine, ScriptedMemory, ScriptedWire, ScriptedUser> driver() {
    return {engine, memory, wire, user};
  }
  EngineDriver<ScriptedEngine, ScriptedMemory, PullingWire, ScriptedUser> pulled() {
    return {engine, memory, pulling, user};
  }

  static constexpr TimePs kNow = nanoseconds(5);
  Log log;
  ScriptedEngine engine{log};
  ScriptedMemory memory{log};
  ScriptedWire wire{log};
  PullingWire pulling;
  ScriptedUser user{log};
};

TEST_F(Driver, TakesOutputsInTheOrderOfTheContract) {
  engine.accesses = {access(1), access(2)};
  engine.packets = {wire::TrafficClass::kData, wire::TrafficClass::kData};
  engine.completions = {10, 11};
  engine.loads = {20};
  engine.events = {AsyncEventKind::kQueueError};
  engine.due = microseconds(1);
  EXPECT_TRUE(driver().settle(kNow));
  EXPECT_THAT(log, ElementsAre("access 1", "done 1", "access 2", "done 2", "transmit", "send", "transmit",
                               "send", "completed 10", "completed 11", "answered 20", "event", "deadline"));
  EXPECT_EQ(user.wake, microseconds(1));
  EXPECT_FALSE(engine.left());
}

TEST_F(Driver, AsksForTheDeadlineWhenThereIsNothing) {
  EXPECT_FALSE(driver().settle(kNow));
  EXPECT_THAT(log, ElementsAre("deadline"));
}

TEST_F(Driver, PerformsWhatTransmitAskedForAndGoesRoundAgain) {
  engine.packets = {wire::TrafficClass::kData};
  engine.on_transmit = [&] { engine.accesses = {access(1)}; };
  engine.on_done = [&](AccessId) {
    engine.on_transmit = nullptr;
    engine.packets = {wire::TrafficClass::kData};
  };
  driver().settle(kNow);
  EXPECT_THAT(log, ElementsAre("transmit", "send", "access 1", "done 1", "transmit", "send", "deadline"));
}

TEST_F(Driver, AnAnswerAtOnceComesBeforeTheNextAccess) {
  engine.accesses = {access(1)};
  engine.on_done = [&](AccessId id) {
    if (id == 1) engine.accesses = {access(2)};
    if (id == 2) engine.completions = {10};
  };
  driver().settle(kNow);
  EXPECT_THAT(log, ElementsAre("access 1", "done 1", "access 2", "done 2", "completed 10", "deadline"));
  EXPECT_EQ(memory.reclaimed, 2U);
}

TEST_F(Driver, AMemoryThatTakesTimeAnswersByAnInput) {
  memory.when = ScriptedMemory::When::kLater;
  engine.accesses = {access(1)};
  engine.on_done = [&](AccessId) { engine.completions = {10}; };
  driver().settle(kNow);
  EXPECT_THAT(log, ElementsAre("access 1", "deadline"));
  log.clear();
  driver().answer(kNow, 1, {});
  EXPECT_THAT(log, ElementsAre("done 1", "completed 10", "deadline"));
  EXPECT_EQ(memory.reclaimed, 0U);  // The caller's to do.
}

TEST_F(Driver, AnswersWithoutTimeComeAfterTheOutputsOfTheRound) {
  memory.when = ScriptedMemory::When::kAtEndOfRound;
  engine.accesses = {access(1), access(2)};
  engine.packets = {wire::TrafficClass::kData};
  engine.completions = {10};
  engine.on_done = [&](AccessId id) {
    if (id == 2) engine.accesses = {access(3)};
  };
  driver().settle(kNow);
  EXPECT_THAT(log, ElementsAre("access 1", "access 2", "transmit", "send", "completed 10", "done 1 fault",
                               "done 2 fault", "access 3", "done 3 fault", "deadline"));
  EXPECT_EQ(memory.reclaimed, 3U);
}

TEST_F(Driver, GoesRoundAgainWhenTheUserGaveAnInput) {
  engine.completions = {10};
  user.on_round = [&](Taken taken) {
    if (!taken.completions) return false;
    user.on_round = nullptr;
    verbs::WorkRequest request;
    request.id = 11;
    engine.post(kNow, 7, request, Submission::kInHand);
    return true;
  };
  driver().settle(kNow);
  EXPECT_THAT(log, ElementsAre("completed 10", "post 11", "completed 11", "deadline"));
}

TEST_F(Driver, TellsTheUserWhatTheRoundTook) {
  std::vector<Taken> rounds;
  user.on_round = [&](Taken taken) {
    rounds.push_back(taken);
    return rounds.size() < 3;
  };
  engine.loads = {20};
  driver().settle(kNow);
  ASSERT_EQ(rounds.size(), 3U);
  EXPECT_TRUE(rounds[0].answers && !rounds[0].completions && rounds[0].any());
  EXPECT_FALSE(rounds[1].any());
}

TEST_F(Driver, AFullWireIsAskedBeforeEachPacketAndLeavesTheRest) {
  wire.room = 1;
  engine.packets = {wire::TrafficClass::kData, wire::TrafficClass::kData};
  engine.completions = {10};
  driver().settle(kNow);
  EXPECT_THAT(log, ElementsAre("transmit", "send", "completed 10", "deadline"));
  EXPECT_EQ(engine.packets.size(), 1U);
  log.clear();
  wire.room = 1;  // Its turn to have the engine drained.
  EXPECT_TRUE(driver().settle(kNow));
  EXPECT_THAT(log, ElementsAre("transmit", "send", "deadline"));
  EXPECT_FALSE(engine.left());
}

TEST_F(Driver, AWireMayTakeSomeClassesAlone) {
  wire.classes = wire::mask_of(wire::TrafficClass::kAcknowledgement);
  engine.packets = {wire::TrafficClass::kAcknowledgement, wire::TrafficClass::kData};
  driver().settle(kNow);
  EXPECT_THAT(log, ElementsAre("transmit", "send", "deadline"));
}

TEST_F(Driver, InputsAreFollowedByTheirOutputs) {
  engine.completions = {10};
  driver().receive(kNow, 3, wire::roce_packet());
  EXPECT_THAT(log, ElementsAre("receive at port 3", "completed 10", "deadline"));
  log.clear();
  engine.due = kNow;
  engine.on_expire = [&] { engine.packets = {wire::TrafficClass::kRetransmission}; };
  driver().wake(kNow - nanoseconds(1));
  EXPECT_THAT(log, ElementsAre("deadline"));  // Too early.
  log.clear();
  driver().wake(kNow);
  EXPECT_THAT(log, ElementsAre("expire", "transmit", "send", "deadline"));
}

// --- A wire that fetches its packets
// --------------------------------------------------------------------------------

TEST_F(Driver, APullingWireGetsOnePacketAndNoneUnasked) {
  engine.packets = {wire::TrafficClass::kData, wire::TrafficClass::kData};
  pulled().settle(kNow);
  EXPECT_THAT(log, ElementsAre("deadline"));
  log.clear();
  wire::Packet packet;
  engine.on_transmit = [&] { engine.accesses = {access(1)}; };
  EXPECT_TRUE(pulled().pull(kNow, 0, wire::kAllTrafficClasses, packet));
  EXPECT_THAT(log, ElementsAre("transmit", "access 1", "done 1", "sent", "deadline"));
  EXPECT_EQ(engine.packets.size(), 1U);
  log.clear();
  EXPECT_FALSE(pulled().pull(kNow, 0, wire::mask_of(wire::TrafficClass::kControl), packet));
  EXPECT_THAT(log, ElementsAre("deadline"));
}

TEST_F(Driver, APullWaitsForWhatMemoryCanGiveAtOnce) {
  engine.accesses = {access(1)};
  engine.on_done = [&](AccessId) { engine.packets = {wire::TrafficClass::kData}; };
  wire::Packet packet;
  EXPECT_TRUE(pulled().pull(kNow, 0, wire::kAllTrafficClasses, packet));
  EXPECT_THAT(log, ElementsAre("access 1", "done 1", "transmit", "sent", "deadline"));
}

TEST_F(Driver, WhatAPullCompletesIsDeliveredAndSettled) {
  engine.packets = {wire::TrafficClass::kData};
  engine.on_transmit = [&] { engine.completions = {10}; };
  user.on_round = [&](Taken taken) {
    if (taken.completions) engine.accesses = {access(1)};
    return taken.completions;
  };
  wire::Packet packet;
  EXPECT_TRUE(pulled().pull(kNow, 0, wire::kAllTrafficClasses, packet));
  EXPECT_THAT(log, ElementsAre("transmit", "sent", "completed 10", "access 1", "done 1", "deadline"));
  EXPECT_FALSE(engine.left());
}

// --- Parts that have less, or more
// ----------------------------------------------------------------------------------

/// Has places of its own, as pipelines have, and nothing that is not needed.
struct InPlace {
  Access next;
  wire::Packet packet;
  std::vector<AccessId> begun{};

  Access& place() { return next; }
  bool begin(TimePs, const Access& access, AccessResult&) {
    EXPECT_EQ(&access, &next);
    begun.push_back(access.id);
    return false;
  }
};
struct WireWithPlace {
  wire::Packet packet;
  std::uint32_t sent = 0;
  static wire::TrafficClassMask open(TimePs) { return wire::kAllTrafficClasses; }
  wire::Packet& place() { return packet; }
  void send(TimePs, const wire::Packet& given) { sent += &given == &packet ? 1 : 0; }
};
struct QuietUser {
  std::uint32_t count = 0;
  void completed(TimePs, const verbs::Completion&) { ++count; }
};

TEST_F(Driver, UsesThePlacesThatThePartsHave) {
  InPlace in_place;
  WireWithPlace out;
  QuietUser quiet;
  engine.accesses = {access(4), access(5)};
  engine.packets = {wire::TrafficClass::kData};
  engine.completions = {10};
  engine.events = {AsyncEventKind::kQueueError};
  EngineDriver<ScriptedEngine, InPlace, WireWithPlace, QuietUser> bare(engine, in_place, out, quiet);
  EXPECT_TRUE(bare.settle(kNow));
  EXPECT_THAT(in_place.begun, ElementsAre(4, 5));
  EXPECT_EQ(out.sent, 1U);
  EXPECT_EQ(quiet.count, 1U);
  EXPECT_EQ(engine.events.size(), 1U);  // Somebody else polls them.
}

/// Hands out its accesses and packets in one call each.
class OneCallEngine : public ScriptedEngine {
 public:
  using ScriptedEngine::ScriptedEngine;

  template <typename Host>
  bool perform(TimePs now, Host& host) {
    const bool any = !accesses.empty();
    while (!accesses.empty()) {
      Access& access = accesses.front();
      AccessResult result;
      if (host.begin(access, result)) {
        access_done(now, access.id, result);
        host.told(result);
      }
      accesses.pop_front();
    }
    log.emplace_back("perform");
    return any;
  }
  template <typename Out>
  bool transmit_all(TimePs now, Out& out) {
    for (bool any = false;; any = true) {
      const wire::TrafficClassMask classes = out.open();
      if (classes == 0) return any;
      wire::Packet& packet = out.place();
      if (!transmit(now, 0, classes, packet)) return any;
      out.send(packet);
    }
  }
};

TEST_F(Driver, EngineMayHandOutManyInOneCall) {
  OneCallEngine whole(log);
  whole.accesses = {access(1), access(2)};
  whole.packets = {wire::TrafficClass::kAcknowledgement, wire::TrafficClass::kData};
  whole.completions = {10};
  wire.room = 1;
  EngineDriver<OneCallEngine, ScriptedMemory, ScriptedWire, ScriptedUser> driver(whole, memory, wire, user);
  EXPECT_TRUE(driver.settle(kNow));
  EXPECT_THAT(log, ElementsAre("done 1", "done 2", "perform", "transmit", "send", "completed 10", "perform",
                               "deadline"));
  EXPECT_EQ(memory.reclaimed, 2U);
  EXPECT_EQ(whole.packets.size(), 1U);  // The wire is full.

  // Accesses are put where memory wants them, one by one, and packets where the wire does.
  InPlace in_place;
  WireWithPlace out;
  QuietUser quiet;
  whole.accesses = {access(4)};
  EngineDriver<OneCallEngine, InPlace, WireWithPlace, QuietUser> placed(whole, in_place, out, quiet);
  EXPECT_TRUE(placed.settle(kNow));
  EXPECT_THAT(in_place.begun, ElementsAre(4));
  EXPECT_EQ(out.sent, 1U);
}

TEST_F(Driver, AccessesAloneLeaveTheRest) {
  engine.accesses = {access(1)};
  engine.packets = {wire::TrafficClass::kData};
  EXPECT_TRUE(driver().perform(kNow));
  EXPECT_FALSE(driver().perform(kNow));
  EXPECT_THAT(log, ElementsAre("access 1", "done 1"));
}

// --- Described memory
// -----------------------------------------------------------------------------------------------

TEST(DescribedMemory, ReadsArePatternsAndContextRecordsComeBack) {
  wire::PayloadPool pool;
  DescribedMemory memory(3, pool);
  Access asked;
  asked.kind = AccessKind::kRead;
  asked.address = 4096;
  asked.length = 100;
  AccessResult read;
  EXPECT_TRUE(memory.begin({}, asked, read));
  EXPECT_TRUE(wire::payload_equal(read.data, wire::pattern_payload(3, 4096, 100)));
  memory.reclaim(read);

  asked.kind = AccessKind::kWriteContext;
  asked.length = 20;
  asked.data = wire::pattern_payload(9, 1, 20);
  AccessResult written;
  EXPECT_TRUE(memory.begin({}, asked, written));
  asked.kind = AccessKind::kFetchContext;
  AccessResult fetched;
  EXPECT_TRUE(memory.begin({}, asked, fetched));
  EXPECT_TRUE(wire::payload_equal(fetched.data, wire::pattern_payload(9, 1, 20)));
  EXPECT_EQ(pool.in_use(), 1U);
  memory.reclaim(fetched);
  EXPECT_EQ(pool.in_use(), 0U);
}

}  // namespace
}  // namespace wharf::engine
