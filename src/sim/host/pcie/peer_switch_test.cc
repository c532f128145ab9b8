// SPDX-License-Identifier: Apache-2.0
// A switch between a device and several destinations: who waits for whom, and when what waits goes on.
#include "sim/host/pcie/peer_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "sim/host/pcie/keeping_sink_test_support.h"

namespace wharf::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A device with a port of the switch to each of two destinations.
class Rig : public IoDevice {
 public:
  explicit Rig(const PeerSwitchConfig& config)
      : middle(simulation, config, {&sinks[0], &sinks[1]}, "switch"),
        ports{&middle.add_port(0), &middle.add_port(1)} {
    for (RequestSink* port : ports) port->connect(*this);
  }
  void answered(TimePs, const ordering::Response& response) override { answers.push_back(response.tag); }
  void credits_back(TimePs now) override { told.push_back(now); }

  bool ask(std::uint32_t port, std::uint32_t tag) {
    if (!ports[port]->can_submit(ordering::Kind::kRead)) return false;
    ordering::Request request;
    request.tag = tag;
    request.line = tag;
    ports[port]->submit(simulation.now(), request);
    return true;
  }
  std::vector<std::uint64_t> arrived(std::size_t at) const {
    std::vector<std::uint64_t> lines;
    for (const ordering::Request& request : sinks[at].requests) lines.push_back(request.line);
    return lines;
  }
  /// Few events: a switch that asks again and again does not come to an end.
  void run() { EXPECT_LT(simulation.run_for_events(1000).events, 1000U); }

  Simulation simulation;
  std::array<KeepingSink, 2> sinks;
  PeerSwitch middle;
  std::array<RequestSink*, 2> ports;
  std::vector<std::uint32_t> answers;
  std::vector<TimePs> told;
};

// A link that becomes free at an instant takes the next request at that instant.
TEST(PeerSwitch, TheNextRequestGoesOnWhenTheLinkIsFree) {
  for (const bool queues : {false, true}) {
    Rig rig({.virtual_output_queues = queues});
    rig.sinks[0].gap = nanoseconds(2);
    for (std::uint32_t tag = 0; tag < 4; ++tag) EXPECT_TRUE(rig.ask(0, tag));
    rig.run();
    EXPECT_THAT(rig.arrived(0), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(rig.sinks[0].at, ElementsAre(kTimeZero, nanoseconds(2), nanoseconds(4), nanoseconds(6)));
  }
}

// In one queue, whoever stands behind a request whose destination has no room waits with it.
TEST(PeerSwitch, AFullDestinationHoldsUpThoseOfItsQueue) {
  for (const bool queues : {false, true}) {
    Rig rig({.virtual_output_queues = queues});
    rig.sinks[0].credits = 1;
    EXPECT_TRUE(rig.ask(0, 1));
    EXPECT_TRUE(rig.ask(0, 2));
    EXPECT_TRUE(rig.ask(1, 3));
    rig.run();
    EXPECT_THAT(rig.arrived(0), ElementsAre(1));
    EXPECT_EQ(rig.arrived(1).size(), queues ? 1U : 0U);
    rig.sinks[0].give_credits(rig.simulation.now(), 1);
    rig.run();
    EXPECT_THAT(rig.arrived(0), ElementsAre(1, 2));
    EXPECT_THAT(rig.arrived(1), ElementsAre(3));
  }
}

// A port that was refused is told of the next place, once.
TEST(PeerSwitch, APortThatWasRefusedIsTold) {
  Rig rig({.virtual_output_queues = false, .entries = 2});
  rig.sinks[0].credits = 0;
  EXPECT_TRUE(rig.ask(0, 1));
  EXPECT_TRUE(rig.ask(0, 2));
  EXPECT_FALSE(rig.ask(0, 3));
  EXPECT_FALSE(rig.ask(1, 4));
  EXPECT_THAT(rig.told, IsEmpty());
  rig.sinks[0].give_credits(kTimeZero, 1);
  EXPECT_EQ(rig.told.size(), 1U);
  rig.sinks[0].give_credits(kTimeZero, 1);
  EXPECT_EQ(rig.told.size(), 2U);
  EXPECT_THAT(rig.arrived(0), ElementsAre(1, 2));
}

// Answers find the request that they are to, whichever port it came by.
TEST(PeerSwitch, AnswersComeBackUnderTheirOwnTag) {
  Rig rig({});
  EXPECT_TRUE(rig.ask(0, 5));
  EXPECT_TRUE(rig.ask(1, 6));
  EXPECT_TRUE(rig.ask(1, 7));
  rig.run();
  rig.sinks[1].answer(rig.simulation.now(), 1);
  rig.sinks[0].answer(rig.simulation.now(), 0);
  rig.sinks[1].answer(rig.simulation.now(), 0);
  EXPECT_THAT(rig.answers, ElementsAre(7, 5, 6));
}

// What the device behind the switch answers names the request: whoever asked finds it by that.
TEST(PeerDevice, AnswersNameTheirRequest) {
  struct Asker : IoDevice {
    void answered(TimePs, const ordering::Response& response) override { answers.push_back(response); }
    void credits_back(TimePs) override {}
    std::vector<ordering::Response> answers;
  };
  Simulation simulation;
  Asker asker;
  PeerDevice device(simulation, {}, nanoseconds(100), PeerBusyFrom::kArrival, "device");
  device.connect(asker);
  ordering::Request request;
  request.kind = ordering::Kind::kRead;
  request.tag = 5;
  request.number = 7;
  request.domain.thread = 3;
  request.line = 11;
  request.mask = ordering::byte_mask(4, 8);
  request.is_last = false;
  device.submit(simulation.now(), request);
  simulation.run_for_events(100);
  ASSERT_EQ(asker.answers.size(), 1U);
  const ordering::Response& answer = asker.answers[0];
  EXPECT_EQ(answer.kind, ordering::Kind::kRead);
  EXPECT_EQ(answer.tag, request.tag);
  EXPECT_EQ(answer.number, request.number);
  EXPECT_EQ(answer.domain, request.domain);
  EXPECT_EQ(answer.line, request.line);
  EXPECT_EQ(answer.mask, request.mask);
  EXPECT_FALSE(answer.is_last);
}

}  // namespace
}  // namespace wharf::sim
