// SPDX-License-Identifier: Apache-2.0
// A NIC tells its engine the truth about posted writes (one whose bytes cannot be placed is a fault, whatever
// it was for), and drains it until nothing is left.
#include "sim/host/nic/engine_nic.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/without_shared_objects.h"

namespace wharf::sim {
namespace {

/// Asks for the accesses it is given, remembers the answers, and does nothing else.
class AskingEngine : public engine::WithoutSharedObjects {
 public:
  std::vector<engine::Access> asks;
  std::vector<engine::Access> asks_when_sent;  ///< Asked for by the packet that is sent next.
  std::vector<engine::AccessStatus> answers;

  static bool supports(verbs::Verb) { return false; }
  Result<engine::QueueId> create_queue(TimePs, const engine::QueueConfig&) { return engine::QueueId{}; }
  Result<void> destroy_queue(TimePs, engine::QueueId) { return {}; }
  engine::Capabilities capabilities() const { return {}; }
  engine::QueueState queue_state(engine::QueueId) const { return engine::QueueState::kReady; }
  Result<void> fail_queue(TimePs, engine::QueueId) { return {}; }
  Result<void> reset_queue(TimePs, engine::QueueId) { return {}; }
  Result<void> forget_host(TimePs, wire::HostAddress) { return {}; }
  Result<void> cancel_receive(TimePs, engine::QueueId, std::uint64_t) { return {}; }
  Result<verbs::SegmentToken> register_segment(TimePs, const verbs::SegmentConfig&) {
    return verbs::SegmentToken{};
  }
  Result<void> deregister_segment(TimePs, verbs::SegmentToken) { return {}; }
  Result<engine::ExchangeBlob> export_queue(engine::QueueId) { return engine::ExchangeBlob{}; }
  Result<engine::PeerId> connect(TimePs, engine::QueueId, std::span<const std::byte>) {
    return engine::PeerId{};
  }
  Result<void> disconnect(TimePs, engine::QueueId, engine::PeerId) { return {}; }
  bool poll_event(engine::AsyncEvent&) { return false; }
  engine::PostStatus post(TimePs, engine::QueueId, const verbs::WorkRequest&, engine::Submission) {
    return engine::PostStatus::kUnsupported;
  }
  engine::PostStatus post_receive(TimePs, engine::QueueId, const verbs::ReceiveRequest&) {
    return engine::PostStatus::kUnsupported;
  }
  engine::PostStatus issue(TimePs, const verbs::LoadStore&) { return engine::PostStatus::kUnsupported; }
  bool poll(engine::QueueId, verbs::Completion&) { return false; }
  bool next_completed_queue(engine::QueueId&) { return false; }
  bool poll_load_store(verbs::LoadStoreResult&) { return false; }
  void receive(TimePs, std::uint32_t, const wire::Packet&) {}
  bool transmit(TimePs, std::uint32_t, wire::TrafficClassMask, wire::Packet& packet) {
    if (asks_when_sent.empty()) return false;
    asks.swap(asks_when_sent);
    packet = wire::roce_packet();
    return true;
  }
  bool next_access(engine::Access& out) {
    if (asks.empty()) return false;
    out = asks.back();
    asks.pop_back();
    return true;
  }
  void access_done(TimePs, engine::AccessId, const engine::AccessResult& result) {
    answers.push_back(result.status);
  }
  void expire(TimePs) {}
  TimePs deadline() const { return kNever; }
  void describe_waiting(std::vector<std::string>&) const {}
};

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
