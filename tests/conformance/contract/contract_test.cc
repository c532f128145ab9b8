// SPDX-License-Identifier: Apache-2.0
// Rules of engine/contract.h that every engine keeps in the same way: what answers of memory mean that nobody
// asked for, and what becomes of a request when memory fails the interface's own traffic.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "contract_world.h"
#include "engine/driver/engine_driver.h"
#include "engine/roce/roce_engine.h"
#include "engine/ub/context_records.h"
#include "engine/ub/ub_engine.h"
#include "engine/uet/uet_engine.h"
#include "wire/payload_pool.h"

namespace wharf {
namespace {

using engine::AccessKind;
using engine::AccessStatus;
using engine::AsyncEventKind;
using verbs::CompletionStatus;
using verbs::Verb;

using contract::config_of;
using contract::kBase;
using contract::kBytes;
constexpr std::uint64_t kRing = 0x8000'0000;  ///< Rings lie in memory, so that their entries are fetched.

/// Two connected engines with a queue each. Packets fly at once; `fails` says which accesses memory fails.
template <typename E>
class Pair {
 public:
  struct Side {
    Arena arena;
    std::unique_ptr<E> engine;
    engine::QueueId queue = 0;
    verbs::PeerId peer = verbs::kNoPeer;
    verbs::SegmentToken token;
    std::map<std::uint64_t, std::vector<std::byte>> written;  ///< By address: context records.
    std::vector<verbs::Completion> completions;
    std::vector<verbs::LoadStoreResult> loads;
    std::vector<AsyncEventKind> events;
  };

  explicit Pair(bool small_cache = false) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      auto config = config_of<E>(small_cache);
      config.host = {host};
      Side& side = sides[host];
      side.engine = std::make_unique<E>(E::create(config, pool, side.arena).value());
      side.queue = create_queue(host);
      side.token = side.engine->register_segment(now, {.base = kBase, .length = kBytes}).value();
    }
    connect();
    run();
  }
  ~Pair() {
    for (Side& side : sides) side.engine.reset();
    EXPECT_EQ(pool.in_use(), 0U);
  }

