// SPDX-License-Identifier: Apache-2.0
// wharf run SCENARIO: one run, its summary, and its files under --out.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/draw_plots.h"
#include "cli/fabric_run.h"
#include "cli/html_page.h"
#include "cli/interrupt.h"
#include "cli/manifest.h"
#include "cli/memory_check.h"
#include "cli/progress.h"
#include "cli/run_files.h"
#include "cli/run_page.h"
#include "cli/run_text.h"
#include "cli/scenario_options.h"
#include "cli/verbose.h"
#include "cli/verification.h"
#include "cli/world_plots.h"
#include "report/plot_drawing.h"
#include "report/result_directory.h"
#include "sim/scenario/judgement.h"
#include "sim/scenario/read_again.h"
#include "sim/scenario/run.h"
#include "sim/scenario/run_request.h"
#include "wharf/schema_version.h"

namespace wharf::cli {
namespace {

/// --threads stands for a key of worlds; who typed the option is told of that.
Error named_as_typed(Error refused) {
  constexpr std::string_view kKey = "--set: hosts.threads";
  if (refused.message.starts_with(kKey)) refused.message.replace(0, kKey.size(), "--threads");
  return refused;
}

class RunCommand : public Command {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override { return "Run one scenario: summary table, files under --out."; }
  std::string_view examples() const override {
    return "  wharf run fetch-64-bytes\n"
           "  wharf run lossy-writes --out out/lossy --capture --timeline\n"
           "  wharf run key-value --set model.stack=roce_dma --seed 7\n"
           "  wharf run incast --set fabric.controller=swift\n"
           "  wharf run --cm scenarios/permutation-16.cm --profile htsim-uec \\\n"
           "      --out out/permutation\n"
           "  wharf run --flows scenarios/few-flows.csv --topo fat_tree:16 \\\n"
           "      --set fabric.protocol=roce\n"
           "  wharf run --goal scenarios/ring-steps.goal --set traffic.calc_scale=2\n"
           "  wharf run --collective ring_all_reduce --topo fat_tree:16 \\\n"
           "      --set traffic.size=4MiB --set traffic.placement=stride:4\n"
           "  wharf run --arrivals web_search --topo leaf_spine:32 --threads 2 \\\n"
           "      --set traffic.load=0.6 --set traffic.flows=200\n"
           "  wharf run --cm scenarios/permutation-16.cm --out out/observed \\\n"
           "      --set observe.period=1us --set 'observe.ports=leaf0-*' \\\n"
           "      --set observe.flows=1,3 \\\n"
           "      --capture leaf0-host0=port.pcapng\n"
           "  wharf run incast --html out/incast.html\n";
  }
  void declare(Options& app) override {
    scenario_.declare(app);
    scenario_.declare_memory(app);
    app.option("scenario").required(false);  // Runs of many hosts have none.
    fabric_.declare(app);
    app.add_option("-o,--out", out_, "Directory for the result files; new or empty").not_empty();
    app.add_flag("--force", force_, "Replace an earlier result in --out");
    app.add_option("--wire", wire_, "structs (fast) or bytes (encode and decode every hop; same results)")
        .type_name("structs|bytes")
        .one_of({"structs", "bytes"});
    app.add_option(
           "--capture", captures_,
           "Write what every host sends into capture.pcapng (needs --out); or what leaves a port, named as "
           "wharf topo show --ports does, into a file; may be repeated")
        .type_name("[PORT=FILE]")
        .value_optional();
    app.add_flag("--timeline", timeline_, "Write timeline.pftrace for Perfetto (needs --out)");
    const Option plot = app.add_flag(
        "--plot", plot_,
        "Draw latencies or completion times, and the series of observe.*, with gnuplot (needs --out)");
    app.add_flag("--pdf", pdf_, "Each of these plots as PDF, too, for a paper").needs(plot);
    html_.declare(app);
    app.add_flag("--verify", verify_,
                 "Run twice, the second time with --wire bytes, and compare the histories");
  }
  Result<ExitCode> run(const Console& console) override {
    WHARF_TRY(sort_captures());
    WHARF_TRY(scenario_.take_seed());
    if (!scenario_.file.empty()) WHARF_TRY(scenario_.read());
    const auto asked = fabric_.request(scenario_);
    if (!asked) return asked.error();
    const auto kind = sim::kind_of(*asked);
    if (!kind) return kind.error();
    const bool many = *kind == sim::ScenarioKind::kManyHosts;
    if (many && timeline_)
      return Error{ErrorKind::kUsage,
                   "wharf run: --timeline is for runs of programs, not of flows, of which observe.* (such as "
                   "--set observe.period=1us) writes series and --html draws each flow"};
    if ((capture_ || timeline_) && out_.empty()) {
      return Error{ErrorKind::kUsage,
                   "wharf run: --capture and --timeline write files, so they need --out DIR"};
    }
    if (force_ && out_.empty())
      return Error{ErrorKind::kUsage, "wharf run: --force replaces a result directory, so it needs --out"};
    if (many) {
      return run_fabric({fabric_, scenario_, out_, force_, wire_ == "bytes", verify_, ports_, capture_, plot_,
                         pdf_, &html_},
                        console);
    }
    if (scenario_.file.empty())
      return Error{ErrorKind::kUsage,
                   "wharf run: scenario is required, or --cm, --flows, --goal, --collective or --arrivals"};
    if (plot_ && out_.empty())
      return Error{ErrorKind::kUsage, "wharf run: --plot draws into the result directory, so it needs --out"};
    if (pdf_) WHARF_TRY(report::expect_pdf("--pdf"));
    if (fabric_.threads != 0) scenario_.overrides.push_back(fmt::format("hosts.threads={}", fabric_.threads));
    const sim::WireMode wire = wire_ == "bytes" ? sim::WireMode::kBytes : sim::WireMode::kStructs;
    auto scenario = scenario_.load({}, wire);
    if (!scenario) return fabric_.threads != 0 ? named_as_typed(scenario.error()) : scenario.error();
    tell_inputs(scenario_, *scenario, console);
    for (const std::string& line : scenario->no_influence) console.remark(line);
    WHARF_TRY(check_memory(*scenario, scenario_));
    if (verify_) WHARF_TRY(sim::require_same_again(*scenario));
    if (scenario->config.world.fabric.observation.period > kTimeZero && out_.empty() && !html_.wanted())
      console.remark(
          "observe.period has no influence without --out, where the series are written, or --html");

    WHARF_TRY(html_.open());
    std::optional<report::ResultDirectory> directory;
    if (!out_.empty()) {
      auto created = report::ResultDirectory::create(out_, force_);
      if (!created) return created.error();
      directory.emplace(*std::move(created));
    }
    RunFiles files;
    if (directory) {
      WHARF_TRY(files.open(*directory, capture_, timeline_));
    }

    const auto started = std::chrono::steady_clock::now();
    auto report = execute(*scenario, wire, files, ports_, console);
    if (!report) return report.error();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

    std::optional<std::string> difference;
    bool interrupted = report->end == sim::RunOutcome::kInterrupted;
    if (verify_ && !interrupted) {
      RunFiles none;
      // Damage behind the frame check exists on real frames only.
      const bool bytes_only = scenario->config.link.faults.damage_past_check > 0;
      const sim::WireMode other =
          wire == sim::WireMode::kStructs || bytes_only ? sim::WireMode::kBytes : sim::WireMode::kStructs;
      auto again = execute(*scenario, other, none, {}, console);
      if (!again) return again.error();
      difference = difference_of(*report, *again);
      interrupted = again->end == sim::RunOutcome::kInterrupted;
      if (!difference && !interrupted) {
        console.remark(fmt::format("verified: a second run through {} has the same history {:#018x}",
                                   other == sim::WireMode::kBytes ? "bytes" : "structs",
                                   report->fingerprint));
      }
    }

    const auto judged = sim::judge(*scenario, *report);
    if (!judged) return judged.error();
    if (directory) {
      WHARF_TRY(files.finish(*directory, *scenario, *report, judged->summary));
      WHARF_TRY(directory->write(
          "manifest.json",
          versioned(manifest_of(console, *scenario, scenario_, wire_, out_, report->end, seconds)).dump(2) +
              "\n"));
      if (plot_) WHARF_TRY(draw(*directory, plots_of(*scenario, *report), pdf_, console));
      WHARF_TRY(directory->commit());
    }
    console.print(judged->summary);
    const std::vector<report::Part> parts = run_parts(*scenario, *report, judged->judged);
    console.print(run_text(*scenario, console.text_of(parts)));
    if (directory && !console.json) console.print(fmt::format("results in {}\n", directory->path().string()));
    if (html_.wanted()) WHARF_TRY(write_page(*scenario, *report, *judged, parts, console));

    if (difference) {
      console.error(*difference);
      return ExitCode::kBug;
    }
    if (report->end == sim::RunOutcome::kStalled) {
      std::string text = "the run stalled";
      for (const std::string& line : report->waiting) text += "; " + line;
      return Error{ErrorKind::kStalled, text};
    }
    if (interrupted) {
      console.error(report->end == sim::RunOutcome::kInterrupted
                        ? "interrupted; the results so far are marked as partial"
                        : "interrupted before the second run ended; the results are whole, but not verified");
      return ExitCode::kInterrupted;
    }
    for (const std::string& failure : judged->failures) console.error(failure);
    return judged->failures.empty() ? ExitCode::kDone : ExitCode::kJudgedFailed;
  }

