// SPDX-License-Identifier: Apache-2.0
// The hardware NIC of rtl/ub_nic behind the engine contract: clocked while it has something to do, its
// doorbells, memory port, wire and completions as calls of an engine. docs/hardware.md says what it can do.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/contract.h"
#include "engine/named_counter.h"
#include "engine/ub/hardware/nic_model.h"
#include "engine/without_shared_objects.h"
#include "trace/tracer.h"
#include "wire/host_address.h"
#include "wire/payload_pool.h"

namespace wharf::hardware {

struct HardwareConfig {
  wire::HostAddress host{};
  TimePs cycle = nanoseconds(4);    ///< Of its clock. 250 MHz is what rtl/ is written for.
  trace::Tracer* tracer = nullptr;  ///< May be null; outlives the engine.
  /// Room in host memory for its ring of completions, and for results of atomics that nobody wants:
  /// HardwareNic::memory_needed() bytes, from a line on.
  std::uint64_t memory = 0;
};

/// One NIC and the driver that stands before it: requests beyond what the NIC has places for wait here, in
/// order, and completions of a queue are shown in posting order where a request asks for it. A queue is a
/// jetty; all queues have one peer host, the first that connect() names.
class HardwareNic : public engine::WithoutSharedObjects {
 public:
  /// Refused where the module is missing (nic_module.h).
  static Result<HardwareNic> create(const HardwareConfig& config, wire::PayloadPool& payloads);
  HardwareNic(HardwareNic&&) noexcept;
  HardwareNic& operator=(HardwareNic&&) noexcept;
  ~HardwareNic();

  static constexpr bool supports(verbs::Verb verb) {
    return !verbs::is_load_store(verb) && verb != verbs::Verb::kSendInvalidate &&
           verb != verbs::Verb::kWriteNotify;
  }
  static engine::Capabilities capabilities_of(const NicSizes& sizes);
  /// Nothing where the module is missing.
  static Bytes memory_needed();

  // Control.
  engine::Capabilities capabilities() const;
  Result<engine::QueueId> create_queue(TimePs now, const engine::QueueConfig& config);
  Result<void> destroy_queue(TimePs now, engine::QueueId queue);
  engine::QueueState queue_state(engine::QueueId queue) const;
  Result<void> fail_queue(TimePs now, engine::QueueId queue);
  Result<void> reset_queue(TimePs now, engine::QueueId queue);
  Result<verbs::SegmentToken> register_segment(TimePs now, const verbs::SegmentConfig& config);
  Result<void> deregister_segment(TimePs now, verbs::SegmentToken token);
  Result<engine::ExchangeBlob> export_queue(engine::QueueId queue) const;
  Result<engine::PeerId> connect(TimePs now, engine::QueueId queue, std::span<const std::byte> blob);
  Result<void> disconnect(TimePs now, engine::QueueId queue, engine::PeerId peer);
  Result<void> forget_host(TimePs now, wire::HostAddress host);
  bool poll_event(engine::AsyncEvent& event);
  void describe_waiting(std::vector<std::string>& lines) const;

  // Application.
  engine::PostStatus post(TimePs now, engine::QueueId queue, const verbs::WorkRequest& request,
                          engine::Submission submission);
  engine::PostStatus post_receive(TimePs now, engine::QueueId queue, const verbs::ReceiveRequest& receive);
  Result<void> cancel_receive(TimePs now, engine::QueueId queue, std::uint64_t id);
  engine::PostStatus issue(TimePs, const verbs::LoadStore&) { return engine::PostStatus::kUnsupported; }
  bool poll(engine::QueueId queue, verbs::Completion& completion);
  bool next_completed_queue(engine::QueueId& queue);
  static bool poll_load_store(verbs::LoadStoreResult&) { return false; }

  // Network.
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet);
  bool transmit(TimePs now, std::uint32_t port, wire::TrafficClassMask allowed, wire::Packet& packet);

  // Memory.
  bool next_access(engine::Access& access);
  void access_done(TimePs now, engine::AccessId id, const engine::AccessResult& result);

  // Time.
  void expire(TimePs now);
  TimePs deadline() const;

  /// What the NIC counts, by the names of wharf_pkg::nic_counters_t, and the cycles that it was clocked.
  std::vector<engine::NamedCounter> counters() const;
  static std::span<const std::string_view> counter_names();

 private:
  struct State;
  explicit HardwareNic(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace wharf::hardware
