// SPDX-License-Identifier: Apache-2.0
#include "study/study_report.h"

#include <fmt/format.h>

#include "report/page.h"
#include "study/render_text.h"

namespace wharf::study {
namespace {

using report::Align;
using report::Page;
using report::TextTable;

std::string anchor(std::string_view id) {
  std::string text(id);
  for (char& c : text) {
    if (c == '/') c = '-';
  }
  return text;
}

void append_table(Page& page, const StudyResult& result) {
  std::vector<TextTable::Column> columns;
  for (const Column& column : result.columns)
    columns.push_back({column.title, is_numeric(result, column) ? Align::kRight : Align::kLeft});
  TextTable table(std::move(columns));
  for (const Json& row : result.rows) {
    std::vector<std::string> cells;
    for (const Column& column : result.columns) cells.push_back(cell_text(row, column));
    table.add_row(std::move(cells));
  }
  page.table(table);
}

void append_rules(Page& page, const StudyResult& result) {
  if (result.rules.empty()) return;
  TextTable table({{"key"}, {"accounting"}, {"mechanism"}, {"meaning"}});
  for (const AccountingRule& rule : result.rules)
    table.add_row({rule.key, rule.accounting, rule.mechanism, rule.meaning});
  page.begin_details(
      fmt::format("{} rules of the paper's accounting that differ from the mechanism", result.rules.size()));
  page.table(table);
  page.end_details();
}

void append_checks(Page& page, const StudyResult& result) {
  std::size_t held = 0;
  TextTable table({{""},
                   {"kind"},
                   {"what"},
                   {"found", Align::kRight},
                   {"least", Align::kRight},
                   {"most", Align::kRight}});
  for (const Check& check : result.checks) {
    held += check.holds() ? 1U : 0U;
    table.add_row({check.holds() ? "pass" : "fail", name(check.kind), check.what,
                   fmt::format("{:.6g}", check.value), fmt::format("{:.6g}", check.least),
                   fmt::format("{:.6g}", check.most)});
  }
  page.begin_details(fmt::format("{} of {} checks hold", held, result.checks.size()),
                     held != result.checks.size());
  page.table(table, 0);
  page.end_details();
}

void append_study(Page& page, const ReportedStudy& reported) {
  const Study& study = *reported.study;
  const StudyResult& result = reported.result;
  page.section(study.title, anchor(study.id), study.id);
  page.remark(study.document);
  page.verdict(result.holds(), result.holds() ? "holds" : "fails");
  for (const std::string& sentence : result.sentences) page.sentence(sentence);
  for (std::size_t i = 0; i < result.plots.size(); ++i)
    page.plot(result.plots[i], i < reported.drawings.size() ? reported.drawings[i] : std::string());
  append_table(page, result);
  append_rules(page, result);
  append_checks(page, result);
  page.remark("Alone, on a terminal:");
  page.lines(fmt::format("wharf study run {}", study.id));
}

}  // namespace

std::string report_page(std::span<const ReportedStudy> studies, std::string_view made_by) {
  Page page("Published, accounted, and what really happens");
  page.sentence(
      "Each study sets three numbers side by side: what a document published, what its own way of adding "
      "delays gives (the accounting), and what the same costs give when requests pipeline, posted writes "
      "overlap and caches miss (the mechanism). A study fails only when its accounting or its mechanism "
      "breaks a promise made beforehand; a published number that the mechanism refutes is reported, not "
      "failed.");
  std::vector<Page::Link> links;
  for (const ReportedStudy& reported : studies)
    links.push_back(
        {std::string(reported.study->title), anchor(reported.study->id), reported.result.holds()});
  page.links(links);
  for (const ReportedStudy& reported : studies) append_study(page, reported);
  return page.html(made_by);
}

}  // namespace wharf::study
