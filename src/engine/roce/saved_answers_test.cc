// SPDX-License-Identifier: Apache-2.0
// How long the answers of READs and atomics are saved: PSNs have 24 bits, and come again.
#include <gtest/gtest.h>

#include "base/arena.h"
#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::roce {
namespace {

constexpr std::uint64_t kBase = 0x10000;
/// The longest READ that a PSN window takes, in packets. [IBTA vol 1 9.7.1]
constexpr std::uint32_t kLongestRead = 1U << 22U;

/// One interface; the test is its peer.
class OnePeer {
 public:
  OnePeer() {
    RoceConfig config;
    config.path_mtu = 256;
    config.starting_psn = 0;
    config.max_read_atomic = 8;
    engine = std::make_unique<RoceEngine>(RoceEngine::create(config, pool, arena).value());
    token = engine->register_segment(kTimeZero, {.base = kBase, .length = 1ULL << 31U}).value();
    config.host = {1};
    RoceEngine remote = RoceEngine::create(config, pool, arena).value();
    const engine::QueueId far = remote.create_queue(kTimeZero, {}).value();
    const engine::QueueId near = engine->create_queue(kTimeZero, {}).value();
    EXPECT_TRUE(engine->connect(kTimeZero, near, remote.export_queue(far).value()).ok());
  }

  void send(wire::RoceOpcode opcode, wire::Psn psn) {
    wire::Packet out = wire::roce_packet();
    out.source = {1};
    out.destination = {0};
    out.roce.bth.opcode = opcode;
    out.roce.bth.destination_queue_pair = kFirstQueueNumber;
    out.roce.bth.psn = psn;
    out.roce.bth.acknowledge_request = true;
    if (opcode == wire::RoceOpcode::kRcFetchAdd) {
      out.roce.atomic.address = kBase;
      out.roce.atomic.remote_key = token.id;
    } else {
      out.roce.reth = {kBase, token.id, 256 * kLongestRead};
    }
    engine->receive(kTimeZero, 0, out);
  }
  /// A fetch-and-add that memory performs, and its answer. Whether there was one.
  bool add(wire::Psn psn) {
    send(wire::RoceOpcode::kRcFetchAdd, psn);
    engine::Access access;
    if (engine->next_access(access)) {
      EXPECT_EQ(access.kind, engine::AccessKind::kAtomic);
      engine->access_done(kTimeZero, access.id, {});
    }
    wire::Packet answer;
    return engine->transmit(kTimeZero, 0, wire::kAllTrafficClasses, answer) &&
           answer.roce.bth.opcode == wire::RoceOpcode::kRcAtomicAcknowledge && answer.roce.bth.psn == psn;
  }

  wire::PayloadPool pool;
  Arena arena;
  std::unique_ptr<RoceEngine> engine;
  verbs::SegmentToken token;
};

// IBTA vol 1 9.7.5.1.3: a duplicate atomic is answered from what was saved, as long as it is a duplicate.
TEST(RoceSavedAnswers, AnAtomicIsForgottenBeforeItsPsnComesAgain) {
  OnePeer peer;
  ASSERT_TRUE(peer.add(0));
  EXPECT_TRUE(peer.add(0)) << "a duplicate";
  // READs take the PSNs of their answers: four of them all that there are.
  for (std::uint32_t read = 0; read < 4; ++read)
    peer.send(wire::RoceOpcode::kRcReadRequest, wire::psn_add(1, read * kLongestRead));
  ASSERT_EQ(peer.engine->counters().dropped_duplicate, 0U);
  // PSN 0 is now that of the last packet of a READ: an atomic with it was never executed.
  peer.send(wire::RoceOpcode::kRcFetchAdd, 0);
  EXPECT_EQ(peer.engine->counters().dropped_duplicate, 1U);
}

}  // namespace
}  // namespace wharf::roce
