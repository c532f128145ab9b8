// SPDX-License-Identifier: Apache-2.0
// A target that lets initiators in: silent ones, ones that break off, floods.
#include "live/rdmo/meetings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace wharf::live {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

class Host : public MeetingHost {
 public:
  std::span<const std::byte> worker_address() const override { return worker_; }
  Ticket ask_admit(std::span<const std::byte> initiator) override {
    asked.emplace_back(initiator.begin(), initiator.end());
    return asked.size() - 1;
  }
  Admission admission(Ticket ticket) override {
    if (frozen) return {};
    if (asked[ticket].empty()) return {Admission::State::kRefused, 0};
    admitted.push_back(asked[ticket]);
    return {Admission::State::kIn, admitted.size() - 1};
  }
  void give_up(Ticket ticket) override { given_up.push_back(ticket); }
  std::vector<std::byte> packed_grant() const override { return bytes_of("grant"); }
  void forget(std::uint64_t queue) override { forgotten.push_back(queue); }

  bool frozen = false;  ///< The worker answers nothing.
  std::vector<std::vector<std::byte>> asked;
  std::vector<Ticket> given_up;
  std::vector<std::vector<std::byte>> admitted;
  std::vector<std::uint64_t> forgotten;

 private:
  std::vector<std::byte> worker_ = bytes_of("worker");
};

class MeetingsTest : public ::testing::Test {
 protected:
  /// Somebody who has come; what is returned is their end.
  StreamChannel come() {
    auto channel = StreamChannel::connect({"127.0.0.1", listener_.port()});
    EXPECT_TRUE(channel.ok());
    StreamChannel near;
    while (!near.open()) near = listener_.accept();
    meetings_.begin(std::move(near));
    return *std::move(channel);
  }
  /// Goes on until that end has a message.
  std::vector<std::byte> hear(StreamChannel& channel) {
    std::vector<std::byte> item;
    for (int tries = 0; tries < 100'000; ++tries) {
      static_cast<void>(meetings_.progress());
      channel.progress();
      if (channel.take(item) || !channel.open()) return item;
    }
    ADD_FAILURE() << "nothing came";
    return item;
  }
  /// Goes on until one fails.
  Result<void> fail() {
    Result<void> done{};
    while (done) done = meetings_.progress();
    return done;
  }

  Host host_;
  StreamListener listener_ = *StreamListener::listen({"127.0.0.1", 0});
  Meetings meetings_{host_, milliseconds(0xffff'ffffLL)};
};

// Sixty silent ones, whose patience never ends, keep nobody out.
TEST_F(MeetingsTest, SilentOnesHoldNobodyUp) {
  std::vector<StreamChannel> silent;
  for (int i = 0; i < 60; ++i) silent.push_back(come());
  StreamChannel channel = come();
  channel.write(bytes_of("me"));
  EXPECT_EQ(hear(channel), bytes_of("worker"));
  EXPECT_EQ(hear(channel), bytes_of("grant"));
  channel.write({});
  EXPECT_EQ(hear(channel), bytes_of(""));
  channel.write({});
  while (meetings_.count() == 61) EXPECT_TRUE(meetings_.progress());
  EXPECT_EQ(meetings_.count(), 60U);
  ASSERT_EQ(host_.admitted.size(), 1U);
  EXPECT_EQ(host_.admitted[0], bytes_of("me"));
  EXPECT_TRUE(host_.forgotten.empty());
}

TEST_F(MeetingsTest, AFloodPushesOutWhoHasSaidTheLeast) {
  StreamChannel honest = come();
  honest.write(bytes_of("me"));
  EXPECT_EQ(hear(honest), bytes_of("worker"));
  EXPECT_EQ(hear(honest), bytes_of("grant"));
  std::vector<StreamChannel> flood;
  for (std::size_t i = 0; i < Meetings::kMost + 20; ++i) flood.push_back(come());
  EXPECT_EQ(meetings_.count(), Meetings::kMost);
  honest.write({});
  EXPECT_EQ(hear(honest), bytes_of(""));
  EXPECT_TRUE(honest.open());
}

TEST_F(MeetingsTest, PatienceIsThatForTheWholeMeeting) {
  Meetings impatient(host_, milliseconds(20));
  auto channel = StreamChannel::connect({"127.0.0.1", listener_.port()});
  StreamChannel near;
  while (!near.open()) near = listener_.accept();
  impatient.begin(std::move(near));
  Result<void> done{};
  while (done) done = impatient.progress();
  EXPECT_EQ(done.error().kind, ErrorKind::kStalled);
  EXPECT_EQ(impatient.count(), 0U);
}

TEST_F(MeetingsTest, WhoBreaksOffLosesItsQueue) {
  StreamChannel channel = come();
  channel.write(bytes_of("me"));
  EXPECT_EQ(hear(channel), bytes_of("worker"));
  EXPECT_EQ(hear(channel), bytes_of("grant"));
  channel.close();
  EXPECT_EQ(fail().error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(host_.forgotten, std::vector<std::uint64_t>{0});
  EXPECT_EQ(meetings_.count(), 0U);
}

// A worker that is stopped owes an answer for each of them; each waits for its own, and for no other's.
TEST_F(MeetingsTest, AFrozenWorkerHoldsNobodyUp) {
  host_.frozen = true;
  std::vector<StreamChannel> many;
  for (int i = 0; i < 10; ++i) {
    many.push_back(come());
    many.back().write(bytes_of("me"));
  }
  while (host_.asked.size() < 10) static_cast<void>(meetings_.progress());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(meetings_.progress()) << "it does not wait";
  many[3].close();
  EXPECT_EQ(fail().error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(host_.given_up, std::vector<MeetingHost::Ticket>{3}) << "what the worker makes for it goes";
  EXPECT_TRUE(host_.forgotten.empty());
  host_.frozen = false;
  EXPECT_EQ(hear(many[9]), bytes_of("worker"));
  EXPECT_EQ(hear(many[9]), bytes_of("grant"));
  EXPECT_EQ(host_.admitted.size(), 9U);
}

TEST_F(MeetingsTest, WhatAFrozenWorkerOwesIsWaitedForWithPatience) {
  host_.frozen = true;
  Meetings impatient(host_, milliseconds(20));
  auto channel = StreamChannel::connect({"127.0.0.1", listener_.port()});
  channel->write(bytes_of("me"));
  StreamChannel near;
  while (!near.open()) near = listener_.accept();
  impatient.begin(std::move(near));
  Result<void> done{};
  while (done) done = impatient.progress();
  EXPECT_EQ(done.error().message, "the worker: no answer in time");
  EXPECT_EQ(host_.given_up.size(), 1U);
}

TEST_F(MeetingsTest, WhomTheWorkerRefusesIsNotLetIn) {
  StreamChannel channel = come();
  channel.write({});
  EXPECT_FALSE(fail());
  EXPECT_TRUE(host_.forgotten.empty());
  EXPECT_EQ(hear(channel), bytes_of("worker"));
  EXPECT_TRUE(hear(channel).empty());
  EXPECT_FALSE(channel.open());
}

}  // namespace
}  // namespace wharf::live
