// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/program_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/line.h"
#include "base/random.h"
#include "sim/scenario/assembly.h"
#include "sim/scenario/queue_depth.h"

namespace wharf::sim {
namespace {

/// Cells draw apart from each other; the first of the first program as the run itself.
std::uint64_t cell_seed(std::uint64_t seed, std::uint32_t program, std::size_t cell) {
  if (program == 0 && cell == 0) return seed;
  return RandomStream(seed, fmt::format("program{}.cell{}", program, cell)).next_u64();
}

/// Whole lines: loads and stores fetch and write back nothing smaller, and the last one must not reach out.
Bytes segment_length(const workload::WorkloadConfig& config, workload::Party party) {
  const std::uint64_t needed = workload::region_offset(config) + workload::memory_needed(config, party);
  return Bytes{std::max<std::uint64_t>((needed + kLineBytes - 1) / kLineBytes, 1) * kLineBytes};
}

/// The program's part of `segment`, which host `host` exposes.
std::span<std::byte> region_of(World& world, std::size_t host, const verbs::RemoteSegment& segment,
                               const workload::WorkloadConfig& config, workload::Party party) {
  const std::uint64_t needed = workload::memory_needed(config, party);
  if (needed == 0) return {};
  return world.host(host).memory().bytes(segment.base + workload::region_offset(config), Bytes{needed});
}

}  // namespace

ProgramRun::ProgramRun(std::string name, std::uint32_t number, const workload::WorkloadConfig& config,
                       const ProgramHosts& hosts, std::uint64_t seed)
    : name_(std::move(name)), config_(config) {
  const auto add = [&](std::size_t server) -> ProgramCell& {
    ProgramCell& cell = cells_.emplace_back();
    cell.server = server;
    cell.attendant = hosts.beside.empty() ? server : hosts.beside[cells_.size() - 1];
    cell.seed = cell_seed(seed, number, cells_.size() - 1);
    cell.config = config_;
    auto* appends = std::get_if<workload::RdmoConfig>(&cell.config);
    if (appends != nullptr && cells_.size() <= hosts.rdmo.size()) {
      appends->request_time = hosts.rdmo[cells_.size() - 1].request;
      appends->line_time = hosts.rdmo[cells_.size() - 1].line;
    }
    return cell;
  };
  const auto put = [](ProgramCell& cell, std::size_t host, std::uint32_t core) {
    cell.hosts.push_back(host);
    cell.cores.push_back(core);
  };
  const workload::Arrangement arrangement = workload::arrangement(config_);
  const bool peers = arrangement == workload::Arrangement::kPeers;
  const bool pairs = arrangement == workload::Arrangement::kPair;
  const bool attended =
      arrangement == workload::Arrangement::kAttended || arrangement == workload::Arrangement::kBeside;
  for (std::size_t index = 0; index < hosts.clients.size(); ++index) {
    const std::size_t client = hosts.clients[index];
    const std::size_t server = hosts.server_of(index);
    const std::size_t cells = peers ? 1 : hosts.servers.size();
    for (std::uint32_t core = 0; core < hosts.cores; ++core) {
      const bool first = pairs || (index < cells && core == 0);
      ProgramCell& cell = first ? add(server) : cells_[index % cells];
      put(cell, client, core);
      if (first && (pairs || attended)) put(cell, cell.attendant, 0);
    }
  }
  for (ProgramCell& cell : cells_) cell.results.assign(cell.hosts.size(), workload::empty_result(config_));
}

Result<void> ProgramRun::join(World& world) {
  for (ProgramCell& cell : cells_) {
    WHARF_TRY(workload::check(cell.config, {0, cell.parties()}));
    if (cell.is_of_peers()) {
      WHARF_TRY(join_peers(world, cell));
    } else {
      WHARF_TRY(join_server(world, cell));
    }
  }
  return {};
}

Result<void> ProgramRun::join_server(World& world, ProgramCell& cell) {
  const workload::Party party{0, cell.parties()};
  verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed;
  if (auto* gets = std::get_if<workload::ItemGetsConfig>(&cell.config)) {
    gets->judging = workload::GetJudging::kTogether;
    cell.judge.emplace(gets->items);
    read_order = gets->read_order;
  }
  const Bytes length = segment_length(cell.config, party);
  auto segment = world.expose(cell.server, length, verbs::kFullAccess, read_order);
  if (!segment) return segment.error();
  cell.segments.push_back(*segment);
  verbs::RemoteSegment front = *segment;  // What clients reach first.
  if (cell.is_beside()) {
    auto exposed = world.expose(cell.attendant, Bytes{kLineBytes});
    if (!exposed) return exposed.error();
    front = *exposed;
  }
  const std::uint64_t own = workload::own_memory_needed(cell.config);
  if (cell.is_attended()) {
    cell.peers.assign(cell.parties(), std::vector<SimRemote*>(cell.parties()));
    cell.own.assign(cell.parties(), segment->base);
  }
  cell.remotes.resize(cell.parties());
  for (std::uint32_t client = 0; client < cell.parties(); ++client) {
    if (cell.is_at_server(client)) continue;  // The other end of every pair.
    const std::size_t host = cell.hosts[client];
    auto back = world.expose(host, own != 0 ? Bytes{own} : length);
    if (!back) return back.error();
    auto pair =
        world.connect(host, cell.attendant, front, *back, queue_depth(cell.config), {cell.cores[client], 0});
    if (!pair) return pair.error();
    cell.remotes[client] = pair->near;
    if (client == 0 && cell.is_at_server(1)) cell.remotes[1] = pair->far;
    if (cell.is_attended()) {
      cell.peers[client][1] = pair->near;
      cell.peers[1][client] = pair->far;
      if (own != 0) cell.own[client] = back->base;
    }
    if (!cell.is_beside()) WHARF_TRY(workload::check_remote(cell.config, party, *pair->near));
  }
  if (cell.is_beside()) WHARF_TRY(join_beside(world, cell));
  const std::span<std::byte> region = region_of(world, cell.server, *segment, cell.config, party);
  if (!region.empty()) workload::prepare(cell.config, party, region, cell.seed);
  return {};
}

Result<void> ProgramRun::join_beside(World& world, ProgramCell& cell) {
  cell.memory.resize(cell.parties());
  for (std::uint32_t party = 0; party < cell.parties(); ++party) {
    const std::uint32_t core = cell.is_at_server(party) ? 0 : cell.cores[party];
    auto pair = world.connect(cell.hosts[party], cell.server, cell.segments.front(), {},
                              queue_depth(cell.config), {core, 0});
    if (!pair) return pair.error();
    cell.memory[party] = pair->near;
    WHARF_TRY(workload::check_remote(cell.config, {0, cell.parties()}, *pair->near));
  }
  return {};
}

Result<void> ProgramRun::join_peers(World& world, ProgramCell& cell) {
  const std::uint32_t parties = cell.parties();
  for (std::uint32_t rank = 0; rank < parties; ++rank) {
    const workload::Party party{rank, parties};
    auto segment = world.expose(cell.hosts[rank], segment_length(cell.config, party));
    if (!segment) return segment.error();
    cell.segments.push_back(*segment);
    workload::prepare(cell.config, party, region_of(world, cell.hosts[rank], *segment, cell.config, party),
                      cell.seed);
  }
  cell.peers.assign(parties, std::vector<SimRemote*>(parties));
  for (std::uint32_t rank = 0; rank < parties; ++rank) {
    for (const std::uint32_t peer : workload::neighbours(cell.config, {rank, parties})) {
      if (cell.peers[rank][peer] != nullptr) continue;
      auto pair = world.connect(cell.hosts[rank], cell.hosts[peer], cell.segments[peer], cell.segments[rank],
                                queue_depth(cell.config));
      if (!pair) return pair.error();
      cell.peers[rank][peer] = pair->near;
      cell.peers[peer][rank] = pair->far;
      WHARF_TRY(workload::check_remote(cell.config, {rank, parties}, *pair->near));
    }
  }
  for (std::uint32_t rank = 0; rank < parties; ++rank)
    cell.remotes.push_back(cell.peers[rank][workload::neighbours(cell.config, {rank, parties}).front()]);
  return {};
}

void ProgramRun::spawn(World& world) {
  for (ProgramCell& cell : cells_) {
    for (std::uint32_t party = cell.parties(); party-- > 0;) {
      SimCore& core = world.host(cell.hosts[party]).core(cell.cores[party]);
      workload::Peers<SimRemote> peers;
      if (!cell.peers.empty())
        peers = {cell.peers[party], cell.is_of_peers() ? cell.segments[party].base : cell.own[party],
                 cell.memory.empty() ? nullptr : cell.memory[party]};
      core.spawn(workload::run(cell.config, {party, cell.parties()}, cell.seed, *cell.remotes[party], core,
                               cell.results[party], peers));
    }
  }
}

void ProgramRun::judge_records(TimePs until) {
  for (ProgramCell& cell : cells_) {
    if (!cell.judge.has_value()) continue;
    std::vector<workload::ItemGetsResult*> results;
    for (workload::WorkloadResult& result : cell.results)
      results.push_back(&std::get<workload::ItemGetsResult>(result));
    cell.judge->judge(results, until);
  }
}

double ProgramRun::fraction(TimePs now) const {
  const workload::LoopConfig& loop = workload::loop_config(config_);
  const workload::LoopResult& so_far = workload::loop_result(cells_.front().results[0]);
  if (loop.operations == 0)
    return loop.duration.ps == 0 ? 0.0 : static_cast<double>(now.ps) / static_cast<double>(loop.duration.ps);
  return static_cast<double>(so_far.operations + so_far.errors) / static_cast<double>(loop.operations);
}

ProgramReport ProgramRun::report(const ProgramLog* log) const {
  ProgramReport report;
  report.name = name_;
  report.kind = workload::kind_of(config_);
  Histogram latency;
  TimePs begin = kNever;
  TimePs end;
  std::uint64_t bytes = 0;
  std::size_t clients = 0;
  for (const ProgramCell& cell : cells_) {
    for (std::uint32_t party = 0; party < cell.parties(); ++party) {
      const std::vector<workload::NamedCount> own = workload::own_counts(cell.results[party]);
      if (cell.is_at_server(party)) {
        // What a worker has done belongs to the program; a writer of items is there for its readers.
        if (std::holds_alternative<workload::RdmoResult>(cell.results[party]))
          for (std::size_t i = 0; i < own.size(); ++i) report.counts[i].value += own[i].value;
        continue;
      }
      if (clients++ == 0) {
        report.counts = own;
      } else {
        for (std::size_t i = 0; i < own.size(); ++i) report.counts[i].value += own[i].value;
      }
      const workload::LoopResult& loop = workload::loop_result(cell.results[party]);
      report.operations += loop.operations;
      report.errors += loop.errors;
      bytes += loop.bytes;
      latency.merge(loop.latency);
      if (loop.operations == 0) continue;
      begin = min(begin, loop.begin);
      end = max(end, loop.end);
    }
  }
  report.latency = histogram_latency(latency);
  report.latencies = latency;
  if (clients == 1 && log != nullptr && log->dropped() == 0) {
    std::vector<std::int64_t> latencies;
    for (const verbs::OperationRecord& record : log->records()) {
      // Warm-up operations come first and are no part of the result.
      if (record.status == verbs::CompletionStatus::kSuccess)
        latencies.push_back((record.ended - record.arrived).ps);
    }
    if (latencies.size() == report.operations) report.latency = exact_latency(latencies);
  }
  if (report.operations != 0 && end > begin) {
    const double seconds_taken = static_cast<double>((end - begin).ps) / 1e12;
    report.operations_per_second = static_cast<double>(report.operations) / seconds_taken;
    report.goodput_bps = static_cast<double>(bytes) * 8 / seconds_taken;
  }
  return report;
}

void ProgramRun::judge_success(RunReport& report) const {
  std::uint64_t errors = 0;
  verbs::CompletionStatus first_error = verbs::CompletionStatus::kSuccess;
  for (const ProgramCell& cell : cells_) {
    for (std::uint32_t party = 0; party < cell.parties(); ++party) {
      if (cell.is_at_server(party)) continue;
      const workload::LoopResult& loop = workload::loop_result(cell.results[party]);
      if (loop.operations != 0) return;
      if (errors == 0) first_error = loop.first_error;
      errors += loop.errors;
    }
  }
  const std::string finding = errors == 0
                                  ? std::string("no operation was measured")
                                  : fmt::format("no operation succeeded, {} failed, the first with {}",
                                                errors, verbs::name(first_error));
  add_to_verdict(report, name_.empty() ? finding : fmt::format("program {}: {}", name_, finding));
}

void ProgramRun::judge(World& world, RunReport& report) const {
  judge_success(report);
  for (const ProgramCell& cell : cells_) {
    for (std::uint32_t each = 0; each < cell.segments.size(); ++each) {
      const workload::Party party{each, cell.parties()};
      const std::span<const std::byte> region =
          region_of(world, cell.is_of_peers() ? cell.hosts[each] : cell.server, cell.segments[each],
                    cell.config, party);
      if (region.empty()) continue;
      const workload::Verdict verdict = workload::verify(cell.config, party, region, cell.seed, cell.results);
      report.memory_checks += verdict.checks;
      if (verdict.holds()) continue;
      const std::string finding = workload::describe(verdict);
      add_to_verdict(report, name_.empty() ? finding : fmt::format("program {}: {}", name_, finding));
    }
  }
}

Result<ProgramsBeside> ProgramsBeside::join(World& world, const ScenarioConfig& config,
                                            const PlannedWorld& plan) {
  ProgramsBeside beside;
  for (std::uint32_t i = 0; i < config.programs.size(); ++i) {
    const ProgramSettings& program = config.programs[i];
    beside.programs_.emplace_back(program.name, i + 1, program.workload, plan.programs[i + 1], config.seed);
    WHARF_TRY(beside.programs_.back().join(world));
  }
  return beside;
}

}  // namespace wharf::sim
