// SPDX-License-Identifier: Apache-2.0
// wharf sweep SCENARIO --vary key=a,b: many runs, on every core, into one SQLite file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "cli/command.h"
#include "cli/html_page.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "cli/sweep_page.h"
#include "cli/sweep_runs.h"
#include "cli/verbose.h"
#include "report/sweep_database.h"
#include "report/text_table.h"
#include "wharf/version.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

/// One varied key and its values.
struct Axis {
  std::string key;
  std::vector<std::string> values;
};

Result<Axis> parse_axis(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return input_error(fmt::format("--vary {}: expected key=a,b,c, for example --vary run.seed=1,2,3", text));
  }
  Axis axis{text.substr(0, equals), {}};
  std::string_view rest = std::string_view(text).substr(equals + 1);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    std::string value(rest.substr(0, comma));
    if (std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end())
      return input_error(fmt::format("--vary {}: found {} twice, expected each value once", axis.key, value));
    axis.values.push_back(std::move(value));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty())
      return input_error(fmt::format("--vary {}: ends in a comma, expected a value behind it", text));
  }
  return axis;
}

class SweepCommand : public Command {
 public:
  std::string_view name() const override { return "sweep"; }
  std::string_view summary() const override {
    return "Run a scenario for every combination of values, on all cores.";
  }
  std::string_view examples() const override {
    return "  wharf sweep fetch-64-bytes --out out/delay \\\n"
           "      --vary model.link.delay=50ns,100ns,200ns\n"
           "  wharf sweep key-value --vary model.stack=ub_urma,roce_dma \\\n"
           "      --vary run.value_bytes=64B,1KiB\n"
           "  wharf sweep incast --seed 7 --vary fabric.control=sender,both\n"
           "  wharf sweep fetch-64-bytes --html out/delay.html \\\n"
           "      --vary model.link.delay=50ns,100ns,200ns\n"
           "  sqlite3 out/delay/results.sqlite 'select * from runs'\n";
  }
  void declare(Options& app) override {
    scenario_.declare(app);
    scenario_.declare_memory(app);
    app.add_option("--vary", vary_, "A key and its values, as key=a,b,c; may be repeated")
        .type_name("KEY=A,B,...")
        .required()
        .one_value_each();
    app.add_option("-o,--out", out_,
                   "Directory for results.sqlite; an interrupted sweep goes on where it stopped")
        .type_name("DIR");
    app.add_option("-j,--jobs", jobs_, "Runs at a time, 1 to 1024; all cores by default")
        .type_name("N")
        .range(1, 1024);
    html_.declare(app);
  }

