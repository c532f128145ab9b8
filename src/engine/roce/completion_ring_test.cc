// SPDX-License-Identifier: Apache-2.0
// Where completions are written: one behind the other in the ring of their queue pair, from its start and
// around.
#include "engine/roce/slow_host_test_support.h"

namespace wharf::roce {
namespace {

using test::AccessKind;
using test::kBase;
using test::SlowHost;

TEST(RoceCompletionRing, IsFilledFromItsStartAndAround) {
  SlowHost host({});
  constexpr std::uint32_t kRecords = 4;
  for (engine::QueueId number = 0; number < 3; ++number) {
    const std::uint64_t ring = 0x20000 + number * 0x1000U;
    const engine::QueueId queue =
        host.add_queue({.send_depth = 2, .receive_depth = 2, .completion_ring = ring});
    for (std::uint32_t message = 0; message < 2 * kRecords + 1; ++message) {
      verbs::ReceiveRequest receive;
      receive.id = message;
      receive.local_count = 1;
      receive.local[0] = {kBase, 64};
      ASSERT_EQ(host.engine->post_receive(kTimeZero, queue, receive), engine::PostStatus::kOk);
      host.send(queue, 64);
      host.answer(AccessKind::kFetchReceiveEntry);
      ASSERT_TRUE(host.answer(AccessKind::kWrite));
      ASSERT_EQ(host.count(AccessKind::kWriteCompletion), 1u);
      for (const engine::Access& access : host.pending) {
        if (access.kind != AccessKind::kWriteCompletion) continue;
        EXPECT_EQ(access.address, ring + (message % kRecords) * access.length) << number << " " << message;
        EXPECT_EQ(access.order, verbs::AccessOrder::kRelease);
      }
      ASSERT_TRUE(host.answer(AccessKind::kWriteCompletion));
      verbs::Completion completion;
      ASSERT_TRUE(host.engine->poll(queue, completion));
      EXPECT_EQ(completion.id, message);
      EXPECT_TRUE(completion.ok());
    }
  }
}

}  // namespace
}  // namespace wharf::roce
