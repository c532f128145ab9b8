// SPDX-License-Identifier: Apache-2.0
#include "study/ordering/get_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/ordering/names.h"
#include "sim/scenario/assembly.h"
#include "study/frame/parallel.h"
#include "study/frame/runs.h"
#include "study/ordering/ordering.h"

namespace wharf::study {
namespace {

using sim::GetOutcome;
using sim::OrderPlace;
using verbs::AccessOrder;
using wharf::ordering::RlsqDesign;
using workload::GetPosting;
using workload::GetProtocol;
using workload::ItemGetsConfig;
using workload::ItemWriter;

/// A NIC like that of connectx7-class in front of lines.
constexpr std::string_view kStackProfile = "coherent-host";
/// Simulated time that a get may take on average before its run counts as blocked.
constexpr TimePs kPatience = microseconds(200);

Result<sim::TwoHostsConfig> stack_config(const StudyContext& context, const StackGets& asked,
                                         std::uint64_t seed) {
  auto scenario = load_request(context, {std::string(kStackProfile), asked.stack, asked.keys});
  if (!scenario) return scenario.error();
  sim::RunOptions options;
  options.attribution = false;
  sim::TwoHostsConfig config = sim::two_hosts_config(scenario->config, options);
  config.host.coherent.host.root_complex.queue.design = asked.design;
  config.host.coherent.order = asked.place;
  config.seed = seed;
  return config;
}

}  // namespace

Result<sim::HostGetOutcome> run_stack_gets(const StudyContext& context, const StackGets& asked,
                                           std::uint64_t seed) {
  const auto config = stack_config(context, asked, seed);
  if (!config) return config.error();
  sim::HostGets gets = asked.gets;
  gets.name = asked.stack;
  gets.limit = kPatience * static_cast<std::int64_t>(gets.program.loop.operations * gets.queues + 100);
  return sim::run_host_gets(*config, gets);
}

// ---- The table of whole stacks

namespace {

// As in get_correctness.cc: an item of three lines, one of them payload alone.
constexpr std::uint32_t kPayload = 176;
constexpr std::uint32_t kQueues = 4;
constexpr std::uint32_t kReadersPerQueue = 2;
/// How often a cell that may tear is run, with seeds this far apart, before it counts as one that does not.
constexpr std::uint64_t kAttempts = 8;
constexpr std::uint64_t kSeedStep = 1'000'000;
/// Requests pass each other as they may. Software costs nothing: one core's programs do for many clients.
constexpr std::array<std::string_view, 6> kStackKeys{
    "model.root_complex.passing=on", "model.core.library_post=0ns",     "model.core.work_request_build=0ns",
    "model.core.library_poll=0ns",   "model.core.poll_host_memory=0ns", "model.core.poll_on_chip=0ns"};

constexpr std::string_view kRoce = "roce_bf";
constexpr std::string_view kUb = "ub_urma";

/// Whether what keeps order in `made` is what its protocol needs.
bool is_whole(const StackGetCase& made) {
  const bool is_total =
      made.design == RlsqDesign::kStrictBlocking || made.design == RlsqDesign::kStrictSpeculative;
  const bool nic_waits = made.place == OrderPlace::kSource;
  const bool ascends =
      made.read_order == AccessOrder::kAscending && (nic_waits || made.design != RlsqDesign::kBaseline);
  const bool waits = made.posting == GetPosting::kWait;
  switch (made.protocol) {
    case GetProtocol::kFarm:
      return true;
    case GetProtocol::kPessimistic:
      // RoCE's responder begins a READ when the queue pair's earlier atomics are in memory. UB's does not,
      // but the lock lies in the item's first line, which follows the atomic as requests on one line do; the
      // lines of an ascending READ follow the first.
      return waits || is_total || ascends || made.stack == kRoce;
    case GetProtocol::kValidation:
      // The version read again is a READ of its own: nothing but a total order, or a NIC that reads a queue's
      // ascending lines one by one, keeps it behind the item.
      return is_total || (ascends && (waits || nic_waits));
    case GetProtocol::kSingleRead:
      return is_total || ascends;
  }
  return false;
}

std::string_view name_of(GetProtocol protocol) {
  for (const auto& choice : workload::kGetProtocolChoices) {
    if (choice.value == protocol) return choice.name;
  }
  return {};
}

}  // namespace

std::vector<StackGetCase> all_stack_get_cases() {
  std::vector<StackGetCase> cases;
  for (const std::string_view stack : {kRoce, kUb}) {
    for (const auto& choice : workload::kGetProtocolChoices) {
      for (const auto& posting : workload::kGetPostingChoices) {
        const bool has_two =
            choice.value == GetProtocol::kPessimistic || choice.value == GetProtocol::kValidation;
        if (posting.value == GetPosting::kTogether && !has_two) continue;
        const auto add = [&](AccessOrder read_order, RlsqDesign design,
                             OrderPlace place = OrderPlace::kDestination) {
          StackGetCase made{stack, choice.value, design, place, read_order, posting.value, false};
          made.is_safe = is_whole(made);
          cases.push_back(made);
        };
        for (const AccessOrder order : {AccessOrder::kRelaxed, AccessOrder::kAscending}) {
          add(order, RlsqDesign::kBaseline);
          add(order, RlsqDesign::kBaseline, OrderPlace::kSource);
          for (const RlsqDesign design :
               {RlsqDesign::kReleaseAcquire, RlsqDesign::kThreadSpecific, RlsqDesign::kSpeculative})
            add(order, design);
        }
        for (const RlsqDesign design : {RlsqDesign::kStrictBlocking, RlsqDesign::kStrictSpeculative})
          add(AccessOrder::kRelaxed, design);
      }
    }
  }
  return cases;
}

std::string describe(const StackGetCase& made) {
  return fmt::format("{}: {}{}, {}, {}", made.stack, name_of(made.protocol),
                     made.posting == GetPosting::kTogether ? ", together" : "",
                     made.read_order == AccessOrder::kAscending ? "ascending" : "relaxed",
                     made.place == OrderPlace::kSource ? "NIC waits" : name(made.design));
}

Result<GetOutcome> run_stack_get_case(const StudyContext& context, const StackGetCase& made,
                                      std::uint64_t gets, std::uint64_t seed) {
  StackGets asked;
  asked.stack = made.stack;
  asked.keys.assign(kStackKeys.begin(), kStackKeys.end());
  asked.design = made.design;
  asked.place = made.place;
  asked.gets.queues = kQueues;
  ItemGetsConfig& program = asked.gets.program;
  const bool locks = made.protocol == GetProtocol::kPessimistic;
  program.protocol = made.protocol;
  program.posting = made.posting;
  program.read_order = made.read_order;
  program.items = 1;
  program.payload = kPayload;
  program.copy_line = kTimeZero;
  program.loop.operations = gets / kQueues + 1;
  program.loop.concurrency = kReadersPerQueue;
  program.loop.pacing = workload::Pacing::kClosed;
  // Readers that leave no gap keep the writer of the lock's protocol out.
  program.loop.think_time = locks ? microseconds(16) : nanoseconds(100);
  program.writer = ItemWriter::kCore;
  // A get that waits for its first READ takes two round trips; puts must leave it room.
  const bool is_long = made.protocol == GetProtocol::kValidation && made.posting == GetPosting::kWait;
  program.write_gap = nanoseconds(locks ? 100 : is_long ? 1000 : 400);
  program.retries = 1'000'000;
  GetOutcome outcome;
  for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    auto part = run_stack_gets(context, asked, seed + attempt * kSeedStep);
    if (!part) return part.error();
    outcome += part->gets;
    if (made.is_safe || outcome.torn > 0) break;
  }
  return outcome;
}

