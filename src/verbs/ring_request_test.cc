// SPDX-License-Identifier: Apache-2.0
#include "verbs/ring_request.h"

#include <gtest/gtest.h>

#include <vector>

namespace wharf::verbs {
namespace {

/// The request after it has been bytes.
WorkRequest through_bytes(const WorkRequest& request, wire::WorkEntry& entry) {
  const auto written = to_entry(request);
  EXPECT_TRUE(written.has_value()) << name(request.verb);
  if (!written) return {};
  std::vector<std::byte> bytes(wire::encoded_bytes(*written));
  wire::encode(*written, bytes);
  EXPECT_EQ(wire::decode(bytes, entry), wire::RingEntryError::kNone) << name(request.verb);
  return to_request(entry);
}

WorkRequest example(Verb verb, std::uint8_t pieces) {
  WorkRequest request;
  request.id = 0x1122'3344'5566'7788;
  request.verb = verb;
  request.order = OrderTag::kStrong;
  request.signaled = false;
  request.fence = true;
  request.solicited = true;
  request.completion_in_order = false;
  request.hint = 7;
  request.peer = 9;
  request.remote = {0xabcd'ef00, {0x12345, 0x6789}};
  request.local_count = pieces;
  if (is_atomic(verb)) {
    request.width = 8;
    request.length = 8;
    request.operand = {5, 0};
    request.compare = {6, 0};
    if (pieces > 0) request.local[0] = {0x1000, 8, 3};
    return request;
  }
  request.immediate = 0x99;
  if (verb == Verb::kSendInvalidate) request.invalidate = {4, 5};
  if (verb == Verb::kWriteNotify) request.notify = {0x7000, {8, 9}};
  for (std::uint8_t i = 0; i < pieces; ++i) {
    request.local[i] = {0x1000U * (i + 1U), 16U + i, i};
    request.length += request.local[i].length;
  }
  return request;
}

void expect_same(const WorkRequest& a, const WorkRequest& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.verb, b.verb);
  EXPECT_EQ(a.order, b.order);
  EXPECT_EQ(a.signaled, b.signaled);
  EXPECT_EQ(a.fence, b.fence);
  EXPECT_EQ(a.solicited, b.solicited);
  EXPECT_EQ(a.completion_in_order, b.completion_in_order);
  EXPECT_EQ(a.hint, b.hint);
  EXPECT_EQ(a.peer, b.peer);
  EXPECT_EQ(a.length, b.length);
  EXPECT_EQ(a.remote.address, b.remote.address);
  EXPECT_EQ(a.remote.token, b.remote.token);
  EXPECT_EQ(a.notify.address, b.notify.address);
  EXPECT_EQ(a.notify.token, b.notify.token);
  EXPECT_EQ(a.invalidate, b.invalidate);
  EXPECT_EQ(a.operand, b.operand);
  EXPECT_EQ(a.compare, b.compare);
  if (!is_atomic(a.verb)) {
    EXPECT_EQ(a.immediate, b.immediate);
  } else {
    EXPECT_EQ(a.width, b.width);
  }
  ASSERT_EQ(a.local_count, b.local_count);
  for (std::uint8_t i = 0; i < a.local_count; ++i) {
    EXPECT_EQ(a.local[i].address, b.local[i].address);
    EXPECT_EQ(a.local[i].length, b.local[i].length);
    EXPECT_EQ(a.local[i].key, b.local[i].key);
  }
}

TEST(RingRequest, EveryVerbGoesThroughBytes) {
  for (int verb = static_cast<int>(Verb::kRead); verb < kVerbCount; ++verb) {
    for (std::uint8_t pieces = 0; pieces <= (is_atomic(static_cast<Verb>(verb)) ? 1 : 4); ++pieces) {
      const WorkRequest request = example(static_cast<Verb>(verb), pieces);
      wire::WorkEntry entry;
      expect_same(request, through_bytes(request, entry));
      EXPECT_EQ(entry.is_long, pieces > 1 || request.verb == Verb::kWriteNotify);
    }
  }
  WorkRequest wide = example(Verb::kCompareSwap, 1);
  wide.width = 16;
  wide.length = 16;
  wide.local[0].length = 16;
  wide.operand[1] = 77;
  wide.compare[1] = 78;
  wire::WorkEntry entry;
  expect_same(wide, through_bytes(wide, entry));
  EXPECT_TRUE(entry.is_long);
}

TEST(RingRequest, InlineDataTravelsInTheEntry) {
  std::vector<std::byte> data(64);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
  WorkRequest request = example(Verb::kSend, 0);
  request.length = 64;
  request.inline_data = wire::bytes_payload(data);
  wire::WorkEntry entry;
  const WorkRequest read = through_bytes(request, entry);
  expect_same(request, read);
  EXPECT_TRUE(wire::payload_equal(read.inline_data, request.inline_data));
}

TEST(RingRequest, WhatNoEntryCanSayIsRefused) {
  EXPECT_FALSE(to_entry(example(Verb::kLoad, 0)));
  WorkRequest request = example(Verb::kSend, 0);
  request.inline_data = wire::pattern_payload(1, 0, 65);
  EXPECT_FALSE(to_entry(request));
  request = example(Verb::kWriteNotify, 0);
  request.inline_data = wire::pattern_payload(1, 0, 8);
  EXPECT_FALSE(to_entry(request));
  request = example(Verb::kSend, 1);
  request.tagged = true;
  EXPECT_FALSE(to_entry(request));
  request = example(Verb::kSend, 1);
  request.delivery = Delivery::kDatagram;
  EXPECT_FALSE(to_entry(request));
  request = example(Verb::kFetchAdd, 1);
  request.atomic_function = AtomicFunction::kSum;
  EXPECT_FALSE(to_entry(request));
  ReceiveRequest receive;
  receive.local_count = 4;
  EXPECT_FALSE(to_entry(receive));
  receive.local_count = 3;
  EXPECT_TRUE(to_entry(receive));
  receive.tagged = true;
  EXPECT_FALSE(to_entry(receive));
}

TEST(RingRequest, ReceivesAndCompletionsGoThroughEntries) {
  ReceiveRequest receive;
  receive.id = 12;
  receive.local_count = 3;
  for (std::uint8_t i = 0; i < 3; ++i) receive.local[i] = {0x100U + i, 1U + i, i};
  const ReceiveRequest same = to_request(*to_entry(receive));
  EXPECT_EQ(same.id, 12U);
  ASSERT_EQ(same.local_count, 3);
  EXPECT_EQ(same.local[2].address, 0x102U);
  EXPECT_EQ(same.local[2].length, 3U);
  EXPECT_EQ(same.local[2].key, 2U);

  Completion completion;
  completion.id = 3;
  completion.status = CompletionStatus::kRemoteAccess;
  completion.kind = CompletionKind::kReceive;
  completion.verb = Verb::kSendImm;
  completion.has_immediate = completion.solicited = true;
  completion.length = 100;
  completion.queue = 40;
  completion.remote_host = 2;
  completion.remote_queue = 41;
  completion.immediate = 0x77;
  completion.atomic_result = {1, 2};
  const wire::CompletionEntry entry = to_entry(completion, false);
  EXPECT_FALSE(entry.lap);
  EXPECT_EQ(to_entry(to_completion(entry), false), entry);
  EXPECT_EQ(to_completion(entry).status, CompletionStatus::kRemoteAccess);
}

}  // namespace
}  // namespace wharf::verbs