  Result<ExitCode> run(const Console& console) override {
    WHARF_TRY(scenario_.take_seed());
    for (const std::string& text : vary_) {
      auto axis = parse_axis(text);
      if (!axis) return axis.error();
      axes_.push_back(*std::move(axis));
    }
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) WHARF_TRY(check_axis(axis));
    std::size_t total = 1;
    for (const Axis& axis : axes_) total *= axis.values.size();
    // Every combination is checked before the first one runs.
    WHARF_TRY(scenario_.read());
    auto makes = SweepRuns::of(scenario_);
    if (!makes) return makes.error();
    runs_.reserve(total);
    for (std::size_t index = 0; index < total; ++index) {
      auto run = makes->make(overrides_of(index));
      if (!run) return run.error();
      runs_.push_back(*std::move(run));
    }
    tell_places(scenario_, console);
    if (scenario_.verbose) console.remark(fmt::format("{} runs, {} at a time", total, jobs_at_a_time()));
    WHARF_TRY(html_.open());
    std::optional<report::SweepDatabase> database;
    std::set<int> finished;
    if (!out_.empty()) {
      std::error_code status;
      if (fs::exists(out_, status) && !fs::is_directory(out_, status))
        return input_error(
            fmt::format("--out {}: that is a file, expected a directory for the results", out_));
      fs::create_directories(out_, status);
      if (status) return Error{ErrorKind::kEnvironment, fmt::format("--out {}: {}", out_, status.message())};
      std::vector<std::string> keys;
      for (const Axis& axis : axes_) keys.push_back(axis.key);
      auto opened = report::SweepDatabase::open(fs::path(out_) / "results.sqlite", keys);
      if (!opened) return opened.error();
      database.emplace(*std::move(opened));
      auto done = database->finished_runs();
      if (!done) return done.error();
      for (const report::StoredRun& run : *done) {
        WHARF_TRY(check_stored(run));
        finished.insert(run.run);
        stored_[static_cast<std::size_t>(run.run)] = run.summary;
        if (run.holds) continue;
        holds_ = false;
        failures_.push_back(
            fmt::format("run {} ({}), which {} holds already, did not keep what the scenario expects",
                        run.run, fmt::join(run.values, ", "), out_));
        console.error(failures_.back());
      }
      if (!finished.empty())
        console.remark(fmt::format("{} of {} runs are in {} already", finished.size(), total, out_));
    }
    return run_all(console, database ? &*database : nullptr, finished);
  }

 private:
  /// Refuses a key that something else sets too: only one of the two could count.
  Result<void> check_axis(std::size_t axis) const {
    const std::string& key = axes_[axis].key;
    for (std::size_t other = 0; other < axis; ++other) {
      if (axes_[other].key == key)
        return input_error(
            fmt::format("--vary {} is given twice, expected it once with all of its values", key));
    }
    if (key == "run.seed" && scenario_.seed_given())
      return input_error("--seed and --vary run.seed are both given, expected one of them");
    for (const std::string& assignment : scenario_.overrides) {
      if (assignment.substr(0, assignment.find('=')) == key)
        return input_error(fmt::format("--set {0} and --vary {0} are both given, expected one of them", key));
    }
    if (key == "model.profile" && !scenario_.profile.empty())
      return input_error("--profile and --vary model.profile are both given, expected one of them");
    return {};
  }

  /// Everything that decides run `index`: the scenario with all its keys, what it reads, this program.
  std::string configuration_of(std::size_t index) const {
    return fmt::format("{}-{}-{}", runs_[index]->configuration(), version(), commit());
  }

  /// Refuses a directory whose runs are not those of this sweep.
  Result<void> check_stored(const report::StoredRun& stored) const {
    const auto index = static_cast<std::size_t>(stored.run);
    if (stored.run < 0 || index >= runs_.size()) {
      return input_error(
          fmt::format("--out {}: holds a run {}, but this sweep has {} runs, expected the same sweep "
                      "or a new directory",
                      out_, stored.run, runs_.size()));
    }
    const std::vector<std::string> values = values_of(index);
    if (stored.values != values) {
      return input_error(
          fmt::format("--out {}: run {} there is of {}, in this sweep it is of {}, expected the same "
                      "sweep or a new directory",
                      out_, stored.run, fmt::join(stored.values, ", "), fmt::join(values, ", ")));
    }
    if (stored.configuration != configuration_of(index)) {
      return input_error(
          fmt::format("--out {}: run {} there is of another scenario, --set, profile, trace or version "
                      "of the program, expected the same sweep or a new directory",
                      out_, stored.run));
    }
    return {};
  }

  std::vector<std::string> values_of(std::size_t index) const {
    std::vector<std::string> values(axes_.size());
    for (std::size_t axis = axes_.size(); axis-- > 0;) {
      values[axis] = axes_[axis].values[index % axes_[axis].values.size()];
      index /= axes_[axis].values.size();
    }
    return values;
  }
  std::vector<std::string> overrides_of(std::size_t index) const {
    std::vector<std::string> overrides;
    const auto values = values_of(index);
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      overrides.push_back(axes_[axis].key + "=" + values[axis]);
    return overrides;
  }

  unsigned jobs_at_a_time() const {
    return jobs_ != 0 ? jobs_ : std::max(1U, std::thread::hardware_concurrency());
  }

  Result<ExitCode> run_all(const Console& console, report::SweepDatabase* database,
                           const std::set<int>& finished) {
    Progress progress(console, "sweep");
    std::mutex mutex;  // Guards everything below.
    std::optional<Error> failure;
    std::size_t ended = finished.size();
    std::vector<nlohmann::ordered_json> summaries(runs_.size());
    for (auto& [index, summary] : stored_) summaries[index] = std::move(summary);
    std::vector<std::string> configurations;
    for (std::size_t index = 0; index < runs_.size(); ++index)
      configurations.push_back(configuration_of(index));

    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (;;) {
        const std::size_t index = next.fetch_add(1);
        if (index >= runs_.size() || interrupt_requested()) return;
        if (finished.contains(static_cast<int>(index))) continue;
        auto outcome = runs_[index]->execute();
        const std::lock_guard lock(mutex);
        if (failure) return;
        const std::string place = fmt::format("run {} ({})", index, fmt::join(overrides_of(index), ", "));
        if (!outcome) {
          failure = outcome.error();
          if (failure->kind == ErrorKind::kStalled)
            failure->message = fmt::format("{} stalled; {}", place, failure->message);
          return;
        }
        if (outcome->interrupted) return;
        summaries[index] = std::move(outcome->summary);
        const bool holds = outcome->failures.empty();
        for (const std::string& each : outcome->failures) {
          failures_.push_back(fmt::format("{}: {}", place, each));
          console.error(failures_.back());
        }
        holds_ = holds_ && holds;
        if (database != nullptr) {
          auto stored = database->add(
              {static_cast<int>(index), values_of(index), configurations[index], holds}, summaries[index]);
          if (!stored) {
            failure = stored.error();
            return;
          }
        }
        ++ended;
        progress.update(static_cast<double>(ended) / static_cast<double>(runs_.size()),
                        fmt::format("{} of {} runs", ended, runs_.size()));
      }
    };
    const unsigned jobs = jobs_at_a_time();
    std::vector<std::jthread> threads;
    for (unsigned job = 1; job < jobs && job < runs_.size(); ++job) threads.emplace_back(work);
    work();
    threads.clear();
    if (failure) return *failure;

    const report::TextTable table = print(console, summaries);
    if (html_.wanted()) WHARF_TRY(write_page(console, table, ended));
    if (interrupt_requested()) {
      console.error(fmt::format("interrupted after {} of {} runs; the same command goes on from there", ended,
                                runs_.size()));
      return ExitCode::kInterrupted;
    }
    return holds_ ? ExitCode::kDone : ExitCode::kJudgedFailed;
  }

  report::TextTable print(const Console& console,
                          const std::vector<nlohmann::ordered_json>& summaries) const {
    std::vector<report::TextTable::Column> columns{{"run", report::Align::kRight}};
    for (const Axis& axis : axes_) columns.push_back({axis.key, report::Align::kRight});
    for (const std::string& title : runs_.front()->titles())
      columns.push_back({title, report::Align::kRight});
    report::TextTable table(std::move(columns));
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    for (std::size_t index = 0; index < summaries.size(); ++index) {
      const auto& summary = summaries[index];
      if (summary.is_null()) continue;  // Not run.
      std::vector<std::string> cells{std::to_string(index)};
      nlohmann::ordered_json varied;
      const auto values = values_of(index);
      for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
        cells.push_back(values[axis]);
        varied[axes_[axis].key] = values[axis];
      }
      for (std::string& cell : runs_[index]->cells(summary)) cells.push_back(std::move(cell));
      table.add_row(cells);
      runs.push_back({{"run", index}, {"varied", varied}, {"summary", summary}});
    }
    console.print(nlohmann::ordered_json{{"runs", runs}});
    console.print(console.text_of(table));
    return table;
  }

  Result<void> write_page(const Console& console, const report::TextTable& table, std::size_t ended) {
    std::vector<std::string> keys;
    for (const Axis& axis : axes_) keys.push_back(axis.key);
    const std::string title = runs_.front()->title();
    report::Page page(
        fmt::format("{}, by {}", title.empty() ? scenario_.stem() : title, fmt::join(keys, " and ")));
    if (ended < runs_.size()) {
      page.verdict(
          false, "PARTIAL",
          fmt::format("Interrupted after {} of {} runs; the others are missing.", ended, runs_.size()));
    }
    // Runs end in any order.
    std::sort(failures_.begin(), failures_.end());
    if (ended == runs_.size() || !failures_.empty())
      add_verdict(page, failures_, fmt::format("All that is expected of {} runs.", runs_.size()));
    std::vector<SweptRow> rows;
    for (const std::vector<std::string>& row : table.rows()) {
      const auto values = row.begin() + 1;
      const auto cells = values + static_cast<std::ptrdiff_t>(keys.size());
      rows.push_back({{values, cells}, {cells, row.end()}});
    }
    page.section("Results");
    html_.add_plots(page, sweep_plots(keys, runs_.front()->titles(), rows), console);
    page.table(table);
    add_configuration(page, {scenario_.profile, scenario_.overrides, scenario_.text()});
    return html_.finish(page, console);
  }

  ScenarioOptions scenario_;
  std::vector<std::string> vary_;
  std::string out_;
  unsigned jobs_ = 0;
  HtmlPage html_;
  std::vector<Axis> axes_;
  std::vector<std::unique_ptr<SweepRun>> runs_;
  std::map<std::size_t, nlohmann::ordered_json> stored_;  ///< Summaries that --out held already.
  std::vector<std::string> failures_;                     ///< What did not hold, a sentence each.
  bool holds_ = true;                                     ///< Of every run so far, stored ones included.
};

}  // namespace

std::unique_ptr<Command> make_sweep_command() { return std::make_unique<SweepCommand>(); }

}  // namespace wharf::cli
