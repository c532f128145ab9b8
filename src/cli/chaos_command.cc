// SPDX-License-Identifier: Apache-2.0
// wharf chaos: drawn worlds, programs with known answers and faults, one for each seed, judged from outside.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/random.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/isolated_runs.h"
#include "report/counted.h"
#include "report/wrapped_text.h"
#include "sim/chaos/shrink.h"
#include "wharf/data_folders.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

/// Runs that finding a smaller one may take.
constexpr std::uint32_t kShrinkTries = 150;
/// Each of these may last as long as the run was patient.
constexpr std::uint32_t kShrinkTriesOfHangs = 3;

struct Failure {
  std::uint64_t seed = 0;
  std::vector<sim::Finding> findings;
  std::string file;  ///< The smaller scenario.
};

/// What all seeds together came to.
struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t operations = 0;
  std::map<std::uint64_t, std::string> refused;
  std::map<std::uint64_t, Failure> failures;  ///< By seed.
  std::set<std::string> known;
  std::set<std::string> reached;

  std::vector<std::string> missed() const {
    std::vector<std::string> names;
    std::set_difference(known.begin(), known.end(), reached.begin(), reached.end(),
                        std::back_inserter(names));
    return names;
  }
};

class ChaosCommand : public Command {
 public:
  std::string_view name() const override { return "chaos"; }
  std::string_view summary() const override {
    return "Draw worlds with faults and judge what becomes of them";
  }
  std::string_view examples() const override {
    return "  wharf chaos --seeds 200 --jobs 4\n"
           "  wharf chaos --seed 17                    # one of them again\n"
           "  wharf chaos --from $(git rev-parse HEAD) --seconds 300\n"
           "  wharf chaos --show 17 > seed-17.toml     # what it draws, as a scenario\n";
  }
  void declare(Options& app) override {
    Option seeds = app.add_option("--seeds", seeds_, "How many seeds, 1 to 1000000000; 100 by default")
                       .type_name("N")
                       .range(std::uint64_t{1}, kMost);
    Option first = app.add_option("--first", first_, "The first of them, 1 by default").type_name("SEED");
    Option from = app.add_option("--from", from_, "Seeds that derive from a text, such as a commit")
                      .type_name("TEXT")
                      .not_empty();
    app.add_option("--seconds", seconds_, "Start no seed after so long; no limit by default")
        .type_name("N")
        .range(1, 1'000'000);
    app.add_option("--jobs", jobs_, "Runs at a time, 1 to 256; 1 by default").type_name("N").range(1, 256);
    app.add_option("--patience", patience_, "Seconds of a processor after which a run hangs; 120 by default")
        .type_name("N")
        .range(1, 1'000'000);
    app.add_option("--out", out_, "Folder of the scenarios of failures, chaos-failures by default")
        .type_name("DIR")
        .not_empty();
    app.add_flag("--coverage", coverage_, "List the counters of engines that no seed reached");
    one_ = app.add_option("--seed", seed_, "One seed alone").type_name("SEED");
    show_ = app.add_option("--show", shown_, "Print what a seed draws, and run nothing").type_name("SEED");
    one_.excludes(show_);
    for (const Option& each : {seeds, first, from}) {
      one_.excludes(each);
      show_.excludes(each);
    }
  }

  Result<ExitCode> run(const Console& console) override {
    if (show_.given()) {
      const std::string scenario = sim::scenario_text(sim::draw_run(shown_));
      console.print(Json{{"seed", shown_}, {"scenario", scenario}});
      console.print(std::string_view(scenario));
      return ExitCode::kDone;
    }
    std::error_code status;
    if (fs::exists(out_, status) && !fs::is_directory(out_, status))
      return input_error(fmt::format("--out {}: that is a file, expected a directory for scenarios", out_));
    auto profiles = data_directory("profiles");
    if (!profiles) return profiles.error();
    if (one_.given()) seeds_ = 1;
    IsolatedRuns runs(*profiles, static_cast<std::uint32_t>(jobs_), std::chrono::seconds(patience_));
    Totals totals;
    const auto started = Clock::now();
    std::uint64_t next = 0;
    while (!interrupt_requested()) {
      const bool in_time = seconds_ == 0 || Clock::now() - started < std::chrono::seconds(seconds_);
      if (next < seeds_ && in_time && !runs.full()) {
        WHARF_TRY(runs.start(sim::draw_run(seed_at(next++))));
        continue;
      }
      if (runs.empty()) break;
      auto ended = runs.next(interrupt_requested());
      if (!ended) return ended.error();
      if (*ended) WHARF_TRY(take(**ended, *profiles, totals, console));
    }
    console.print(document(totals));
    console.print(text(totals));
    if (interrupt_requested()) return ExitCode::kInterrupted;
    return totals.failures.empty() ? ExitCode::kDone : ExitCode::kJudgedFailed;
  }

 private:
  static constexpr std::uint64_t kMost = 1'000'000'000;

  std::uint64_t seed_at(std::uint64_t index) const {
    if (one_.given()) return seed_;
    if (from_.empty()) return first_ + index;
    // Short enough to be typed.
    return RandomStream(0, "chaos.seeds." + from_).substream(index).next_u64() >> 24U;
  }

