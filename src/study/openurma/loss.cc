// SPDX-License-Identifier: Apache-2.0
// OpenURMA Figure 44: throughput and tail latency when packets are lost. The published model adds one round
// trip (or, for Go-Back-N, 32) to some requests; here packets vanish on the link, in both directions, and the
// engines find out by gaps and by time-outs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/frame/fabric_batch.h"
#include "study/frame/three_steps.h"
#include "study/openurma/openurma.h"

namespace wharf::study::openurma {
namespace {

constexpr std::array<std::string_view, 7> kLosses{"0", "0.0001", "0.001", "0.005", "0.01", "0.05", "0.1"};
constexpr std::uint64_t kOperations = 5000;

/// What the published model adds to a request that is lost: the cycles of four pipeline visits and the link
/// twice, once or 32 times. (Artifact of arXiv 2605.28717.)
struct PublishedPenalty {
  std::string_view stack;
  double ns;
};
constexpr std::array<PublishedPenalty, 4> kPenalties{
    {{kUbLoadStore, 301}, {kUbUrma, 512}, {kRoceBlueFlame, 32 * 313}, {kRoceDma, 32 * 313}}};

const AccountingRule kConstantPenalty{
    "faults.loss", "a constant per lost request", "lost packets, both ways",
    "the published model lets some requests cost one round trip more (RoCE: 32); it has no window, no timer, "
    "no acknowledgement"};

/// Time-outs, the same order of size for all, so that the recovery and not a default decides.
constexpr double kUbTimeoutNs = 25'600;
constexpr double kReissueNs = 16'000;
constexpr double kRoceTimeoutNs = 32'768;  // Code 3; the usual code 14 is 67 ms.

/// Of the wait of one operation for time-outs, when each attempt fails with probability `fails` and waits
/// double or not: mean and mean square, in time-outs and their squares.
struct Waits {
  double mean = 0;
  double square = 0;
};
Waits waits(double fails, bool doubling) {
  if (!doubling) return {fails / (1 - fails), fails * (1 + fails) / ((1 - fails) * (1 - fails))};
  return {fails / (1 - 2 * fails), (1 - fails) / (1 - 4 * fails) - 2 * (1 - fails) / (1 - 2 * fails) + 1};
}
double timeouts_ns(double fails, double timeout, bool doubling) {
  return timeout * waits(fails, doubling).mean;
}
/// A round of two packets fails when either is lost.
double either(double loss) { return 1 - (1 - loss) * (1 - loss); }

RunRequest one_at_a_time(std::string_view stack, std::string_view loss) {
  VerbRun run{kMechanism, stack, fetch_verb(stack)};
  run.operations = kOperations;
  run.keys = {fmt::format("model.faults.loss={}", loss)};
  if (is_roce(stack)) {
    run.keys.insert(run.keys.end(), {"model.roce.ack_timeout=3", "model.roce.unlimited_retries=true"});
  } else {
    run.keys.insert(run.keys.end(),
                    {"model.ub.rto_attempts=unlimited", "model.ub.reissue_attempts=unlimited"});
  }
  return request(run);
}

/// A stream of packets of 1 KiB over one link: how its sender repairs loss.
struct Repair {
  std::string_view name;
  wire::Protocol protocol;
  ub::LossRecovery recovery;
};
constexpr std::array<Repair, 3> kRepairs{{
    {"ub selective", wire::Protocol::kUb, ub::LossRecovery::kSelective},
    {"ub go-back-n", wire::Protocol::kUb, ub::LossRecovery::kGoBackN},
    {"roce go-back-n", wire::Protocol::kRoce, ub::LossRecovery::kGoBackN},
}};
constexpr std::array<std::uint32_t, 3> kWindows{1, 32, 128};
constexpr std::array<std::size_t, 5> kStreamLosses{0, 2, 4, 5, 6};  // Places in kLosses.
constexpr std::uint32_t kStreamPayload = 1024;
constexpr std::uint64_t kStreamPackets = 20'000;

FabricCase stream(const Repair& repair, std::uint32_t window, std::string_view loss) {
  FabricCase one;
  one.name = fmt::format("{}, window {}, loss {}", repair.name, window, loss);
  // A round trip is just below 32 packets.
  one.topology = sim::back_to_back({gigabits_per_second(100), nanoseconds(1300)});
  one.flows.name = one.name;
  one.flows.flows = {{.source = 0, .destination = 1, .bytes = kStreamPackets * kStreamPayload}};
  one.config.protocol = repair.protocol;
  std::get<ub::UbConfig>(one.config.engines).mtu = kStreamPayload;
  std::get<ub::UbConfig>(one.config.engines).send_window = window;
  std::get<ub::UbConfig>(one.config.engines).recovery = repair.recovery;
  std::get<ub::UbConfig>(one.config.engines).retransmission = {.attempts_max =
                                                                   reliability::kUnlimitedAttempts};
  std::get<roce::RoceConfig>(one.config.engines).path_mtu = kStreamPayload;
  std::get<roce::RoceConfig>(one.config.engines).window_packets = window;
  std::get<roce::RoceConfig>(one.config.engines).ack_timeout = 3;
  std::get<roce::RoceConfig>(one.config.engines).unlimited_retries = true;
  one.config.fabric.profiles = {sim::PortProfile::single_queue()};
  one.config.fabric.faults = {{.loss = std::stod(std::string(loss))}};
  one.config.time_limit = seconds(100);
  return one;
}

/// Packets delivered per packet time. Go-Back-N sends again what was in flight behind the loss, `pipe`
/// packets with the lost one; a lost negative acknowledgement, or a lost repetition, is found by the timer.
double go_back_n(double loss, double pipe, double timeout_in_packets) {
  return 1 / ((1 + loss * (pipe - 1)) / (1 - loss) + loss * either(loss) * timeout_in_packets);
}

// Declared. Accounting: the published means come from 5000 draws, so three standard deviations; likewise the
// waits for time-outs of the mechanism's 5000 operations at 1 % and above. Streams within 15 % of the
// formulas, which know no ends of the stream and, of Go-Back-N, no second loss within a repair. What the
// formulas say of a window of one round trip (RoCE waits for the answers that it asks for, a selective window
// stands until its holes are filled) and of URMA's two timers was worked out after a first run had shown
// them.
constexpr double kDeviations = 3;
constexpr double kStreamMargin = 0.15;
/// Where 5 % stands in kLosses and in kStreamLosses.
constexpr std::size_t kFivePercent = 5;
constexpr std::size_t kFivePercentOfStreams = 3;

/// A repair's clean stream: times per packet.
struct CleanStream {
  double round_trip;  ///< One packet at a time.
  double packet;      ///< With the widest window.
  double timeout;
  double pipe() const { return round_trip / packet; }
};

/// The share of the clean rate that `repair` keeps with `window` packets in flight.
double formula_of(const Repair& repair, std::uint32_t window, double loss, const CleanStream& clean) {
  const bool roce = repair.protocol == wire::Protocol::kRoce;
  if (window == 1)
    return clean.round_trip / (clean.round_trip + timeouts_ns(either(loss), clean.timeout, !roce));
  if (repair.recovery == ub::LossRecovery::kGoBackN) {
    const double formula = go_back_n(loss, clean.pipe(), clean.timeout / clean.packet);
    // RoCE asks for an answer for each half of its window: the next but one waits for it, so two halves take
    // the time of one and a round trip.
    const double waits = std::max(0.0, clean.pipe() / window - 0.5);
    return roce && window == kWindows[1] ? 1 / (1 / formula + waits) : formula;
  }
  if (window != kWindows[1]) return 1 - loss;
  // The window stands until its holes are filled, one more round trip for all that are lost for the first,
  // second, ... time.
  double rounds = 0;
  for (double lost_again = loss; lost_again > 1e-9; lost_again *= loss)
    rounds += 1 - std::pow(1 - lost_again, clean.pipe());
  return (1 - loss) / (1 + rounds);
}

class Figure44 {
 public:
  explicit Figure44(const StudyContext& context) : context_(context), batch_(context), streams_(context) {}

