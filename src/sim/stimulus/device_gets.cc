// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/device_gets.h"

#include <memory>
#include <utility>
#include <vector>

#include "sim/host/coherent_host.h"
#include "sim/stimulus/program_core.h"
#include "workload/item_judge.h"

namespace wharf::sim {
namespace {

/// The cores that programs run on. They come before the device where times are equal.
struct Cores {
  explicit Cores(Simulation& simulation) : host(simulation, tally), client(simulation, tally) {
    simulation.add(host, "core");
    simulation.add(client, "client");
  }
  ProgramTally tally;
  Core host;
  Core client;
};

/// A coherent host with one core that runs programs, a device, and the client behind it.
class Bench {
 public:
  Bench(Simulation& simulation, CoherentHost& host, const DmaConfig& dma, std::uint64_t seed)
      : simulation_(simulation),
        host_(host),
        cores_(simulation),
        host_program_(cores_.host, host.contents(), seed, &host.core_cache(0)),
        client_program_(cores_.client, client_memory_, seed),
        engine_(simulation, host.root_complex(), dma, "nic") {
    engine_.connect(device_);
  }

  void start(const DeviceGets& asked, std::uint64_t seed);
  GetOutcome outcome(const DeviceGets& asked, const RunResult& end);

 private:
  DmaRemote& connect(GetAnnotation annotation, SourceOrdering source, HostMemory& local) {
    const std::uint32_t stream =
        engine_.add_stream({0, static_cast<std::uint32_t>(remotes_.size()) + 1}, source);
    remotes_.push_back(
        std::make_unique<DmaRemote>(simulation_, engine_, stream, annotation, segment_, local, box_));
    return *remotes_.back();
  }

  Simulation& simulation_;
  CoherentHost& host_;
  Cores cores_;
  HostMemory client_memory_;
  ProgramCore host_program_;
  ProgramCore client_program_;
  DmaEngine engine_;
  DmaClientOfGets device_;
  workload::ItemGetsConfig program_;
  verbs::RemoteSegment segment_;
  WordBox box_;
  std::vector<std::unique_ptr<DmaRemote>> remotes_;
  std::vector<workload::ItemGetsResult> results_;
};

void Bench::start(const DeviceGets& asked, std::uint64_t seed) {
  program_ = asked.program;
  program_.judging = workload::GetJudging::kTogether;
  const std::uint32_t parties = asked.queue_pairs + 1;
  const Bytes length{workload::memory_needed(program_, {0, parties})};
  segment_.base = host_.contents().allocate(length);
  segment_.length = length.count;
  workload::prepare(program_, {0, parties}, host_.contents().bytes(segment_.base, length), seed);
  results_.resize(parties);
  // Party 1 is the host's own core.
  for (std::uint32_t party = 0; party < parties; ++party) {
    DmaRemote& remote =
        connect(asked.annotation, asked.source, party == 1 ? host_.contents() : client_memory_);
    if (party == 1 && program_.writer == workload::ItemWriter::kRemote) continue;
    Core& core = party == 1 ? cores_.host : cores_.client;
    ProgramCore& program = party == 1 ? host_program_ : client_program_;
    core.spawn(workload::run(program_, {party, parties}, seed, remote, program, results_[party]));
  }
}

GetOutcome Bench::outcome(const DeviceGets& asked, const RunResult& end) {
  GetOutcome outcome;
  if (end.end != RunEnd::kStopped) {
    outcome.blocked = simulation_.stall_report().waiting;
    outcome.blocked.insert(outcome.blocked.begin(), asked.name + ": the run did not end");
  }
  workload::judge_gets(program_, results_);
  for (const workload::ItemGetsResult& result : results_) outcome += result;
  outcome.squashes = host_.root_complex().queue().statistics().squashed_reads;
  return outcome;
}

}  // namespace

Result<GetOutcome> run_device_gets(const CoherentSetup& setup, const DeviceGets& asked, std::uint64_t seed) {
  Simulation simulation;
  auto host = CoherentHost::create(simulation, setup.host, 1, 1, seed);
  if (!host) return host.error();
  Bench bench(simulation, **host, setup.dma, seed);
  bench.start(asked, seed);
  return bench.outcome(asked, simulation.run_until(asked.limit));
}

}  // namespace wharf::sim
