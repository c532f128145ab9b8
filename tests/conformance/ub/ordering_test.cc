// SPDX-License-Identifier: Apache-2.0
// UB-Base 2.0.1 chapter 7.4 (as public documents show it): order tags under ROI, fence, and the order of
// completions.
#include <algorithm>

#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using verbs::OrderTag;
using verbs::Verb;

/// Numbers requests by the order in which they are posted; the wire is seen through their TASSN-free
/// operation tags.
class Ordering : public ::testing::Test {
 protected:
  Ordering() {
    world_.pair().wire().options().drop_if = [this](const wire::Packet& packet) {
      const bool request = packet.ub.transport == wire::UbTransport::kRtp &&
                           packet.ub.rtph.opcode == wire::TpOpcode::kReliable && packet.source.number == 0;
      if (request) wire_.push_back(static_cast<int>(packet.operation.value) - 1);
      return false;
    };
  }
  verbs::WorkRequest make(Verb verb, OrderTag order, bool completion_in_order = true) {
    auto request = world_.request(verb, verb == Verb::kFetchAdd ? 8 : 64);
    request.id = next_;
    request.operation = {next_ + 1};
    ++next_;
    request.order = order;
    request.completion_in_order = completion_in_order;
    return request;
  }
  void post(Verb verb, OrderTag order) {
    // Without draining: all are posted before anything happens.
    ASSERT_EQ(
        world_.engine(0).post(world_.now(), world_.queue(0), make(verb, order), engine::Submission::kInHand),
        engine::PostStatus::kOk);
  }
  std::vector<int> reported() {
    std::vector<int> ids;
    for (const auto& completion : world_.pair().host(0).completions)
      ids.push_back(static_cast<int>(completion.id));
    return ids;
  }

  World world_;
  std::vector<int> wire_;
  std::uint64_t next_ = 0;
};

// 7.4, ROI, worked example 1: W0=NO, R1=RO, W2=SO, W3=NO, W4=RO. W2 waits for R1 and not for W4.
TEST_F(Ordering, StrongWaitsForEarlierOrderedRequestsOnly) {
  post(Verb::kWrite, OrderTag::kNone);
  post(Verb::kRead, OrderTag::kRelaxed);
  post(Verb::kWrite, OrderTag::kStrong);
  post(Verb::kWrite, OrderTag::kNone);
  post(Verb::kWrite, OrderTag::kRelaxed);
  world_.pair().drain(0);
  EXPECT_EQ(wire_, (std::vector<int>{0, 1, 3, 4}));
  // Lose every answer to W4: W2 goes as soon as R1 has answered.
  const auto observe = world_.pair().wire().options().drop_if;
  const auto w2_sent = [&] { return std::find(wire_.begin(), wire_.end(), 2) != wire_.end(); };
  world_.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    observe(packet);
    return packet.ub.transaction == wire::UbTransaction::kResponse && packet.operation.value == 4 + 1 &&
           !w2_sent();
  };
  world_.pair().run_until(w2_sent);
  EXPECT_EQ(wire_, (std::vector<int>{0, 1, 3, 4, 2}));
  EXPECT_EQ(world_.counters(0).data_packets_sent, 5u);
  EXPECT_LT(world_.now(), microseconds(1));  // Nothing was repeated for it.
  world_.run();
  EXPECT_EQ(reported(), (std::vector<int>{0, 1, 2, 3, 4}));
}

// 7.4, ROI, worked example 2: three strong requests go one at a time, one round trip each.
TEST_F(Ordering, StrongRequestsGoOneAtATime) {
  const TimePs start = world_.now();
  for (int i = 0; i < 3; ++i) post(Verb::kWrite, OrderTag::kStrong);
  world_.pair().drain(0);
  EXPECT_EQ(wire_, (std::vector<int>{0}));
  world_.pair().run_until([&] { return wire_.size() == 2; });
  EXPECT_EQ(world_.now() - start, nanoseconds(200));
  world_.run();
  EXPECT_EQ(wire_, (std::vector<int>{0, 1, 2}));
}

// 7.4: nothing waits for NO.
TEST_F(Ordering, StrongDoesNotWaitForUnordered) {
  post(Verb::kRead, OrderTag::kNone);
  post(Verb::kWrite, OrderTag::kStrong);
  world_.pair().drain(0);
  EXPECT_EQ(wire_, (std::vector<int>{0, 1}));
}

// 7.4, fence: earlier reads and atomics must have answered, writes not.
TEST_F(Ordering, FenceWaitsForReadsAndAtomics) {
  post(Verb::kWrite, OrderTag::kNone);
  post(Verb::kRead, OrderTag::kNone);
  auto fenced = make(Verb::kWrite, OrderTag::kNone);
  fenced.fence = true;
  ASSERT_EQ(world_.engine(0).post(world_.now(), world_.queue(0), fenced, engine::Submission::kInHand),
            engine::PostStatus::kOk);
  world_.pair().drain(0);
  EXPECT_EQ(wire_, (std::vector<int>{0, 1}));
  world_.run();
  EXPECT_EQ(wire_, (std::vector<int>{0, 1, 2}));
  // Only writes before it: nothing to wait for.
  post(Verb::kWrite, OrderTag::kNone);
  fenced = make(Verb::kWrite, OrderTag::kNone);
  fenced.fence = true;
  ASSERT_EQ(world_.post(fenced), engine::PostStatus::kOk);
  EXPECT_EQ(wire_.size(), 5u);
}

