// SPDX-License-Identifier: Apache-2.0
// wharf study list | run ID... | report: the documents' experiments, judged.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/free_heap.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "report/plot.h"
#include "report/plot_drawing.h"
#include "report/staged_files.h"
#include "report/text_table.h"
#include "study/registry.h"
#include "study/render_text.h"
#include "study/study_report.h"
#include "wharf/data_folders.h"
#include "wharf/schema_version.h"
#include "wharf/version.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

/// "openurma-table6"
std::string file_stem(const study::Study& each) {
  std::string stem(each.id);
  std::replace(stem.begin(), stem.end(), '/', '-');
  return stem;
}

std::string plot_stem(const study::Study& each, const report::Plot& plot) {
  return fmt::format("{}-{}", file_stem(each), plot.name);
}

/// Writes CSV, script and (with gnuplot) picture of every plot, also as PDF if asked; returns the pictures.
Result<std::vector<std::string>> write_plots(const study::Study& each, const study::StudyResult& result,
                                             const fs::path& directory, bool pdf) {
  std::vector<std::string> drawings;
  for (const report::Plot& plot : result.plots) {
    const std::string stem = plot_stem(each, plot);
    WHARF_TRY(report::write_plot(plot, directory, stem));
    drawings.push_back(report::draw_svg(directory, stem).value_or(""));
    if (pdf) WHARF_TRY(report::draw_pdf(directory, stem));
  }
  return drawings;
}

/// A study with its verdict: what was checked, what was found, what was expected, and the rows of its table.
nlohmann::ordered_json document_of(const study::ReportedStudy& reported) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const study::Check& check : reported.result.checks) {
    checks.push_back({{"kind", study::name(check.kind)},
                      {"what", check.what},
                      {"value", check.value},
                      {"least", check.least},
                      {"most", check.most},
                      {"holds", check.holds()}});
  }
  return {{"id", reported.study->id},
          {"title", reported.study->title},
          {"document", reported.study->document},
          {"holds", reported.result.holds()},
          {"checks", std::move(checks)},
          {"rows", reported.result.rows}};
}

/// Studies that run one after another in a thread of their own, so that an interrupt need not wait for the
/// one that is under way. The thread owns a share of this, and may outlive the command.
struct Batch {
  Batch(std::string profile, std::vector<std::string> keys)
      : overrides(std::move(profile), std::move(keys)) {}

  study::Overrides overrides;
  study::StudyContext context;
  std::vector<const study::Study*> chosen;
  std::unique_ptr<Progress> progress;

  std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  std::vector<study::ReportedStudy> results;
  std::optional<Error> failure;
  bool ended = false;
};

void run_studies(Batch& batch) {
  for (const study::Study* each : batch.chosen) {
    const std::size_t before = batch.overrides.simulations();
    auto result = each->run(batch.context);
    return_free_heap();  // Before the next one begins.
    if (result.ok() && batch.overrides.any() && batch.overrides.simulations() == before) {
      result =
          input_error("nothing that it runs has keys or a profile, expected it without --set and --profile");
    }
    const std::lock_guard lock(batch.mutex);
    if (batch.ended) return;  // Given up.
    if (!result) {
      batch.failure = Error{result.error().kind, fmt::format("{}: {}", each->id, result.error().message)};
      break;
    }
    batch.results.push_back({each, *std::move(result), {}});
  }
  const std::lock_guard lock(batch.mutex);
  batch.ended = true;
  batch.changed.notify_all();
}

/// `text` with the first word of each line that is a verdict as the console marks it.
std::string with_marked_verdicts(std::string_view text, const Console& console) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    const std::string_view word = line.substr(0, line.find(' '));
    if (word == "pass" || word == "FAIL") {
      out += console.painted(*report::tone_of(word), word);
      out += line.substr(word.size());
    } else {
      out += line;
    }
  }
  return out;
}

class StudyCommand : public Command {
 public:
  std::string_view name() const override { return "study"; }
  std::string_view summary() const override {
    return "The experiments of published documents: published value, accounting, mechanism.";
  }
  std::string_view examples() const override {
    return "  wharf study list\n"
           "  wharf study run openurma/table6\n"
           "  wharf study run openurma/figure19 --brief\n"
           "  wharf study run openurma/table6 openurma/figure20 --out out/studies\n"
           "  wharf study run openurma/table6 --set model.link.delay=500ns\n"
           "  wharf study run openurma/figure20 --out out/paper --pdf\n"
           "  wharf study run ordering/figure5 --out out/reads --captures\n"
           "  wharf study report --out studies.html\n";
  }
  void declare(Options& app) override {
    list_ = app.add_nested("list", "List every study.");
    run_ = app.add_nested("run", "Run studies by id.");
    report_ = app.add_nested("report", "Run every study and write one HTML page.");
    run_.add_option("id", ids_,
                    "Studies, such as openurma/table6; openurma or 'openurma/*' for all of a document")
        .type_name("STUDY")
        .required();
    const Option out =
        run_.add_option("-o,--out", out_, "Directory for rows, plots and scripts").type_name("DIR");
    run_.add_flag("--captures", captures_, "Into --out, too: captures of PCIe links, for wharf dissect")
        .needs(out);
    run_.add_flag("--pdf", pdf_, "Into --out, too: each plot as PDF, for a paper").needs(out);
    run_.add_flag("--brief", brief_, "Tables and sentences, without rules and checks that hold");
    run_.add_option("--set", overrides_, "Override one key in all simulations, as key=value; may be repeated")
        .type_name("KEY=VALUE")
        .one_value_each();
    run_.add_option("--profile", profile_, "A profile by its name, for all simulations")
        .type_name("PROFILE")
        .not_empty();
    report_.add_option("-o,--out", page_, "The page; its plots' scripts and numbers go beside it")
        .type_name("FILE");
    report_.add_flag("--pdf", pdf_, "Beside the page, too: each plot as PDF, for a paper");
  }
  Result<ExitCode> run(const Console& console) override {
    if (list_.given()) return list(console);
    return run_.given() ? run_some(console) : report(console);
  }

