// SPDX-License-Identifier: Apache-2.0
#include "study/get_correctness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/line.h"
#include "engine/ordering/names.h"
#include "sim/config/coherent_keys.h"
#include "study/get_parties.h"
#include "study/ordering.h"
#include "study/parallel.h"

namespace wharf::study {
namespace {

using sim::SourceOrdering;
using wharf::ordering::RlsqDesign;
using workload::GetPosting;
using workload::GetProtocol;

// Item of three lines (FaRM: four), so that one of them is payload alone.
constexpr std::uint32_t kPayload = 176;
constexpr std::uint32_t kQueuePairs = 4;
constexpr std::uint32_t kReadersPerPair = 2;
/// Fetch-and-adds of zero that a third party keeps under way on one line of the item. They change no word,
/// but each takes the line to the device and leaves it in memory, and reads of the line wait for those before
/// them: the line misses and is late while the others hit in the writer's cache.
constexpr std::uint32_t kThirdParties = 4;
/// Simulated time that a get may take on average before its run counts as blocked.
constexpr TimePs kPatience = microseconds(100);
/// Who writes, and which line is made slow: that of the header, or one of payload alone.
struct Scene {
  workload::ItemWriter writer;
  std::uint32_t slow_line;
};
constexpr std::array<Scene, 3> kScenes{
    {{workload::ItemWriter::kCore, 0}, {workload::ItemWriter::kCore, 1}, {workload::ItemWriter::kRemote, 0}}};

constexpr std::array<RlsqDesign, 3> kLabelled{RlsqDesign::kReleaseAcquire, RlsqDesign::kThreadSpecific,
                                              RlsqDesign::kSpeculative};

workload::ItemGetsConfig program_of(const GetCase& made, const Scene& scene, std::uint64_t gets) {
  workload::ItemGetsConfig config;
  config.protocol = made.protocol;
  config.posting = made.order.posting;
  config.items = 1;
  config.payload = kPayload;
  config.copy_line = kTimeZero;
  config.loop.operations = (gets + kQueuePairs - 1) / kQueuePairs;
  config.loop.concurrency = kReadersPerPair;
  // Readers that leave no gap keep the writer of the lock's protocol out.
  const bool locks = made.protocol == GetProtocol::kPessimistic;
  config.loop.pacing = workload::Pacing::kClosed;
  config.loop.think_time = locks ? microseconds(8) : nanoseconds(100);
  config.writer = scene.writer;
  config.write_gap = locks ? nanoseconds(100) : nanoseconds(400);
  config.start_delay = kTimeZero;
  config.retries = 1'000'000;
  config.judging = workload::GetJudging::kTogether;
  return config;
}

Result<GetOutcome> run_scene(const std::filesystem::path& profiles, const GetCase& made, const Scene& scene,
                             std::uint64_t gets, std::uint64_t seed) {
  auto setup = sim::load_coherent(profiles, std::string(ordering::kProfile), {});
  if (!setup) return setup.error();
  // Writes leave for memory at once: a line answered from their queue would not be late.
  setup->host.ddr.write_high_percent = 1;
  setup->host.ddr.write_low_percent = 0;
  setup->host.root_complex.queue.design = made.order.design;
  sim::Simulation simulation;
  auto built = sim::CoherentHost::create(simulation, setup->host, 1, 1, seed);
  if (!built) return built.error();
  sim::CoherentHost& host = **built;
  sim::ProgramTally tally;
  sim::Core core(simulation, tally);
  sim::Core client(simulation, tally);
  simulation.add(core, "core");
  simulation.add(client, "client");
  sim::HostMemory client_memory;
  ProgramCore host_program(core, host.contents(), seed, &host.core_cache(0));
  ProgramCore client_program(client, client_memory, seed);
  sim::DmaEngine engine(simulation, host.root_complex(), setup->dma, "nic");
  DmaClientOfGets device;
  engine.connect(device);

  const workload::ItemGetsConfig config = program_of(made, scene, gets);
  const std::uint32_t parties = kQueuePairs + 1;
  const Bytes length{workload::memory_needed(config, {0, parties})};
  verbs::RemoteSegment segment;
  segment.base = host.contents().allocate(length);
  segment.length = length.count;
  workload::prepare(config, {0, parties}, host.contents().bytes(segment.base, length), seed);

  WordBox box;
  std::vector<std::unique_ptr<DmaRemote>> remotes;
  const auto connect = [&](GetAnnotation annotation, SourceOrdering source,
                           sim::HostMemory& local) -> DmaRemote& {
    const std::uint32_t stream =
        engine.add_stream({0, static_cast<std::uint32_t>(remotes.size()) + 1}, source);
    remotes.push_back(
        std::make_unique<DmaRemote>(simulation, engine, stream, annotation, segment, local, box));
    return *remotes.back();
  };
  GetParties parties_at_work{kQueuePairs};
  std::vector<workload::ItemGetsResult> results(parties);
  // Party 1 is the host's own core.
  for (std::uint32_t party = 0; party < parties; ++party) {
    DmaRemote& remote =
        connect(made.order.annotation, made.order.source, party == 1 ? host.contents() : client_memory);
    if (party == 1 && scene.writer == workload::ItemWriter::kRemote) continue;
    if (party == 1) {
      core.spawn(workload::run(config, {party, parties}, seed, remote, host_program, results[party]));
    } else {
      client.spawn(read_items(config, {party, parties}, seed, remote, client_program, results[party],
                              parties_at_work));
    }
  }
  for (std::uint32_t i = 0; i < kThirdParties; ++i) {
    DmaRemote& remote = connect(GetAnnotation::kNone, SourceOrdering::kNone, client_memory);
    const verbs::RemoteAddress word = segment.at(scene.slow_line * kLineBytes);
    client.spawn(i % 2 == 0 ? disturb(word, remote, parties_at_work)
                            : look(word, client_memory.allocate(Bytes{8}), remote, parties_at_work));
  }

  // The third party never rests: a reader that is blocked shows in the time that is gone.
  const sim::RunResult end = simulation.run_until(kPatience * static_cast<std::int64_t>(gets + 100));
  GetOutcome outcome;
  if (end.end != sim::RunEnd::kStopped) {
    outcome.blocked = simulation.stall_report().waiting;
    outcome.blocked.insert(outcome.blocked.begin(), describe(made) + ": the run did not end");
  }
  workload::judge_gets(config, results);
  for (const workload::ItemGetsResult& result : results) {
    GetOutcome one;
    one.gets = result.loop.operations;
    one.overlaps = result.overlaps;
    one.retries = result.retries;
    one.torn = result.torn;
    one.stale = result.stale;
    one.given_up = result.given_up;
    one.puts = result.puts;
    one.latency_ps = static_cast<double>(result.loop.latency.mean()) * static_cast<double>(one.gets);
    outcome += one;
  }
  outcome.squashes = host.root_complex().queue().statistics().squashed_reads;
  return outcome;
}

}  // namespace

GetOutcome& GetOutcome::operator+=(const GetOutcome& other) {
  gets += other.gets;
  overlaps += other.overlaps;
  retries += other.retries;
  torn += other.torn;
  stale += other.stale;
  given_up += other.given_up;
  puts += other.puts;
  squashes += other.squashes;
  latency_ps += other.latency_ps;
  blocked.insert(blocked.end(), other.blocked.begin(), other.blocked.end());
  return *this;
}

std::vector<GetCase> all_get_cases() {
  std::vector<GetCase> cases;
  for (const auto& choice : workload::kGetProtocolChoices) {
    const GetProtocol protocol = choice.value;
    const bool pessimistic = protocol == GetProtocol::kPessimistic;
    const bool validation = protocol == GetProtocol::kValidation;
    const bool farm = protocol == GetProtocol::kFarm;
    const bool single = protocol == GetProtocol::kSingleRead;
    const auto add = [&](const GetOrder& order, bool is_safe) {
      cases.push_back({protocol, order, is_safe});
    };
    const GetOrder none{"none", RlsqDesign::kBaseline, GetAnnotation::kNone, SourceOrdering::kNone,
                        GetPosting::kTogether};
    add(none, farm);
    for (const RlsqDesign design : kLabelled) {
      GetOrder order = none;
      order.design = design;
      add(order, farm);
      order.name = "acquire first";
      order.annotation = GetAnnotation::kAcquireFirst;
      add(order, pessimistic || farm);
      if (validation) {
        order.name = "acquire first, wait";
        order.posting = GetPosting::kWait;
        add(order, true);
        order.posting = GetPosting::kTogether;
      }
      order.name = "total order";
      order.annotation = GetAnnotation::kAcquireAll;
      add(order, true);
      if (farm) continue;
      order.name = "read-release";
      order.annotation = GetAnnotation::kReadRelease;
      add(order, true);
      order.name = "ascending";
      order.annotation = GetAnnotation::kAscending;
      add(order, true);
    }
    for (const RlsqDesign design : {RlsqDesign::kStrictBlocking, RlsqDesign::kStrictSpeculative}) {
      GetOrder order = none;
      order.name = "total order";
      order.design = design;
      add(order, true);
    }
    GetOrder order = none;
    order.name = "device, per line";
    order.source = SourceOrdering::kLine;
    add(order, true);
    order.name = "device, per READ";
    order.source = SourceOrdering::kMessage;
    add(order, pessimistic || farm);
    if (single) continue;  // One request.
    order = none;
    order.name = "wait";
    order.posting = GetPosting::kWait;
    add(order, pessimistic || farm);
  }
  return cases;
}

std::string describe(const GetCase& made) {
  std::string_view protocol;
  for (const auto& choice : workload::kGetProtocolChoices) {
    if (choice.value == made.protocol) protocol = choice.name;
  }
  return fmt::format("{}, {}, {}", protocol, made.order.name, name(made.order.design));
}

Result<GetOutcome> run_get_case(const std::filesystem::path& profiles, const GetCase& made,
                                std::uint64_t gets, std::uint64_t seed) {
  GetOutcome outcome;
  for (const Scene& scene : kScenes) {
    auto part = run_scene(profiles, made, scene, (gets + kScenes.size() - 1) / kScenes.size(), seed);
    if (!part) return part.error();
    outcome += *part;
  }
  return outcome;
}

namespace ordering {
namespace {

double mean_ns(const GetOutcome& outcome) {
  return outcome.latency_ps * 1e-3 / static_cast<double>(outcome.gets);
}

/// "single_read by speculative: total order 500 ns, read-release 490 ns, ascending 480 ns".
std::string compare_annotations(const std::vector<GetCase>& cases, const std::vector<GetOutcome>& outcomes,
                                GetProtocol protocol, RlsqDesign design) {
  std::string text;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].protocol != protocol || cases[i].order.design != design || !cases[i].is_safe) continue;
    text +=
        fmt::format("{}{} {:.0f} ns", text.empty() ? "" : ", ", cases[i].order.name, mean_ns(outcomes[i]));
  }
  return text;
}

}  // namespace

