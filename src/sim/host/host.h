// SPDX-License-Identifier: Apache-2.0
// One simulated host: core, caches, memory, bus and a NIC, put together.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
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

/// One host with its NICs, which share its memory.
class Host {
 public:
  /// `config` must pass validate(). Adds the core to the simulation.
  static Result<std::unique_ptr<Host>> create(const HostConfig& config, std::uint16_t number,
                                              const RunShared& shared);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// What a NIC of this host needs to be built.
  HostParts parts() { return {memory_, dram_, bus_, shared_.tracer, shared_.payloads}; }
  /// Puts a NIC in, the next one, and adds it to the simulation. `supported`: bit per verb of its engine.
  /// Loads and stores go through the first.
  void install(std::unique_ptr<Nic> nic, Attachment attachment, SubmissionPath submission,
               std::uint32_t supported);

  /// Adds cores until there are `count`, each with caches of its own above the last level, which all share.
  /// To be called once, after install() and before connect_memory().
  void add_cores(std::uint32_t count);
  /// With memory.system = coherent: builds caches, home and root complex, adds them to the simulation, and
  /// puts them between core, NIC and memory. To be called once, after install() and before the run; with a
  /// flat memory it does nothing.
  Result<void> connect_memory();

  std::uint16_t number() const { return number_; }
  const HostConfig& config() const { return config_; }
  HostMemory& memory() { return memory_; }
  /// Those of the first core.
  CacheHierarchy& caches() { return caches_; }
  SimCore& core(std::size_t number = 0) { return number == 0 ? sim_core_ : more_cores_[number - 1].sim; }
  std::uint32_t core_count() const { return static_cast<std::uint32_t>(1 + more_cores_.size()); }
  /// Programs that have not ended.
  std::size_t programs_running() const {
    std::size_t running = core_.tasks_running();
    for (const MoreCore& more : more_cores_) running += more.core.tasks_running();
    return running;
  }
  Nic& nic(std::size_t number = 0) { return *nics_[number].nic; }
  std::uint32_t nic_count() const { return static_cast<std::uint32_t>(nics_.size()); }
  /// Null where memory is flat.
  CoherentHost* coherent() { return coherent_.get(); }
  /// Null when the engine has no loads and stores.
  LoadStorePort* load_store() { return load_store_.get(); }

  /// Registers [base, base + length) with every NIC and returns what peers need to use it by the first.
  Result<verbs::RemoteSegment> expose(const verbs::SegmentConfig& segment);
  /// What peers need to use `segment`, of expose(), by NIC `nic`.
  verbs::RemoteSegment segment_at(std::uint32_t nic, const verbs::RemoteSegment& segment) const;
  /// A queue of NIC `nic` with rings of `depth` entries (a power of two) in this host's memory.
  Result<engine::QueueId> create_queue(std::uint32_t depth, std::uint32_t nic = 0);
  /// Remote memory, for programs of core `core`, over a queue of NIC `nic` that is connected to `peer`. Lives
  /// as long as the host.
  SimRemote& add_remote(engine::QueueId queue, engine::PeerId peer, const verbs::RemoteSegment& segment,
                        std::uint32_t nic = 0, std::uint32_t core = 0);

  /// Who waits for what among the programs' operations, one line each.
  void describe_waiting(std::vector<std::string>& lines) const;

 private:
  struct InstalledNic {
    std::unique_ptr<Nic> nic;
    std::unique_ptr<MmioStream> stream;  ///< Made with its first remote, where the host submits so.
    /// Of the segments of expose(): its own token, by that of the first NIC, which has none here.
    std::map<verbs::SegmentToken, verbs::SegmentToken> tokens;
  };
  struct MoreCore {
    MoreCore(Host& host, std::uint32_t number);
    CacheHierarchy caches;
    Core core;
    SimCore sim;
  };

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
  std::deque<MoreCore> more_cores_;
  std::vector<InstalledNic> nics_;
  Attachment attachment_ = Attachment::kOnChipBus;
  SubmissionPath submission_ = SubmissionPath::kBusStore;
  std::uint32_t supported_ = 0;
  std::unique_ptr<LoadStorePort> load_store_;
  std::unique_ptr<CoherentHost> coherent_;
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
