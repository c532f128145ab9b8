// SPDX-License-Identifier: Apache-2.0
// The NIC before a peer that answers what no honest one would, and a host that opens jetties anew at any
// time.
#include <algorithm>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "Vwharf_ub_nic.h"
#include "rtl/ub_nic/nic_peer.h"

namespace wharf::rtl {
namespace {

using Peer = NicPeer<Vwharf_ub_nic>;
using verbs::OrderTag;
using wire::TaOpcode;
using wire::UbResponseInfo;
using wire::UbResponseStatus;

constexpr std::uint32_t kUnexpected = 5;  // Of the counters.

/// Longer than the delay of a missing page, of six units of 40 cycles, and shorter than the timer.
constexpr std::uint32_t kDelay = 450;

std::size_t asked(const Peer& peer, std::uint32_t jetty) {
  return static_cast<std::size_t>(
      std::count_if(peer.requests.begin(), peer.requests.end(),
                    [&](const wire::Btah& request) { return request.requester_id == jetty; }));
}

TEST(UbNicAndPeer, RequestThatIsNotReadyTwiceIsAskedOnce) {
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
  EXPECT_EQ(peer.nic->counters_o[kUnexpected], 5U);
  for (std::size_t i = 2; i < peer.requests.size(); ++i) {
    EXPECT_TRUE(peer.requests[i].retry);
    peer.answer(peer.requests[i], UbResponseStatus::kSuccess);
  }
  peer.run(kDelay);
  ASSERT_EQ(peer.completions.size(), 2U);
  EXPECT_EQ(peer.completions[0].status + peer.completions[1].status, 0);
  EXPECT_EQ(peer.requests.size(), 4U);
}

TEST(UbNicAndPeer, NothingAnswersARequestThatWaitsToBeAskedAgain) {
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

TEST(UbNicAndPeer, JettyOpenedAnewWhileAResponseIsTakenGoesOn) {
  for (const auto status : {UbResponseStatus::kSuccess, UbResponseStatus::kPageFault}) {
    for (std::uint32_t after = 0; after < 60 && !HasFailure(); ++after) {
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
      for (std::uint32_t tassn = 0; tassn < 4 && !HasFailure(); ++tassn) expect_strong(peer, tassn);
    }
  }
}

TEST(UbNicAndPeer, AnotherJettyOpenedWhileAResponseIsTakenChangesNothing) {
  for (std::uint32_t after = 0; after < 60 && !HasFailure(); ++after) {
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
    for (std::uint32_t tassn = 1; tassn < 5 && !HasFailure(); ++tassn) expect_strong(peer, tassn);
  }
}

TEST(UbNicAndPeer, JettyOpenedAnewForgetsARequestOnItsWayOut) {
  for (std::uint32_t after = 0; after < 12 && !HasFailure(); ++after) {
    SCOPED_TRACE(after);
    Peer peer;
    peer.ring(0, TaOpcode::kRead, OrderTag::kStrong, 1);
    peer.run(after);
    peer.open(0);
    peer.run(60);
    for (std::uint32_t tassn = 0; tassn < 4 && !HasFailure(); ++tassn) expect_strong(peer, tassn);
  }
}

TEST(UbNicAndPeer, PoisonAtThePeerHasItsNumberInACompletion) {
  Peer peer;
  peer.ring(0, TaOpcode::kSend, OrderTag::kNone, 1);
  peer.run(60);
  ASSERT_EQ(peer.requests.size(), 1U);
  peer.answer(peer.requests[0], UbResponseStatus::kError, UbResponseInfo::kPoison);
  peer.run(60);
  ASSERT_EQ(peer.completions.size(), 1U);
  EXPECT_EQ(peer.completions[0].status, 16);  // URMA_CR_REM_DATA_POISON.
}

}  // namespace
}  // namespace wharf::rtl