// The same with an atomic alone before it.
TEST_F(Ordering, FenceWaitsForAnAtomic) {
  post(Verb::kFetchAdd, OrderTag::kNone);
  auto fenced = make(Verb::kWrite, OrderTag::kNone);
  fenced.fence = true;
  ASSERT_EQ(world_.engine(0).post(world_.now(), world_.queue(0), fenced, engine::Submission::kInHand),
            engine::PostStatus::kOk);
  world_.pair().drain(0);
  EXPECT_EQ(wire_, (std::vector<int>{0}));
  world_.run();
  EXPECT_EQ(wire_, (std::vector<int>{0, 1}));
}

// 7.4, ODR[2]: requests that ask for it are reported in posting order; the others as they end, and hold
// nobody up.
TEST_F(Ordering, CompletionsInPostingOrderUnlessToldOtherwise) {
  // The first request is a Send whose receiver is not ready: it ends last.
  auto first = make(Verb::kSend, OrderTag::kNone);
  ASSERT_EQ(world_.post(first), engine::PostStatus::kOk);
  ASSERT_EQ(world_.post(make(Verb::kWrite, OrderTag::kNone, true)), engine::PostStatus::kOk);
  ASSERT_EQ(world_.post(make(Verb::kWrite, OrderTag::kNone, false)), engine::PostStatus::kOk);
  ASSERT_EQ(world_.post(make(Verb::kWrite, OrderTag::kNone, true)), engine::PostStatus::kOk);
  world_.pair().run_to(world_.now() + microseconds(50));
  EXPECT_EQ(reported(), (std::vector<int>{2}));
  verbs::ReceiveRequest receive{.id = 99, .local_count = 1};
  receive.local[0] = {World::kRemote, 64};
  world_.pair().post_receive(1, world_.queue(1), receive);
  world_.run();
  EXPECT_EQ(reported(), (std::vector<int>{2, 0, 1, 3}));
}

// 7.4: an out-of-order request that is late does not hold up in-order ones behind it.
TEST_F(Ordering, OutOfOrderRequestsHoldNobodyUp) {
  ASSERT_EQ(world_.post(make(Verb::kSend, OrderTag::kNone, false)), engine::PostStatus::kOk);
  ASSERT_EQ(world_.post(make(Verb::kWrite, OrderTag::kNone, true)), engine::PostStatus::kOk);
  world_.pair().run_to(world_.now() + microseconds(50));
  EXPECT_EQ(reported(), (std::vector<int>{1}));
}

// 7.4: requests without a record still advance the order; a later record implies that they succeeded.
TEST_F(Ordering, UnsignaledRequestsProduceNoRecord) {
  for (int i = 0; i < 300; ++i) {
    auto request = make(Verb::kWrite, OrderTag::kNone);
    request.signaled = i % 100 == 99;
    ASSERT_EQ(world_.post(request), engine::PostStatus::kOk);
    if (i % 50 == 49) world_.run();
  }
  EXPECT_EQ(reported(), (std::vector<int>{99, 199, 299}));
  auto failing = make(Verb::kWrite, OrderTag::kNone);
  failing.signaled = false;
  failing.remote.token.value ^= 1;
  EXPECT_EQ(world_.finish(failing).status, verbs::CompletionStatus::kRemoteAccess);
}

// 7.4: different initiators never wait for each other.
TEST(OrderingAcrossJetties, AStalledJettyDoesNotHoldUpAnother) {
  World world({}, {}, 2);
  auto stalled = world.request(Verb::kSend, 64);
  stalled.order = OrderTag::kStrong;
  ASSERT_EQ(world.post(stalled), engine::PostStatus::kOk);
  auto behind = world.request(Verb::kWrite, 64);
  behind.order = OrderTag::kStrong;
  ASSERT_EQ(world.post(behind), engine::PostStatus::kOk);
  for (int i = 0; i < 8; ++i) {
    auto other = world.request(Verb::kWrite, 64);
    other.peer = world.peer(0, 1);
    ASSERT_EQ(world.pair().post(0, world.queue(0, 1), other), engine::PostStatus::kOk);
  }
  world.pair().run_to(world.now() + microseconds(50));
  EXPECT_EQ(world.pair().host(0).completions.size(), 8u);
}

// BTAH.ODR carries the tag and the completion order.
TEST_F(Ordering, TagsTravelInTheHeader) {
  std::vector<unsigned> orders;
  world_.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (packet.source.number == 0 && packet.ub.rtph.opcode == wire::TpOpcode::kReliable) {
      orders.push_back(packet.ub.request.order);
    }
    return false;
  };
  world_.finish(make(Verb::kWrite, OrderTag::kNone, false));
  world_.finish(make(Verb::kWrite, OrderTag::kRelaxed, true));
  world_.finish(make(Verb::kWrite, OrderTag::kStrong, true));
  EXPECT_EQ(orders, (std::vector<unsigned>{0, 5, 6}));
}

}  // namespace
}  // namespace wharf::ub
