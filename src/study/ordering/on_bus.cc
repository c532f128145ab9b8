// SPDX-License-Identifier: Apache-2.0
// The four get protocols over UB whose controller is an agent of the on-chip bus, against the same controller
// behind PCIe: who keeps a get's reads in order, and what that costs. On the bus the ordering queue stands at
// the home, and no MMIO reorder buffer applies.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/litmus/parser.h"
#include "study/frame/parallel.h"
#include "study/frame/three_steps.h"
#include "study/ordering/get_stack.h"
#include "study/ordering/ordering.h"

namespace wharf::study::ordering {
namespace {

using sim::OrderPlace;
using verbs::AccessOrder;
using wharf::ordering::RlsqDesign;
using workload::GetProtocol;

/// Who keeps the order.
struct Keeper {
  std::string_view name;
  RlsqDesign design;
  OrderPlace place;
  bool labels;  ///< Reads of protocols that need it ask for ascending lines.
};
constexpr std::array<Keeper, 6> kKeepers{{
    {"nobody", RlsqDesign::kBaseline, OrderPlace::kDestination, false},
    {"NIC waits", RlsqDesign::kBaseline, OrderPlace::kSource, true},
    {"queue blocks", RlsqDesign::kThreadSpecific, OrderPlace::kDestination, true},
    {"queue reads ahead", RlsqDesign::kSpeculative, OrderPlace::kDestination, true},
    {"total, blocks", RlsqDesign::kStrictBlocking, OrderPlace::kDestination, false},
    {"total, reads ahead", RlsqDesign::kStrictSpeculative, OrderPlace::kDestination, false},
}};
enum : std::size_t { kNobody, kNicWaits, kBlocks, kReadsAhead, kTotalBlocks, kTotalReadsAhead };
constexpr std::array<std::string_view, 2> kAttachments{"pcie", "on_chip_bus"};
enum : std::size_t { kPcie, kBus };

constexpr std::uint32_t kPayload = 1000;  ///< With one version: 16 lines less one word.
constexpr std::uint32_t kGets = 480;

bool needs_order(GetProtocol protocol) {
  return protocol == GetProtocol::kValidation || protocol == GetProtocol::kSingleRead;
}

StackGets gets_of(GetProtocol protocol, const Keeper& keeper, std::size_t attachment) {
  StackGets asked;
  asked.stack = "ub_urma";
  // Software and submission are the client's affair: they cost nothing, so that the target shows.
  asked.keys = {"model.core.library_post=0ns", "model.core.work_request_build=0ns",
                "model.core.library_poll=0ns", "model.core.poll_host_memory=0ns",
                "model.core.poll_on_chip=0ns"};
  asked.keys.push_back(fmt::format("model.attachment={}", kAttachments[attachment]));
  if (attachment == kPcie) asked.keys.emplace_back("model.submission=blueflame");
  asked.design = keeper.design;
  asked.place = keeper.place;
  asked.gets.queues = 4;
  workload::ItemGetsConfig& program = asked.gets.program;
  program.protocol = protocol;
  program.items = 8;
  program.payload = kPayload;
  program.copy_line = kTimeZero;
  if (keeper.labels && needs_order(protocol)) program.read_order = AccessOrder::kAscending;
  program.loop.operations = kGets / asked.gets.queues;
  program.loop.concurrency = 8;
  program.writer = workload::ItemWriter::kCore;
  program.write_gap = microseconds(2);
  program.retries = 1'000'000;
  return asked;
}

/// What somebody reads who asks for the reorder buffer on the bus.
std::string refused_on_bus() {
  const auto program = sim::parse_litmus("on-bus",
                                         "litmus OnBus set bus on_chip { mmio d } host P | device D ;\n"
                                         "MW d 1 | r = L d ;\n"
                                         "exists (D:r=1) allowed rob_root_complex");
  return program ? std::string() : program.error().message;
}

double mean_ns(const sim::HostGetOutcome& outcome) {
  return outcome.gets.latency_ps * 1e-3 / static_cast<double>(outcome.gets.gets);
}

class OnBus {
 public:
  explicit OnBus(const StudyContext& context) : context_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  static constexpr const auto& kGetProtocols = workload::kGetProtocolChoices;
  static constexpr std::size_t kPerProtocol = kKeepers.size() * kAttachments.size();