Result<StudyResult> gets_correctness(const StudyContext& context) {
  constexpr std::uint64_t kGets = 3'000;
  const std::vector<GetCase> cases = all_get_cases();
  std::vector<GetOutcome> outcomes(cases.size());
  WHARF_TRY(for_each_in_parallel(context, cases.size(), [&](std::size_t i) -> Result<void> {
    auto outcome = run_get_case(context.profiles, cases[i], kGets, 1);
    if (!outcome) return outcome.error();
    outcomes[i] = *outcome;
    return {};
  }));
  StudyResult result;
  result.columns = {{"case", "protocol, order, root complex", 0},
                    {"published", "snapshot", 0},
                    {"gets", "gets", 0},
                    {"overlaps", "beside a put", 0},
                    {"retries", "retries", 0},
                    {"squashes", "squashes", 0},
                    {"mean_ns", "mean ns", 0},
                    {"torn", "torn", 0},
                    {"stale", "stale", 0}};
  GetOutcome all;
  std::uint64_t torn_though_safe = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const GetOutcome& outcome = outcomes[i];
    const std::string what = describe(cases[i]);
    all += outcome;
    result.rows.push_back({{"case", what},
                           {"published", cases[i].is_safe ? "yes" : "no"},
                           {"gets", outcome.gets},
                           {"overlaps", outcome.overlaps},
                           {"retries", outcome.retries},
                           {"squashes", outcome.squashes},
                           {"mean_ns", mean_ns(outcome)},
                           {"torn", outcome.torn},
                           {"stale", outcome.stale}});
    const auto torn = static_cast<double>(outcome.torn);
    if (cases[i].is_safe) {
      torn_though_safe += outcome.torn;
      result.checks.push_back(equal(what + ": torn", torn, 0));
      result.checks.push_back(equal(what + ": stale", static_cast<double>(outcome.stale), 0));
    } else {
      result.checks.push_back(between(what + ": torn", torn, 1, static_cast<double>(outcome.gets)));
    }
    result.checks.push_back(between(what + ": share of gets beside a put",
                                    static_cast<double>(outcome.overlaps) / static_cast<double>(outcome.gets),
                                    0.1, 1));
  }
  result.checks.push_back(equal("runs that did not end", static_cast<double>(all.blocked.size()), 0));
  result.sentences = {fmt::format(
      "Of {} gets, {} beside a put to their item, {} were torn: {} where something keeps their reads "
      "in order as far as the protocol needs it, {} where nothing does.",
      all.gets, all.overlaps, all.torn, torn_though_safe, all.torn - torn_though_safe)};
  for (const RlsqDesign design : kLabelled) {
    result.sentences.push_back(fmt::format(
        "Labels that keep the gets whole, and what a get takes with them, its retries and the third party's "
        "disturbance included, under {}: validation: {}; single_read: {}.",
        name(design), compare_annotations(cases, outcomes, GetProtocol::kValidation, design),
        compare_annotations(cases, outcomes, GetProtocol::kSingleRead, design)));
  }
  for (const std::string& line : all.blocked) result.sentences.push_back(line);
  return result;
}

}  // namespace ordering

}  // namespace wharf::study
