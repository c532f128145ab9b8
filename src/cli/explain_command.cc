// SPDX-License-Identifier: Apache-2.0
// wharf explain SCENARIO: the waterfall of one operation, on every stack or on one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/explain_page.h"
#include "cli/html_page.h"
#include "cli/interrupt.h"
#include "cli/memory_check.h"
#include "cli/run_text.h"
#include "cli/scenario_options.h"
#include "cli/verbose.h"
#include "report/text_table.h"
#include "sim/protocols/protocols.h"
#include "sim/scenario/run.h"
#include "trace/waterfall.h"

namespace wharf::cli {
namespace {

class ExplainCommand : public Command {
 public:
  std::string_view name() const override { return "explain"; }
  std::string_view summary() const override { return "Show where the nanoseconds of one operation go."; }
  std::string_view examples() const override {
    return "  wharf explain fetch-64-bytes\n"
           "  wharf explain fetch-64-bytes --set model.stack=roce_dma\n"
           "  wharf explain fetch-64-bytes --operation 17 --ascii\n"
           "  wharf explain key-value-fat-tree\n"
           "  wharf explain fetch-64-bytes --html out/explain.html\n";
  }
  void declare(Options& app) override {
    scenario_.declare(app);
    scenario_.declare_memory(app);
    app.add_option("--operation", operation_,
                   "Which operation, counted from 0 in the order in which they end; 0 by default")
        .type_name("N");
    app.add_flag("--ascii", ascii_, "Draw without UTF-8");
    html_.declare(app);
  }
  Result<ExitCode> run(const Console& console) override {
    WHARF_TRY(scenario_.take_seed());
    WHARF_TRY(scenario_.read());
    const auto many = scenario_.many_hosts();
    if (!many) return many.error();
    auto scenario = scenario_.load();
    if (!scenario) {
      Error refused = scenario.error();
      if (*many)
        refused.message +=
            "; of flows, --html of `wharf run` draws each, and observe.* (such as --set observe.period=1us) "
            "writes series";
      return refused;
    }
    tell_inputs(scenario_, *scenario, console);
    for (const std::string& line : scenario->no_influence) console.remark(line);
    WHARF_TRY(check_memory(*scenario, scenario_));
    WHARF_TRY(html_.open());
    sim::RunOptions options;
    options.interrupt = &interrupt_requested();
    options.waterfall_operation = operation_;
    auto report = sim::run_scenario(*scenario, options);
    if (!report) return report.error();
    if (report->end == sim::RunOutcome::kInterrupted) {
      console.error(fmt::format("interrupted; operation {} was not drawn", operation_));
      return ExitCode::kInterrupted;
    }
    if (report->end == sim::RunOutcome::kStalled) {
      return Error{ErrorKind::kStalled, fmt::format("the run stalled; {}", fmt::join(report->waiting, "; "))};
    }
    if (report->waterfall.empty()) {
      std::uint64_t operations = 0;
      for (const sim::VerbReport& verb : report->verbs) operations += verb.count;
      return input_error(
          fmt::format("{} has {} operations, expected --operation below that", scenario_.file, operations));
    }
    const sim::OperationEntry& entry = report->waterfall_operation;
    const TimePs latency = entry.latency;
    const std::string title = fmt::format("{} of {} B over {} ({})", verbs::name(entry.verb), entry.bytes,
                                          sim::name(scenario->config.stack), scenario->config.profile);
    const trace::WaterfallInput input{report->waterfall, entry.begin, latency, report->places};
    nlohmann::ordered_json spans = nlohmann::ordered_json::array();
    for (const trace::WaterfallPiece& span : trace::waterfall_pieces(input)) {
      spans.push_back({{"stage", trace::name(span.stage)},
                       {"begin_ns", as_nanoseconds(span.begin - entry.begin)},
                       {"end_ns", as_nanoseconds(span.end - entry.begin)},
                       {"critical", span.critical},
                       {"meaning", trace::describe(span.stage)}});
      if (span.place != 0 && span.place <= report->places.size())
        spans.back()["place"] = report->places[span.place - 1];
    }
    console.print(nlohmann::ordered_json{{"verb", verbs::name(entry.verb)},
                                         {"bytes", entry.bytes},
                                         {"stack", sim::name(scenario->config.stack)},
                                         {"profile", scenario->config.profile},
                                         {"latency_ns", as_nanoseconds(latency)},
                                         {"spans", spans}});
    console.print(trace::draw_waterfall(title, input,
                                        {.glyphs = ascii_ ? trace::Glyphs::kAscii : trace::Glyphs::kUtf8}));
    if (html_.wanted()) WHARF_TRY(write_page(console, *scenario, *report, title));
    return ExitCode::kDone;
  }

 private:
  Result<void> write_page(const Console& console, const sim::Scenario& scenario, const sim::RunReport& report,
                          const std::string& title) {
    const sim::OperationEntry& entry = report.waterfall_operation;
    report::Page page("Where the nanoseconds go: " + title);
    page.facts({{"scenario", scenario_.name},
                {"title", scenario.config.title},
                {"operation", fmt::format("{}, counted from 0", operation_)},
                {"latency", nanoseconds_text(as_nanoseconds(entry.latency)) + " ns"},
                {"seed", fmt::format("{}", scenario.config.seed)}});
    add_waterfall(page, report);
    add_configuration(page, {scenario.config.profile, scenario_.overrides, scenario.effective});
    return html_.finish(page, console);
  }

  ScenarioOptions scenario_;
  HtmlPage html_;
  std::uint64_t operation_ = 0;
  bool ascii_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace wharf::cli
