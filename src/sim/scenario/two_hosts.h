// SPDX-License-Identifier: Apache-2.0
// Two hosts, one link: the assembly that every two-host scenario, study and benchmark runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/roce/config.h"
#include "engine/ub/config.h"
#include "engine/uet/config.h"
#include "sim/fabric/link.h"
#include "sim/host/host.h"
#include "sim/host/operation_log.h"
#include "sim/host/run_records.h"
#include "sim/kernel/simulation.h"
#include "sim/scenario/stack.h"
#include "trace/tracer.h"
#include "wire/payload_pool.h"

namespace wharf::ub {
class UbEngine;
}
namespace wharf::roce {
class RoceEngine;
}
namespace wharf::uet {
class UetEngine;
}

namespace wharf::sim {

/// What to build. Engine configurations need no host number, tracer or context address: those are filled in.
struct TwoHostsConfig {
  Stack stack = Stack::kUbUrma;
  std::optional<Attachment> attachment;      ///< Where the NICs sit; empty: where the stack usually has them.
  std::optional<SubmissionPath> submission;  ///< How work requests reach them; likewise.
  HostConfig host;                           ///< Both hosts.
  LinkConfig link;
  ub::UbConfig ub;
  roce::RoceConfig roce;
  uet::UetConfig uet;
  std::uint64_t seed = 1;
  bool attribution = true;             ///< Account for the time of every operation.
  std::size_t record_limit = 100'000;  ///< Records of the operation log.
  std::size_t record_reserve = 0;      ///< Room for records that is taken at once.
};

/// The simulation component that events of the link direction from host `from` (0 or 1) carry.
constexpr std::uint32_t link_component(std::uint32_t from) { return 4 + from; }

/// Both ends of a connected pair of queues.
struct RemotePair {
  SimRemote* near = nullptr;  ///< On host 0, toward the memory of host 1.
  SimRemote* far = nullptr;   ///< On host 1, toward the memory of host 0.
};

/// The object graph of one run. Programs are spawned on the cores of the hosts; run() returns when the last
/// has ended.
class TwoHosts {
 public:
  /// Refuses what cannot be built, naming the key.
  static Result<std::unique_ptr<TwoHosts>> create(const TwoHostsConfig& config);
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;
  ~TwoHosts();

  Host& host(std::size_t index) { return *hosts_[index]; }
  Simulation& simulation() { return simulation_; }
  trace::Tracer& tracer() { return tracer_; }
  OperationLog& log() { return log_; }
  RunRecords& records() { return records_; }
  wire::PayloadPool& payloads() { return payloads_; }
  /// The direction from host `from` to the other.
  const LinkDirection& link(std::size_t from) const { return *links_[from]; }
  /// The engine of host `index`: the one that the stack has, the others null.
  ub::UbEngine* ub_engine(std::size_t index);
  roce::RoceEngine* roce_engine(std::size_t index);
  uet::UetEngine* uet_engine(std::size_t index);

  /// Zeroed memory of host `index` that its peers may use as `rights` say. An Error of kind kEnvironment when
  /// the machine that simulates does not give that much at once.
  Result<verbs::RemoteSegment> expose(std::size_t index, Bytes length,
                                      verbs::AccessRights rights = verbs::kFullAccess,
                                      verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed);
  /// The same without real bytes: it always reads as pattern number `pattern`.
  Result<verbs::RemoteSegment> expose_pattern(std::size_t index, Bytes length, std::uint32_t pattern,
                                              verbs::AccessRights rights = verbs::kFullAccess);

  /// Connects a new queue of host 0 with a new queue of host 1, `depth` entries each (a power of two).
  /// `near_segment` is what host 1 exposes to host 0, `far_segment` the reverse (may be empty).
  Result<RemotePair> connect(const verbs::RemoteSegment& near_segment,
                             const verbs::RemoteSegment& far_segment = {}, std::uint32_t depth = 128);

  /// Runs until every program has ended, `limit` is reached, or nothing is left to happen (a stall).
  RunResult run(TimePs limit = kNever) { return simulation_.run_until(limit); }
  /// Goes on until what the programs left behind (acknowledgements, write-backs, timers) has settled.
  RunResult settle() { return simulation_.run_until(kNever); }
  bool programs_ended() const { return programs_.running == 0; }

  /// Who waits for what: the operations of programs first, then the components.
  std::vector<std::string> describe_waiting() const;

 private:
  class Plug;
  explicit TwoHosts(const TwoHostsConfig& config);
  Result<void> install_nic(std::size_t index);
  template <typename E>
  Result<void> install_engine(std::size_t index, Result<E> engine, std::uint32_t verbs);
  Result<void> install_ub(std::size_t index);
  Result<void> install_roce(std::size_t index);
  Result<void> install_uet(std::size_t index);
  template <typename E>
  E* engine_of(std::size_t index, wire::Protocol protocol);

  TwoHostsConfig config_;
  Simulation simulation_;
  trace::Tracer tracer_;
  wire::PayloadPool payloads_;
  Arena arena_;
  OperationLog log_;
  RunRecords records_;
  ProgramTally programs_;
  std::array<std::unique_ptr<Host>, 2> hosts_;
  std::array<std::unique_ptr<LinkDirection>, 2> links_;
  std::array<std::unique_ptr<Plug>, 2> plugs_;
};

}  // namespace wharf::sim
