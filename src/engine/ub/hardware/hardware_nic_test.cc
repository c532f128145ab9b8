// SPDX-License-Identifier: Apache-2.0
// The hardware NIC behind the engine contract, against the C++ engine and against itself, over a wire that
// loses frames: the same bytes arrive, each verb is taken or refused, and its clock stands when there is
// nothing to do.
#include "engine/ub/hardware/hardware_nic.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/random.h"
#include "engine/driver/engine_driver.h"
#include "engine/ub/hardware/nic_module.h"
#include "engine/ub/ub_engine.h"
#include "verbs/atomic_value.h"

namespace wharf::hardware {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

constexpr std::uint64_t kBase = 0x10'0000;
constexpr std::uint64_t kTarget = kBase + 0x1'0000, kLocal = kBase + 0x4'0000;
constexpr std::uint32_t kToken = 0x5eed;

/// One host: an engine, memory that takes a while, what waits at its wire.
template <typename E>
struct Side {
  Side(std::uint32_t number, wire::PayloadPool& shared) : pool(shared), bytes(0xa'0000) {
    if constexpr (std::same_as<E, HardwareNic>) {
      HardwareConfig config;
      config.host = {number};
      config.memory = kBase + 0x6'0000;
      engine.emplace(HardwareNic::create(config, pool).value());
    } else {
      ub::UbConfig config;
      config.host = {number};
      engine.emplace(ub::UbEngine::create(config, pool, arena).value());
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + number);
    queue = engine->create_queue(kTimeZero, {}).value();
    verbs::SegmentConfig segment;
    segment.base = kTarget;
    segment.length = 0x1'0000;
    segment.token_value = kToken;
    token = engine->register_segment(kTimeZero, segment).value();
  }
  std::byte* at(std::uint64_t address) { return &bytes[address - kBase]; }

  bool begin(TimePs now, engine::Access& access, engine::AccessResult&) {
    // A data access later than the next: nothing keeps them in order but who asked.
    late = late == nanoseconds(20) ? nanoseconds(90) : nanoseconds(20);
    open.emplace(now + late, access);
    if (access.kind == engine::AccessKind::kWrite) {
      std::vector<std::byte> data(access.length);
      wire::fill(access.data, data);
      written[access.id] = std::move(data);
    }
    return false;
  }
  void reclaim(engine::AccessResult& result) { pool.release(result.data.buffer); }
  void finish(TimePs now, const engine::Access& access) {
    engine::AccessResult result;
    if (access.kind == engine::AccessKind::kWrite) {
      if (access.length > 0) std::memcpy(at(access.address), written[access.id].data(), access.length);
    } else if (access.kind == engine::AccessKind::kRead && access.length > 0) {
      const wire::BufferId buffer = pool.acquire(access.length);
      std::memcpy(pool.data(buffer), at(access.address), access.length);
      result.data = wire::bytes_payload(pool.data(buffer), access.length, buffer);
    } else if (access.kind == engine::AccessKind::kAtomic) {
      const std::uint64_t old = load_le64(at(access.address));
      result.old_value[0] = old;
      store_le64(at(access.address),
                 verbs::atomic_value(access.atomic, old, access.operand[0], access.compare[0]));
    }
    engine->access_done(now, access.id, result);
    pool.release(result.data.buffer);
  }
  void completed(TimePs, const verbs::Completion& completion) { completions.push_back(completion); }

  wire::PayloadPool& pool;
  Arena arena;
  std::optional<E> engine;
  std::vector<std::byte> bytes;
  engine::QueueId queue = 0;
  verbs::SegmentToken token;
  engine::PeerId peer = 0;
  std::multimap<TimePs, engine::Access> open;
  std::map<engine::AccessId, std::vector<std::byte>> written;
  TimePs late{};
  std::vector<verbs::Completion> completions;
  std::multimap<TimePs, wire::Packet> arriving;
  std::uint64_t sent = 0;
};

template <typename A, typename B>
class Two {
 public:
  explicit Two(double loss = 0) : first(0, pool_), second(1, pool_), loss_(loss) {
    const auto blob_of = [](auto& side) { return side.engine->export_queue(side.queue).value(); };
    first.peer = first.engine->connect(kTimeZero, first.queue, blob_of(second)).value();
    second.peer = second.engine->connect(kTimeZero, second.queue, blob_of(first)).value();
  }