namespace ordering {

Result<StudyResult> gets_over_stacks(const StudyContext& context) {
  constexpr std::uint64_t kGets = 600;
  const std::vector<StackGetCase> cases = all_stack_get_cases();
  std::vector<GetOutcome> outcomes(cases.size());
  WHARF_TRY(for_each_in_parallel(context, cases.size(), [&](std::size_t i) -> Result<void> {
    auto outcome = run_stack_get_case(context, cases[i], kGets, 1);
    if (!outcome) return outcome.error();
    outcomes[i] = *std::move(outcome);
    return {};
  }));
  StudyResult result;
  result.columns = {{"case", "stack: protocol, reads, who keeps order", 0},
                    {"snapshot", "snapshot", 0},
                    {"gets", "gets", 0},
                    {"overlaps", "beside a put", 0},
                    {"retries", "retries", 0},
                    {"squashes", "squashes", 0},
                    {"torn", "torn", 0},
                    {"stale", "stale", 0}};
  GetOutcome all;
  std::uint64_t torn_on_ub = 0;  ///< The lock and the item together, and nobody keeps their order.
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const StackGetCase& made = cases[i];
    const GetOutcome& outcome = outcomes[i];
    const std::string what = describe(made);
    all += outcome;
    result.rows.push_back({{"case", what},
                           {"snapshot", made.is_safe ? "yes" : "no"},
                           {"gets", outcome.gets},
                           {"overlaps", outcome.overlaps},
                           {"retries", outcome.retries},
                           {"squashes", outcome.squashes},
                           {"torn", outcome.torn},
                           {"stale", outcome.stale}});
    const auto torn = static_cast<double>(outcome.torn);
    if (made.is_safe) {
      result.checks.push_back(equal(what + ": torn and stale", torn + static_cast<double>(outcome.stale), 0));
    } else {
      result.checks.push_back(between(what + ": torn", torn, 1, static_cast<double>(outcome.gets)));
      if (made.protocol == GetProtocol::kPessimistic) torn_on_ub += outcome.torn;
    }
    result.checks.push_back(between(what + ": share of gets beside a put",
                                    static_cast<double>(outcome.overlaps) / static_cast<double>(outcome.gets),
                                    0.1, 1));
  }
  result.checks.push_back(equal("runs that did not end", static_cast<double>(all.blocked.size()), 0));
  result.sentences = {
      fmt::format(
          "Of {} gets over whole stacks, {} beside a put to their item, {} were torn, all of them where "
          "nothing keeps their reads in order as far as the protocol needs it.",
          all.gets, all.overlaps, all.torn),
      fmt::format(
          "Three cells are whole though no label asks for it. Over RoCE lock and item may be posted "
          "together: "
          "the responder begins a READ when the queue pair's earlier atomics are in memory (IBTA vol 1 table "
          "79). Over UB, whose responder begins both at once, {} such gets tore, and none where the READ "
          "ascends: the lock lies in the first line, which follows the atomic as requests on one line do. A "
          "NIC "
          "that waits line by line keeps the version read again behind the item, as all ascending READs of a "
          "queue go through one stream.",
          torn_on_ub)};
  for (const std::string& line : all.blocked) result.sentences.push_back(line);
  return result;
}

}  // namespace ordering

}  // namespace wharf::study