  void connect() {
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto blob = sides[1 - host].engine->export_queue(sides[1 - host].queue).value();
      sides[host].peer = sides[host].engine->connect(now, sides[host].queue, blob).value();
    }
  }
  engine::QueueId create_queue(std::uint32_t host) {
    return sides[host]
        .engine
        ->create_queue(now, {.send_depth = 16,
                             .receive_depth = 16,
                             .send_ring = kRing,
                             .receive_ring = kRing + 0x10000,
                             .completion_ring = kRing + 0x20000})
        .value();
  }

  void post(Verb verb, std::uint32_t length, engine::Submission submission = engine::Submission::kInHand,
            std::uint8_t pieces = 1) {
    verbs::WorkRequest request;
    request.id = 5;
    request.verb = verb;
    request.peer = sides[0].peer;
    request.length = length;
    request.local_count = pieces;
    for (std::uint8_t i = 0; i < pieces; ++i) request.local[i] = {kBase + i * 0x100U, length / pieces};
    if (!verbs::is_send(verb)) request.remote = {kBase + 0x1000, sides[1].token};
    ASSERT_EQ(sides[0].engine->post(now, sides[0].queue, request, submission), engine::PostStatus::kOk);
  }
  void post_receive(std::uint32_t length) {
    verbs::ReceiveRequest receive;
    receive.id = 77;
    receive.local_count = 1;
    receive.local[0] = {kBase, length};
    ASSERT_EQ(sides[1].engine->post_receive(now, sides[1].queue, receive), engine::PostStatus::kOk);
  }

  engine::AccessResult perform(std::uint32_t host, const engine::Access& access) {
    engine::AccessResult result;
    if (fails && fails(host, access)) {
      result.status = AccessStatus::kFault;
      return result;
    }
    if (access.kind == AccessKind::kWriteContext) {
      auto& record = sides[host].written[access.address];
      record.resize(access.length);
      wire::fill(access.data, record);
    } else if (access.kind == AccessKind::kFetchContext) {
      const auto record = sides[host].written.find(access.address);
      result.data = record == sides[host].written.end() ? wire::pattern_payload(9, 0, access.length)
                                                        : wire::bytes_payload(record->second);
    } else if (access.kind == AccessKind::kRead) {
      result.data = wire::pattern_payload(1, 0, access.length);
    }
    if (resizes && resizes(host, access))
      result.data = wire::pattern_payload(1, 0, access.length + (too_long ? 1 : -1U));
    return result;
  }

  /// Everything happens, time-outs included, until both engines are at rest.
  void run() {
    for (int round = 0; round < 100'000; ++round) {
      bool progress = false;
      for (std::uint32_t host = 0; host < 2; ++host) progress |= drain(host);
      if (progress) continue;
      const TimePs next = min(sides[0].engine->deadline(), sides[1].engine->deadline());
      if (next == kNever || next > now + seconds(10)) return;
      now = max(now, next);
      for (Side& side : sides) side.engine->expire(now);
    }
    FAIL() << "the engines never come to rest";
  }

  bool drain(std::uint32_t host) {
    Inside inside{*this, host};
    return engine::EngineDriver(*sides[host].engine, inside, inside, inside).settle(now);
  }
  bool saw(std::uint32_t host, AsyncEventKind kind) const {
    const auto& events = sides[host].events;
    return std::find(events.begin(), events.end(), kind) != events.end();
  }
  /// The status of the last completion of `host`, which has `count` of them.
  CompletionStatus outcome(std::uint32_t host, std::size_t count = 1) const {
    EXPECT_EQ(sides[host].completions.size(), count);
    return sides[host].completions.empty() ? CompletionStatus::kUnsupportedOpcode
                                           : sides[host].completions.back().status;
  }

  /// Memory, wire and user of a side, as the engine's driver sees them.
  struct Inside {
    Pair& pair;
    std::uint32_t host;

    bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
      result = pair.perform(host, access);
      return true;
    }
    wire::TrafficClassMask open(TimePs) const { return wire::kAllTrafficClasses; }
    void send(TimePs now, const wire::Packet& packet) {
      pair.sides[1 - host].engine->receive(now, 0, packet);
      pair.pool.release(packet.payload.buffer);
    }
    void completed(TimePs, const verbs::Completion& completion) {
      pair.sides[host].completions.push_back(completion);
    }
    void answered(TimePs, const verbs::LoadStoreResult& result) {
      pair.sides[host].loads.push_back(result);
      pair.pool.release(result.data.buffer);
    }
    void event(TimePs, const engine::AsyncEvent& event) { pair.sides[host].events.push_back(event.kind); }
  };

  TimePs now = nanoseconds(1);
  wire::PayloadPool pool;
  Side sides[2];
  std::function<bool(std::uint32_t host, const engine::Access& access)> fails;
  /// Accesses whose data has another length than was asked for: a byte less, or one more.
  std::function<bool(std::uint32_t host, const engine::Access& access)> resizes;
  bool too_long = false;
};

// --- Every engine
// ---------------------------------------------------------------------------------------------------

template <typename E>
class EveryEngine : public testing::Test {};
using Engines = testing::Types<ub::UbEngine, roce::RoceEngine, uet::UetEngine>;
TYPED_TEST_SUITE(EveryEngine, Engines);

TYPED_TEST(EveryEngine, AnswersThatNobodyAskedForDoNothing) {
  Pair<TypeParam> pair;
  TypeParam& engine = *pair.sides[0].engine;
  for (const engine::AccessId id : {0U, 1U, 1000U, 0xffff'fffeU, 0xffff'ffffU}) {
    engine.access_done(pair.now, id, {});
  }
  pair.post(Verb::kWrite, 64, engine::Submission::kDoorbell);
  engine::Access access;
  ASSERT_TRUE(engine.next_access(access));
  ASSERT_EQ(access.kind, AccessKind::kFetchWorkRequest);
  engine.access_done(pair.now, access.id + 1, {});
  engine.access_done(pair.now, access.id, {});
  engine::AccessResult late;
  late.status = AccessStatus::kFault;
  engine.access_done(pair.now, access.id, late);  // Answered before.
  pair.run();
  EXPECT_EQ(pair.outcome(0), CompletionStatus::kSuccess);
}

TYPED_TEST(EveryEngine, AnEngineMovesBeforeItIsUsed) {
  wire::PayloadPool pool;
  Arena arena;
  auto config = config_of<TypeParam>(false);
  TypeParam made = TypeParam::create(config, pool, arena).value();
  TypeParam engine(std::move(made));
  EXPECT_TRUE(engine.create_queue({}, {}).ok());
}

// --- Failing memory
// -------------------------------------------------------------------------------------------------

/// What the initiator is told when the target cannot read its memory.
template <typename E>
constexpr CompletionStatus remote_fault() {
  return std::is_same_v<E, roce::RoceEngine> ? CompletionStatus::kRemoteOperation
                                             : CompletionStatus::kRemoteAccess;
}

