// SPDX-License-Identifier: Apache-2.0
// What the ordering papers did not measure of key-value gets: every annotation under the queues that obey it,
// and reads across two root complexes.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/config/coherent_keys.h"
#include "sim/stimulus/get_loop.h"
#include "sim/stimulus/line_writer.h"
#include "study/frame/parallel.h"
#include "study/ordering/ordering.h"

namespace wharf::study::ordering {
namespace {

using wharf::ordering::Label;
using wharf::ordering::RlsqDesign;

struct GetRun {
  double gets = 0;         ///< Million per second.
  double nanoseconds = 0;  ///< Between completions.
  bool complete = false;
};

struct GetCase {
  RlsqDesign design = RlsqDesign::kSpeculative;
  sim::GetLoopConfig loop;
  std::uint32_t root_complexes = 1;
};

/// Items are modified in a core's caches.
Result<GetRun> run_gets(const StudyContext& context, const GetCase& made) {
  auto setup = sim::load_coherent(context.profiles, std::string(kProfile), {});
  if (!setup) return setup.error();
  setup->host.root_complex.queue.design = made.design;
  sim::Simulation simulation;
  auto host = sim::CoherentHost::create(simulation, setup->host, 1, made.root_complexes, 1);
  if (!host) return host.error();
  const std::uint64_t bytes = std::uint64_t{made.loop.items} * made.loop.item_bytes;
  const std::uint64_t base = (*host)->contents().allocate(Bytes{bytes});
  sim::warm_lines(simulation, **host, 0, base, bytes);
  std::vector<sim::RequestSink*> sinks;
  for (std::uint32_t i = 0; i < made.root_complexes; ++i) sinks.push_back(&(*host)->root_complex(i));
  sim::GetLoop loop(simulation, sinks, setup->dma, made.loop, base);
  loop.start();
  simulation.run_until(simulation.now() + seconds(1));
  return GetRun{loop.million_gets_per_second(), 1e3 / loop.million_gets_per_second(), loop.is_complete()};
}

Result<std::vector<GetRun>> run_all(const StudyContext& context, const std::vector<GetCase>& cases) {
  std::vector<GetRun> runs(cases.size());
  WHARF_TRY(for_each_in_parallel(context, cases.size(), [&](std::size_t i) -> Result<void> {
    auto run = run_gets(context, cases[i]);
    if (!run) return run.error();
    runs[i] = *run;
    return {};
  }));
  return runs;
}

double incomplete(const std::vector<GetRun>& runs) {
  return static_cast<double>(
      std::count_if(runs.begin(), runs.end(), [](const GetRun& run) { return !run.complete; }));
}

// ---- Annotations

constexpr std::uint32_t kItem = 1024;
constexpr std::uint32_t kVersionedItem = 1216;  ///< 1024 B at 56 B per line: 19 lines.

std::vector<sim::GetPart> line_by_line(std::uint32_t bytes, Label label) {
  std::vector<sim::GetPart> parts;
  for (std::uint32_t at = 0; at < bytes; at += 64) parts.push_back({at, 64, label});
  return parts;
}
std::vector<sim::GetPart> operator+(std::vector<sim::GetPart> parts, const sim::GetPart& last) {
  parts.push_back(last);
  return parts;
}

struct Annotation {
  std::string_view protocol;
  std::string_view name;
  bool is_enough;  ///< Under a queue that obeys labels; tests/litmus/get-*.litmus prove each of them.
  std::vector<sim::GetPart> parts;
};

std::vector<Annotation> annotations() {
  const sim::GetPart header{0, 64, Label::kRelaxed};
  const sim::GetPart acquired{0, 64, Label::kAcquire};
  const sim::GetPart rest{64, kItem - 64, Label::kRelaxed};
  const sim::GetPart middle{64, kItem - 128, Label::kRelaxed};
  const sim::GetPart whole{0, kItem, Label::kRelaxed};
  const sim::GetPart upward{0, kItem, Label::kAscending};
  const auto later = [](sim::GetPart part, std::uint32_t phase) {
    part.phase = phase;
    return part;
  };
  const sim::GetPart released{0, 64, Label::kReadRelease};
  const sim::GetPart footer{kItem - 64, 64, Label::kRelaxed};
  const sim::GetPart released_footer{kItem - 64, 64, Label::kReadRelease};
  const auto lock = [](Label label, std::uint32_t phase) {
    return sim::GetPart{0, 8, label, phase, 0, true};
  };
  return {
      {"Validation", "none", false, {whole, header}},
      {"Validation", "header acquires", false, {acquired, rest, header}},
      {"Validation", "header acquires, wait", true, {acquired, rest, later(header, 1)}},
      {"Validation", "upward, read-release", true, {upward, released}},
      {"Validation", "total", true, line_by_line(kItem, Label::kAcquire) + header},
      {"Single Read", "none", false, {whole}},
      {"Single Read", "header acquires", false, {acquired, middle, footer}},
      {"Single Read", "header acquires, read-release", true, {acquired, middle, released_footer}},
      {"Single Read", "upward", true, {upward}},
      {"Single Read", "total", true, line_by_line(kItem, Label::kAcquire)},
      {"FaRM", "none", true, {{0, kVersionedItem, Label::kRelaxed}}},
      {"Pessimistic",
       "none, waits",
       true,
       {lock(Label::kRelaxed, 0), later(whole, 1), lock(Label::kRelaxed, 2)}},
      {"Pessimistic", "acquire, wait", true, {lock(Label::kAcquire, 0), whole, lock(Label::kRelaxed, 1)}},
      {"Pessimistic", "acquire, release", true, {lock(Label::kAcquire, 0), whole, lock(Label::kRelease, 0)}},
  };
}

// ---- Two root complexes

constexpr std::uint32_t kPairBytes = 320;  ///< A flag's line and four lines of data.
constexpr std::array<std::uint32_t, 5> kPairsUnderWay{1, 4, 16, 64, 256};

enum class Across : std::uint8_t { kOneQueue, kOneSource, kTwoSource, kTwoUnordered };
constexpr std::uint32_t kAcross = 4;

GetCase pair_case(Across across, std::uint32_t outstanding) {
  const bool is_two = across == Across::kTwoSource || across == Across::kTwoUnordered;
  const bool waits = across == Across::kOneSource || across == Across::kTwoSource;
  GetCase made;
  made.root_complexes = 2;
  made.loop.parts = {{0, 64, Label::kAcquire, 0, 0},
                     {64, kPairBytes - 64, Label::kRelaxed, waits ? 1U : 0U, is_two ? 1U : 0U}};
  made.loop.queue_pairs = std::min(outstanding, 16U);
  made.loop.outstanding = outstanding;
  made.loop.items = 64;
  made.loop.item_bytes = kPairBytes;
  made.loop.gets = std::max(500U, 20 * outstanding);
  return made;
}

}  // namespace

Result<StudyResult> acquire_or_total(const StudyContext& context) {
  const std::vector<Annotation> all = annotations();
  std::vector<GetCase> cases;
  // By annotation, queue pairs, design.
  for (const Annotation& each : all) {
    for (const std::uint32_t queue_pairs : {1U, 16U}) {
      for (const RlsqDesign design : {RlsqDesign::kThreadSpecific, RlsqDesign::kSpeculative}) {
        GetCase made;
        made.design = design;
        made.loop.parts = each.parts;
        made.loop.queue_pairs = queue_pairs;
        // Sixteen queue pairs take turns line by line, so that each get takes longer: no figure shall come
        // from the number that is under way.
        made.loop.outstanding = 64;
        made.loop.items = 64;
        made.loop.item_bytes = kVersionedItem;
        made.loop.gets = 1'000;
        cases.push_back(made);
      }
    }
  }
  auto runs = run_all(context, cases);
  if (!runs) return runs.error();
  StudyResult result;
  result.columns = {{"protocol", "protocol", 0},
                    {"annotation", "annotation", 0},
                    {"enough", "enough", 0},
                    {"blocking", "1 pair: blocks", 2},
                    {"speculative", "reads ahead", 2},
                    {"blocking_16", "16 pairs: blocks", 2},
                    {"speculative_16", "reads ahead", 2}};
  Plot plot{"gets",
            "Gets of 1 KiB by annotation, one queue pair",
            "",
            "million gets per second",
            PlotKind::kBars,
            AxisScale::kLinear,
            AxisScale::kLinear,
            {{"thread-specific queue", {}}, {"speculative queue", {}}}};
  const auto gets = [&](std::string_view protocol, std::string_view name, std::size_t design) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].protocol == protocol && all[i].name == name) return (*runs)[4 * i + design].gets;
    }
    return 0.0;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const GetRun* const at = &(*runs)[4 * i];
    const std::string label = fmt::format("{}: {}", all[i].protocol, all[i].name);
    result.rows.push_back({{"protocol", std::string(all[i].protocol)},
                           {"annotation", std::string(all[i].name)},
                           {"enough", all[i].is_enough ? "yes" : "no"},
                           {"blocking", at[0].gets},
                           {"speculative", at[1].gets},
                           {"blocking_16", at[2].gets},
                           {"speculative_16", at[3].gets}});
    plot.series[0].points.push_back({static_cast<double>(i), at[0].gets, label});
    plot.series[1].points.push_back({static_cast<double>(i), at[1].gets, label});
    result.checks.push_back(
        between(label + ": reading ahead over blocking", at[1].gets / at[0].gets, 0.99, 1000));
    result.checks.push_back(
        between(label + ": blocking, 16 queue pairs over one", at[2].gets / at[0].gets, 0.99, 17));
  }
  for (const std::string_view protocol : {"Validation", "Single Read"}) {
    const double none = gets(protocol, "none", 1);
    result.checks.push_back(between(fmt::format("{}: total order over none, reading ahead", protocol),
                                    gets(protocol, "total", 1) / none, 0.97, 1.02));
    result.checks.push_back(between(fmt::format("{}: acquire alone over none, reading ahead", protocol),
                                    gets(protocol, "header acquires", 1) / none, 0.97, 1.02));
    result.checks.push_back(between(fmt::format("{}: total order over acquire alone, blocking", protocol),
                                    gets(protocol, "total", 0) / gets(protocol, "header acquires", 0), 0,
                                    0.99));
  }
  result.plots = {plot};
  result.checks.push_back(equal("runs that did not finish", incomplete(*runs), 0));
  result.sentences = {
      fmt::format("An acquire on the header alone is not enough for Validation and Single Read. Of what is, "
                  "a total order costs a "
                  "queue that blocks {:.1f} times (Single Read, {:.2f} against {:.2f} million gets per "
                  "second with an acquire and a "
                  "read-release), and a queue that reads ahead nothing: {:.2f} against {:.2f}.",
                  gets("Single Read", "header acquires, read-release", 0) / gets("Single Read", "total", 0),
                  gets("Single Read", "total", 0), gets("Single Read", "header acquires, read-release", 0),
                  gets("Single Read", "total", 1), gets("Single Read", "header acquires, read-release", 1))};
  return result;
}

