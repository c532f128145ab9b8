// SPDX-License-Identifier: Apache-2.0
#include "study/ordering/get_correctness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/ordering/names.h"
#include "sim/config/coherent_keys.h"
#include "study/frame/parallel.h"
#include "study/ordering/ordering.h"

namespace wharf::study {
namespace {

using sim::GetAnnotation;
using sim::GetOutcome;
using sim::SourceOrdering;
using wharf::ordering::RlsqDesign;
using workload::GetPosting;
using workload::GetProtocol;

// Item of three lines (FaRM: four), so that one of them is payload alone.
constexpr std::uint32_t kPayload = 176;
constexpr std::uint32_t kQueuePairs = 4;
constexpr std::uint32_t kReadersPerPair = 2;
/// Simulated time that a get may take on average before its run counts as blocked.
constexpr TimePs kPatience = microseconds(100);
/// Who writes: a core of the host, and the readers' hosts.
constexpr std::array<workload::ItemWriter, 2> kWriters{workload::ItemWriter::kCore,
                                                       workload::ItemWriter::kRemote};

constexpr std::array<RlsqDesign, 3> kLabelled{RlsqDesign::kReleaseAcquire, RlsqDesign::kThreadSpecific,
                                              RlsqDesign::kSpeculative};

workload::ItemGetsConfig program_of(const GetCase& made, workload::ItemWriter writer, std::uint64_t gets) {
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
  config.writer = writer;
  config.write_gap = locks ? nanoseconds(100) : nanoseconds(400);
  config.start_delay = kTimeZero;
  config.retries = 1'000'000;
  return config;
}

Result<GetOutcome> run_beside(const std::filesystem::path& profiles, const GetCase& made,
                              workload::ItemWriter writer, std::uint64_t gets, std::uint64_t seed) {
  auto setup = sim::load_coherent(profiles, std::string(ordering::kProfile), {"root_complex.passing=on"});
  if (!setup) return setup.error();
  setup->host.root_complex.queue.design = made.order.design;
  sim::DeviceGets asked;
  asked.name = describe(made);
  asked.program = program_of(made, writer, gets);
  asked.annotation = made.order.annotation;
  asked.source = made.order.source;
  asked.queue_pairs = kQueuePairs;
  asked.limit = kPatience * static_cast<std::int64_t>(gets + 100);
  return sim::run_device_gets(*setup, asked, seed);
}

}  // namespace

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
  for (const workload::ItemWriter writer : kWriters) {
    auto part = run_beside(profiles, made, writer, (gets + kWriters.size() - 1) / kWriters.size(), seed);
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
        "Labels that keep the gets whole, and what a get takes with them, its retries included, under {}: "
        "validation: {}; single_read: {}.",
        name(design), compare_annotations(cases, outcomes, GetProtocol::kValidation, design),
        compare_annotations(cases, outcomes, GetProtocol::kSingleRead, design)));
  }
  for (const std::string& line : all.blocked) result.sentences.push_back(line);
  return result;
}

}  // namespace ordering

}  // namespace wharf::study
