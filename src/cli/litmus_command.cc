// SPDX-License-Identifier: Apache-2.0
// wharf litmus FILE...: tries every order of a small program's steps and judges the outcomes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/nearest_name.h"
#include "cli/command.h"
#include "cli/html_page.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "report/counted.h"
#include "report/text_table.h"
#include "report/wrapped_text.h"
#include "sim/litmus/parser.h"
#include "sim/litmus/verdict.h"
#include "wharf/data_folders.h"

namespace wharf::cli {
namespace {

/// A file and what it says.
struct LitmusFile {
  std::string name;  ///< As it was asked for,
  std::string path;  ///< and as it was found.
  std::string text;
  sim::LitmusProgram program;
  std::vector<sim::LitmusDesign> designs;
};

std::string outcome_text(const sim::LitmusOutcome& outcome) {
  return fmt::format("{} {}", outcome.is_forall ? "forall" : "exists", outcome.condition.text);
}

class LitmusCommand : public Command {
 public:
  std::string_view name() const override { return "litmus"; }
  std::string_view summary() const override {
    return "Explore every order of small programs and judge the outcomes.";
  }
  std::string_view examples() const override {
    return "  wharf litmus l02-acquire-flag\n"
           "  wharf litmus l02-acquire-flag --design baseline --witness\n"
           "  wharf litmus l01-relaxed-reads l02-acquire-flag l03-acquire-is-one-way\n"
           "  wharf litmus l02-acquire-flag --witness --html out/flag.html\n";
  }
  void declare(Options& app) override {
    app.add_option("file", files_, "Litmus programs: files, or names of shipped ones")
        .type_name("PROGRAM")
        .required();
    app.add_option(
           "--design", designs_,
           "Only this ordering design; may be repeated. All that a file names if not given, or all that "
           "apply to one that states nothing")
        .type_name("DESIGN");
    app.add_flag("--witness", options_.wants_witness,
                 "A shortest trace of every outcome that is seen, not only of those that fail");
    app.add_flag("--every-step", every_step_,
                 "Take each message and memory access as a step of its own, without the reduction");
    app.add_option("--states", options_.limits.states,
                   "Stop a search after that many states, 1 to 4294967296")
        .type_name("N")
        .range(std::uint64_t{1}, std::uint64_t{1} << 32U);
    app.add_flag("--release-before-acquire", rcsc_, "A release takes effect before a later acquire (RCsc)");
    app.add_flag("--write-before-read", write_before_read_,
                 "Reads with a proposed label wait for earlier posted writes, as legacy reads do");
    html_.declare(app);
  }
  Result<ExitCode> run(const Console& console) override {
    if (every_step_) options_.steps = sim::LitmusSteps::kEvery;
    std::vector<LitmusFile> files;
    std::optional<Error> refused;  // The first; the others are told as they are found.
    for (const std::string& name : files_) {
      auto file = load(name);
      if (file) {
        files.push_back(std::move(*file));
        continue;
      }
      if (refused) console.error(refused->message);
      refused = file.error();
    }
    if (files.empty() && refused) return *refused;
    WHARF_TRY(html_.open());
    auto code = explore_all(console, files);
    if (!code || !refused || *code == ExitCode::kInterrupted) return code;
    return *refused;
  }

 private:
  Result<LitmusFile> load(const std::string& name) const;
  Result<std::vector<sim::LitmusDesign>> chosen_designs(const std::string& path,
                                                        const sim::LitmusProgram& program) const;
  Result<ExitCode> explore_all(const Console& console, const std::vector<LitmusFile>& files);

