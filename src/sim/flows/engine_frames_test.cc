// SPDX-License-Identifier: Apache-2.0
// What frames take on a link, counted by hand from the headers of each protocol, and what runs really send.
#include "sim/flows/engine_frames.h"

#include <gtest/gtest.h>

namespace wharf::sim {
namespace {

// Ethernet 14 and 4, preamble and gap 20, IPv4 20, UDP 8.
constexpr std::uint32_t kAround = 14 + 4 + 20 + 20 + 8;

TEST(EngineFrames, OfRoceHaveBthAndIcrcAndInTheFirstAnAddress) {
  EngineConfigs engines;
  const EngineFrames frames = engine_frames(wire::Protocol::kRoce, engines, 4096).value();
  EXPECT_EQ(frames.only, kAround + 12 + 16 + 4);  // BTH, RETH, ICRC
  EXPECT_EQ(frames.first, kAround + 12 + 16 + 4);
  EXPECT_EQ(frames.further, kAround + 12 + 4);
  EXPECT_EQ(frames.last, kAround + 12 + 4);
  EXPECT_EQ(frames.answer, kAround + 12 + 4 + 4);  // BTH, AETH, ICRC
  std::get<RoceProtocol::Config>(engines).ip_version = wire::IpVersion::kV6;
  EXPECT_EQ(engine_frames(wire::Protocol::kRoce, engines, 4096)->further, kAround + 20 + 12 + 4);
}

// The first response of a read and its last have an AETH; a READ request is a RETH.
TEST(EngineFrames, OfRoceReadsAndSendsHaveTheirOwnHeaders) {
  const EngineFrames read = engine_frames(wire::Protocol::kRoce, {}, 4096, verbs::Verb::kRead).value();
  EXPECT_EQ(read.only, kAround + 12 + 4 + 4);  // BTH, AETH, ICRC
  EXPECT_EQ(read.first, kAround + 12 + 4 + 4);
  EXPECT_EQ(read.further, kAround + 12 + 4);
  EXPECT_EQ(read.last, kAround + 12 + 4 + 4);
  EXPECT_EQ(read.answer, kAround + 12 + 16 + 4);
  const EngineFrames send = engine_frames(wire::Protocol::kRoce, {}, 4096, verbs::Verb::kSend).value();
  EXPECT_EQ(send.only, kAround + 12 + 4);
  EXPECT_EQ(send.first, kAround + 12 + 4);
  EXPECT_EQ(send.last, kAround + 12 + 4);
  EXPECT_EQ(send.answer, kAround + 12 + 4 + 4);
}

TEST(EngineFrames, OfUltraEthernetAreThoseThatTheProtocolNames) {
  const EngineFrames frames = engine_frames(wire::Protocol::kUet, {}, 4096).value();
  EXPECT_EQ(frames.only, UetProtocol::kRules.data_overhead);
  EXPECT_EQ(frames.first, UetProtocol::kRules.data_overhead);
  EXPECT_EQ(frames.further, UetProtocol::kRules.data_overhead);
  EXPECT_EQ(frames.last, UetProtocol::kRules.data_overhead);
  EXPECT_EQ(frames.answer, UetProtocol::kRules.acknowledgement);
}

TEST(EngineFrames, OfUnifiedBusFollowTheEncapsulation) {
  EngineConfigs engines;
  const EngineFrames ethernet = engine_frames(wire::Protocol::kUb, engines, 4096).value();
  EXPECT_GE(ethernet.only, 106U);
  EXPECT_LE(ethernet.only, 114U + 20U);
  std::get<UbProtocol::Config>(engines).encapsulation = wire::UbEncapsulation::kCna24OnLink;
  EXPECT_LT(engine_frames(wire::Protocol::kUb, engines, 4096)->only, ethernet.only);
}

}  // namespace
}  // namespace wharf::sim
