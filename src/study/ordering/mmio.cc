// SPDX-License-Identifier: Apache-2.0
// Figures 4 and 10: a core that writes messages to a device, without order and with a fence after each, as
// measured on a network card and as simulated; then with the proposed sequence numbers over a way that really
// reorders.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/coherent_keys.h"
#include "sim/host/pcie/mmio_path.h"
#include "sim/kernel/simulation.h"
#include "sim/stimulus/mmio_sender.h"
#include "study/frame/parallel.h"
#include "study/frame/reference_table.h"
#include "study/ordering/ordering.h"

namespace wharf::study::ordering {
namespace {

using wharf::ordering::MmioKind;

constexpr std::uint64_t kBytes = 3 << 20;     ///< A quarter of what the paper writes per point.
constexpr std::uint64_t kWindow = 256 << 10;  ///< Addresses wrap.
constexpr TimePs kSpread = nanoseconds(20);

enum class Mode : std::uint8_t { kPlain, kFenced, kScattered, kNumbered, kNumberedAtDevice };
constexpr std::uint32_t kModes = 5;

/// What a core's device sees: how much, until when, and whether it is in order.
class InOrderDevice final : public sim::MmioSender {
 public:
  using sim::MmioSender::MmioSender;
  void mmio_arrived(TimePs now, const wharf::ordering::MmioOperation& write) override {
    bytes += write.length;
    last = now;
    if (write.address != expected_) ++out_of_order;
    expected_ = (write.address + write.length) % kWindow;
  }

  std::uint64_t bytes = 0;
  std::uint64_t out_of_order = 0;
  TimePs last;

