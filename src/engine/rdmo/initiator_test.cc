// SPDX-License-Identifier: Apache-2.0
#include "engine/rdmo/initiator.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace wharf::rdmo {
namespace {

using wire::RdmoAnswer;
using wire::RdmoStatus;
using Operation = wire::RdmoExtendedOperation;

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// An initiator whose worker is the test.
class InitiatorTest : public ::testing::Test {
 protected:
  void make(InitiatorConfig config) {
    config.client = 9;
    initiator_.emplace(*Initiator::create(config));
  }
  Posted append(const std::string& text, std::uint64_t cookie) {
    AppendRequest request;
    request.cookie = cookie;
    request.cell = 0x1000;
    request.cell_key = request.data_key = 5;
    request.data = bytes_of(texts_.emplace_back(text));
    return initiator_->append(now_, request);
  }
  /// The next extended request, sent.
  std::optional<wire::RdmoExtendedRequest> next() {
    Outgoing message;
    if (!initiator_->next_message(message)) return std::nullopt;
    payload_.assign(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
    wire::RdmoExtendedRequest request;
    EXPECT_EQ(decode(std::span(message.header).first(message.header_length), request),
              wire::RdmoError::kNone);
    initiator_->sent(now_, message.id);
    return request;
  }
  void answer(const wire::RdmoExtendedRequest& request, RdmoStatus status, std::uint64_t place,
              std::uint32_t limit = 100) {
    std::array<std::byte, wire::kRdmoAnswerBytes> bytes{};
    encode(RdmoAnswer{request.operation, status, request.sequence, request.cookie, place, limit},
           bytes.data());
    initiator_->receive(now_, wire::kRdmoExtendedMessageId, bytes);
  }
  /// The next extended request is answered while its bytes are still being sent.
  void answer_unsent(Outgoing& message, wire::RdmoExtendedRequest& request) {
    ASSERT_TRUE(initiator_->next_message(message));
    ASSERT_EQ(decode(std::span(message.header).first(message.header_length), request),
              wire::RdmoError::kNone);
    answer(request, RdmoStatus::kDone, 0x1008);
  }
  std::optional<Outcome> outcome() {
    Outcome out;
    if (!initiator_->poll(out)) return std::nullopt;
    return out;
  }

  std::optional<Initiator> initiator_;
  TimePs now_ = kTimeZero;
  std::string payload_;
  std::deque<std::string> texts_;  ///< Lent to the initiator until it has sent them.
};

TEST_F(InitiatorTest, AnswersGiveStatusAndPlace) {
  make({});
  EXPECT_EQ(append("abc", 77), Posted::kOk);
  const auto request = next();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->client, 9U);
  EXPECT_FALSE(outcome());
  answer(*request, RdmoStatus::kNoRoom, 0x1008);
  const auto out = outcome();
  ASSERT_TRUE(out);
  EXPECT_EQ(out->cookie, 77U);
  EXPECT_EQ(out->status, RdmoStatus::kNoRoom);
  EXPECT_EQ(out->place, 0x1008U);
  EXPECT_EQ(initiator_->in_flight(), 0U);
}

TEST_F(InitiatorTest, SendsNoMoreThanItHasCreditsFor) {
  make({});
  append("a", 1);
  append("b", 2);
  append("c", 3);
  const auto first = next();
  ASSERT_TRUE(first);
  EXPECT_FALSE(next()) << "one message may be sent before the first news of credits";
  answer(*first, RdmoStatus::kDone, 0, 2);
  EXPECT_TRUE(next());
  EXPECT_FALSE(next());
  std::array<std::byte, wire::kRdmoAnswerBytes> news{};
  encode(RdmoAnswer{.credit_limit = 3}, news.data());
  initiator_->receive(now_, wire::kRdmoExtendedMessageId, news);
  EXPECT_TRUE(next());
  EXPECT_EQ(initiator_->counters().without_credit, 2U);
}

TEST_F(InitiatorTest, WhoJoinedKnowsItsCreditsBeforeTheFirstAnswer) {
  make({});
  initiator_->hear_limit(64);
  AppendRequest request;
  request.quiet = true;  // Done is not answered.
  EXPECT_EQ(initiator_->append(now_, request), Posted::kOk);
  EXPECT_EQ(initiator_->flush(now_, 1), Posted::kOk);
  EXPECT_TRUE(next());
  EXPECT_TRUE(next());
  initiator_->hear_limit(0x8000'0000U);  // Nobody has so many numbers.
  for (int i = 0; i < 62; ++i) {
    ASSERT_EQ(initiator_->flush(now_, 1), Posted::kOk);
    const auto asked = next();
    ASSERT_TRUE(asked);
    answer(*asked, RdmoStatus::kDone, 0, 64);
    ASSERT_TRUE(outcome());
  }
  EXPECT_TRUE(outcome());  // The quiet one's.
  ASSERT_EQ(initiator_->flush(now_, 1), Posted::kOk);
  EXPECT_FALSE(next());
}

// A record that nobody has sent is not late.
TEST_F(InitiatorTest, PatienceWithABatchBeginsWhenItGoes) {
  InitiatorConfig config;
  config.batch_records_max = 3;
  make(config);
  append("a", 1);
  EXPECT_TRUE(initiator_->only_gathers());
  EXPECT_EQ(initiator_->deadline(), kNever);
  now_ = config.time_max * 2;
  initiator_->expire(now_);
  EXPECT_FALSE(initiator_->is_lost());
  initiator_->push(now_);
  EXPECT_FALSE(initiator_->only_gathers());
  EXPECT_EQ(initiator_->deadline(), now_ + config.time_max);
  now_ = now_ + config.time_max;
  initiator_->expire(now_);
  EXPECT_EQ(outcome()->status, RdmoStatus::kTimedOut);
}

TEST_F(InitiatorTest, BatchesGoAsOneAndEachRecordHasItsPlace) {
  InitiatorConfig config;
  config.batch_records_max = 3;
  make(config);
  append("one", 1);
  append("three", 2);
  EXPECT_FALSE(next()) << "not full";
  append("x", 3);
  const auto request = next();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->records, 3U);
  EXPECT_EQ(payload_, "onethreex");
  answer(*request, RdmoStatus::kDone, 0x2000);
  EXPECT_EQ(outcome()->place, 0x2000U);
  EXPECT_EQ(outcome()->place, 0x2003U);
  EXPECT_EQ(outcome()->place, 0x2008U);
  // A flush sends what is gathered before it.
  append("left", 4);
  initiator_->flush(now_, 5);
  EXPECT_EQ(next()->operation, Operation::kAppend);
  EXPECT_EQ(next()->operation, Operation::kFlush);
}

TEST_F(InitiatorTest, ABatchWaitsNoLongerThanItsDelay) {
  InitiatorConfig config;
  config.batch_records_max = 8;
  config.batch_delay = microseconds(2);
  make(config);
  append("a", 1);
  EXPECT_EQ(initiator_->deadline(), microseconds(2));
  now_ = microseconds(2);
  initiator_->expire(now_);
  EXPECT_TRUE(next());
}

TEST_F(InitiatorTest, HostileAnswersChangeNothing) {
  make({});
  append("abc", 1);
  const auto request = next();
  auto other = *request;
  other.cookie ^= 1;
  answer(other, RdmoStatus::kDone, 0);
  other = *request;
  other.sequence += 1;
  answer(other, RdmoStatus::kDone, 0);
  other = *request;
  other.operation = Operation::kFlush;
  answer(other, RdmoStatus::kDone, 0);
  initiator_->receive(now_, wire::kRdmoMessageId, std::vector<std::byte>(12));
  initiator_->receive(now_, wire::kRdmoExtendedMessageId, std::vector<std::byte>(31));
  EXPECT_FALSE(outcome());
  EXPECT_EQ(initiator_->counters().unexpected, 3U);
  EXPECT_EQ(initiator_->counters().malformed, 2U);
  answer(*request, RdmoStatus::kDone, 0, 0xffff'fff0U);  // Credits do not run backwards.
  EXPECT_TRUE(outcome());
  answer(*request, RdmoStatus::kDone, 0);  // Twice.
  EXPECT_FALSE(outcome());
}

TEST_F(InitiatorTest, EveryRequestEnds) {
  make({});
  append("a", 1);
  initiator_->flush(now_, 2);
  ASSERT_TRUE(next());
  now_ = initiator_->deadline();
  initiator_->expire(now_);
  EXPECT_EQ(outcome()->status, RdmoStatus::kTimedOut);
  EXPECT_EQ(outcome()->status, RdmoStatus::kConnectionLost);
  EXPECT_TRUE(initiator_->is_lost());
  EXPECT_EQ(append("b", 3), Posted::kLost);
  EXPECT_EQ(initiator_->deadline(), kNever);
}

// Who has an outcome may free the bytes: so there is none while the host still reads them.
TEST_F(InitiatorTest, NoOutcomeComesWhileTheHostHasThePayload) {
  make({});
  append("a", 1);
  Outgoing first;
  wire::RdmoExtendedRequest request;
  answer_unsent(first, request);
  EXPECT_FALSE(outcome()) << "answered, but its bytes are still being sent";
  initiator_->sent(now_, first.id);
  EXPECT_EQ(outcome()->place, 0x1008U);

  append("b", 2);
  append("not handed out", 3);
  initiator_->flush(now_, 4);
  Outgoing second;
  ASSERT_TRUE(initiator_->next_message(second));
  initiator_->expire(initiator_->deadline());
  EXPECT_TRUE(initiator_->is_lost());
  EXPECT_EQ(initiator_->deadline(), kNever);
  EXPECT_EQ(outcome()->cookie, 3U) << "the host never had it";
  EXPECT_EQ(outcome()->cookie, 4U);
  EXPECT_FALSE(outcome()) << "timed out, but its bytes are still being sent";
  initiator_->sent(now_, second.id);
  const auto out = outcome();
  ASSERT_TRUE(out);
  EXPECT_EQ(out->cookie, 2U);
  EXPECT_EQ(out->status, RdmoStatus::kTimedOut);
  EXPECT_EQ(initiator_->in_flight(), 0U);
}

TEST_F(InitiatorTest, WhatTimesOutIsSaidByTheFirstThatIsNotAnswered) {
  make({});
  append("a", 1);
  append("b", 2);
  Outgoing first;
  wire::RdmoExtendedRequest request;
  answer_unsent(first, request);
  ASSERT_TRUE(next());
  initiator_->expire(initiator_->deadline());
  const auto out = outcome();
  ASSERT_TRUE(out);
  EXPECT_EQ(out->cookie, 2U);
  EXPECT_EQ(out->status, RdmoStatus::kTimedOut);
}

TEST_F(InitiatorTest, AHostThatGivesUpEndsEverything) {
  InitiatorConfig config;
  config.form = Form::kPublished;
  make(config);
  append("a", 1);
  append("b", 2);
  Outgoing message;
  ASSERT_TRUE(initiator_->next_message(message));
  initiator_->lost(now_);
  EXPECT_EQ(outcome()->cookie, 2U);
  EXPECT_FALSE(outcome());
  initiator_->all_sent(now_);
  const auto out = outcome();
  ASSERT_TRUE(out);
  EXPECT_EQ(out->status, RdmoStatus::kConnectionLost) << "a published append that was not sent is not done";
  EXPECT_EQ(initiator_->in_flight(), 0U);
}

TEST_F(InitiatorTest, PublishedAppendsEndWhenTheyAreSent) {
  InitiatorConfig config;
  config.form = Form::kPublished;
  make(config);
  append("abc", 1);
  Outgoing message;
  ASSERT_TRUE(initiator_->next_message(message));
  EXPECT_EQ(message.message_id, wire::kRdmoMessageId);
  EXPECT_EQ(message.header_length, 40U);
  EXPECT_FALSE(outcome());
  initiator_->sent(now_, message.id);
  EXPECT_EQ(outcome()->cookie, 1U);
  initiator_->flush(now_, 2);
  ASSERT_TRUE(initiator_->next_message(message));
  wire::RdmoRequest request;
  ASSERT_EQ(
      decode(std::span(message.header).first(message.header_length), wire::RdmoLayout::kShipped, request),
      wire::RdmoError::kNone);
  initiator_->sent(now_, message.id);
  EXPECT_FALSE(outcome());
  std::array<std::byte, 12> bytes{};
  wire::encode_rdmo_response(request.flush_id, wire::RdmoLayout::kShipped, bytes.data());
  initiator_->receive(now_, wire::kRdmoMessageId, bytes);
  EXPECT_EQ(outcome()->cookie, 2U);
}

// Only what was asked to wait for what came before carries the fence.
TEST_F(InitiatorTest, PublishedRequestsCarryTheFenceThatWasAskedFor) {
  for (const wire::RdmoLayout layout : {wire::RdmoLayout::kShipped, wire::RdmoLayout::kGuide}) {
    InitiatorConfig config;
    config.form = Form::kPublished;
    config.layout = layout;
    make(config);
    for (const bool fence : {false, true, false}) {
      AppendRequest request;
      request.cell = 0x1000;
      request.cell_key = request.data_key = 5;
      request.data = bytes_of(texts_.emplace_back("abc"));
      request.fence = fence;
      ASSERT_EQ(initiator_->append(now_, request), Posted::kOk);
      ASSERT_EQ(initiator_->flush(now_, 2, fence), Posted::kOk);
      for (const auto operation : {wire::RdmoOperation::kAppend, wire::RdmoOperation::kFlush}) {
        Outgoing message;
        ASSERT_TRUE(initiator_->next_message(message));
        wire::RdmoRequest sent;
        ASSERT_EQ(decode(std::span(message.header).first(message.header_length), layout, sent),
                  wire::RdmoError::kNone);
        EXPECT_EQ(sent.operation, operation);
        EXPECT_EQ(sent.fence, fence);
        initiator_->sent(now_, message.id);
      }
    }
  }
}

TEST_F(InitiatorTest, RefusesConfigsByTheirKey) {
  InitiatorConfig config;
  config.in_flight_max = 0;
  EXPECT_NE(Initiator::create(config).error().message.find("in_flight_max"), std::string::npos);
  config = {};
  config.form = Form::kPublished;
  config.batch_records_max = 2;
  EXPECT_NE(Initiator::create(config).error().message.find("batch_records_max"), std::string::npos);
}

// Records that are gathered are kept until they leave; one that has a message of its own is not.
TEST_F(InitiatorTest, TheBytesThatAreGatheredAreLimited) {
  InitiatorConfig config;
  config.form = Form::kExtended;
  config.batch_bytes_max = 1U << 20U;
  config.in_flight_max = (1U << 10U) + 1;  // One GiB and one piece.
  for (const std::uint32_t records : {1U, 2U, 3U, 8U}) {
    config.batch_records_max = records;
    const auto made = Initiator::create(config);
    EXPECT_EQ(made.ok(), records == 1) << records;
    if (!made) {
      EXPECT_NE(made.error().message.find("batch_bytes_max"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace wharf::rdmo
