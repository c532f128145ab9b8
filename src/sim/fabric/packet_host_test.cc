// SPDX-License-Identifier: Apache-2.0
// What a host of packets tells of the links that they cross.
#include "sim/fabric/packet_host.h"

#include <gtest/gtest.h>

namespace wharf::sim {
namespace {

/// Sends and takes nothing.
struct Quiet {
  bool transmit(TimePs, std::uint32_t, wire::TrafficClassMask, wire::Packet&) { return false; }
  void receive(TimePs, std::uint32_t, const wire::Packet&) {}
  void expire(TimePs) {}
  TimePs deadline() const { return kNever; }
};
using Host = PacketHost<Quiet>;

wire::Packet packet_of(std::uint64_t operation) {
  wire::Packet packet = wire::roce_packet();
  packet.roce.bth.opcode = wire::RoceOpcode::kRcWriteOnly;
  packet.operation.value = operation;
  return packet;
}

constexpr std::uint64_t kObserved = std::uint64_t{1} << 63U;

TEST(PacketHost, AnObservedOperationLearnsWhereItsPacketWaitedAndHowLongItWasUnderWay) {
  PacketContext context;
  const wire::Packet packet = packet_of(kObserved);
  ASSERT_TRUE(trace::Attribution::is_tag(packet.operation));
  Host::crossed(packet, context, {7, nanoseconds(10), nanoseconds(30), nanoseconds(90)});
  ASSERT_EQ(context.foreign.size(), 2U);
  const trace::ForeignSpan& queue = context.foreign[0];
  EXPECT_EQ(queue.stage, trace::Stage::kLinkQueue);
  EXPECT_EQ(queue.begin, nanoseconds(10));
  EXPECT_EQ(queue.end, nanoseconds(30));
  EXPECT_EQ(queue.place, 8U);
  const trace::ForeignSpan& link = context.foreign[1];
  EXPECT_EQ(link.stage, trace::Stage::kWireForward);
  EXPECT_EQ(link.begin, nanoseconds(30));
  EXPECT_EQ(link.end, nanoseconds(90));
  EXPECT_EQ(link.place, 8U);
  for (const trace::ForeignSpan& span : context.foreign) {
    EXPECT_EQ(span.operation.value, kObserved);
    EXPECT_EQ(span.reported, nanoseconds(10));
  }
}

TEST(PacketHost, WhatDidNotWaitIsOnlyUnderWayAndAnswersComeBack) {
  PacketContext context;
  wire::Packet answer = packet_of(kObserved);
  answer.roce.bth.opcode = wire::RoceOpcode::kRcAcknowledge;
  Host::crossed(answer, context, {0, nanoseconds(10), nanoseconds(10), nanoseconds(20)});
  ASSERT_EQ(context.foreign.size(), 1U);
  EXPECT_EQ(context.foreign[0].stage, trace::Stage::kWireBack);
}

TEST(PacketHost, NothingIsToldOfWhatNobodyObserves) {
  PacketContext context;
  for (const std::uint64_t operation : {std::uint64_t{0}, std::uint64_t{1}})
    Host::crossed(packet_of(operation), context, {0, nanoseconds(10), nanoseconds(30), nanoseconds(90)});
  EXPECT_TRUE(context.foreign.empty());
}

}  // namespace
}  // namespace wharf::sim
