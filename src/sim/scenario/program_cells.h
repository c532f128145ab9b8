// SPDX-License-Identifier: Apache-2.0
// Programs on the hosts of a world: who runs together with whom, against which memory, and what became of it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/host/core/program_log.h"
#include "sim/scenario/program_settings.h"
#include "sim/scenario/run.h"
#include "sim/world/world.h"
#include "workload/workload.h"

namespace wharf::sim {

/// Clients, each with as many cores as the program has there, that run one program together: against the
/// memory of one server, or against each other's.
struct ProgramCell {
  std::size_t server = 0;            ///< kPeers: none.
  std::size_t attendant = 0;         ///< Where the second party runs: the server, or a host beside it.
  std::vector<std::size_t> hosts;    ///< By party.
  std::vector<std::uint32_t> cores;  ///< By party: of its host.
  std::uint64_t seed = 1;
  workload::WorkloadConfig config;
  std::vector<workload::WorkloadResult> results;
  std::optional<workload::ItemJudge> judge;    ///< Of item gets.
  std::vector<verbs::RemoteSegment> segments;  ///< The server's; kPeers: by party.
  std::vector<SimRemote*> remotes;             ///< By party.
  std::vector<std::vector<SimRemote*>> peers;  ///< kPeers, kAttended, kBeside: by party and rank.
  std::vector<std::uint64_t> own;              ///< kAttended, kBeside: by party, memory that others reach.
  std::vector<SimRemote*> memory;              ///< kBeside: by party, toward the server.

  std::uint32_t parties() const { return static_cast<std::uint32_t>(hosts.size()); }
  bool is_of_peers() const { return workload::arrangement(config) == workload::Arrangement::kPeers; }
  bool is_beside() const { return workload::arrangement(config) == workload::Arrangement::kBeside; }
  bool is_attended() const {
    return is_beside() || workload::arrangement(config) == workload::Arrangement::kAttended;
  }
  /// The second party: it runs at the server, or beside it.
  bool is_at_server(std::uint32_t party) const {
    return party == 1 && (is_attended() || workload::arrangement(config) == workload::Arrangement::kPair);
  }
};

/// One program of a scenario, on all its hosts.
class ProgramRun {
 public:
  /// `number` counts the programs of the scenario; `seed` is that of the run. A program of peers has one
  /// cell; one of pairs has a cell for each client, whose second party runs at the server; any other one a
  /// cell for each server, with all its clients, and the server itself behind the first where it attends.
  ProgramRun(std::string name, std::uint32_t number, const workload::WorkloadConfig& config,
             const ProgramHosts& hosts, std::uint64_t seed);

  /// Exposes the memory of the cells, connects their parties with it and prepares it.
  Result<void> join(World& world);
  void spawn(World& world);
  /// Judges what parties have recorded up to `until`, to which all of them have come.
  void judge_records(TimePs until);

  /// How far its first party has come, 0 to 1.
  double fraction(TimePs now) const;
  /// What all clients did together; with one client the records of `log`, if any, make it exact.
  ProgramReport report(const ProgramLog* log) const;
  /// Compares memory with what the parties have seen and written, and says in `report` what does not hold.
  void judge(World& world, RunReport& report) const;

  std::size_t first_host() const { return cells_.front().hosts.front(); }

 private:
  Result<void> join_server(World& world, ProgramCell& cell);
  Result<void> join_peers(World& world, ProgramCell& cell);
  /// The remotes that reach the server past its worker.
  static Result<void> join_beside(World& world, ProgramCell& cell);
  /// Says in `report` when not one operation of any client succeeded.
  void judge_success(RunReport& report) const;

  std::string name_;
  workload::WorkloadConfig config_;
  std::deque<ProgramCell> cells_;
};

/// The programs of sections "program.NAME".
class ProgramsBeside {
 public:
  static Result<ProgramsBeside> join(World& world, const ScenarioConfig& config, const PlannedWorld& plan);

  void spawn(World& world) {
    for (ProgramRun& program : programs_) program.spawn(world);
  }
  void judge_records(TimePs until) {
    for (ProgramRun& program : programs_) program.judge_records(until);
  }
  void report(RunReport& report) const {
    for (const ProgramRun& program : programs_) report.programs.push_back(program.report(nullptr));
  }
  void judge(World& world, RunReport& report) const {
    for (const ProgramRun& program : programs_) program.judge(world, report);
  }

 private:
  std::deque<ProgramRun> programs_;
};

}  // namespace wharf::sim