  HtmlPage html_;
  std::vector<std::string> files_;
  std::vector<std::string> designs_;
  sim::LitmusOptions options_;
  bool every_step_ = false;
  bool rcsc_ = false;
  bool write_before_read_ = false;
};

/// A path, or one of the shipped programs by its name.
Result<std::string> find_program(const std::string& name) {
  constexpr std::string_view kEnding = ".litmus";
  std::error_code status;
  if (std::filesystem::exists(name, status)) return name;
  const auto shipped = data_folders("litmus");
  std::vector<std::string> names;
  // As pages name them, whether or not the source tree is here.
  constexpr std::string_view kInTree = "tests/litmus/";
  const std::string bare = name.starts_with(kInTree) ? name.substr(kInTree.size()) : name;
  if (shipped && bare.find('/') == std::string::npos) {
    for (const std::string& file : {bare, fmt::format("{}{}", bare, kEnding)}) {
      if (const auto found = shipped->find(file)) return found->string();
    }
    names = shipped->stems(kEnding);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = nearest_name(bare, views);
  return input_error(
      nearest
          ? fmt::format("{} does not exist; did you mean {}?", name, *nearest)
          : fmt::format("{} does not exist, expected a litmus file or the name of a shipped program; `wharf "
                        "list litmus` shows them",
                        name));
}

Result<LitmusFile> LitmusCommand::load(const std::string& name) const {
  const auto found = find_program(name);
  if (!found) return found.error();
  const std::string& path = *found;
  std::error_code status;
  if (std::filesystem::is_directory(path, status))
    return input_error(
        fmt::format("{} is a directory, expected a litmus file, as {}/*.litmus are", path, path));
  std::ifstream stream(path, std::ios::binary);
  constexpr std::size_t kBytesMax = std::size_t{1} << 20U;
  std::string text(kBytesMax + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kBytesMax)
    return input_error(fmt::format("{}: found more than {} bytes, expected a litmus file", path, kBytesMax));
  if (stream.bad() || !stream.eof())
    return input_error(fmt::format("{}: cannot be read, expected a litmus file", path));
  auto program = sim::parse_litmus(path, text);
  if (!program) return program.error();
  if (rcsc_) program->settings.order.release_before_acquire = true;
  if (write_before_read_) program->settings.order.write_before_annotated_read = true;
  auto designs = chosen_designs(path, *program);
  if (!designs) return designs.error();
  return LitmusFile{name, path, text, std::move(*program), std::move(*designs)};
}

Result<std::vector<sim::LitmusDesign>> LitmusCommand::chosen_designs(
    const std::string& path, const sim::LitmusProgram& program) const {
  if (designs_.empty()) return program.designs();
  std::vector<sim::LitmusDesign> chosen;
  for (const std::string& word : designs_) {
    const auto design = sim::parse_litmus_design(word);
    if (!design) {
      const auto nearest = nearest_name(word, sim::litmus_design_names());
      return input_error(fmt::format("--design: found \"{}\", expected one of {}{}", word,
                                     fmt::join(sim::litmus_design_names(), ", "),
                                     nearest ? fmt::format("; did you mean {}?", *nearest) : std::string()));
    }
    if (const std::string expected = program.why_not(*design); !expected.empty())
      return input_error(fmt::format("{}: found --design {}, expected {}", path, word, expected));
    if (std::find(chosen.begin(), chosen.end(), *design) == chosen.end()) chosen.push_back(*design);
  }
  return chosen;
}

/// What a report of one design adds to the text and to the document.
void add_report(const sim::LitmusProgram& program, const sim::LitmusDesignReport& report,
                report::TextTable& table, std::string& traces, nlohmann::ordered_json& document) {
  nlohmann::ordered_json outcomes = nlohmann::ordered_json::array();
  const std::string design(sim::name(report.design));
  for (const sim::LitmusRow& row : report.rows) {
    const std::string text = outcome_text(program.outcomes[row.outcome]);
    const std::string said(row.what ? sim::name(*row.what) : "");
    table.add_row({design, text, said, row.verdict, fmt::format("{}", report.found.states)});
    nlohmann::ordered_json item{{"outcome", text},
                                {"class", row.what ? nlohmann::ordered_json(said) : nlohmann::ordered_json()},
                                {"seen", row.is_seen},
                                {"fails", row.fails}};
    if (!row.witness.empty()) {
      item["witness"] = row.witness;
      traces += fmt::format("\nA shortest way to {} under {}:\n", text, design);
      for (const std::string& line : row.witness) traces += "  " + line + "\n";
    }
    outcomes.push_back(std::move(item));
  }
  if (!program.has_statements()) {
    traces += fmt::format("\nFinal states under {}, {}:\n", design,
                          report.found.is_complete ? "all of them" : "as far as the search came");
    for (const auto& [text_of_state, count] : report.found.finals) traces += "  " + text_of_state + "\n";
  }
  for (const std::string& failure : report.failures)
    traces += fmt::format("\n{} FAILS: {}\n", design, failure);
  for (const std::string& line : report.failure_trace) traces += "  " + line + "\n";
  document.push_back({{"design", design},
                      {"states", report.found.states},
                      {"transitions", report.found.transitions},
                      {"complete", report.found.is_complete},
                      {"outcomes", outcomes},
                      {"failures", report.failures},
                      {"failure_trace", report.failure_trace}});
  if (!program.has_statements()) {
    nlohmann::ordered_json finals = nlohmann::ordered_json::array();
    for (const auto& [text_of_state, count] : report.found.finals) finals.push_back(text_of_state);
    document.back()["final_states"] = std::move(finals);
  }
}

/// A program with what was found.
struct Explored {
  const LitmusFile* file = nullptr;
  bool fails = false;
  report::TextTable table;
  std::string traces;
};

report::Page litmus_page(const std::vector<Explored>& explored, const std::string& verdict, bool holds) {
  report::Page page(explored.size() == 1
                        ? "What a device may see: " + explored.front().file->program.name
                        : fmt::format("What a device may see: {} programs", explored.size()));
  page.verdict(holds, holds ? "holds" : "fails", verdict + ".");
  for (const Explored& each : explored) {
    const sim::LitmusProgram& program = each.file->program;
    page.section(program.name, {}, each.file->name);
    page.verdict(!each.fails, each.fails ? "fails" : "holds", program.description);
    page.table(each.table);
    if (!each.traces.empty()) {
      page.begin_details("Traces and final states", true);
      page.lines(each.traces.substr(each.traces.find_first_not_of('\n')));
      page.end_details();
    }
    page.begin_details("The program");
    page.lines(each.file->text);
    page.end_details();
  }
  return page;
}

Result<ExitCode> LitmusCommand::explore_all(const Console& console, const std::vector<LitmusFile>& files) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  std::vector<Explored> explored;
  std::size_t failing = 0;
  std::uint64_t states = 0;
  bool is_complete = true;
  Progress progress(console, "litmus");
  for (std::size_t at = 0; at < files.size(); ++at) {
    const LitmusFile& file = files[at];
    report::TextTable table({{"design"},
                             {"outcome"},
                             {"stated"},
                             {"found", report::Align::kLeft, true},
                             {"states", report::Align::kRight}});
    nlohmann::ordered_json designs = nlohmann::ordered_json::array();
    std::string traces;
    bool fails = false;
    for (const sim::LitmusDesign design : file.designs) {
      const auto report = sim::judge_litmus(file.program, design, options_, [&](std::uint64_t count) {
        progress.update(static_cast<double>(at) / static_cast<double>(files.size()),
                        fmt::format("{} under {}, {} states", file.program.name, sim::name(design), count));
        return !interrupt_requested().load();
      });
      if (interrupt_requested().load()) return ExitCode::kInterrupted;
      add_report(file.program, report, table, traces, designs);
      fails = fails || report.fails();
      states += report.found.states;
      is_complete = is_complete && report.found.is_complete;
    }
    if (fails) ++failing;
    explored.push_back({&file, fails, table, traces});
    document.push_back(
        {{"file", file.path}, {"name", file.program.name}, {"fails", fails}, {"designs", designs}});
    const std::string head =
        report::in_lines(fmt::format("{}: {}{}{}", file.path, file.program.name,
                                     file.program.description.empty() ? "" : ", ", file.program.description));
    console.print(fmt::format("{}{}{}\n", head, console.text_of(table), console.folded(traces)));
  }
  const std::string bound = is_complete
                                ? std::string("every order explored")
                                : fmt::format("not every order explored: a search stopped at its bound of {}",
                                              report::counted(options_.limits.states, "state", "states"));
  const std::string verdict = fmt::format("{} of {} programs behave as stated, {} states, {}",
                                          files.size() - failing, files.size(), states, bound);
  console.print(console.painted(failing == 0 ? report::Tone::kGood : report::Tone::kBad, verdict) + "\n");
  console.print(nlohmann::ordered_json{
      {"programs", document}, {"failing", failing}, {"states", states}, {"complete", is_complete}});
  if (html_.wanted()) {
    report::Page page = litmus_page(explored, verdict, failing == 0);
    WHARF_TRY(html_.finish(page, console));
  }
  return failing == 0 ? ExitCode::kDone : ExitCode::kJudgedFailed;
}

}  // namespace

std::unique_ptr<Command> make_litmus_command() { return std::make_unique<LitmusCommand>(); }

}  // namespace wharf::cli
