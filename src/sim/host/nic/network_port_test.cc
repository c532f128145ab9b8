// SPDX-License-Identifier: Apache-2.0
// The packets that a NIC has for its links: each leaves by its own port, when its head is there and its class
// may, and those of which that is not so keep their places.
#include "sim/host/nic/network_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "sim/host/nic/asking_engine_test_support.h"
#include "sim/host/nic/engine_nic.h"

namespace wharf::sim {
namespace {

using testing::ElementsAre;
using wire::TrafficClass;

constexpr TimePs kSending = nanoseconds(10);

/// Every packet takes equally long; its destination is the port that it takes.
class Links final : public LinkPace {
 public:
  explicit Links(std::uint32_t ports) : ports_(ports) {}
  TimePs sending_time(const wire::Packet&) const override { return kSending; }
  BitsPerSecond rate() const override { return gigabits_per_second(100); }
  std::uint32_t ports() const override { return ports_; }
  std::uint32_t port_of(const wire::Packet& packet) const override { return packet.destination.number; }

 private:
  std::uint32_t ports_;
};

class Rig {
 public:
  explicit Rig(std::uint32_t ports = 1)
      : links_(ports),
        dram_(config_.memory, config_.time.rounding),
        bus_(config_.bus, config_.time.rounding),
        nic_(simulation_, config_, Attachment::kPcie, {memory_, dram_, bus_, tracer_, payloads_}, 0,
             std::make_unique<AskingEngine>()),
        port(simulation_, nic_, payloads_, tracer_, links_, false) {
    simulation_.add(nic_, "nic");
    simulation_.add(port, "port");
    port.attach();
  }
  void send(std::uint32_t name, TrafficClass traffic_class, TimePs head = kTimeZero, std::uint32_t by = 0) {
    wire::Packet& packet = port.next_packet();
    packet = wire::roce_packet();
    packet.source.number = name;
    packet.destination.number = by;
    packet.traffic_class = traffic_class;
    port.send(head, head);
  }
  /// The names of all that leave by `by` at `now`.
  std::vector<std::uint32_t> take(TimePs now, wire::TrafficClassMask allowed, std::uint32_t by = 0) {
    std::vector<std::uint32_t> names;
    wire::Packet packet;
    TimePs whole;
    while (port.take(now, by, allowed, packet, whole)) names.push_back(packet.source.number);
    return names;
  }

 private:
  HostConfig config_;
  Simulation simulation_;
  trace::Tracer tracer_;
  wire::PayloadPool payloads_;
  HostMemory memory_;
  Links links_;
  Dram dram_;
  OnChipBus bus_;
  EngineNic<AskingEngine> nic_;

 public:
  NetworkPort port;
};

constexpr auto kAll = wire::kAllTrafficClasses;

TEST(NetworkPort, PacketsLeaveInTheirOrder) {
  Rig rig;
  for (std::uint32_t name = 1; name <= 40; ++name)
    rig.send(name, name % 2 == 0 ? TrafficClass::kData : TrafficClass::kControl);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t name = 1; name <= 40; ++name) expected.push_back(name);
  EXPECT_EQ(rig.take(kTimeZero, kAll), expected);
  EXPECT_EQ(rig.port.ready_at(), kNever);
}

TEST(NetworkPort, WhatTheLinkMayNotCarryNowKeepsItsPlace) {
  Rig rig;
  const auto data = wire::mask_of(TrafficClass::kData);
  const auto others = static_cast<wire::TrafficClassMask>(kAll & ~data);
  rig.send(1, TrafficClass::kControl);
  rig.send(2, TrafficClass::kAcknowledgement);
  rig.send(3, TrafficClass::kControl);
  rig.send(4, TrafficClass::kData);
  rig.send(5, TrafficClass::kRetransmission);
  rig.send(6, TrafficClass::kData);
  rig.send(7, TrafficClass::kControl);
  EXPECT_THAT(rig.take(kTimeZero, data), ElementsAre(4, 6));
  rig.send(8, TrafficClass::kAcknowledgement);
  EXPECT_THAT(rig.take(kTimeZero, data), ElementsAre());
  EXPECT_THAT(rig.take(kTimeZero, others), ElementsAre(1, 2, 3, 5, 7, 8));
}

// Heads come in order: behind one that is not there yet nothing is.
TEST(NetworkPort, APacketLeavesWhenItsHeadIsThere) {
  Rig rig;
  rig.send(1, TrafficClass::kData, nanoseconds(5));
  rig.send(2, TrafficClass::kControl, nanoseconds(7));
  EXPECT_EQ(rig.port.ready_at(), nanoseconds(5));
  EXPECT_THAT(rig.take(nanoseconds(5) - picoseconds(1), kAll), ElementsAre());
  EXPECT_THAT(rig.take(nanoseconds(5), kAll), ElementsAre(1));
  EXPECT_EQ(rig.port.ready_at(), nanoseconds(7));
  EXPECT_THAT(rig.take(nanoseconds(7), kAll), ElementsAre(2));
}

TEST(NetworkPort, EachPortHasItsOwnPackets) {
  Rig rig(2);
  rig.send(1, TrafficClass::kData, kTimeZero, 0);
  rig.send(2, TrafficClass::kData, kTimeZero, 1);
  rig.send(3, TrafficClass::kData, kTimeZero, 0);
  rig.send(4, TrafficClass::kData, kTimeZero, 1);
  EXPECT_THAT(rig.take(kTimeZero, kAll, 1), ElementsAre(2, 4));
  EXPECT_THAT(rig.take(kTimeZero, kAll, 0), ElementsAre(1, 3));
}

// What waits and what is being sent keep the link: the NIC sees how long.
TEST(NetworkPort, TheLinkIsFreeAfterWhatItHas) {
  Rig rig;
  EXPECT_EQ(rig.port.open(kTimeZero, kTimeZero), kAll);
  rig.send(1, TrafficClass::kData);
  EXPECT_EQ(rig.port.free_at(), kNever);
  rig.take(nanoseconds(3), kAll);
  EXPECT_EQ(rig.port.free_at(), nanoseconds(3) + kSending);
  EXPECT_EQ(rig.port.open(nanoseconds(3), nanoseconds(3)), 0);
  EXPECT_EQ(rig.port.open(nanoseconds(3), nanoseconds(3) + kSending), kAll);
}

}  // namespace
}  // namespace wharf::sim