  /// Until nothing is under way.
  void run() {
    for (;;) {
      settle(first, second);
      settle(second, first);
      TimePs next = kNever;
      const auto look = [&](auto& side) {
        next = min(next, side.engine->deadline());
        if (!side.open.empty()) next = min(next, side.open.begin()->first);
        if (!side.arriving.empty()) next = min(next, side.arriving.begin()->first);
      };
      look(first);
      look(second);
      if (next == kNever || next > milliseconds(400)) return;
      now = max(now, next);
      step(first);
      step(second);
    }
  }
  verbs::WorkRequest request(Verb verb, std::uint32_t length) {
    verbs::WorkRequest made;
    made.id = ++ids_;
    made.verb = verb;
    made.peer = first.peer;
    made.length = verbs::is_atomic(verb) ? 8 : length;
    made.local_count = 1;
    made.local[0] = {kLocal, made.length};
    made.remote = {kTarget, second.token};
    made.immediate = 0x1234;
    return made;
  }
  engine::PostStatus post(const verbs::WorkRequest& request) {
    return first.engine->post(now, first.queue, request, engine::Submission::kInHand);
  }

 private:
  wire::PayloadPool pool_;

 public:
  Side<A> first;
  Side<B> second;
  TimePs now{};
  std::uint64_t lost = 0;

 private:
  template <typename From, typename To>
  void settle(From& from, To& to) {
    struct Out {
      Two& two;
      From& from;
      To& to;
      wire::TrafficClassMask open(TimePs) { return wire::kAllTrafficClasses; }
      void send(TimePs at, wire::Packet& packet) {
        ++from.sent;
        if (two.random_.below(1000) < static_cast<std::uint64_t>(two.loss_ * 1000)) {
          ++two.lost;
          two.pool_.release(packet.payload.buffer);
          return;
        }
        to.arriving.emplace(at + nanoseconds(500), packet);
      }
    } out{*this, from, to};
    engine::EngineDriver(*from.engine, from, out, from).settle(now);
  }
  template <typename E>
  void step(Side<E>& side) {
    while (!side.open.empty() && side.open.begin()->first <= now) {
      const engine::Access access = side.open.begin()->second;
      side.open.erase(side.open.begin());
      side.finish(now, access);
    }
    while (!side.arriving.empty() && side.arriving.begin()->first <= now) {
      const wire::Packet packet = side.arriving.begin()->second;
      side.arriving.erase(side.arriving.begin());
      side.engine->receive(now, 0, packet);
      pool_.release(packet.payload.buffer);
    }
    if (side.engine->deadline() <= now) side.engine->expire(now);
  }

  double loss_;
  RandomStream random_{7, "hardware_nic_test"};
  std::uint64_t ids_ = 0;
};

template <typename P>
class HardwareNicTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nic_module().ok()) GTEST_SKIP() << nic_module().error().message;
  }
};

template <typename A, typename B>
struct Sides {
  using Pair = Two<A, B>;
};
using Pairs = ::testing::Types<Sides<HardwareNic, ub::UbEngine>, Sides<ub::UbEngine, HardwareNic>,
                               Sides<HardwareNic, HardwareNic>>;
TYPED_TEST_SUITE(HardwareNicTest, Pairs);

