// SPDX-License-Identifier: Apache-2.0
// Jettys that take messages of some senders alone. [URMA API, transport modes, bind]
#include <gtest/gtest.h>

#include <vector>

#include "engine/ub/exchange.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

using engine::ServiceMode;
using verbs::CompletionStatus;
using verbs::Verb;

/// Host 1 has a jetty with a shared receive queue; host 0 one for each service mode that sends to it.
struct Target : SharedJetty {
  explicit Target(World& its_world) : SharedJetty(its_world), world(its_world) {
    verbs::ReceiveRequest entry;
    entry.local_count = 1;
    entry.local[0] = {World::kRemote, 2048};
    for (int i = 0; i < 16; ++i) {
      EXPECT_EQ(world.pair().post_receive(1, receives, entry), engine::PostStatus::kOk);
    }
  }
  CompletionStatus send(ServiceMode mode, std::uint32_t token = 0, engine::QueueId* from = nullptr) {
    const engine::QueueId queue = *world.engine(0).create_queue(world.now(), {.service = mode});
    if (from != nullptr) *from = queue;
    return send_from(queue, token);
  }
  CompletionStatus send_from(engine::QueueId queue, std::uint32_t token = 0) {
    // Both ends know each other, as the modes with an order need it.
    const auto own = *world.engine(0).export_queue(queue);
    EXPECT_TRUE(world.engine(1).connect(world.now(), world.queue(1), own).ok());
    QueueBlob blob = *decode_queue_blob(*world.engine(1).export_queue(jetty));
    blob.token = token;
    const auto peer = world.engine(0).connect(world.now(), queue, encode(blob));
    EXPECT_TRUE(peer.ok());
    verbs::WorkRequest request = world.request(Verb::kSend, 64);
    request.peer = *peer;
    const std::size_t before = world.pair().host(0).completions.size();
    EXPECT_EQ(world.pair().post(0, queue, request, engine::Submission::kInHand), engine::PostStatus::kOk);
    world.run();
    EXPECT_EQ(world.pair().host(0).completions.size(), before + 1);
    EXPECT_TRUE(world.engine(0).disconnect(world.now(), queue, *peer).ok());
    return world.pair().host(0).completions.back().status;
  }
  void take_from(const Senders& senders) { ASSERT_TRUE(world.engine(1).take_from(jetty, senders).ok()); }

  World& world;
};

TEST(UbSenders, OfOtherServiceModesAreRefused) {
  for (const ServiceMode mode :
       {ServiceMode::kOrderedByInitiator, ServiceMode::kOrderedByTarget, ServiceMode::kOrderedByTransport}) {
    World world;
    Target target(world);
    EXPECT_EQ(target.send(mode), CompletionStatus::kSuccess);
    target.take_from({.modes = static_cast<std::uint8_t>(~mask_of(mode))});
    EXPECT_EQ(target.send(mode), CompletionStatus::kRemoteOperation);
    target.take_from({.modes = mask_of(mode)});
    EXPECT_EQ(target.send(mode), CompletionStatus::kSuccess);
    EXPECT_EQ(world.counters(1).refused_jetty, 1u);
  }
}

TEST(UbSenders, OneAloneIsTakenFrom) {
  World world;
  Target target(world);
  engine::QueueId chosen = 0;
  EXPECT_EQ(target.send(ServiceMode::kOrderedByInitiator, 0, &chosen), CompletionStatus::kSuccess);
  target.take_from({.alone = Senders::One{{0}, chosen}});
  EXPECT_EQ(target.send(ServiceMode::kOrderedByInitiator), CompletionStatus::kRemoteOperation);
  EXPECT_EQ(target.send_from(chosen), CompletionStatus::kSuccess);
  target.take_from({.alone = Senders::One{{5}, chosen}});
  EXPECT_EQ(target.send_from(chosen), CompletionStatus::kRemoteOperation);
  target.take_from({});
  EXPECT_EQ(target.send(ServiceMode::kOrderedByInitiator), CompletionStatus::kSuccess);
}

