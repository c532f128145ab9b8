// SPDX-License-Identifier: Apache-2.0
// The NIC before a peer that answers what no honest one would, and a host that opens jetties anew at any
// time.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "Vwharf_ub_nic_peer.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/ub_nic/nic_peer.h"
#include "rtl/ub_nic/nic_scenarios.h"

namespace wharf::rtl {
namespace {

/// Fails the test if a doorbell was never taken.
struct Peer : NicPeer<Vwharf_ub_nic_peer> {
  Peer() : NicPeer(planted) {}
  ~Peer() { EXPECT_FALSE(failed); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
};
using verbs::OrderTag;
using wire::TaOpcode;
using wire::UbResponseInfo;
using wire::UbResponseStatus;

// Of the counters, from the last one on.
constexpr std::uint32_t kDropped = 5;
constexpr std::uint32_t kDroppedAcknowledgement = 7;
constexpr std::uint32_t kDeferred = 8;
constexpr std::uint32_t kForgotten = 16;

/// Requests outstanding at most.
constexpr std::uint32_t kResponses = 4;

/// Longer than the delay of a missing page, of six units of 40 cycles, and shorter than the timer.
constexpr std::uint32_t kDelay = 450;

std::size_t asked(const Peer& peer, std::uint32_t jetty) {
  return static_cast<std::size_t>(
      std::count_if(peer.requests.begin(), peer.requests.end(),
                    [&](const wire::Btah& request) { return request.requester_id == jetty; }));
}

SCENARIO(RequestThatIsNotReadyTwiceIsAskedOnce) {
  Peer peer;
  peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
  peer.ring(1, TaOpcode::kSend, OrderTag::kNone, 2);
  peer.run(60);
  ASSERT_EQ(peer.requests.size(), 2U);
  // More copies than the queue of requests that wait has places: four.
  for (int i = 0; i < 6; ++i) peer.answer(peer.requests[0], UbResponseStatus::kPageFault);
  peer.answer(peer.requests[1], UbResponseStatus::kPageFault);
  peer.run(kDelay);
  EXPECT_EQ(asked(peer, 0), 2U);
  EXPECT_EQ(asked(peer, 1), 2U);
  EXPECT_EQ(peer.nic->counters_o[kDropped], 5U);
  for (std::size_t i = 2; i < peer.requests.size(); ++i) {
    EXPECT_TRUE(peer.requests[i].retry);
    peer.answer(peer.requests[i], UbResponseStatus::kSuccess);
  }
  peer.run(kDelay);
  ASSERT_EQ(peer.completions.size(), 2U);
  EXPECT_EQ(peer.completions[0].status + peer.completions[1].status, 0);
  EXPECT_EQ(peer.requests.size(), 4U);
}

SCENARIO(NothingAnswersARequestThatWaitsToBeAskedAgain) {
  Peer peer;
  peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
  peer.run(60);
  ASSERT_EQ(peer.requests.size(), 1U);
  peer.answer(peer.requests[0], UbResponseStatus::kPageFault);
  for (int i = 0; i < 3; ++i) peer.answer(peer.requests[0], UbResponseStatus::kSuccess);
  peer.run(100);
  EXPECT_TRUE(peer.completions.empty());
  // None of these answers has made room for one more request outstanding: four, with the one that waits.
  for (std::uint32_t jetty = 1; jetty < NicPlan::kJetties; ++jetty)
    peer.ring(jetty, TaOpcode::kSend, OrderTag::kNone, 1 + jetty);
  peer.run(kDelay);
  std::set<std::uint32_t> seen;
  for (const wire::Btah& request : peer.requests) seen.insert(request.requester_id);
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_EQ(asked(peer, 0), 2U);
  peer.answer(peer.requests[0], UbResponseStatus::kSuccess);
  peer.run(100);
  ASSERT_EQ(peer.completions.size(), 1U);
  EXPECT_EQ(peer.completions[0].tag, 1U);
}

/// An honest peer answers all that it was asked, also what its host has forgotten.
void answer_from(Peer& peer, std::size_t first) {
  for (std::size_t i = first; i < peer.requests.size(); ++i)
    peer.answer(peer.requests[i], UbResponseStatus::kSuccess);
  peer.run(60);
}

/// Answers the last request, which must be number `tassn` of jetty 0.
void answer_last(Peer& peer, std::uint32_t tassn) {
  ASSERT_FALSE(peer.requests.empty());
  EXPECT_EQ(peer.requests.back().tassn, tassn);
  peer.answer(peer.requests.back(), UbResponseStatus::kSuccess);
  peer.run(60);
}

/// Rings for a strong request of jetty 0: it must leave, as number `tassn`, and end.
void expect_strong(Peer& peer, std::uint32_t tassn) {
  const std::size_t before = peer.requests.size(), ended = peer.completions.size();
  peer.ring(0, TaOpcode::kSend, OrderTag::kStrong, 100 + tassn);
  peer.run(60);
  ASSERT_EQ(peer.requests.size(), before + 1);
  answer_last(peer, tassn);
  EXPECT_EQ(peer.completions.size(), ended + 1);
}

SCENARIO(JettyOpenedAnewWhileAResponseIsTakenGoesOn) {
  for (const auto status : {UbResponseStatus::kSuccess, UbResponseStatus::kPageFault}) {
    for (std::uint32_t after = 0; after < 60 && !::testing::Test::HasFailure(); ++after) {
      SCOPED_TRACE(after);
      Peer peer;
      peer.ring(0, TaOpcode::kRead, OrderTag::kStrong, 1);
      peer.run(60);
      ASSERT_EQ(peer.requests.size(), 1U);
      peer.answer(peer.requests[0], status);
      peer.run(after);
      peer.open(0);
      // What was to be asked again of the life before may be.
      peer.run(kDelay);
      answer_from(peer, 1);
      for (std::uint32_t tassn = 0; tassn < 4 && !::testing::Test::HasFailure(); ++tassn)
        expect_strong(peer, tassn);
    }
  }
}

SCENARIO(AnotherJettyOpenedWhileAResponseIsTakenChangesNothing) {
  for (std::uint32_t after = 0; after < 60 && !::testing::Test::HasFailure(); ++after) {
    SCOPED_TRACE(after);
    Peer peer;
    peer.ring(0, TaOpcode::kRead, OrderTag::kStrong, 1);
    peer.run(60);
    ASSERT_EQ(peer.requests.size(), 1U);
    peer.answer(peer.requests[0], UbResponseStatus::kSuccess);
    peer.run(after);
    peer.open(1);
    peer.run(60);
    EXPECT_EQ(peer.completions.size(), 1U);
    // Two of a jetty wait for a response at most: none stays in a place of those.
    for (std::uint32_t tassn = 1; tassn < 5 && !::testing::Test::HasFailure(); ++tassn)
      expect_strong(peer, tassn);
  }
}

SCENARIO(JettyOpenedAnewForgetsARequestOnItsWayOut) {
  for (std::uint32_t after = 0; after < 12 && !::testing::Test::HasFailure(); ++after) {
    SCOPED_TRACE(after);
    Peer peer;
    peer.ring(0, TaOpcode::kRead, OrderTag::kStrong, 1);
    peer.run(after);
    peer.open(0);
    peer.run(60);
    answer_from(peer, 0);
    for (std::uint32_t tassn = 0; tassn < 4 && !::testing::Test::HasFailure(); ++tassn)
      expect_strong(peer, tassn);
  }
}

/// Rings once for each jetty: as many must leave as there is room for answers, less `outstanding`.
void expect_room(Peer& peer, std::uint32_t outstanding) {
  const std::size_t before = peer.requests.size();
  for (std::uint32_t jetty = 0; jetty < NicPlan::kJetties; ++jetty)
    peer.ring(jetty, TaOpcode::kSend, OrderTag::kNone, 10 + jetty);
  peer.run(kDelay);
  EXPECT_EQ(peer.requests.size() - before, kResponses - outstanding);
}

/// A request that nobody has made.
wire::Btah invented(std::uint32_t jetty, std::uint16_t tassn) {
  wire::Btah request;
  request.opcode = TaOpcode::kRead;
  request.requester_id = jetty;
  request.tassn = tassn;
  return request;
}

SCENARIO(AResponseToWhatWasNeverSentGivesNoRoom) {
  for (const std::uint32_t jetty : {0U, 3U, 8U, 0xfffffU}) {
    SCOPED_TRACE(jetty);
    Peer peer;
    for (int i = 0; i < 4; ++i) {
      peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
      peer.run(60);
      answer_from(peer, peer.requests.size() - 1);
    }
    peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
    peer.run(60);
    ASSERT_EQ(peer.requests.back().tassn, 4U);
    // Not yet sent; never; and long ago.
    std::uint32_t told = 0;
    for (const std::uint16_t tassn : {5, 6, 0x8004, 0xffff, 0}) {
      for (const auto status : {UbResponseStatus::kSuccess, UbResponseStatus::kPageFault}) {
        peer.answer(invented(jetty, tassn), status);
        ++told;
      }
    }
    peer.run(kDelay);
    EXPECT_EQ(peer.nic->counters_o[kDropped], told);
    EXPECT_EQ(peer.nic->counters_o[kForgotten], 0U);
    EXPECT_EQ(peer.completions.size(), 4U);
    expect_room(peer, 1);
  }
}

SCENARIO(ASecondResponseGivesNoRoom) {
  Peer peer;
  peer.ring(0, TaOpcode::kRead, OrderTag::kNone, 1);
  peer.run(60);
  ASSERT_EQ(peer.requests.size(), 1U);
  peer.ring(1, TaOpcode::kRead, OrderTag::kNone, 1);
  peer.run(60);
  for (int i = 0; i < 4; ++i) peer.answer(peer.requests[0], UbResponseStatus::kSuccess);
  peer.run(200);
  EXPECT_EQ(peer.completions.size(), 1U);
  EXPECT_EQ(peer.nic->counters_o[kDropped], 3U);
  expect_room(peer, 1);
}

SCENARIO(AResponseToWhatItsJettyHasForgottenGivesRoomOnce) {
  for (const std::uint32_t again : {1U, 2U}) {
    Peer peer;
    for (int i = 0; i < 2; ++i) peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
    peer.run(60);
    ASSERT_EQ(peer.requests.size(), 2U);
    for (std::uint32_t i = 0; i < again; ++i) {
      peer.open(0);
      peer.run(20);
    }
    for (int i = 0; i < 3; ++i) peer.answer(peer.requests[1], UbResponseStatus::kSuccess);
    peer.answer(invented(0, 2), UbResponseStatus::kSuccess);
    peer.run(100);
    EXPECT_TRUE(peer.completions.empty());
    EXPECT_EQ(peer.nic->counters_o[kForgotten], 1U);
    EXPECT_EQ(peer.nic->counters_o[kDropped], 3U);
    // The number comes again when the one before is answered, and that answer is not for the new one.
    peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 7);
    peer.run(60);
    EXPECT_EQ(peer.requests.size(), 2U);
    peer.answer(peer.requests[0], UbResponseStatus::kSuccess);
    peer.run(60);
    ASSERT_EQ(peer.requests.size(), 3U);
    EXPECT_TRUE(peer.completions.empty());
    answer_last(peer, 0);
    ASSERT_EQ(peer.completions.size(), 1U);
    EXPECT_EQ(peer.completions[0].tag, 7U);
    expect_room(peer, 0);
  }
}

SCENARIO(WhatIsHeldAndForgottenKeepsItsRoomUntilItsCopyIsAnswered) {
  Peer peer;
  peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
  peer.run(60);
  ASSERT_EQ(peer.requests.size(), 1U);
  peer.answer(peer.requests[0], UbResponseStatus::kPageFault);
  peer.run(60);
  peer.open(0);
  peer.run(1);
  peer.answer(peer.requests[0], UbResponseStatus::kSuccess);
  peer.run(60);
  EXPECT_EQ(peer.nic->counters_o[kDropped], 1U);
  for (std::uint32_t jetty = 1; jetty < NicPlan::kJetties; ++jetty)
    peer.ring(jetty, TaOpcode::kSend, OrderTag::kNone, 1 + jetty);
  peer.run(kDelay);
  EXPECT_EQ(peer.requests.size(), 1U + kResponses);
  EXPECT_EQ(asked(peer, 0), 2U);
}

SCENARIO(AResponseAfterTheResetIsForNobody) {
  Peer peer;
  peer.ring(0, TaOpcode::kRead, OrderTag::kNone, 1);
  peer.run(60);
  ASSERT_EQ(peer.requests.size(), 1U);
  peer.restart();
  peer.answer(peer.requests[0], UbResponseStatus::kSuccess);
  peer.run(60);
  EXPECT_EQ(peer.nic->counters_o[kDropped], 1U);
  EXPECT_TRUE(peer.completions.empty());
}

SCENARIO(AResponseToNothingDoesNotDisturbTheOneUnderWay) {
  Peer peer;
  peer.ring(0, TaOpcode::kRead, OrderTag::kNone, 1);
  peer.run(60);
  ASSERT_EQ(peer.requests.size(), 1U);
  // Eight bytes that belong to nothing, and the message does not end.
  peer.answer(invented(1, 9), UbResponseStatus::kSuccess, UbResponseInfo::kNone, false);
  peer.run(60);
  peer.answer(peer.requests[0], UbResponseStatus::kSuccess);
  peer.run(100);
  ASSERT_EQ(peer.completions.size(), 1U);
  EXPECT_EQ(peer.completions[0].status, 0);
}

SCENARIO(AnAcknowledgementOfWhatWasNeverSentReleasesNothing) {
  for (const bool missing : {false, true}) {
    Peer peer;
    peer.acknowledges = false;
    peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
    peer.run(60);
    ASSERT_EQ(peer.requests.size(), 1U);
    for (const std::uint32_t psn : {2U, 8U, 9U, 0x7ffffeU}) peer.acknowledge(psn, missing);
    peer.run(60);
    EXPECT_EQ(peer.nic->counters_o[kDroppedAcknowledgement], 4U);
    EXPECT_EQ(peer.requests.size(), 1U);
    // Nothing was released: the timer sends it again.
    peer.run(1500);
    EXPECT_GE(peer.requests.size(), 2U);
    EXPECT_EQ(peer.requests.back().tassn, 0U);
  }
}

SCENARIO(PoisonAtThePeerHasItsNumberInACompletion) {
  Peer peer;
  peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
  peer.run(60);
  ASSERT_EQ(peer.requests.size(), 1U);
  peer.answer(peer.requests[0], UbResponseStatus::kError, UbResponseInfo::kPoison);
  peer.run(60);
  ASSERT_EQ(peer.completions.size(), 1U);
  EXPECT_EQ(peer.completions[0].status, 16);  // URMA_CR_REM_DATA_POISON.
}

SCENARIO(WhatIsAskedAgainWhileAnotherJettyIsOpenedLeavesOnce) {
  // The delay is over in one of these cycles.
  for (std::uint32_t after = 230; after < 300 && !::testing::Test::HasFailure(); ++after) {
    SCOPED_TRACE(after);
    Peer peer;
    peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
    peer.run(60);
    ASSERT_EQ(peer.requests.size(), 1U);
    peer.answer(peer.requests[0], UbResponseStatus::kPageFault);
    peer.run(after);
    peer.open(1);
    peer.run(kDelay - after);
    EXPECT_EQ(peer.requests.size(), 2U);
    if (peer.requests.size() > 1) answer_from(peer, 1);
    EXPECT_EQ(peer.completions.size(), 1U);
  }
}

SCENARIO(NoResponseIsTakenWhileAllWaitToBeAskedAgain) {
  Peer peer;
  for (std::uint32_t jetty = 0; jetty < kResponses; ++jetty)
    peer.ring(jetty, TaOpcode::kSend, OrderTag::kNone, 1 + jetty);
  peer.run(100);
  ASSERT_EQ(peer.requests.size(), kResponses);
  for (std::uint32_t i = 0; i < kResponses; ++i) peer.answer(peer.requests[i], UbResponseStatus::kPageFault);
  peer.run(60);
  peer.answer(invented(0, 7), UbResponseStatus::kSuccess);
  peer.run(60);
  EXPECT_EQ(peer.nic->counters_o[kDeferred], 1U);
  EXPECT_EQ(peer.nic->counters_o[kDropped], 0U);
}

TEST(UbNicAndPeer, EveryPlantedFaultIsFound) {
  const std::vector<std::string> faults = planted_faults("rtl/ub_nic/peer_faults.txt");
  ASSERT_FALSE(faults.empty());
  for (planted = 1; planted <= faults.size(); ++planted) {
    ::testing::TestPartResultArray failures;
    {
      const ::testing::ScopedFakeTestPartResultReporter catcher(&failures);
      for (const Scenario& scenario : scenarios()) {
        scenario.run();
        if (failures.size() > 0) break;
      }
    }
    EXPECT_GT(failures.size(), 0) << "rtl/ub_nic/peer_faults.txt: not found: " << faults[planted - 1];
  }
  planted = 0;
}

}  // namespace
}  // namespace wharf::rtl
