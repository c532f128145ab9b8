// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/program_cells.h"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

ProgramRun::ProgramRun(std::string name, std::uint32_t number, const workload::WorkloadConfig& config,
                       const ProgramHosts& hosts, std::uint64_t seed)
    : name_(std::move(name)), config_(config) {
  const auto add = [&](std::size_t server, std::vector<std::size_t> parties) {
    ProgramCell& cell = cells_.emplace_back();
    cell.server = server;
    cell.hosts = std::move(parties);
    cell.seed = cell_seed(seed, number, cells_.size() - 1);
    cell.config = config_;
  };
  const bool pairs = workload::parties_needed(config_) == 2;
  for (std::size_t index = 0; index < hosts.clients.size(); ++index) {
    const std::size_t client = hosts.clients[index];
    const std::size_t server = hosts.server_of(index);
    if (pairs) {
      add(server, {client, server});
    } else if (index < hosts.servers.size()) {
      add(server, {client});
    } else {
      cells_[index % hosts.servers.size()].hosts.push_back(client);
    }
  }
  for (ProgramCell& cell : cells_) cell.results.assign(cell.hosts.size(), workload::empty_result(config_));
}

Result<void> ProgramRun::join(World& world) {
  for (ProgramCell& cell : cells_) WHARF_TRY(join(world, cell));
  return {};
}

Result<void> ProgramRun::join(World& world, ProgramCell& cell) {
  const workload::Party party{0, cell.parties()};
  verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed;
  if (auto* gets = std::get_if<workload::ItemGetsConfig>(&cell.config)) {
    gets->shared_ledger = &cell.ledger;
    read_order = gets->read_order;
  }
  WHARF_TRY(workload::check(cell.config, party));
  const std::uint64_t offset = workload::region_offset(cell.config);
  const std::uint64_t needed = workload::memory_needed(cell.config, party);
  const Bytes length{std::max<std::uint64_t>(offset + needed, kLineBytes)};
  auto segment = world.expose(cell.server, length, verbs::kFullAccess, read_order);
  if (!segment) return segment.error();
  cell.segment = *segment;
  for (const std::size_t host : cell.hosts) {
    if (host == cell.server) continue;  // The other end of the first party's pair.
    auto back = world.expose(host, length);
    if (!back) return back.error();
    auto pair = world.connect(host, cell.server, cell.segment, *back, queue_depth(cell.config));
    if (!pair) return pair.error();
    cell.remotes.push_back(pair->near);
    if (cell.is_pair()) cell.remotes.push_back(pair->far);
    WHARF_TRY(workload::check_remote(cell.config, party, *pair->near));
  }
  if (needed != 0) {
    workload::prepare(cell.config, party,
                      world.host(cell.server).memory().bytes(cell.segment.base + offset, Bytes{needed}),
                      cell.seed);
  }
  return {};
}

void ProgramRun::spawn(World& world) {
  for (ProgramCell& cell : cells_) {
    for (std::uint32_t party = cell.parties(); party-- > 0;) {
      SimCore& core = world.host(cell.hosts[party]).core();
      core.spawn(workload::run(cell.config, {party, cell.parties()}, cell.seed, *cell.remotes[party], core,
                               cell.results[party]));
    }
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
    for (std::size_t party = 0; party < cell.clients(); ++party) {
      const std::vector<workload::NamedCount> own = workload::own_counts(cell.results[party]);
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

ProgramRun::Judgement ProgramRun::judge(World& world) const {
  Judgement judgement;
  for (const ProgramCell& cell : cells_) {
    const workload::Party party{0, cell.parties()};
    const std::uint64_t needed = workload::memory_needed(cell.config, party);
    if (needed == 0) continue;
    const std::uint64_t at = cell.segment.base + workload::region_offset(cell.config);
    const workload::Verdict verdict =
        workload::verify(cell.config, party, world.host(cell.server).memory().bytes(at, Bytes{needed}),
                         cell.seed, cell.results);
    judgement.checks += verdict.checks;
    if (verdict.holds()) continue;
    const std::string finding = workload::describe(verdict);
    judgement.findings.push_back(name_.empty() ? finding : fmt::format("program {}: {}", name_, finding));
  }
  return judgement;
}

}  // namespace wharf::sim