TEST(UbSenders, ATokenOfValueZeroIsCompared) {
  World world;
  Target target(world);
  EXPECT_EQ(target.send(ServiceMode::kOrderedByInitiator, 5), CompletionStatus::kSuccess);
  target.take_from({.checks_token = true});
  EXPECT_EQ(target.send(ServiceMode::kOrderedByInitiator, 5), CompletionStatus::kRemoteAccess);
  EXPECT_EQ(target.send(ServiceMode::kOrderedByInitiator), CompletionStatus::kSuccess);
}

TEST(UbSenders, AJettyWithReceivesOfItsOwnTakesFromAll) {
  World world;
  const auto refused = world.engine(1).take_from(world.queue(1), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("shared receive queue"), std::string::npos);
  EXPECT_FALSE(world.engine(1).take_from(999, {}).ok());
}

/// A jetty of host 0 whose order host 1 keeps, and its import of the target.
struct Ordered {
  explicit Ordered(Target& its_target) : target(its_target) {
    World& world = target.world;
    queue = *world.engine(0).create_queue(world.now(), {.service = ServiceMode::kOrderedByTarget});
    const auto own = *world.engine(0).export_queue(queue);
    EXPECT_TRUE(world.engine(1).connect(world.now(), world.queue(1), own).ok());
    const auto to = *world.engine(1).export_queue(target.jetty);
    peer = *world.engine(0).connect(world.now(), queue, to);
  }
  void post() const {
    World& world = target.world;
    verbs::WorkRequest request = world.request(Verb::kSend, 64);
    request.peer = peer;
    request.order = verbs::OrderTag::kStrong;
    EXPECT_EQ(world.pair().post(0, queue, request, engine::Submission::kInHand), engine::PostStatus::kOk);
  }
  CompletionStatus send() const {
    post();
    target.world.run();
    return target.world.pair().host(0).completions.back().status;
  }
  bool forget() const { return target.world.engine(1).forget_jetty({0}, queue).ok(); }

  Target& target;
  engine::QueueId queue = 0;
  verbs::PeerId peer = verbs::kNoPeer;
};

TEST(UbSenders, OfAJettyThatIsForgottenNoOrderIsKept) {
  for (const std::size_t gone : {0U, 1U, 2U}) {
    World world;
    Target target(world);
    const std::vector<Ordered> jettys{Ordered(target), Ordered(target), Ordered(target)};
    for (const Ordered& each : jettys) EXPECT_EQ(each.send(), CompletionStatus::kSuccess);
    EXPECT_TRUE(jettys[gone].forget());
    for (std::size_t at = 0; at < jettys.size(); ++at) {
      EXPECT_EQ(jettys[at].send(),
                at == gone ? CompletionStatus::kRemoteOperation : CompletionStatus::kSuccess);
    }
    EXPECT_TRUE(jettys[gone].forget()) << "there is nothing";
    const Ordered fresh(target);
    for (const Ordered& each : jettys) EXPECT_TRUE(each.forget());
    EXPECT_EQ(fresh.send(), CompletionStatus::kSuccess);
  }
}

TEST(UbSenders, AJettyWhoseRequestsWaitIsNotForgotten) {
  World world;
  Target target(world);
  const Ordered jetty(target);
  EXPECT_EQ(jetty.send(), CompletionStatus::kSuccess);
  bool lost = false;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    if (lost || packet.source.number != 0 || packet.ub.transaction != wire::UbTransaction::kRequest)
      return false;
    return lost = true;
  };
  jetty.post();
  jetty.post();
  world.pair().run_until([&] { return world.counters(1).turns_waited > 0; }, world.now() + milliseconds(1));
  EXPECT_FALSE(jetty.forget());
  world.run();
  ASSERT_EQ(world.pair().host(0).completions.size(), 3u);
  for (const verbs::Completion& each : world.pair().host(0).completions) EXPECT_TRUE(each.ok());
  EXPECT_TRUE(jetty.forget());
}

}  // namespace
}  // namespace wharf::ub
