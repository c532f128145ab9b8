// SPDX-License-Identifier: Apache-2.0
// Two hosts, one link: the world that every two-host scenario, study and benchmark runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/fabric/link_config.h"
#include "sim/world/world.h"

namespace wharf::sim {

/// What to build. Engine configurations need no host number, tracer or context address: those are filled in.
struct TwoHostsConfig {
  Stack stack = kDefaultStack;
  std::optional<Attachment> attachment;      ///< Where the NICs sit; empty: where the stack usually has them.
  std::optional<SubmissionPath> submission;  ///< How work requests reach them; likewise.
  HostConfig host;                           ///< Both hosts.
  LinkConfig link;
  EngineConfigs engines;                     ///< That of the stack's protocol alone matters.
  std::array<std::uint32_t, 2> cores{1, 1};  ///< By host.
  std::uint64_t seed = 1;
  bool attribution = true;             ///< Account for the time of every operation.
  std::size_t record_limit = 100'000;  ///< Records of the operation log.
  std::size_t record_reserve = 0;      ///< Room for records that is taken at once.
};

/// The world of two hosts whose topology is back_to_back.
class TwoHosts {
 public:
  /// Refuses what cannot be built, naming the key.
  static Result<std::unique_ptr<TwoHosts>> create(const TwoHostsConfig& config);

  World& world() { return *world_; }
  Host& host(std::size_t index) { return world_->host(index); }
  /// Events of one host.
  Simulation& simulation(std::size_t index) { return world_->simulation(index); }
  const OperationLog& log() { return world_->log(); }
  wire::PayloadPool& payloads() { return world_->payloads(0); }
  /// The direction from host `from` to the other.
  LinkReport link(std::size_t from) const { return world_->link(static_cast<PortId>(from)); }
  /// As World has them.
  Result<verbs::RemoteSegment> expose(std::size_t index, Bytes length,
                                      verbs::AccessRights rights = verbs::kFullAccess,
                                      verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed) {
    return world_->expose(index, length, rights, read_order);
  }
  Result<verbs::RemoteSegment> expose_pattern(std::size_t index, Bytes length, std::uint32_t pattern,
                                              verbs::AccessRights rights = verbs::kFullAccess) {
    return world_->expose_pattern(index, length, pattern, rights);
  }
  /// Connects a new queue of host 0 with a new queue of host 1.
  Result<RemotePair> connect(const verbs::RemoteSegment& near_segment,
                             const verbs::RemoteSegment& far_segment = {}, std::uint32_t depth = 128) {
    return world_->connect(0, 1, near_segment, far_segment, depth);
  }

  RunResult run(TimePs limit = kNever) { return world_->run(limit); }
  RunResult settle() { return world_->settle(); }
  bool programs_ended() const { return world_->programs_ended(); }
  TimePs now() const { return world_->now(); }
  std::uint64_t events_executed() const { return world_->events_executed(); }
  std::uint64_t fingerprint() const { return world_->fingerprint(); }
  std::vector<std::string> describe_waiting() const { return world_->describe_waiting(); }

 private:
  explicit TwoHosts(std::unique_ptr<World> world) : world_(std::move(world)) {}

  std::unique_ptr<World> world_;
};

}  // namespace wharf::sim