 private:
  /// --capture stands alone or before PORT=FILE; a word without = behind it is the scenario.
  Result<void> sort_captures() {
    for (const std::string& word : captures_) {
      if (const std::size_t equals = word.find('='); equals != std::string::npos) {
        if (equals == 0 || equals + 1 == word.size()) {
          return Error{ErrorKind::kUsage,
                       fmt::format("wharf run: found --capture {}, expected --capture PORT=FILE", word)};
        }
        ports_.push_back({word.substr(0, equals), word.substr(equals + 1)});
        continue;
      }
      capture_ = true;
      if (word != "true" && scenario_.file.empty()) scenario_.file = word;
    }
    return {};
  }

  std::vector<report::Plot> plots_of(const sim::Scenario& scenario, const sim::RunReport& report) const {
    std::vector<report::Plot> plots = world_plots(scenario, report);
    put_name_into_titles(plots, scenario_.file);
    return plots;
  }

  Result<void> write_page(const sim::Scenario& scenario, const sim::RunReport& report,
                          const sim::JudgedRun& judged, const std::vector<report::Part>& parts,
                          const Console& console) {
    RunEnd end{judged.failures, report.end == sim::RunOutcome::kInterrupted,
               report.end == sim::RunOutcome::kStalled, judged.judged.size()};
    for (const std::string& line : report.waiting) end.failures.push_back("The run stalled: " + line);
    report::Page page = run_page(scenario, scenario_, end, parts);
    html_.add_plots(page, plots_of(scenario, report), console);
    add_configuration(page, {scenario.config.profile, scenario_.overrides, scenario.effective});
    return html_.finish(page, console);
  }

