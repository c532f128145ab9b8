// SPDX-License-Identifier: Apache-2.0
// An engine that does nothing of itself, for tests of what is around it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/contract.h"
#include "engine/without_shared_objects.h"

namespace wharf::sim {

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

}  // namespace wharf::sim