template <typename E>
class FailingMemory : public testing::Test {};
TYPED_TEST_SUITE(FailingMemory, Engines);

/// Engines that keep receive entries and context records in host memory; UET keeps them on the interface.
template <typename E>
class FailingRecords : public testing::Test {};
using WithRecords = testing::Types<ub::UbEngine, roce::RoceEngine>;
TYPED_TEST_SUITE(FailingRecords, WithRecords);

TYPED_TEST(FailingMemory, AWorkRequestThatCannotBeFetchedEndsAndIsNeverSent) {
  Pair<TypeParam> pair;
  pair.fails = [](std::uint32_t, const engine::Access& access) {
    return access.kind == AccessKind::kFetchWorkRequest;
  };
  pair.post(Verb::kWrite, 64, engine::Submission::kDoorbell);
  pair.run();
  EXPECT_EQ(pair.outcome(0), CompletionStatus::kLocalOperation);
  EXPECT_EQ(pair.sides[0].engine->counters().packets_sent, 0U);
}

TYPED_TEST(FailingRecords, AReceiveEntryThatCannotBeFetchedRefusesItsMessageForGood) {
  for (const std::uint32_t length : {0U, 64U, 10'000U}) {
    Pair<TypeParam> pair;
    pair.fails = [](std::uint32_t, const engine::Access& access) {
      return access.kind == AccessKind::kFetchReceiveEntry;
    };
    pair.post_receive(10'000);
    pair.post(Verb::kSend, length);
    pair.run();
    EXPECT_NE(pair.outcome(1), CompletionStatus::kSuccess) << length;
    EXPECT_EQ(pair.sides[1].completions[0].id, 77U);
    if (length == 0) continue;  // RoCE may have acknowledged a message that needs no memory.
    EXPECT_EQ(pair.outcome(0), CompletionStatus::kRemoteOperation) << length;
  }
}

TYPED_TEST(FailingMemory, ACompletionThatCannotBeWrittenIsAnErrorAndAnEvent) {
  Pair<TypeParam> pair;
  pair.fails = [](std::uint32_t host, const engine::Access& access) {
    return host == 0 && access.kind == AccessKind::kWriteCompletion;
  };
  pair.post(Verb::kWrite, 64);
  pair.run();
  EXPECT_EQ(pair.outcome(0), CompletionStatus::kLocalOperation);
  EXPECT_TRUE(pair.saw(0, AsyncEventKind::kCompletionError));
}

/// Data of the wrong length, which would end up in a packet, in memory or beyond a buffer.
TYPED_TEST(FailingMemory, DataOfAnotherLengthIsAFault) {
  for (const bool too_long : {false, true}) {
    for (const Verb verb : {Verb::kWrite, Verb::kRead}) {
      for (const std::uint8_t pieces : {1, 2}) {
        Pair<TypeParam> pair;
        pair.too_long = too_long;
        pair.resizes = [](std::uint32_t, const engine::Access& access) {
          return access.kind == AccessKind::kRead;
        };
        pair.post(verb, 64, engine::Submission::kInHand, pieces);
        pair.run();
        EXPECT_EQ(pair.outcome(0),
                  verb == Verb::kWrite ? CompletionStatus::kLocalAccess : remote_fault<TypeParam>());
      }
    }
  }
}

/// A queue whose records are displaced by those of another, and lost.
template <typename E>
void lose_records_of(std::uint32_t host, AccessKind how, bool by_length = false) {
  Pair<E> pair(true);
  for (const std::uint32_t each : {0U, 1U}) {  // Displaces what the first ones left in the cache.
    pair.create_queue(each);
    ASSERT_TRUE(pair.sides[each].engine->register_segment(pair.now, {.base = kBase, .length = 64}).ok());
  }
  if (how == AccessKind::kFetchContext) pair.run();
  auto& spoils = by_length ? pair.resizes : pair.fails;
  spoils = [&](std::uint32_t at, const engine::Access& access) { return at == host && access.kind == how; };
  pair.run();
  pair.post(Verb::kWrite, 64);
  pair.run();
  // Two hosts, lost for different reasons: the request ends with an error, and nothing hangs or aborts.
  EXPECT_NE(pair.outcome(0), CompletionStatus::kSuccess);
  EXPECT_GT(pair.sides[host].engine->counters().contexts_lost, 0U);
  if (host == 0) {
    EXPECT_TRUE(pair.saw(0, AsyncEventKind::kQueueError) || pair.saw(0, AsyncEventKind::kPeerUnreachable));
  }
}

TYPED_TEST(FailingRecords, ARecordThatCannotBeFetchedFailsWhatItDescribes) {
  lose_records_of<TypeParam>(0, AccessKind::kFetchContext);
  lose_records_of<TypeParam>(1, AccessKind::kFetchContext);
}

TYPED_TEST(FailingRecords, ARecordOfAnotherLengthFailsWhatItDescribes) {
  lose_records_of<TypeParam>(0, AccessKind::kFetchContext, true);
  lose_records_of<TypeParam>(1, AccessKind::kFetchContext, true);
}

TYPED_TEST(FailingRecords, ARecordThatCouldNotBeWrittenFailsWhatItDescribes) {
  lose_records_of<TypeParam>(0, AccessKind::kWriteContext);
  lose_records_of<TypeParam>(1, AccessKind::kWriteContext);
}

// What is lost stays lost, although memory may still hold a record from before and give it later.
TYPED_TEST(FailingRecords, ALostSegmentRefusesEveryAccessForGood) {
  Pair<TypeParam> pair(true);
  auto& target = pair.sides[1];
  const verbs::SegmentToken lost = target.token;
  const verbs::SegmentToken other =
      target.engine->register_segment(pair.now, {.base = kBase, .length = kBytes}).value();
  pair.run();
  const auto write_to = [&](verbs::SegmentToken token) {
    // A refusal may have ended the queues.
    for (std::uint32_t host = 0; host < 2; ++host) pair.sides[host].queue = pair.create_queue(host);
    pair.connect();
    target.token = token;
    pair.sides[0].completions.clear();
    pair.post(Verb::kWrite, 64);
    pair.run();
    return pair.outcome(0);
  };
  ASSERT_EQ(write_to(lost), CompletionStatus::kSuccess);
  ASSERT_EQ(write_to(other), CompletionStatus::kSuccess);
  static_assert(sizeof(ub::MrRecord) == sizeof(roce::MemoryKeyRecord));
  bool failed = false;
  pair.fails = [&](std::uint32_t host, const engine::Access& access) {
    const bool now = !failed && host == 1 && access.kind == AccessKind::kFetchContext &&
                     access.length == sizeof(ub::MrRecord);
    failed |= now;
    return now;
  };
  EXPECT_EQ(write_to(lost), CompletionStatus::kRemoteAccess);
  ASSERT_TRUE(failed);
  EXPECT_EQ(write_to(other), CompletionStatus::kSuccess);
  EXPECT_EQ(write_to(lost), CompletionStatus::kRemoteAccess);
  EXPECT_EQ(target.engine->counters().contexts_lost, 1U);
}

// --- Unified Bus alone
// --------------------------------------------------------------------------------------------------

TEST(FailingRecordsOfUb, ALostJettyIsReportedOnceAndStaysFailed) {
  for (const AccessKind how : {AccessKind::kFetchContext, AccessKind::kWriteContext}) {
    Pair<ub::UbEngine> pair(true);
    bool failed = false;
    pair.fails = [&](std::uint32_t host, const engine::Access& access) {
      const bool now = !failed && host == 1 && access.kind == how && access.length == sizeof(ub::JettyRecord);
      failed |= now;
      return now;
    };
    for (std::size_t send = 1; send <= 4; ++send) {
      pair.post(Verb::kSend, 64);
      pair.run();
      EXPECT_EQ(pair.outcome(0, send), CompletionStatus::kRemoteOperation);
    }
    ASSERT_TRUE(failed);
    const auto& events = pair.sides[1].events;
    EXPECT_EQ(std::count(events.begin(), events.end(), AsyncEventKind::kQueueError), 1);
    EXPECT_EQ(pair.sides[1].engine->counters().contexts_lost, 1U);
  }
}

TEST(FailingMemoryOfUb, ALoadWhoseDataHasAnotherLengthIsAFault) {
  for (const bool too_long : {false, true}) {
    Pair<ub::UbEngine> pair;
    pair.too_long = too_long;
    pair.resizes = [](std::uint32_t, const engine::Access& access) {
      return access.kind == AccessKind::kRead;
    };
    verbs::LoadStore load;
    load.verb = Verb::kLoad;
    load.peer = pair.sides[0].peer;
    load.remote = {kBase, pair.sides[1].token};
    ASSERT_EQ(pair.sides[0].engine->issue(pair.now, load), engine::PostStatus::kOk);
    pair.run();
    ASSERT_EQ(pair.sides[0].loads.size(), 1U);
    EXPECT_EQ(pair.sides[0].loads[0].status, CompletionStatus::kRemoteOperation);
  }
}

}  // namespace
}  // namespace wharf
