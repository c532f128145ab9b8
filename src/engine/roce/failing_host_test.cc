// SPDX-License-Identifier: Apache-2.0
// A host whose memory fails the interface late: what is over does no harm to what came after it, and what is
// lost is counted once.
#include "engine/roce/slow_host_test_support.h"
#include "tests/support/event_log.h"

namespace wharf::roce {
namespace {

using engine::AccessStatus;
using test::AccessKind;
using test::kBase;
using test::SlowHost;

verbs::ReceiveRequest receive_of(std::uint64_t id) {
  verbs::ReceiveRequest receive;
  receive.id = id;
  receive.local_count = 1;
  receive.local[0] = {kBase, 64};
  return receive;
}

// The fetch of a receive entry was answered with an error when its queue pair had been reset: the entries of
// the new connection counted as bad, and the first answer ended it.
TEST(RoceFailingHost, AFaultOfAnEarlierConnectionDoesNotEndTheNewOne) {
  SlowHost host({});
  const engine::QueueId queue = host.add_queue({.send_depth = 4, .receive_depth = 4, .receive_ring = 0x8000});
  ASSERT_EQ(host.engine->post_receive(kTimeZero, queue, receive_of(1)), engine::PostStatus::kOk);
  host.send(queue, 64);
  ASSERT_EQ(host.count(AccessKind::kFetchReceiveEntry), 1u);
  host.reset(queue);
  ASSERT_EQ(host.engine->post_receive(kTimeZero, queue, receive_of(2)), engine::PostStatus::kOk);
  host.send(queue, 64);
  ASSERT_EQ(host.count(AccessKind::kFetchReceiveEntry), 2u);
  ASSERT_TRUE(host.answer(AccessKind::kFetchReceiveEntry, AccessStatus::kFault));
  EXPECT_EQ(host.engine->state(queue), QueueState::kReadyToSend);
  host.answer_all();
  EXPECT_EQ(host.engine->state(queue), QueueState::kReadyToSend);
  verbs::Completion completion;
  ASSERT_TRUE(host.engine->poll(queue, completion));
  EXPECT_EQ(completion.id, 1u);  // Its message had arrived, and its data was dropped with the connection.
  EXPECT_EQ(completion.status, verbs::CompletionStatus::kFlushed);
  ASSERT_TRUE(host.engine->poll(queue, completion));
  EXPECT_EQ(completion.id, 2u);
  EXPECT_TRUE(completion.ok());
  EXPECT_EQ(completion.length, 64u);
  EXPECT_FALSE(host.engine->poll(queue, completion));
}

// A record is lost once, whether memory fails to take it, to give it, or both.
TEST(RoceFailingHost, LostRecordsAreCountedOnce) {
  enum class Loss { kWrite, kWriteAndFetch, kFetch, kShortFetch };
  for (const Loss loss : {Loss::kWrite, Loss::kWriteAndFetch, Loss::kFetch, Loss::kShortFetch}) {
    for (const bool key : {false, true}) {
      RoceConfig config;
      (key ? config.key_cache_entries : config.queue_cache_entries) = 1;
      SlowHost host(config);
      const engine::QueueId first = host.add_queue();
      if (!key) host.add_queue();
      const verbs::SegmentToken token = host.add_segment();
      if (key) host.add_segment();
      host.drain();
      const bool write_fails = loss == Loss::kWrite || loss == Loss::kWriteAndFetch;
      ASSERT_TRUE(
          host.answer(AccessKind::kWriteContext, write_fails ? AccessStatus::kFault : AccessStatus::kDone));
      host.read_nothing(first, token);
      const bool fetch_fails = loss == Loss::kFetch || loss == Loss::kWriteAndFetch;
      ASSERT_TRUE(host.answer(AccessKind::kFetchContext,
                              fetch_fails ? AccessStatus::kFault : AccessStatus::kDone,
                              loss == Loss::kShortFetch ? 1 : 0));
      host.answer_all();
      EXPECT_EQ(host.engine->counters().contexts_lost, 1u) << static_cast<int>(loss) << key;
    }
  }
}

// A queue pair that goes does not come back for a moment.
TEST(RoceFailingHost, ADestroyedQueuePairIsResetAndNothingElse) {
  wharf::test::EventLog log(trace::bit(trace::EventKind::kStateChange));
  RoceConfig config;
  config.tracer = &log.tracer;
  SlowHost host(config);
  const engine::QueueId queue = host.add_queue();
  const std::string before = log.text();
  ASSERT_TRUE(host.engine->destroy_queue(kTimeZero, queue).ok());
  const std::string after = log.text().substr(before.size());
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 1) << after;
  EXPECT_NE(after.find("3 to 0"), std::string::npos) << after;
}

// The miss of a memory key is one of the queue pair that asked for it.
TEST(RoceFailingHost, TheMissOfAKeyNamesItsQueuePair) {
  wharf::test::EventLog log(trace::bit(trace::EventKind::kContextMiss));
  RoceConfig config;
  config.tracer = &log.tracer;
  config.key_cache_entries = 1;
  SlowHost host(config);
  host.add_queue();
  const engine::QueueId queue = host.add_queue();
  const verbs::SegmentToken token = host.add_segment();
  host.add_segment();
  host.answer_all();
  host.read_nothing(queue, token);
  EXPECT_NE(log.text().find("component " + std::to_string(queue) + " "), std::string::npos) << log.text();
  host.answer_all();
}

}  // namespace
}  // namespace wharf::roce