 private:
  Result<ExitCode> list(const Console& console) const {
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    report::TextTable table({{"id"}, {"title"}});
    for (const study::Study& each : study::all_studies()) {
      document.push_back({{"id", each.id}, {"title", each.title}, {"document", each.document}});
      table.add_row({std::string(each.id), std::string(each.title)});
    }
    console.print(nlohmann::ordered_json{{"studies", document}});
    console.print(console.text_of(table) + "Each says its document when it runs; --json has all of them.\n");
    return ExitCode::kDone;
  }

  Result<ExitCode> run_some(const Console& console) const {
    std::vector<const study::Study*> chosen;
    for (const std::string& id : ids_) {
      const auto found = study::find_studies(id);
      if (!found) return found.error();
      for (const study::Study* each : *found) {
        if (std::ranges::find(chosen, each) == chosen.end()) chosen.push_back(each);
      }
    }
    if (captures_) WHARF_TRY(expect_captures(chosen));
    WHARF_TRY(refuse_twice(overrides_));
    if (pdf_) WHARF_TRY(report::expect_pdf("--pdf"));
    std::optional<report::StagedFiles> staged;
    if (!out_.empty()) {
      auto created = report::StagedFiles::create(out_);
      if (!created) return created.error();
      staged.emplace(*std::move(created));
    }
    auto results = run_all(console, chosen, captures_ ? staged->path() : fs::path());
    if (!results) return results.error();
    if (staged) {
      for (const study::ReportedStudy& each : *results) {
        WHARF_TRY(report::write_text_file(staged->path() / (file_stem(*each.study) + ".json"),
                                          versioned(document_of(each)).dump(2) + "\n"));
        auto drawings = write_plots(*each.study, each.result, staged->path(), pdf_);
        if (!drawings) return drawings.error();
      }
      WHARF_TRY(staged->commit());
    }
    nlohmann::ordered_json studies = nlohmann::ordered_json::array();
    for (const study::ReportedStudy& each : *results) studies.push_back(document_of(each));
    nlohmann::ordered_json document{{"partial", results->size() < chosen.size()}};
    if (altered()) document["overrides"] = {{"profile", profile_}, {"set", overrides_}};
    document["studies"] = studies;
    console.print(document);
    const study::Detail detail = brief_ ? study::Detail::kBrief : study::Detail::kFull;
    for (const study::ReportedStudy& each : *results) {
      console.print(std::string_view(
          with_marked_verdicts(study::render_text(*each.study, each.result, detail), console) + "\n"));
    }
    if (!altered() || results->size() != chosen.size()) return verdict(console, *results, chosen.size());
    const auto differ =
        std::ranges::count_if(*results, [](const auto& each) { return !each.result.holds(); });
    console.remark(
        fmt::format("with --set or --profile the published values judge nothing; checks of {} of {} studies "
                    "differ from them",
                    differ, results->size()));
    return ExitCode::kDone;
  }

  /// Whether the studies run with other values than their own.
  bool altered() const { return !overrides_.empty() || !profile_.empty(); }

  static Result<void> expect_captures(const std::vector<const study::Study*>& chosen) {
    std::string able;
    for (const study::Study& each : study::all_studies()) {
      if (!each.has_captures) continue;
      if (std::ranges::find(chosen, &each) != chosen.end()) return {};
      able += fmt::format("{}{}", able.empty() ? "" : ", ", each.id);
    }
    return input_error(fmt::format("--captures: {} captures no link, expected {}", chosen.front()->id, able));
  }