 private:
  std::uint64_t expected_ = 0;
};

struct Outcome {
  double gigabits = 0;
  double out_of_order = 0;
  double missing = 0;
};

Result<sim::MmioConfig> config_of(const StudyContext& context, Mode mode) {
  std::vector<std::string> overrides;
  if (mode >= Mode::kScattered) overrides.push_back(fmt::format("mmio.spread={}", format_time(kSpread)));
  if (mode == Mode::kNumberedAtDevice) {
    overrides.push_back(fmt::format("mmio.link_spread={}", format_time(kSpread)));
    overrides.emplace_back("mmio.order_at=device");
    overrides.emplace_back("mmio.reorder_entries=64");
  }
  auto setup = sim::load_coherent(context.profiles, std::string(kProfile), overrides);
  if (!setup) return setup.error();
  return setup->mmio;
}

Outcome run(const sim::MmioConfig& config, Mode mode, std::uint32_t message) {
  sim::Simulation simulation;
  sim::MmioPath path(simulation, config, 1, "mmio");
  const bool numbered = mode == Mode::kNumbered || mode == Mode::kNumberedAtDevice;
  // The last line of a message is a release; the others are not ordered among themselves.
  const InOrderDevice sender(simulation, path,
                             {.kind = numbered ? MmioKind::kStore : MmioKind::kWriteCombiningStore,
                              .bytes = kBytes,
                              .window = kWindow,
                              .message = message,
                              .is_fenced = mode == Mode::kFenced,
                              .ends_with_release = numbered},
                             config.cycle * config.store_cycles, config.cycle * config.fence_cycles);
  simulation.run_until(seconds(1));
  Outcome outcome;
  outcome.gigabits = static_cast<double>(sender.bytes) * 8e3 / static_cast<double>(sender.last.ps);
  outcome.out_of_order = static_cast<double>(sender.out_of_order);
  outcome.missing = static_cast<double>(kBytes - sender.bytes);
  return outcome;
}

/// The hosts of Figure 4.
constexpr std::string_view kCardProfile = "epyc-write-combining";
/// What a fence takes in all, in the paper's own numbers: section 3; what Figure 4 implies at 512 B; what the
/// "1 Gb/s for small messages" of HotOS '25 implies.
constexpr std::array<std::uint32_t, 3> kFenceNs{100, 290, 510};

/// Figure 4's core with fences of `fence_ns` in all; 0 is without.
Result<sim::MmioConfig> card_config(const StudyContext& context, std::uint32_t fence_ns) {
  auto setup = sim::load_coherent(context.profiles, std::string(kCardProfile), {});
  if (!setup) return setup.error();
  sim::MmioConfig& mmio = setup->mmio;
  // The fence waits until the last write has been taken and that is known; the instruction takes the rest.
  const auto cycles = static_cast<std::uint32_t>(nanoseconds(fence_ns).ps / mmio.cycle.ps);
  const std::uint32_t way = mmio.down_cycles + mmio.up_cycles;
  if (fence_ns == 0) return mmio;
  setup = sim::load_coherent(context.profiles, std::string(kCardProfile),
                             {fmt::format("mmio.fence_cycles={}", cycles > way ? cycles - way : 0)});
  if (!setup) return setup.error();
  return setup->mmio;
}

}  // namespace

Result<StudyResult> figure4(const StudyContext& context) {
  auto reference = ReferenceTable::read(context.reference / "ordering" / "fig04_mmio_write_bw.csv");
  if (!reference) return reference.error();
  constexpr std::size_t kColumns = 1 + kFenceNs.size();
  std::vector<Outcome> outcomes(kSizes.size() * kColumns);
  WHARF_TRY(for_each_in_parallel(context, outcomes.size(), [&](std::size_t i) -> Result<void> {
    const std::size_t column = i % kColumns;
    auto config = card_config(context, column == 0 ? 0 : kFenceNs[column - 1]);
    if (!config) return config.error();
    outcomes[i] = run(*config, column == 0 ? Mode::kPlain : Mode::kFenced, kSizes[i / kColumns]);
    return {};
  }));
  auto paper_plain = reference->at("WC + no fence", "all sizes");
  auto paper_fenced = reference->at("WC + sfence", "512 B");
  auto paper_loss = reference->at("WC + sfence reduction", "512 B");
  if (!paper_plain) return paper_plain.error();
  if (!paper_fenced) return paper_fenced.error();
  if (!paper_loss) return paper_loss.error();
  StudyResult result;
  result.columns = {{"bytes", "bytes", 0},
                    {"paper_plain", "published, no fence", 0},
                    {"plain", "no fence", 1},
                    {"paper_fenced", "published, sfence", 1}};
  Plot plot{"throughput",        "Messages written to a network card",
            "bytes per message", "Gb/s",
            PlotKind::kLines,    AxisScale::kLogarithmic,
            AxisScale::kFitting, {{"no fence", {}}}};
  for (const std::uint32_t fence : kFenceNs) {
    result.columns.push_back({fmt::format("fence_{}ns", fence), fmt::format("sfence {} ns", fence), 1});
    result.columns.push_back({fmt::format("fence_{}ns_sum", fence), "by hand", 1});
    plot.series.push_back({fmt::format("sfence of {} ns", fence), {}});
  }
  plot.series.push_back({"the card's line", {}});
  double missing = 0;
  double plain_least = outcomes[0].gigabits;
  double plain_most = plain_least;
  double falls = 0;
  for (std::size_t s = 0; s < kSizes.size(); ++s) {
    const Outcome* const at = &outcomes[s * kColumns];
    const double plain = at[0].gigabits;
    plain_least = std::min(plain_least, plain);
    plain_most = std::max(plain_most, plain);
    const double x = kSizes[s];
    Json row{{"bytes", kSizes[s]},
             {"paper_plain", *paper_plain},
             {"plain", plain},
             {"paper_fenced", kSizes[s] == 512 ? Json(*paper_fenced) : Json(nullptr)}};
    plot.series[0].points.push_back({x, plain, ""});
    for (std::size_t f = 0; f < kFenceNs.size(); ++f) {
      const double fenced = at[1 + f].gigabits;
      const double bits = 8.0 * kSizes[s];
      row[fmt::format("fence_{}ns", kFenceNs[f])] = fenced;
      row[fmt::format("fence_{}ns_sum", kFenceNs[f])] = bits / (bits / plain + kFenceNs[f]);
      plot.series[1 + f].points.push_back({x, fenced, ""});
      if (s > 0 && fenced <= outcomes[(s - 1) * kColumns + 1 + f].gigabits) ++falls;
    }
    plot.series.back().points.push_back({x, 100, ""});
    for (std::size_t i = 0; i < kColumns; ++i) missing += at[i].missing;
    result.rows.push_back(std::move(row));
  }
  result.plots = {plot};
  const auto share = [&](std::size_t size, std::size_t fence) {
    return outcomes[size * kColumns + 1 + fence].gigabits / outcomes[size * kColumns].gigabits;
  };
  result.checks = {between("no fence, least of all sizes, Gb/s", plain_least, 100, 135),
                   between("no fence, most over least", plain_most / plain_least, 1, 1.02),
                   equal("fenced: sizes at which it does not rise", falls, 0),
                   between("512 B: fenced (290 ns) over unfenced", share(3, 1), 0, 0.15),
                   between("512 B: fenced (510 ns) over unfenced", share(3, 2), 0, 0.15),
                   between("8 KiB: fenced (290 ns), Gb/s", outcomes[7 * kColumns + 2].gigabits, 0, 100),
                   equal("bytes that did not arrive", missing, 0)};
  result.sentences = {
      fmt::format(
          "The ceiling is calibrated. At 512 B a fence of 290 ns takes {:.1f} % of it, the paper prints "
          "{:.1f}; "
          "its own 100 ns (section 3) would take {:.1f}, the 510 ns behind HotOS '25's 1 Gb/s {:.1f}. No "
          "single cost of a fence gives all three.",
          100 * (1 - share(3, 1)), *paper_loss, 100 * (1 - share(3, 0)), 100 * (1 - share(3, 2))),
      fmt::format("Fenced messages of 8 KiB reach {:.0f}, {:.0f} and {:.0f} Gb/s: above about 130 ns a fence "
                  "keeps even "
                  "them below the card's 100.",
                  outcomes[7 * kColumns + 1].gigabits, outcomes[7 * kColumns + 2].gigabits,
                  outcomes[7 * kColumns + 3].gigabits)};
  return result;
}

Result<StudyResult> figure10(const StudyContext& context) {
  std::vector<Outcome> outcomes(kSizes.size() * kModes);
  WHARF_TRY(for_each_in_parallel(context, outcomes.size(), [&](std::size_t i) -> Result<void> {
    const auto mode = static_cast<Mode>(i % kModes);
    auto config = config_of(context, mode);
    if (!config) return config.error();
    outcomes[i] = run(*config, mode, kSizes[i / kModes]);
    return {};
  }));
  auto loaded = config_of(context, Mode::kPlain);
  if (!loaded) return loaded.error();
  const sim::MmioConfig& config = *loaded;
  // A fence: the way of the message's last write to the root complex, its answer, and the instruction.
  const double fence_ns =
      as_nanoseconds(config.cycle * (config.down_cycles + config.up_cycles + config.fence_cycles));
  StudyResult result;
  result.columns = {{"bytes", "bytes", 0},        {"plain", "MMIO", 1},          {"fenced", "fenced", 1},
                    {"fenced_sum", "by hand", 1}, {"scattered", "scattered", 1}, {"passed", "passed", 0},
                    {"numbered", "numbers", 1},   {"at_device", "at device", 1}};
  Plot plot{"throughput",
            "Messages written by a core",
            "bytes per message",
            "Gb/s",
            PlotKind::kLines,
            AxisScale::kLogarithmic,
            AxisScale::kFitting,
            {{"MMIO", {}},
             {"MMIO + fence", {}},
             {"sequence numbers", {}},
             {"sequence numbers, buffer at the device", {}}}};
  double missing = 0;
  double passed_in_order = 0;
  double passed_without = 0;
  for (std::size_t s = 0; s < kSizes.size(); ++s) {
    const Outcome* const at = &outcomes[s * kModes];
    const double plain = at[0].gigabits;
    const double bits = 8.0 * kSizes[s];
    const double by_hand = bits / (bits / plain + fence_ns);
    result.rows.push_back({{"bytes", kSizes[s]},
                           {"plain", plain},
                           {"fenced", at[1].gigabits},
                           {"fenced_sum", by_hand},
                           {"scattered", at[2].gigabits},
                           {"passed", at[2].out_of_order},
                           {"numbered", at[3].gigabits},
                           {"at_device", at[4].gigabits}});
    const double x = kSizes[s];
    plot.series[0].points.push_back({x, plain, ""});
    plot.series[1].points.push_back({x, at[1].gigabits, ""});
    plot.series[2].points.push_back({x, at[3].gigabits, ""});
    plot.series[3].points.push_back({x, at[4].gigabits, ""});
    // Longer messages come faster than the root complex works them off, until its entries are full: they do
    // better than the sum, never worse.
    result.checks.push_back(between(fmt::format("{} B: fenced over the sum by hand", kSizes[s]),
                                    at[1].gigabits / by_hand, 0.95,
                                    kSizes[s] == 64 ? 1.05 : plain / by_hand));
    result.checks.push_back(between(fmt::format("{} B: sequence numbers over no order", kSizes[s]),
                                    at[3].gigabits / plain, 0.98, 1.02));
    for (std::size_t i = 0; i < kModes; ++i) missing += at[i].missing;
    passed_without += at[2].out_of_order;
    passed_in_order += at[0].out_of_order + at[1].out_of_order + at[3].out_of_order + at[4].out_of_order;
  }
  result.plots = {plot};
  result.checks.push_back(between("64 B: fenced, Gb/s", outcomes[1].gigabits, 0, 27.5));
  result.checks.push_back(between("no order, Gb/s", outcomes[0].gigabits, 100, 150));
  result.checks.push_back(between("writes that passed others without numbers", passed_without, 1, 1e12));
  result.checks.push_back(equal("writes that passed others with fences or numbers", passed_in_order, 0));
  result.checks.push_back(equal("bytes that did not arrive", missing, 0));
  result.sentences = {fmt::format(
      "The ceiling of {:.0f} Gb/s is the root complex: {} writes of 64 B, each for {:.0f} ns. A "
      "fence adds its {:.1f} ns to every message. The paper's simulator keeps order by itself, so "
      "that its figure has no third line; here writes are scattered by up to {:.0f} ns, {:.0f} of "
      "them pass others, and with numbers the device sees none of it. With the reorder buffer at "
      "the device its credits take the link's round trip: 64 entries per network give {:.0f} Gb/s.",
      outcomes[0].gigabits, config.root_complex_entries, as_nanoseconds(config.root_complex), fence_ns,
      as_nanoseconds(kSpread), passed_without, outcomes[4].gigabits)};
  return result;
}

}  // namespace wharf::study::ordering
