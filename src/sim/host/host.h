// SPDX-License-Identifier: Apache-2.0
// One simulated host: core, caches, memory, bus and a NIC, put together.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "sim/host/coherent_host.h"
#include "sim/host/config/host_config.h"
#include "sim/host/core/core.h"
#include "sim/host/core/load_store_port.h"
#include "sim/host/core/run_records.h"
#include "sim/host/core/sim_core.h"
#include "sim/host/core/sim_remote.h"
#include "sim/host/memory/cache_hierarchy.h"
#include "sim/host/memory/dram.h"
#include "sim/host/memory/host_memory.h"
#include "sim/host/memory/on_chip_bus.h"
#include "sim/host/nic/nic.h"
#include "sim/kernel/simulation.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

/// What a host is given; all of it outlives the host.
struct RunShared {
  Simulation& simulation;
  trace::Tracer& tracer;
  wire::PayloadPool& payloads;
  RunRecords& records;
  ProgramTally& programs;
  std::uint64_t seed = 1;
};

/// One host with one NIC.
class Host {
 public:
  /// `config` must pass validate(). Adds the core to the simulation.
  static Result<std::unique_ptr<Host>> create(const HostConfig& config, std::uint16_t number,
                                              const RunShared& shared);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// What a NIC of this host needs to be built.
  HostParts parts() { return {memory_, dram_, bus_, shared_.tracer, shared_.payloads}; }
  /// Puts the NIC in and adds it to the simulation. `supported`: bit per verb of its engine.
  void install(std::unique_ptr<Nic> nic, Attachment attachment, SubmissionPath submission,
               std::uint32_t supported);

  /// With memory.system = coherent: builds caches, home and root complex, adds them to the simulation, and
  /// puts them between core, NIC and memory. To be called once, after install() and before the run; with a
  /// flat memory it does nothing.
  Result<void> connect_memory();

  std::uint16_t number() const { return number_; }
  const HostConfig& config() const { return config_; }
  HostMemory& memory() { return memory_; }
  CacheHierarchy& caches() { return caches_; }
  SimCore& core() { return sim_core_; }
  /// Programs that have not ended.
  std::size_t programs_running() const { return core_.tasks_running(); }
  Nic& nic() { return *nic_; }
  /// Null where memory is flat.
  CoherentHost* coherent() { return coherent_.get(); }
  /// Null when the engine has no loads and stores.
  LoadStorePort* load_store() { return load_store_.get(); }

  /// Registers [base, base + length) and returns what peers need to use it.
  Result<verbs::RemoteSegment> expose(const verbs::SegmentConfig& segment);
  /// A queue with rings of `depth` entries (a power of two) in this host's memory.
  Result<engine::QueueId> create_queue(std::uint32_t depth);
  /// Remote memory over a queue that is connected to `peer`. Lives as long as the host.
  SimRemote& add_remote(engine::QueueId queue, engine::PeerId peer, const verbs::RemoteSegment& segment);

  /// Who waits for what among the programs' operations, one line each.
  void describe_waiting(std::vector<std::string>& lines) const;

 private:
  Host(const HostConfig& config, std::uint16_t number, const RunShared& shared, CacheHierarchy caches);

  HostConfig config_;
  std::uint16_t number_;
  RunShared shared_;
  HostMemory memory_;
  Dram dram_;
  OnChipBus bus_;
  CacheHierarchy caches_;
  Core core_;
  SimCore sim_core_;
  std::unique_ptr<Nic> nic_;
  Attachment attachment_ = Attachment::kOnChipBus;
  SubmissionPath submission_ = SubmissionPath::kBusStore;
  std::uint32_t supported_ = 0;
  std::unique_ptr<LoadStorePort> load_store_;
  std::unique_ptr<CoherentHost> coherent_;
  std::unique_ptr<MmioStream> stream_;  ///< Made with the first remote of a host that submits so.
  std::deque<SimRemote> remotes_;
};

/// Bit per verb that engine E has.
template <typename E>
std::uint32_t supported_verbs() {
  std::uint32_t bits = 0;
  for (int verb = 0; verb < verbs::kVerbCount; ++verb) {
    if (E::supports(static_cast<verbs::Verb>(verb))) bits |= 1U << static_cast<unsigned>(verb);
  }
  return bits;
}

}  // namespace wharf::sim
