// SPDX-License-Identifier: Apache-2.0
// Sends that wait for the target to ask for them, or for a PDC: what they hold, and how they end when their
// queue goes first. [UE 1.0 3.4]
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/uet/engine_parts.h"
#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

using engine::PostStatus;
using verbs::CompletionStatus;
using verbs::Verb;

// A request to restart names a send by its slot and by how often that has been used. Uses of other kinds
// count too: else a late one would restart a send that has the slot now.
TEST(UetParkedSends, ATokenIsNotUsedAgainByTheNextSendsInItsSlot) {
  UetConfig config;
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 1000;
  for (const char* between : {"nothing", "a write", "a read", "a read by the peer"}) {
    World world(config);
    world.watch();
    const auto use_slot = [&] {
      const std::string kind = between;
      if (kind == "nothing") return;
      const std::uint32_t from = kind == "a read by the peer" ? 1 : 0;
      const Verb verb = kind == "a write" ? Verb::kWrite : Verb::kRead;
      for (int requests = 0; requests < 16; ++requests)
        ASSERT_EQ(world.post(world.request(verb, 800, 0, from), engine::Submission::kInHand, from),
                  PostStatus::kOk);
      world.pass(microseconds(200));  // No longer: PDCs that are idle end.
    };
    use_slot();
    std::set<std::uint32_t> tokens;
    for (std::uint32_t sends = 1; sends <= 8; ++sends) {
      ASSERT_EQ(world.pair().post_receive(1, world.queue(1), world.receive(0, 30'000)), PostStatus::kOk);
      world.sent.clear();
      ASSERT_EQ(world.post(world.request(Verb::kSend, 30'000)), PostStatus::kOk);
      world.pass(microseconds(50));
      ASSERT_TRUE(!world.completions(1).empty() && world.completions(0).back().ok());
      const auto first = std::find_if(world.sent.begin(), world.sent.end(), [](const wire::Packet& packet) {
        return packet.source.number == 0 && packet.payload.length > 0;
      });
      ASSERT_NE(first, world.sent.end());
      ASSERT_TRUE(is_deferrable(first->uet.ses.opcode));
      tokens.insert(static_cast<std::uint32_t>(first->uet.ses.buffer_offset >> 32U));
      EXPECT_EQ(tokens.size(), sends) << "behind " << between;
      use_slot();
    }
    std::set<std::uint32_t> slots;
    for (const std::uint32_t token : tokens) slots.insert(token & 0xffffU);
    EXPECT_LT(slots.size(), 8u) << "they served several times";
  }
}

// Its queue fails while RC_DROPPED is on the way: nobody is there to be asked for it.
TEST(UetParkedSends, ASendThatWasFlushedIsNotParked) {
  UetConfig config;
  config.large_send = LargeSend::kDeferrable;
  config.large_send_bytes = 1000;
  test::EnginePairOptions far;
  far.wire.delay = microseconds(5);
  World world(config, far);
  ASSERT_EQ(world.post(world.request(Verb::kSend, 30'000)), PostStatus::kOk);
  ASSERT_EQ(world.pair().run_until([&world] { return world.counters(1).acknowledgements_sent > 0; }),
            test::RunEnd::kDone);
  ASSERT_TRUE(world.engine(0).fail_queue(world.now(), world.queue(0)).ok());
  world.pair().drain(0);
  world.pass(milliseconds(1));
  ASSERT_EQ(world.completions(0).size(), 1u);
  EXPECT_EQ(world.completions(0)[0].status, CompletionStatus::kFlushed);
  EXPECT_EQ(world.engine(0).parts().outbound.in_use(), 0u);
  ASSERT_EQ(world.pair().post_receive(1, world.queue(1), world.receive(0, 30'000)), PostStatus::kOk);
  world.pass(milliseconds(1));
  ASSERT_TRUE(world.engine(0).reset_queue(world.now(), world.queue(0)).ok());
  EXPECT_TRUE(world.finish(world.request(Verb::kSend, 8)).ok());
  ASSERT_EQ(world.completions(1).size(), 1u);
  EXPECT_EQ(world.completions(1)[0].length, 8u);
}

// A rendezvous send that finds no PDC tries again with each input. Each time it gave its remainder to be
// read.
TEST(UetParkedSends, ARendezvousThatFindsNoPdcExposesNothing) {
  UetConfig config;
  config.large_send = LargeSend::kRendezvous;
  config.large_send_bytes = 1000;
  config.pdc_limit = 1;
  World world(config);
  ASSERT_EQ(world.post(world.request(Verb::kWrite, 8)), PostStatus::kOk);
  verbs::WorkRequest large = world.request(Verb::kSend, 30'000);
  large.delivery = verbs::Delivery::kOrdered;  // Another PDC than the one there is.
  ASSERT_EQ(world.post(large), PostStatus::kOk);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(world.post(world.request(Verb::kWrite, 8)), PostStatus::kOk);
    world.pass(microseconds(20));
  }
  const MemoryRegionTable& regions = world.engine(0).parts().regions;
  std::uint32_t exposed = 0;
  for (std::uint32_t slot = 0; slot < regions.capacity(); ++slot)
    exposed += regions[slot].used && regions[slot].message != kNoSlot ? 1 : 0;
  EXPECT_EQ(exposed, 0u);
  ASSERT_EQ(world.pair().post_receive(1, world.queue(1), world.receive(0, 30'000)), PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.completions(1).size(), 1u);
  EXPECT_TRUE(world.completions(1)[0].ok());
  EXPECT_EQ(world.completions(0).size(), 22u);
}

// More of them than payloads are fetched ahead: nothing comes back that would let the next ones leave.
TEST(UetParkedSends, DatagramsAllLeave) {
  test::EnginePairOptions slow;
  slow.access_shortest = slow.access_longest = microseconds(1);
  World world({}, slow);
  for (int i = 0; i < 100; ++i) {
    verbs::WorkRequest datagram = world.request(Verb::kSend, 100);
    datagram.delivery = verbs::Delivery::kDatagram;
    ASSERT_EQ(world.post(datagram), PostStatus::kOk);
  }
  world.run();
  EXPECT_EQ(world.completions(0).size(), 100u);
  EXPECT_EQ(world.counters(0).datagrams_sent, 100u);
}

}  // namespace
}  // namespace wharf::uet
