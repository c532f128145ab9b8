// SPDX-License-Identifier: Apache-2.0
#include "study/study_report.h"

#include <fmt/format.h>

#include "study/render_text.h"

namespace wharf::study {
namespace {

constexpr std::string_view kStyle = R"(
:root { --ink: #1c2733; --soft: #5d6b7a; --line: #dde3ea; --paper: #ffffff; --wash: #f5f7fa; }
:root { --good: #1a7f4b; --bad: #b3261e; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 15px/1.55 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 3rem 0 0.2rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h2 code { color: var(--soft); font-size: 0.85em; font-weight: normal; margin-left: 0.5em; }
p.document { color: var(--soft); margin: 0 0 0.8rem; }
p.sentence { max-width: 60rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; margin: 0.6rem 0; }
th { text-align: left; font-weight: 600; background: var(--wash); }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th.number, td.number { text-align: right; white-space: nowrap; }
.pass { color: var(--good); font-weight: 600; }
.fail { color: var(--bad); font-weight: 600; }
details { margin: 0.6rem 0; }
summary { cursor: pointer; color: var(--soft); }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
nav ul { columns: 2; padding-left: 1.2rem; }
footer { margin-top: 4rem; padding-top: 0.8rem; border-top: 1px solid var(--line); }
footer { color: var(--soft); font-size: 0.85rem; }
@media (max-width: 40rem) { nav ul { columns: 1; } }
)";

std::string anchor(std::string_view id) {
  std::string text(id);
  for (char& c : text) {
    if (c == '/') c = '-';
  }
  return text;
}

std::string verdict(const StudyResult& result) {
  return result.holds() ? R"(<span class="pass">holds</span>)" : R"(<span class="fail">fails</span>)";
}

void append_table(std::string& page, const StudyResult& result) {
  page += "<div class=\"scroll\"><table><thead><tr>";
  std::vector<bool> numeric;
  for (const Column& column : result.columns) {
    numeric.push_back(is_numeric(result, column));
    page += fmt::format("<th{}>{}</th>", numeric.back() ? " class=\"number\"" : "", html_text(column.title));
  }
  page += "</tr></thead><tbody>\n";
  for (const Json& row : result.rows) {
    page += "<tr>";
    for (std::size_t i = 0; i < result.columns.size(); ++i) {
      page += fmt::format("<td{}>{}</td>", numeric[i] ? " class=\"number\"" : "",
                          html_text(cell_text(row, result.columns[i])));
    }
    page += "</tr>\n";
  }
  page += "</tbody></table></div>\n";
}

void append_rules(std::string& page, const StudyResult& result) {
  if (result.rules.empty()) return;
  page += fmt::format(
      "<details><summary>{} rules of the paper's accounting that differ from the mechanism"
      "</summary><div class=\"scroll\"><table><tr><th>key</th><th>accounting</th><th>mechanism</th>"
      "<th>meaning</th></tr>\n",
      result.rules.size());
  for (const AccountingRule& rule : result.rules) {
    page += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        html_text(rule.key), html_text(rule.accounting), html_text(rule.mechanism),
                        html_text(rule.meaning));
  }
  page += "</table></div></details>\n";
}

void append_checks(std::string& page, const StudyResult& result) {
  std::size_t held = 0;
  for (const Check& check : result.checks) held += check.holds() ? 1U : 0U;
  page += fmt::format(
      "<details{}><summary>{} of {} checks hold</summary><div "
      "class=\"scroll\"><table><tr><th></th><th>kind</th>"
      "<th>what</th><th class=\"number\">found</th><th class=\"number\">least</th><th "
      "class=\"number\">most</th></tr>\n",
      held == result.checks.size() ? "" : " open", held, result.checks.size());
  for (const Check& check : result.checks) {
    page += fmt::format(
        "<tr><td class=\"{0}\">{0}</td><td>{1}</td><td>{2}</td><td class=\"number\">{3:.6g}</td>"
        "<td class=\"number\">{4:.6g}</td><td class=\"number\">{5:.6g}</td></tr>\n",
        check.holds() ? "pass" : "fail", name(check.kind), html_text(check.what), check.value, check.least,
        check.most);
  }
  page += "</table></div></details>\n";
}

void append_study(std::string& page, const ReportedStudy& reported) {
  const Study& study = *reported.study;
  const StudyResult& result = reported.result;
  page += fmt::format("<h2 id=\"{}\">{} <code>{}</code></h2>\n<p class=\"document\">{} &middot; {}</p>\n",
                      anchor(study.id), html_text(study.title), html_text(study.id),
                      html_text(study.document), verdict(result));
  for (const std::string& sentence : result.sentences) {
    page += fmt::format("<p class=\"sentence\">{}</p>\n", html_text(sentence));
  }
  for (std::size_t i = 0; i < result.plots.size(); ++i) {
    const bool drawn = i < reported.drawings.size() && !reported.drawings[i].empty();
    page += drawn ? fmt::format("<figure>{}</figure>\n", reported.drawings[i])
                  : fmt::format("<p class=\"document\">Plot \"{}\" is not drawn: gnuplot is missing.</p>\n",
                                html_text(result.plots[i].title));
  }
  append_table(page, result);
  append_rules(page, result);
  append_checks(page, result);
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string report_page(std::span<const ReportedStudy> studies, std::string_view made_by) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>wharf: "
      "studies</title><style>{}</style></head><body><main>\n"
      "<h1>Published, accounted, and what really happens</h1>\n"
      "<p class=\"sentence\">Each study sets three numbers side by side: what a document published, what its "
      "own way of "
      "adding delays gives (the accounting), and what the same costs give when requests pipeline, posted "
      "writes overlap "
      "and caches miss (the mechanism). A study fails only when its accounting or its mechanism breaks a "
      "promise made "
      "beforehand; a published number that the mechanism refutes is reported, not failed.</p>\n<nav><ul>\n",
      kStyle);
  for (const ReportedStudy& reported : studies) {
    page += fmt::format("<li><a href=\"#{}\">{}</a> {}</li>\n", anchor(reported.study->id),
                        html_text(reported.study->title), verdict(reported.result));
  }
  page += "</ul></nav>\n";
  for (const ReportedStudy& reported : studies) append_study(page, reported);
  page += fmt::format("<footer>{}</footer>\n</main></body></html>\n", html_text(made_by));
  return page;
}

}  // namespace wharf::study