  Result<ExitCode> report(const Console& console) const {
    std::vector<const study::Study*> chosen;
    for (const study::Study& each : study::all_studies()) chosen.push_back(&each);
    const fs::path page(page_);
    std::error_code status;
    if (page.filename().empty() || fs::is_directory(page, status)) {
      return input_error(
          fmt::format("--out {}: that is a directory, expected the file name of the page", page.string()));
    }
    if (pdf_) WHARF_TRY(report::expect_pdf("--pdf"));
    auto staged = report::StagedFiles::create(page.has_parent_path() ? page.parent_path() : fs::path("."));
    if (!staged) return staged.error();
    auto results = run_all(console, chosen, {});
    if (!results) return results.error();
    const fs::path beside = staged->path() / (page.stem().string() + "-plots");
    fs::create_directories(beside, status);
    if (status)
      return Error{ErrorKind::kEnvironment, fmt::format("{}: {}", beside.string(), status.message())};
    for (study::ReportedStudy& each : *results) {
      auto drawings = write_plots(*each.study, each.result, beside, pdf_);
      if (!drawings) return drawings.error();
      each.drawings = *std::move(drawings);
    }
    const std::string partial =
        results->size() == chosen.size()
            ? ""
            : fmt::format(" PARTIAL: interrupted after {} of {} studies.", results->size(), chosen.size());
    const std::string made_by =
        fmt::format("Made by {} with `wharf study report`.{}", version_text(), partial);
    WHARF_TRY(
        report::write_text_file(staged->path() / page.filename(), study::report_page(*results, made_by)));
    WHARF_TRY(staged->commit());
    std::size_t held = 0;
    for (const study::ReportedStudy& each : *results) held += each.result.holds() ? 1U : 0U;
    console.print(nlohmann::ordered_json{{"page", page.string()},
                                         {"studies", results->size()},
                                         {"hold", held},
                                         {"partial", results->size() < chosen.size()}});
    const std::string text =
        fmt::format("{} studies, {} hold; page in {}\n", results->size(), held, page.string());
    console.print(std::string_view(text));
    return verdict(console, *results, chosen.size());
  }

  /// Runs the studies one after another, each on all cores. After an interrupt: those that had ended.
  Result<std::vector<study::ReportedStudy>> run_all(const Console& console,
                                                    const std::vector<const study::Study*>& chosen,
                                                    const fs::path& captures) const {
    const auto profiles = data_directory("profiles");
    if (!profiles) return profiles.error();
    const auto studies = data_directory("studies");
    if (!studies) return studies.error();
    auto batch = std::make_shared<Batch>(profile_, overrides_);
    if (altered()) batch->context.overrides = &batch->overrides;
    batch->chosen = chosen;
    batch->progress =
        std::make_unique<Progress>(console, chosen.size() == 1 ? std::string(chosen[0]->id) : "studies");
    batch->context.profiles = *profiles;
    batch->context.reference = *studies;
    batch->context.captures = captures;
    batch->context.threads = std::max(1U, std::thread::hardware_concurrency());
    batch->context.interrupt = &interrupt_requested();
    batch->context.progress = [shown = batch.get()](double fraction) {
      const std::lock_guard lock(shown->mutex);
      if (shown->ended) return;
      const std::size_t done = shown->results.size();
      const auto count = static_cast<double>(shown->chosen.size());
      shown->progress->update((static_cast<double>(done) + fraction) / count, shown->chosen[done]->id);
    };
    std::thread worker([batch] { run_studies(*batch); });
    std::unique_lock lock(batch->mutex);
    constexpr auto kLook = std::chrono::milliseconds(50);
    constexpr auto kGrace = std::chrono::milliseconds(800);  // For a study that heeds the interrupt.
    while (!batch->ended && !interrupt_requested()) batch->changed.wait_for(lock, kLook);
    batch->changed.wait_for(lock, kGrace, [&] { return batch->ended; });
    const bool given_up = !batch->ended;
    batch->ended = true;
    batch->progress.reset();
    if (given_up) {
      // Its simulations hold what ends with the program, which must not end before them.
      worker.detach();
      leave_at_end();
    } else {
      lock.unlock();
      worker.join();
      lock.lock();
    }
    if (batch->failure && !interrupt_requested()) return *batch->failure;
    for (const std::string& sentence : batch->overrides.idle()) console.remark(sentence);
    return std::move(batch->results);
  }

  static ExitCode verdict(const Console& console, const std::vector<study::ReportedStudy>& results,
                          std::size_t chosen) {
    ExitCode code = ExitCode::kDone;
    for (const study::ReportedStudy& each : results) {
      for (const study::Check& check : each.result.checks) {
        if (check.holds()) continue;
        console.error(fmt::format("{}: {}: {}: found {:.6g}, expected {:.6g} to {:.6g}", each.study->id,
                                  name_of(check), check.what, check.value, check.least, check.most));
        code = ExitCode::kJudgedFailed;
      }
    }
    if (results.size() == chosen) return code;
    console.error(
        fmt::format("interrupted after {} of {} studies; the others are missing", results.size(), chosen));
    return ExitCode::kInterrupted;
  }
  static const char* name_of(const study::Check& check) { return study::name(check.kind); }

  Options list_;
  Options run_;
  Options report_;
  std::vector<std::string> ids_;
  std::string out_;
  bool brief_ = false;
  bool captures_ = false;
  bool pdf_ = false;
  std::vector<std::string> overrides_;
  std::string profile_;
  std::string page_ = "studies.html";
};

}  // namespace

std::unique_ptr<Command> make_study_command() { return std::make_unique<StudyCommand>(); }

}  // namespace wharf::cli