TYPED_TEST(HardwareNicTest, AWriteOfEightBytesArrivesAndThenTheClockStands) {
  typename TypeParam::Pair two;
  ASSERT_EQ(two.post(two.request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  two.run();
  ASSERT_EQ(two.first.completions.size(), 1U);
  EXPECT_EQ(two.first.completions[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(two.first.completions[0].length, 8U);
  EXPECT_EQ(std::memcmp(two.first.at(kLocal), two.second.at(kTarget), 8), 0);
  EXPECT_EQ(two.first.engine->deadline(), kNever);
  EXPECT_EQ(two.second.engine->deadline(), kNever);
  EXPECT_LT(two.now, microseconds(20));
}

TYPED_TEST(HardwareNicTest, BytesOfEverySizeArriveOverALossyWire) {
  typename TypeParam::Pair two(0.05);
  for (const std::uint32_t length : {0U, 1U, 8U, 63U, 64U, 65U, 1000U, 4095U, 4096U, 4097U, 20000U}) {
    for (const Verb verb : {Verb::kWrite, Verb::kRead, Verb::kSend, Verb::kSendImm, Verb::kWriteImm}) {
      for (std::uint32_t i = 0; i < length; ++i) {
        *two.first.at(kLocal + i) = static_cast<std::byte>(i * 31 + length + static_cast<unsigned>(verb));
        *two.second.at(kTarget + i) = static_cast<std::byte>(i * 17 + length);
        *two.second.at(kLocal + i) = std::byte{0};
      }
      two.first.completions.clear();
      two.second.completions.clear();
      if (verbs::consumes_receive_entry(verb)) {
        verbs::ReceiveRequest receive;
        receive.id = 77;
        receive.local_count = 1;
        receive.local[0] = {kLocal, 0x8000};
        ASSERT_EQ(two.second.engine->post_receive(two.now, two.second.queue, receive),
                  engine::PostStatus::kOk);
      }
      const std::string what = std::string(verbs::name(verb)) + " of " + std::to_string(length);
      ASSERT_EQ(two.post(two.request(verb, length)), engine::PostStatus::kOk) << what;
      two.run();
      ASSERT_EQ(two.first.completions.size(), 1U) << what;
      EXPECT_EQ(two.first.completions[0].status, CompletionStatus::kSuccess) << what;
      EXPECT_EQ(two.first.completions[0].verb, verb) << what;
      const std::uint64_t there = verbs::is_send(verb) ? kLocal : kTarget;
      EXPECT_EQ(std::memcmp(two.first.at(kLocal), two.second.at(there), length), 0) << what;
      if (!verbs::consumes_receive_entry(verb)) continue;
      ASSERT_EQ(two.second.completions.size(), 1U) << what;
      EXPECT_EQ(two.second.completions[0].id, 77U) << what;
      EXPECT_EQ(two.second.completions[0].length, length) << what;
      EXPECT_EQ(two.second.completions[0].has_immediate, verb != Verb::kSend) << what;
    }
  }
  EXPECT_GT(two.lost, 0U);
}

TYPED_TEST(HardwareNicTest, AtomicsFindWhatTheOneBeforeHasLeft) {
  typename TypeParam::Pair two(0.05);
  std::uint64_t value = 1000;
  store_le64(two.second.at(kTarget), value);
  std::vector<std::uint64_t> expected;
  for (int round = 0; round < 4; ++round) {
    for (int number = static_cast<int>(Verb::kCompareSwap); number <= static_cast<int>(Verb::kFetchXor);
         ++number) {
      const auto verb = static_cast<Verb>(number);
      verbs::WorkRequest request = two.request(verb, 8);
      request.operand[0] = 0x55 + static_cast<std::uint64_t>(number * round);
      request.compare[0] = round % 2 == 0 ? value : 1;
      request.local_count = round % 2 == 0 ? 1 : 0;
      two.first.completions.clear();
      ASSERT_EQ(two.post(request), engine::PostStatus::kOk) << verbs::name(verb);
      two.run();
      ASSERT_EQ(two.first.completions.size(), 1U) << verbs::name(verb);
      EXPECT_EQ(two.first.completions[0].status, CompletionStatus::kSuccess);
      if (verb != Verb::kAtomicStore) {
        EXPECT_EQ(two.first.completions[0].atomic_result[0], value) << verbs::name(verb);
      }
      value = verbs::atomic_value(verb, value, request.operand[0], request.compare[0]);
      EXPECT_EQ(load_le64(two.second.at(kTarget)), value) << verbs::name(verb);
    }
  }
}

TYPED_TEST(HardwareNicTest, ManyRequestsEndInPostingOrderAndOfferedAtOnce) {
  typename TypeParam::Pair two(0.02);
  constexpr std::uint32_t kMany = 120;  // More than the hardware has places for.
  for (std::uint32_t i = 0; i < kMany; ++i) {
    verbs::WorkRequest request = two.request(i % 3 == 0 ? Verb::kRead : Verb::kWrite, 8);
    request.local[0].address = kLocal + 64 * i;
    request.remote.address = kTarget + 64 * i;
    store_le64(two.first.at(request.local[0].address), 0xabc000 + i);
    store_le64(two.second.at(request.remote.address), 0xdef000 + i);
    ASSERT_EQ(two.post(request), engine::PostStatus::kOk) << i;
  }
  two.run();
  ASSERT_EQ(two.first.completions.size(), kMany);
  for (std::uint32_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(two.first.completions[i].id, i + 1);
    EXPECT_EQ(load_le64(two.first.at(kLocal + 64 * i)), load_le64(two.second.at(kTarget + 64 * i)));
  }
}

TYPED_TEST(HardwareNicTest, AWrongTokenIsRefusedByThePeer) {
  typename TypeParam::Pair two;
  verbs::WorkRequest request = two.request(Verb::kWrite, 8);
  request.remote.token.value ^= 1;
  ASSERT_EQ(two.post(request), engine::PostStatus::kOk);
  two.run();
  ASSERT_EQ(two.first.completions.size(), 1U);
  EXPECT_EQ(two.first.completions[0].status, CompletionStatus::kRemoteAccess);
}

TEST(HardwareNic, EachVerbIsTakenOrRefusedAsItsCapabilitiesSay) {
  if (!nic_module().ok()) GTEST_SKIP() << nic_module().error().message;
  Two<HardwareNic, HardwareNic> two;
  const engine::Capabilities can = two.first.engine->capabilities();
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto verb = static_cast<Verb>(number);
    if (verbs::is_load_store(verb)) {
      EXPECT_FALSE(can.supports(verb));
      EXPECT_EQ(two.first.engine->issue(two.now, {}), engine::PostStatus::kUnsupported);
      continue;
    }
    const auto status = two.post(two.request(verb, 8));
    EXPECT_EQ(status, can.supports(verb) ? engine::PostStatus::kOk : engine::PostStatus::kUnsupported)
        << verbs::name(verb);
    for (const std::uint8_t width : {std::uint8_t{4}, std::uint8_t{16}}) {
      if (!verbs::is_atomic(verb)) continue;
      verbs::WorkRequest request = two.request(verb, width);
      request.width = width;
      EXPECT_FALSE(can.supports(verb, width));
      EXPECT_EQ(two.post(request), engine::PostStatus::kBadRequest) << verbs::name(verb);
    }
  }
  verbs::WorkRequest scattered = two.request(Verb::kWrite, 16);
  scattered.local_count = 2;
  EXPECT_EQ(two.post(scattered), engine::PostStatus::kBadRequest);
  EXPECT_EQ(two.post(two.request(Verb::kWrite, 65537)), engine::PostStatus::kBadRequest);
  EXPECT_FALSE(two.first.engine->create_group(two.now, {}).ok());
  EXPECT_FALSE(two.first.engine->create_completion_queue(two.now, {}).ok());
  for (const auto mode : {engine::ServiceMode::kOrderedByTarget, engine::ServiceMode::kOrderedByTransport,
                          engine::ServiceMode::kUnordered}) {
    engine::QueueConfig config;
    config.service = mode;
    EXPECT_FALSE(two.first.engine->create_queue(two.now, config).ok());
  }
}

TEST(HardwareNic, PagesGoOutAtAFlitInEachCycle) {
  if (!nic_module().ok()) GTEST_SKIP() << nic_module().error().message;
  Two<HardwareNic, HardwareNic> two;
  constexpr std::uint32_t kPages = 100;
  for (std::uint32_t i = 0; i < kPages; ++i)
    ASSERT_EQ(two.post(two.request(Verb::kWrite, 4096)), engine::PostStatus::kOk);
  two.run();
  ASSERT_EQ(two.first.completions.size(), kPages);
  // A page is 66 flits; the round trip of the first, and waits for a window, come on top.
  EXPECT_LT(two.first.engine->counters()[0].value, kPages * 66 * 2);
}

TEST(HardwareNic, APeerThatIsSilentIsGivenUpAndEachRequestEnds) {
  if (!nic_module().ok()) GTEST_SKIP() << nic_module().error().message;
  Two<HardwareNic, HardwareNic> two(1.0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(two.post(two.request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  two.run();
  ASSERT_EQ(two.first.completions.size(), 3U);
  for (const verbs::Completion& each : two.first.completions)
    EXPECT_EQ(each.status, CompletionStatus::kRetryExhausted);
  engine::AsyncEvent event;
  ASSERT_TRUE(two.first.engine->poll_event(event));
  EXPECT_EQ(event.kind, engine::AsyncEventKind::kPeerUnreachable);
  EXPECT_EQ(two.first.engine->deadline(), kNever);
}

TEST(HardwareNic, AQueueThatFailsFlushesAndServesAgainAfterItsReset) {
  if (!nic_module().ok()) GTEST_SKIP() << nic_module().error().message;
  Two<HardwareNic, HardwareNic> two;
  ASSERT_EQ(two.post(two.request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  ASSERT_TRUE(two.first.engine->fail_queue(two.now, two.first.queue).ok());
  two.run();
  ASSERT_EQ(two.first.completions.size(), 1U);
  EXPECT_EQ(two.first.completions[0].status, CompletionStatus::kFlushed);
  EXPECT_EQ(two.post(two.request(Verb::kWrite, 8)), engine::PostStatus::kBadQueue);
  ASSERT_TRUE(two.first.engine->reset_queue(two.now, two.first.queue).ok());
  ASSERT_EQ(two.post(two.request(Verb::kWrite, 8)), engine::PostStatus::kOk);
  two.run();
  ASSERT_EQ(two.first.completions.size(), 2U);
  EXPECT_EQ(two.first.completions[1].status, CompletionStatus::kSuccess);
}

}  // namespace
}  // namespace wharf::hardware