  const sim::HostGetOutcome& found(std::size_t protocol, std::size_t keeper, std::size_t attachment) const {
    return found_[protocol * kPerProtocol + keeper * kAttachments.size() + attachment];
  }
  double rate(std::size_t protocol, std::size_t keeper, std::size_t attachment) const {
    return found(protocol, keeper, attachment).million_gets_per_second();
  }
  /// How many times as many gets there are when nobody keeps the order.
  double cost(std::size_t protocol, std::size_t keeper, std::size_t attachment) const {
    return rate(protocol, kNobody, attachment) / rate(protocol, keeper, attachment);
  }
  void add_row(std::size_t protocol, std::size_t keeper);
  void judge_costs(std::size_t protocol);

  const StudyContext& context_;
  std::vector<sim::HostGetOutcome> found_;
  std::string refusal_;
  std::uint64_t squashes_ = 0;  ///< Of queues that read ahead.
  double blocked_ = 0;
  Plot plot_{"gets",
             "Gets of 1000 B by who keeps their reads in order",
             "",
             "million gets per second",
             PlotKind::kBars,
             AxisScale::kLinear,
             AxisScale::kLinear,
             {{"PCIe", {}}, {"on-chip bus", {}}}};
};

Result<void> OnBus::run() {
  found_.resize(kGetProtocols.size() * kPerProtocol);
  WHARF_TRY(for_each_in_parallel(context_, found_.size(), [this](std::size_t i) -> Result<void> {
    const Keeper& keeper = kKeepers[i % kPerProtocol / kAttachments.size()];
    const GetProtocol protocol = kGetProtocols[i / kPerProtocol].value;
    auto outcome = run_stack_gets(context_, gets_of(protocol, keeper, i % kAttachments.size()), 1);
    if (!outcome) return outcome.error();
    found_[i] = *std::move(outcome);
    return {};
  }));
  refusal_ = refused_on_bus();
  return {};
}

Result<void> OnBus::judge() {
  result.columns = {
      {"protocol", "protocol", 0}, {"order", "order kept by", 0},    {"pcie_gets", "PCIe: M gets/s", 2},
      {"pcie_ns", "mean ns", 0},   {"pcie_squashes", "squashes", 0}, {"bus_gets", "bus: M gets/s", 2},
      {"bus_ns", "mean ns", 0},    {"bus_squashes", "squashes", 0},  {"torn", "torn", 0}};
  for (std::size_t protocol = 0; protocol < kGetProtocols.size(); ++protocol) {
    for (std::size_t keeper = 0; keeper < kKeepers.size(); ++keeper) add_row(protocol, keeper);
  }
  result.plots = {plot_};
  result.checks.push_back(equal("runs that did not finish", blocked_, 0));
  result.checks.push_back(equal("an MMIO reorder buffer on the bus is refused", refusal_.empty() ? 0 : 1, 1));
  for (std::size_t protocol = 0; protocol < kGetProtocols.size(); ++protocol) judge_costs(protocol);
  return {};
}

void OnBus::add_row(std::size_t protocol, std::size_t keeper) {
  const sim::HostGetOutcome& pcie = found(protocol, keeper, kPcie);
  const sim::HostGetOutcome& bus = found(protocol, keeper, kBus);
  const std::string label = fmt::format("{}: {}", kGetProtocols[protocol].name, kKeepers[keeper].name);
  blocked_ += static_cast<double>(pcie.gets.blocked.size() + bus.gets.blocked.size());
  const std::uint64_t torn = pcie.gets.torn + bus.gets.torn;
  result.rows.push_back({{"protocol", std::string(kGetProtocols[protocol].name)},
                         {"order", std::string(kKeepers[keeper].name)},
                         {"pcie_gets", pcie.million_gets_per_second()},
                         {"pcie_ns", mean_ns(pcie)},
                         {"pcie_squashes", pcie.gets.squashes},
                         {"bus_gets", bus.million_gets_per_second()},
                         {"bus_ns", mean_ns(bus)},
                         {"bus_squashes", bus.gets.squashes},
                         {"torn", torn}});
  const auto at = static_cast<double>(plot_.series[0].points.size());
  plot_.series[0].points.push_back({at, pcie.million_gets_per_second(), label});
  plot_.series[1].points.push_back({at, bus.million_gets_per_second(), label});
  // Nobody keeps the order of those that need one: they may tear, the busier the sooner.
  if (keeper != kNobody || !needs_order(kGetProtocols[protocol].value))
    result.checks.push_back(
        equal(label + ": torn and stale", static_cast<double>(torn + pcie.gets.stale + bus.gets.stale), 0));
}

void OnBus::judge_costs(std::size_t protocol) {
  for (const std::size_t at : {kPcie, kBus}) {
    const std::string who = fmt::format("{}, {}: ", kGetProtocols[protocol].name, kAttachments[at]);
    result.checks.push_back(
        between(who + "none over reading ahead", cost(protocol, kReadsAhead, at), 0.9, 1.1));
    result.checks.push_back(between(who + "reading ahead over blocking",
                                    rate(protocol, kReadsAhead, at) / rate(protocol, kBlocks, at), 0.9, 100));
    squashes_ += found(protocol, kReadsAhead, at).gets.squashes;
  }
  if (!needs_order(kGetProtocols[protocol].value)) return;
  const std::string who = std::string(kGetProtocols[protocol].name) + ": ";
  result.checks.push_back(
      between(who + "the NIC's wait on the bus, times", cost(protocol, kNicWaits, kBus), 1, 100));
  result.checks.push_back(between(who + "the NIC's wait behind PCIe over that on the bus",
                                  cost(protocol, kNicWaits, kPcie) / cost(protocol, kNicWaits, kBus), 2,
                                  100));
}

Result<void> OnBus::tell() {
  std::size_t single = 0;
  while (kGetProtocols[single].value != GetProtocol::kSingleRead) ++single;
  result.sentences = {
      fmt::format(
          "A NIC that waits for each line pays a way to the home and back for it: behind PCIe {:.2f} million "
          "Single Read gets of {} B per second, {:.1f} times fewer than with no order ({:.2f}); on the bus "
          "{:.2f}, {:.1f} times fewer ({:.2f}).",
          rate(single, kNicWaits, kPcie), kPayload, cost(single, kNicWaits, kPcie),
          rate(single, kNobody, kPcie), rate(single, kNicWaits, kBus), cost(single, kNicWaits, kBus),
          rate(single, kNobody, kBus)),
      fmt::format(
          "A queue waits for caches and memory alone, at the home of the bus as in a root complex: {:.2f} "
          "and "
          "{:.2f} million per second where it blocks within a jetty, {:.2f} and {:.2f} where it keeps all "
          "reads in one order. One that reads ahead gives {:.2f} and {:.2f}, as if there were no order, with "
          "{} squashes over the four protocols: each costs one more read of a line.",
          rate(single, kBlocks, kBus), rate(single, kBlocks, kPcie), rate(single, kTotalBlocks, kBus),
          rate(single, kTotalBlocks, kPcie), rate(single, kReadsAhead, kBus),
          rate(single, kReadsAhead, kPcie), squashes_),
      fmt::format(
          "FaRM and the lock ask for no order and pay for none unless the queue keeps a total one. The MMIO "
          "reorder buffer has no place on the bus and is refused: {}.",
          refusal_)};
  return {};
}

}  // namespace

Result<StudyResult> on_bus(const StudyContext& context) { return in_three_steps<OnBus>(context); }

}  // namespace wharf::study::ordering