  Result<void> take(IsolatedRuns::Ended& ended, const fs::path& profiles, Totals& totals,
                    const Console& console) const {
    const sim::Verdict& verdict = ended.verdict;
    const std::uint64_t seed = ended.run.seed;
    ++totals.seeds;
    totals.operations += verdict.operations;
    totals.known.insert(verdict.known.begin(), verdict.known.end());
    totals.reached.insert(verdict.reached.begin(), verdict.reached.end());
    if (!verdict.refused.empty()) totals.refused[seed] = verdict.refused;
    if (verdict.ok()) return {};
    for (const sim::Finding& each : verdict.findings)
      console.error(
          fmt::format("seed {} ({}): {}: {}", seed, sim::describe(ended.run), each.check, each.what));
    console.remark(
        fmt::format("seed {}: looking for a smaller run; again: wharf chaos --seed {}", seed, seed));
    auto file = keep_smaller(ended, profiles);
    if (!file) return file.error();
    console.error(ended.run.peers ? fmt::format("seed {}: what it drew, made smaller: {}", seed, *file)
                                  : fmt::format("seed {}: a smaller run that fails so: wharf run {} --verify",
                                                seed, *file));
    totals.failures[seed] = {seed, verdict.findings, *file};
    return {};
  }

  /// Writes the smallest scenario that fails the same check.
  Result<std::string> keep_smaller(const IsolatedRuns::Ended& ended, const fs::path& profiles) const {
    std::optional<Error> broken;
    const auto first_failure = [&](const sim::DrawnRun& run) -> std::string {
      if (broken || interrupt_requested()) return "";
      IsolatedRuns alone(profiles, 1, std::chrono::seconds(patience_));
      if (auto started = alone.start(run); !started) {
        broken = started.error();
        return "";
      }
      const auto verdict = alone.next(interrupt_requested());
      if (!verdict) {
        broken = verdict.error();
        return "";
      }
      if (!*verdict) return "";
      return (*verdict)->verdict.ok() ? "" : (*verdict)->verdict.findings.front().check;
    };
    const std::string& check = ended.verdict.findings.front().check;
    const sim::Shrunk smaller =
        sim::shrink(ended.run, check, first_failure, check == "hang" ? kShrinkTriesOfHangs : kShrinkTries);
    if (broken) return *broken;
    std::error_code failed;
    fs::create_directories(out_, failed);
    const fs::path path = fs::path(out_) / fmt::format("chaos-{}.toml", ended.run.seed);
    std::ofstream file(path);
    file << sim::scenario_text(smaller.run);
    file.close();
    if (!file) return Error{ErrorKind::kEnvironment, fmt::format("{} cannot be written", path.string())};
    return path.string();
  }

  static Json document(const Totals& totals) {
    Json failures = Json::array();
    for (const auto& [seed, failure] : totals.failures) {
      Json findings = Json::array();
      for (const sim::Finding& each : failure.findings)
        findings.push_back({{"check", each.check}, {"what", each.what}});
      failures.push_back({{"seed", seed},
                          {"findings", std::move(findings)},
                          {"scenario", failure.file},
                          {"replay", fmt::format("wharf chaos --seed {}", seed)}});
    }
    Json refused = Json::array();
    for (const auto& [seed, why] : totals.refused) refused.push_back({{"seed", seed}, {"why", why}});
    return {{"interrupted", interrupt_requested().load()},
            {"seeds", totals.seeds},
            {"operations", totals.operations},
            {"refused", std::move(refused)},
            {"failures", std::move(failures)},
            {"reached", totals.reached},
            {"not_reached", totals.missed()}};
  }

  std::string text(const Totals& totals) const {
    std::string out = interrupt_requested() ? "interrupted after " : "";
    out += fmt::format("{}, {}", report::counted(totals.seeds, "seed", "seeds"),
                       report::counted(totals.operations, "operation", "operations"));
    if (!from_.empty()) out += fmt::format(", from \"{}\"", from_);
    if (!totals.refused.empty())
      out += fmt::format("; {} drew what does not go together",
                         report::counted(totals.refused.size(), "seed", "seeds"));
    if (!totals.failures.empty())
      out += fmt::format(": {} broke a rule", report::counted(totals.failures.size(), "seed", "seeds"));
    else if (!interrupt_requested())
      out += ": no rule was broken";
    out += '\n';
    for (const auto& [seed, failure] : totals.failures)
      out += fmt::format("  wharf chaos --seed {}   {}\n", seed, failure.findings.front().check);
    if (coverage_)
      out +=
          report::in_lines(fmt::format("{} of {} counters of engines reached; not: {}", totals.reached.size(),
                                       totals.known.size(), fmt::join(totals.missed(), ", ")));
    return out;
  }

  std::uint64_t seeds_ = 100;
  std::uint64_t first_ = 1;
  std::uint64_t seed_ = 1;
  std::uint64_t shown_ = 1;
  std::string from_;
  int seconds_ = 0;
  int jobs_ = 1;
  int patience_ = 120;
  std::string out_ = "chaos-failures";
  bool coverage_ = false;
  Option one_;
  Option show_;
};

}  // namespace

std::unique_ptr<Command> make_chaos_command() { return std::make_unique<ChaosCommand>(); }

}  // namespace wharf::cli
