// SPDX-License-Identifier: Apache-2.0
// A NIC tells its engine the truth about posted writes (one whose bytes cannot be placed is a fault, whatever
// it was for), and drains it until nothing is left.
#include "sim/host/nic/engine_nic.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/host/nic/asking_engine_test_support.h"

namespace wharf::sim {
namespace {

class SilentWire final : public NicWire {
 public:
  wire::Packet& next_packet() override { return packet_; }
  void send(TimePs, TimePs) override {}

 private:
  wire::Packet packet_;
};

/// When the engine asks for its access.
enum class Asks { kOnInput, kOnTransmit };

/// What the engine is told about a posted write of 64 bytes, into a page or beyond its end.
engine::AccessStatus answer_to(engine::AccessKind kind, Attachment attachment, bool mapped,
                               Asks when = Asks::kOnInput) {
  const HostConfig config;
  Simulation simulation;
  trace::Tracer tracer;
  wire::PayloadPool payloads;
  HostMemory memory;
  Dram dram(config.memory, config.time.rounding);
  OnChipBus bus(config.bus, config.time.rounding);
  const std::uint64_t base = memory.allocate(Bytes{4096});
  EngineNic<AskingEngine> nic(simulation, config, attachment, {memory, dram, bus, tracer, payloads}, 0,
                              std::make_unique<AskingEngine>());
  simulation.add(nic, "nic");
  SilentWire wire;
  nic.connect_wire(wire);
  engine::Access access;
  access.kind = kind;
  access.length = 64;
  access.address = mapped ? base : base + 4096 - 63;
  access.data = wire::pattern_payload(1, 0, 64);
  (when == Asks::kOnInput ? nic.engine().asks : nic.engine().asks_when_sent).push_back(access);
  nic.receive(wire::roce_packet(), kTimeZero);  // Any input lets the NIC drain what the engine asks for.
  simulation.run_until(kNever);
  EXPECT_EQ(nic.engine().answers.size(), 1U);
  return nic.engine().answers.empty() ? engine::AccessStatus::kPoison : nic.engine().answers[0];
}

TEST(EngineNic, APostedWriteThatIsNotMappedIsAFault) {
  for (const engine::AccessKind kind : {engine::AccessKind::kWrite, engine::AccessKind::kWriteContext}) {
    for (const Attachment attachment : {Attachment::kOnChipBus, Attachment::kPcie}) {
      EXPECT_EQ(answer_to(kind, attachment, true), engine::AccessStatus::kDone);
      EXPECT_EQ(answer_to(kind, attachment, false), engine::AccessStatus::kFault);
    }
  }
}

// Contract: drained until all outputs are empty, what transmit() asks for included.
TEST(EngineNic, WhatSendingAsksForIsDoneWithoutAnotherInput) {
  EXPECT_EQ(answer_to(engine::AccessKind::kWrite, Attachment::kPcie, true, Asks::kOnTransmit),
            engine::AccessStatus::kDone);
}

}  // namespace
}  // namespace wharf::sim