Result<StudyResult> two_root_complexes(const StudyContext& context) {
  std::vector<GetCase> cases;
  for (const std::uint32_t outstanding : kPairsUnderWay) {
    for (std::uint32_t across = 0; across < kAcross; ++across)
      cases.push_back(pair_case(static_cast<Across>(across), outstanding));
  }
  auto runs = run_all(context, cases);
  if (!runs) return runs.error();
  StudyResult result;
  result.columns = {{"under_way", "under way", 0},         {"one_queue", "one, its queue", 2},
                    {"one_source", "one, source", 2},      {"two_source", "two, source", 2},
                    {"two_unordered", "two, no order", 2}, {"cost", "order costs", 2}};
  Plot plot{"pairs",
            "A flag, then four lines of data",
            "pairs under way",
            "million pairs per second",
            PlotKind::kLines,
            AxisScale::kLogarithmic,
            AxisScale::kLogarithmic,
            {{"one root complex, its queue", {}},
             {"one, source", {}},
             {"two root complexes, source", {}},
             {"two, no order", {}}}};
  double cost_alone = 0;
  double cost_busy = 0;
  for (std::size_t i = 0; i < kPairsUnderWay.size(); ++i) {
    const GetRun* const at = &(*runs)[i * kAcross];
    const double cost = at[3].gets / at[2].gets;
    if (i == 0) cost_alone = cost;
    cost_busy = cost;
    result.rows.push_back({{"under_way", kPairsUnderWay[i]},
                           {"one_queue", at[0].gets},
                           {"one_source", at[1].gets},
                           {"two_source", at[2].gets},
                           {"two_unordered", at[3].gets},
                           {"cost", cost}});
    for (std::size_t s = 0; s < kAcross; ++s)
      plot.series[s].points.push_back({static_cast<double>(kPairsUnderWay[i]), at[s].gets, ""});
    const std::string who = fmt::format("{} under way", kPairsUnderWay[i]);
    result.checks.push_back(between(who + ": order across two over none", at[2].gets / at[3].gets, 0.4, 1.1));
    result.checks.push_back(
        between(who + ": two unordered over one with its queue", at[3].gets / at[0].gets, 0.99, 2.1));
  }
  const double round = (*runs)[0].nanoseconds;
  const double waited = (*runs)[2].nanoseconds;
  result.plots = {plot};
  result.checks.push_back(
      between("one pair: source order over the queue's, in time", waited / round, 1.9, 2.1));
  result.checks.push_back(equal("runs that did not finish", incomplete(*runs), 0));
  result.sentences = {
      fmt::format("Neither queue sees the other's reads, so that order across two root complexes is the "
                  "device's wait: {:.0f} ns for "
                  "a pair instead of {:.0f}, {:.1f} times with one pair under way, {:.1f} with {}, when the "
                  "bus that both share "
                  "is full. One queue for both reads costs none of that.",
                  waited, round, cost_alone, cost_busy, kPairsUnderWay.back())};
  return result;
}

}  // namespace wharf::study::ordering
