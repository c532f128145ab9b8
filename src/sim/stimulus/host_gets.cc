// SPDX-License-Identifier: Apache-2.0
#include "sim/stimulus/host_gets.h"

#include <vector>

#include "workload/item_judge.h"

namespace wharf::sim {
namespace {

/// The programs of one run.
struct Parties {
  workload::ItemGetsConfig program;
  verbs::RemoteSegment segment;
  std::vector<workload::ItemGetsResult> results;
};

/// The writer, where it is a core, gets its numbers behind those of the first queue.
Result<void> start_queues(TwoHosts& two, const HostGets& asked, std::uint64_t seed, Parties& parties) {
  SimCore& client = two.host(0).core();
  const bool by_core = parties.program.writer == workload::ItemWriter::kCore;
  const auto count = static_cast<std::uint32_t>(parties.results.size());
  std::uint32_t party = 0;
  for (std::uint32_t queue = 0; queue < asked.queues; ++queue) {
    auto pair = two.connect(parties.segment);
    if (!pair) return pair.error();
    client.spawn(
        workload::run(parties.program, {party, count}, seed, *pair->near, client, parties.results[party]));
    ++party;
    if (queue > 0 || !by_core) continue;
    SimCore& writer = two.host(1).core();
    writer.spawn(
        workload::run(parties.program, {party, count}, seed, *pair->far, writer, parties.results[party]));
    ++party;
  }
  return {};
}

HostGetOutcome outcome_of(TwoHosts& two, const HostGets& asked, Parties& parties) {
  HostGetOutcome outcome;
  if (!two.programs_ended()) {
    outcome.gets.blocked = two.describe_waiting();
    outcome.gets.blocked.insert(outcome.gets.blocked.begin(), asked.name + ": the run did not end");
  }
  workload::judge_gets(parties.program, parties.results);
  TimePs begin = kNever;
  TimePs end;
  for (const workload::ItemGetsResult& result : parties.results) {
    outcome.gets += result;
    if (result.loop.operations == 0) continue;
    begin = min(begin, result.loop.begin);
    end = max(end, result.loop.end);
  }
  outcome.elapsed = end - begin;
  outcome.gets.squashes = two.host(1).coherent()->root_complex().queue().statistics().squashed_reads;
  return outcome;
}

}  // namespace

double HostGetOutcome::million_gets_per_second() const {
  return static_cast<double>(gets.gets) / (static_cast<double>(elapsed.ps) * 1e-6);
}

Result<HostGetOutcome> run_host_gets(const TwoHostsConfig& config, const HostGets& asked) {
  auto made = TwoHosts::create(config);
  if (!made) return made.error();
  TwoHosts& two = **made;
  Parties parties;
  parties.program = asked.program;
  parties.program.judging = workload::GetJudging::kTogether;
  const bool by_core = asked.program.writer == workload::ItemWriter::kCore;
  parties.results.resize(asked.queues + (by_core ? 1 : 0));
  const workload::Party all{0, static_cast<std::uint32_t>(parties.results.size())};
  const Bytes length{workload::memory_needed(parties.program, all)};
  auto segment = two.expose(1, length, verbs::kFullAccess, parties.program.read_order);
  if (!segment) return segment.error();
  parties.segment = *segment;
  workload::prepare(parties.program, all, two.host(1).memory().bytes(segment->base, length), config.seed);
  WHARF_TRY(start_queues(two, asked, config.seed, parties));
  two.run(asked.limit);
  return outcome_of(two, asked, parties);
}

}  // namespace wharf::sim
