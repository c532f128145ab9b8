// SPDX-License-Identifier: Apache-2.0
// The life of a queue, and the queues that several queues share.
#include "engine/queues.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/golden_test_support.h"
#include "engine/completion_queues.h"
#include "engine/receive_queues.h"
#include "verbs/ring_request.h"

namespace wharf::engine {
namespace {

TEST(QueueLife, EveryStateAndEvent) {
  std::string text = "# state event -> state, for queues of one peer and of any; - means refused\n";
  for (int state = 0; state < kQueueStateCount; ++state) {
    for (int event = 0; event < kQueueEventCount; ++event) {
      const auto from = static_cast<QueueState>(state);
      const auto what = static_cast<QueueEvent>(event);
      text += std::string(name(from)) + " " + std::string(name(what)) + " ->";
      for (const bool one_peer : {true, false}) {
        const auto next = next_state(from, what, one_peer);
        text += " " + (next ? std::string(name(*next)) : "-");
      }
      text += "\n";
    }
  }
  expect_golden("contract/queue_life.txt", text);
}

verbs::Completion completion(std::uint64_t id, bool solicited = false) {
  verbs::Completion made;
  made.id = id;
  made.queue = 3;
  made.verb = verbs::Verb::kSend;
  made.solicited = solicited;
  return made;
}

struct Open {
  CompletionTicket ticket;
  Access access;
};

Open add(CompletionQueues& queues, QueueId id, const verbs::Completion& what) {
  Open made;
  const auto ticket = queues.add(id, what, made.access);
  EXPECT_TRUE(ticket.has_value());
  if (ticket) made.ticket = *ticket;
  return made;
}

TEST(CompletionQueues, ShowWhatWasWrittenInOrder) {
  CompletionQueues queues;
  const QueueId id = queues.create({.depth = 4, .ring = 0x1000, .space = 9}).value();
  EXPECT_TRUE(is_completion_queue(id));
  std::vector<Open> open;
  for (std::uint64_t i = 0; i < 4; ++i) open.push_back(add(queues, id, completion(i)));
  EXPECT_EQ(open[2].access.address, 0x1000U + 2 * 64);
  EXPECT_EQ(open[2].access.length, 64U);
  EXPECT_EQ(open[2].access.space, 9U);
  EXPECT_EQ(open[2].access.kind, AccessKind::kWriteCompletion);
  Access access;
  EXPECT_FALSE(queues.add(id, completion(4), access).has_value());  // Full.
  verbs::Completion out;
  QueueId ready = 0;
  queues.written(open[1].ticket, false);
  EXPECT_FALSE(queues.poll(id, out));
  EXPECT_FALSE(queues.next_ready(ready));
  queues.written(open[0].ticket, false);
  ASSERT_TRUE(queues.next_ready(ready));
  EXPECT_EQ(ready, id);
  for (std::uint64_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(queues.poll(id, out));
    EXPECT_EQ(out.id, i);
  }
  EXPECT_FALSE(queues.poll(id, out));
  EXPECT_FALSE(queues.next_ready(ready));
  EXPECT_EQ(add(queues, id, completion(4)).access.address, 0x1000U);  // Round the ring.
  queues.written(open[2].ticket, true);
  ASSERT_TRUE(queues.poll(id, out));
  EXPECT_EQ(out.status, verbs::CompletionStatus::kLocalOperation);
}

TEST(CompletionQueues, GoWhenNobodyReportsIntoThem) {
  CompletionQueues queues;
  EXPECT_FALSE(queues.create({.depth = 3}).ok());
  EXPECT_FALSE(queues.create({.depth = 0}).ok());
  const QueueId id = queues.create({.depth = 2}).value();
  queues.attach(id);
  EXPECT_FALSE(queues.destroy(id).ok());
  const Open open = add(queues, id, completion(1));
  queues.detach(id);
  ASSERT_TRUE(queues.destroy(id).ok());
  EXPECT_FALSE(queues.destroy(id).ok());
  EXPECT_TRUE(queues.written(open.ticket, false).late);
  const QueueId next = queues.create({.depth = 2}).value();
  EXPECT_EQ(next, id);  // The place serves the next one, and what was under way finds nothing there.
  EXPECT_TRUE(queues.written(open.ticket, false).late);
  verbs::Completion out;
  EXPECT_FALSE(queues.poll(next, out));
}

TEST(CompletionQueues, AnArmedOneReportsOnce) {
  CompletionQueues queues;
  const QueueId id = queues.create({.depth = 16}).value();
  const auto show = [&](const verbs::Completion& what) {
    return queues.written(add(queues, id, what).ticket, false).ready;
  };
  EXPECT_FALSE(show(completion(1)));
  ASSERT_TRUE(queues.arm(id, {}).ok());
  EXPECT_TRUE(show(completion(2)));
  EXPECT_FALSE(show(completion(3)));
  ASSERT_TRUE(queues.arm(id, {.solicited_only = true}).ok());
  EXPECT_FALSE(show(completion(4)));
  EXPECT_TRUE(show(completion(5, true)));
  ASSERT_TRUE(queues.arm(id, {.solicited_only = true}).ok());
  verbs::Completion failed = completion(6);
  failed.status = verbs::CompletionStatus::kFlushed;
  EXPECT_TRUE(show(failed));
  ASSERT_TRUE(queues.arm(id, {.count = 3}).ok());
  EXPECT_FALSE(show(completion(7)));
  EXPECT_FALSE(show(completion(8)));
  EXPECT_TRUE(show(completion(9)));
  EXPECT_FALSE(queues.arm(id, {.count = 0}).ok());
  EXPECT_FALSE(queues.arm(id, {.count = 17}).ok());
  EXPECT_FALSE(queues.arm(7, {}).ok());
}

TEST(CompletionQueues, WriteBytesWithTheLapInTheLast) {
  CompletionQueues queues;
  const QueueId id = queues.create({.depth = 2, .entries = EntryFormat::kBytes}).value();
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Open open = add(queues, id, completion(i));
    wire::CompletionEntry entry;
    std::array<std::byte, wire::kRingEntryBytes> bytes;
    wire::fill(open.access.data, bytes);
    ASSERT_EQ(wire::decode(bytes, entry), wire::RingEntryError::kNone);
    EXPECT_EQ(entry.id, i);
    EXPECT_EQ(entry.lap, (i / 2) % 2 == 0);
    verbs::Completion out;
    EXPECT_FALSE(queues.release(id, 1));  // Not written yet.
    queues.written(open.ticket, false);
    EXPECT_FALSE(queues.poll(id, out));  // The host reads memory.
    EXPECT_FALSE(queues.release(id, 2));
    EXPECT_TRUE(queues.release(id, 1));
  }
}

verbs::ReceiveRequest receive(std::uint64_t id) {
  verbs::ReceiveRequest made;
  made.id = id;
  return made;
}

TEST(ReceiveQueues, GiveEntriesInOrderAndReportTheLimitOnce) {
  ReceiveQueues queues;
  EXPECT_FALSE(queues.create({.depth = 5}).ok());
  const QueueId id = queues.create({.depth = 4}).value();
  EXPECT_TRUE(is_receive_queue(id));
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(queues.post(id, receive(i)), PostStatus::kOk);
  EXPECT_EQ(queues.post(id, receive(4)), PostStatus::kQueueFull);
  ASSERT_TRUE(queues.set_limit(id, 3).ok());
  verbs::ReceiveRequest out;
  EXPECT_FALSE(queues.take(id, out));
  EXPECT_EQ(out.id, 0U);
  EXPECT_TRUE(queues.take(id, out));
  EXPECT_FALSE(queues.take(id, out));
  EXPECT_EQ(out.id, 2U);
  EXPECT_EQ(queues.available(id), 1U);
  EXPECT_FALSE(queues.set_limit(id, 5).ok());
}

TEST(ReceiveQueues, AFreeEntryCanBeTakenBack) {
  ReceiveQueues queues;
  const QueueId id = queues.create({.depth = 4}).value();
  for (const std::uint64_t i : {1U, 2U, 1U}) ASSERT_EQ(queues.post(id, receive(i)), PostStatus::kOk);
  EXPECT_TRUE(queues.cancel(id, 1).ok());
  EXPECT_FALSE(queues.cancel(id, 3).ok());
  verbs::ReceiveRequest out;
  queues.take(id, out);
  EXPECT_EQ(out.id, 2U);
  queues.take(id, out);
  EXPECT_EQ(out.id, 1U);
  EXPECT_EQ(queues.available(id), 0U);
}

TEST(ReceiveQueues, FetchWhatLiesInMemory) {
  ReceiveQueues queues;
  const QueueId id = queues.create({.depth = 16, .ring = 0x4000, .entries = EntryFormat::kBytes}).value();
  EXPECT_EQ(queues.post(id, receive(1)), PostStatus::kUnsupported);
  EXPECT_EQ(queues.announce(id, 17), PostStatus::kQueueFull);
  ASSERT_EQ(queues.announce(id, 10), PostStatus::kOk);
  Access first_access;
  Access second_access;
  const ReceiveTicket first = queues.next_fetch(id, first_access).value();
  const ReceiveTicket second = queues.next_fetch(id, second_access).value();
  Access none;
  EXPECT_FALSE(queues.next_fetch(id, none).has_value());
  EXPECT_EQ(first_access.count, 8);
  EXPECT_EQ(second_access.count, 2);
  EXPECT_EQ(second_access.address, 0x4000U + 8 * 64);
  const auto bytes_of = [](std::uint64_t from, std::uint32_t count) {
    std::vector<std::byte> bytes(std::size_t{count} * wire::kRingEntryBytes);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto at = std::span(bytes).subspan(std::size_t{i} * wire::kRingEntryBytes);
      wire::encode(*verbs::to_entry(receive(from + i)), at.first<wire::kRingEntryBytes>());
    }
    return bytes;
  };
  AccessResult result;
  std::vector<std::byte> bytes = bytes_of(8, 2);
  result.data = wire::bytes_payload(bytes);
  EXPECT_EQ(queues.fetched(second, result), 0U);
  EXPECT_EQ(queues.available(id), 0U);  // Those before it have not come.
  bytes = bytes_of(0, 8);
  bytes[3 * wire::kRingEntryBytes + 8] = std::byte{9};  // Nine pieces.
  result.data = wire::bytes_payload(bytes);
  EXPECT_EQ(queues.fetched(first, result), 1U);
  for (const std::uint64_t expected : {0U, 1U, 2U, 4U, 5U, 6U, 7U, 8U, 9U}) {
    ASSERT_GT(queues.available(id), 0U);
    verbs::ReceiveRequest out;
    queues.take(id, out);
    EXPECT_EQ(out.id, expected);
  }
  EXPECT_EQ(queues.available(id), 0U);
  EXPECT_FALSE(queues.cancel(id, 1).ok());

  // What memory fails is dropped; what comes after the queue is gone finds nothing.
  ASSERT_EQ(queues.announce(id, 1), PostStatus::kOk);
  const ReceiveTicket third = queues.next_fetch(id, none).value();
  result.status = AccessStatus::kFault;
  EXPECT_EQ(queues.fetched(third, result), 1U);
  ASSERT_EQ(queues.announce(id, 1), PostStatus::kOk);
  const ReceiveTicket late = queues.next_fetch(id, none).value();
  ASSERT_TRUE(queues.destroy(id).ok());
  ASSERT_EQ(queues.create({.depth = 4}).value(), id);
  EXPECT_EQ(queues.fetched(late, result), 0U);
}

}  // namespace
}  // namespace wharf::engine