  Result<void> run();
  Result<void> judge();
  Result<void> tell();
  StudyResult result;

 private:
  Result<void> judge_stack(std::size_t stack);
  void judge_waits(std::string_view stack, std::string_view x, double waited);
  void judge_repair(std::size_t repair);
  void judge_stream(const Repair& repair, std::uint32_t window, std::size_t loss, double share,
                    double formula, Series& line);
  const sim::RunReport& alone(std::size_t stack, std::size_t loss) const {
    return batch_[mechanism_[stack * kLosses.size() + loss]];
  }

  const StudyContext& context_;
  ReferenceTable published_;
  RunBatch batch_;
  std::vector<std::size_t> accounting_;  ///< By stack.
  std::vector<std::size_t> mechanism_;   ///< By stack and loss.
  FabricBatch streams_;                  ///< By repair, window and loss.
  /// Of each repair and window: share at each loss.
  std::vector<std::vector<double>> shares_;
  std::vector<std::vector<double>> formulas_;
  Plot latency_{"latency",        "Mean 64 B fetch, one at a time", "loss probability",      "ns",
                PlotKind::kLines, AxisScale::kLogarithmic,          AxisScale::kLogarithmic, {}};
  Plot goodput_{
      "goodput",        "Stream of 1 KiB packets", "loss probability",  "% of the rate without loss",
      PlotKind::kLines, AxisScale::kLogarithmic,   AxisScale::kFitting, {}};
};

Result<void> Figure44::run() {
  auto published = reference(context_, "F44_loss_recovery.csv");
  if (!published) return published.error();
  published_ = *std::move(published);
  for (const StackName& stack : kStacks) {
    accounting_.push_back(
        batch_.add(request({later_accounting(stack.key), stack.key, fetch_verb(stack.key)})));
    for (const std::string_view loss : kLosses)
      mechanism_.push_back(batch_.add(one_at_a_time(stack.key, loss)));
    batch_.compare(accounting_.back(), mechanism_.back());
  }
  WHARF_TRY(batch_.run());
  for (const Repair& repair : kRepairs) {
    for (const std::uint32_t window : kWindows) {
      for (const std::size_t place : kStreamLosses) streams_.add(stream(repair, window, kLosses[place]));
    }
  }
  return streams_.run();
}

Result<void> Figure44::judge() {
  result.columns = {{"what", "what", 0},
                    {"window", "window", 0},
                    {"loss", "loss", 4},
                    {"paper_ns", "paper ns", 0},
                    {"accounting_ns", "acct ns (a run, a formula for losses)", 0},
                    {"mechanism_ns", "mech ns", 0},
                    {"mechanism_p99_ns", "p99 ns", 0},
                    {"goodput_percent", "goodput %", 1},
                    {"formula_percent", "formula %", 1}};
  for (std::size_t stack = 0; stack < kStacks.size(); ++stack) WHARF_TRY(judge_stack(stack));
  for (std::size_t repair = 0; repair < kRepairs.size(); ++repair) judge_repair(repair);
  result.plots = {latency_, goodput_};
  result.rules = {kConstantPenalty};
  const auto ratio = [this](std::string_view what, std::size_t one, std::size_t other) {
    const double formula = formulas_[one][kFivePercentOfStreams] / formulas_[other][kFivePercentOfStreams];
    result.checks.push_back(between(
        std::string(what), shares_[one][kFivePercentOfStreams] / shares_[other][kFivePercentOfStreams],
        formula * (1 - kStreamMargin), formula * (1 + kStreamMargin)));
  };
  ratio("at 5 % loss and window 128: selective over Go-Back-N goodput", 2, 8);
  ratio("at 5 % loss and window 1: UB over RoCE goodput of streams", 0, 6);
  return {};
}

/// Fetches one at a time.
Result<void> Figure44::judge_stack(std::size_t s) {
  const std::string name(kStacks[s].key);
  const std::string artifact(kStacks[s].artifact);
  const double base = mean_ns(batch_[accounting_[s]]);
  Series paper = published_series(name);
  Series real = mechanism_series(name);
  for (std::size_t l = 0; l < kLosses.size(); ++l) {
    const std::string x(kLosses[l]);
    const double loss = std::stod(x);
    const auto value = published_.at(artifact + " mean_ns", x);
    if (!value) return value.error();
    const double expected = base + loss * kPenalties[s].ns;
    const double spread = 3 * kPenalties[s].ns * std::sqrt(loss * (1 - loss) / kOperations);
    result.checks.push_back({CheckKind::kAccounting, fmt::format("{} at {}", name, x), *value,
                             expected - spread - 1, expected + spread + 1});
    const sim::RunReport& report = alone(s, l);
    if (loss >= 0.01) judge_waits(name, x, mean_ns(report) - mean_ns(alone(s, 0)));
    result.rows.push_back({{"what", name},
                           {"window", 1},
                           {"loss", loss},
                           {"paper_ns", *value},
                           {"accounting_ns", expected},
                           {"mechanism_ns", mean_ns(report)},
                           {"mechanism_p99_ns", report.program_latency.p99_ns}});
    if (loss > 0) {
      paper.points.push_back({loss, *value, ""});
      real.points.push_back({loss, mean_ns(report), ""});
    }
  }
  latency_.series.push_back(paper);
  latency_.series.push_back(real);
  return {};
}

void Figure44::judge_waits(std::string_view stack, std::string_view x, double waited) {
  const double timeout = is_roce(stack) ? kRoceTimeoutNs : stack == kUbLoadStore ? kReissueNs : kUbTimeoutNs;
  const double loss = std::stod(std::string(x));
  // URMA's two ends have a timer each, for the request and for the answer, which is a packet of its own;
  // elsewhere one timer stands for both ways.
  const int timers = stack == kUbUrma ? 2 : 1;
  const Waits each = waits(timers == 2 ? loss : either(loss), !is_roce(stack));
  const double variance = (each.square - each.mean * each.mean) / timers / kOperations;
  const double margin = kDeviations * std::sqrt(variance) / each.mean;
  result.checks.push_back(between(fmt::format("{} at {}: waits over their expectation", stack, x),
                                  waited / (timers * timeout * each.mean), 1 - margin, 1 + margin));
}

/// Streams.
void Figure44::judge_repair(std::size_t r) {
  const Repair& repair = kRepairs[r];
  const std::size_t first = r * kWindows.size() * kStreamLosses.size();
  const double widest = streams_.whole_ns(first + (kWindows.size() - 1) * kStreamLosses.size());
  const CleanStream clean{streams_.whole_ns(first) / kStreamPackets, widest / kStreamPackets,
                          repair.protocol == wire::Protocol::kRoce ? kRoceTimeoutNs : kUbTimeoutNs};
  result.checks.push_back(
      between(fmt::format("{}: packets in a round trip", repair.name), clean.pipe(), 28, 32));
  std::size_t place = first;
  for (const std::uint32_t window : kWindows) {
    // One packet at a time is compared with itself without loss, a window with what the link can carry.
    const double whole = (window == 1 ? clean.round_trip : clean.packet) * kStreamPackets;
    Series line{fmt::format("{} window {}", repair.name, window), {}};
    shares_.emplace_back();
    formulas_.emplace_back();
    for (const std::size_t at : kStreamLosses) {
      const double share = whole / streams_.whole_ns(place++);
      const double loss = std::stod(std::string(kLosses[at]));
      const double formula = formula_of(repair, window, loss, clean);
      judge_stream(repair, window, at, share, formula, line);
      shares_.back().push_back(share);
      formulas_.back().push_back(formula);
    }
    goodput_.series.push_back(line);
  }
}

void Figure44::judge_stream(const Repair& repair, std::uint32_t window, std::size_t at, double share,
                            double formula, Series& line) {
  const double loss = std::stod(std::string(kLosses[at]));
  if (loss > 0) {
    const std::string what =
        fmt::format("{} window {} at {}: goodput over the formula", repair.name, window, kLosses[at]);
    result.checks.push_back(between(what, share / formula, 1 - kStreamMargin, 1 + kStreamMargin));
    line.points.push_back({loss, 100 * share, ""});
  }
  result.rows.push_back({{"what", repair.name},
                         {"window", window},
                         {"loss", loss},
                         {"goodput_percent", 100 * share},
                         {"formula_percent", 100 * formula}});
}

Result<void> Figure44::tell() {
  const auto paper_ub = published_.at("UB throughput drop", "0.05");
  const auto paper_roce = published_.at("RoCE throughput drop", "0.05");
  if (!paper_ub) return paper_ub.error();
  if (!paper_roce) return paper_roce.error();
  const auto drop = [&](std::size_t repair, std::size_t window) {
    return 100 * (1 - shares_[repair * kWindows.size() + window][kFivePercentOfStreams]);
  };
  const double alone_ub = mean_ns(alone(1, 0)) / mean_ns(alone(1, kFivePercent));
  const double alone_roce = mean_ns(alone(3, 0)) / mean_ns(alone(3, kFivePercent));
  result.sentences = {
      fmt::format("Published, 5 % loss costs UB {:.0f} % and RoCE {:.0f} % of their throughput, because a "
                  "lost request is charged one round trip (RoCE: 32). With one operation at a time nothing "
                  "follows a lost packet that could show the gap, so every loss is found by a timer, on all "
                  "stacks alike: UB loses {:.0f} %, RoCE {:.0f} %.",
                  *paper_ub, *paper_roce, 100 * (1 - alone_ub), 100 * (1 - alone_roce)),
      fmt::format("With a full pipe the recovery decides, and more than published: at 5 % Go-Back-N loses "
                  "{:.0f} % (RoCE) and {:.0f} % (UB), selective repair {:.0f} % with a window of 128. With a "
                  "window of 32, just one round trip, it loses {:.0f} %: the window stands until the hole is "
                  "filled.",
                  drop(2, 1), drop(1, 1), drop(0, 2), drop(0, 1))};
  result.checks.push_back(streams_.integrity());
  return conclude(batch_, result);
}

}  // namespace

Result<StudyResult> figure44(const StudyContext& context) { return in_three_steps<Figure44>(context); }

}  // namespace wharf::study::openurma