  Result<sim::RunReport> execute(const sim::Scenario& scenario, sim::WireMode wire, RunFiles& files,
                                 const std::vector<sim::NamedCapture>& captures,
                                 const Console& console) const {
    Progress progress(console, "run");
    sim::RunOptions options;
    options.wire = wire;
    options.interrupt = &interrupt_requested();
    options.progress_context = &progress;
    options.progress = [](void* context, const sim::RunProgress& at) {
      static_cast<Progress*>(context)->update(
          at.fraction, fmt::format("{:.1f} us simulated, {:.1f} M events", as_nanoseconds(at.simulated) / 1e3,
                                   static_cast<double>(at.events) / 1e6));
    };
    options.sink = files.sink();
    options.sink_mask = files.mask();
    options.captures = captures;
    return sim::run_scenario(scenario, options);
  }

  ScenarioOptions scenario_;
  FabricOptions fabric_;
  std::string out_;
  std::string wire_ = "structs";
  bool force_ = false;
  std::vector<std::string> captures_;     ///< --capture as given,
  std::vector<sim::NamedCapture> ports_;  ///< those with PORT=FILE,
  bool capture_ = false;                  ///< and whether it stood alone.
  bool timeline_ = false;
  bool plot_ = false;
  bool pdf_ = false;
  HtmlPage html_;
  bool verify_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace wharf::cli
