// SPDX-License-Identifier: Apache-2.0
#include "study/render_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text_table.h"
#include "report/wrapped_text.h"

namespace wharf::study {
namespace {

/// `text` with line breaks at blanks, each line indented.
std::string wrapped(std::string_view text, std::string_view indent) {
  std::string lines;
  for (const std::string& line : report::wrap(text, report::kTerminalColumns - indent.size()))
    lines += fmt::format("{}{}\n", indent, line);
  return lines;
}

std::string checks_text(const StudyResult& result) {
  std::string text;
  for (const CheckKind kind : {CheckKind::kAccounting, CheckKind::kMechanism, CheckKind::kIdentity}) {
    std::size_t total = 0;
    std::size_t held = 0;
    for (const Check& check : result.checks) {
      if (check.kind != kind) continue;
      ++total;
      held += check.holds() ? 1U : 0U;
    }
    if (total == 0) continue;
    text += fmt::format("{} {}: {} of {} checks hold\n", held == total ? "pass" : "FAIL", name(kind), held,
                        total);
  }
  for (const Check& check : result.checks) {
    if (check.holds()) continue;
    text += wrapped(fmt::format("{}: {}: found {:.6g}, expected {:.6g} to {:.6g}", name(check.kind),
                                check.what, check.value, check.least, check.most),
                    "  ");
  }
  return text;
}

}  // namespace

std::string cell_text(const Json& row, const Column& column) {
  const auto cell = row.find(column.key);
  if (cell == row.end() || cell->is_null()) return "-";
  if (cell->is_number()) return fmt::format("{:.{}f}", cell->get<double>(), column.decimals);
  if (cell->is_boolean()) return cell->get<bool>() ? "yes" : "no";
  return cell->get<std::string>();
}

bool is_numeric(const StudyResult& result, const Column& column) {
  return std::any_of(result.rows.begin(), result.rows.end(), [&column](const Json& row) {
    const auto cell = row.find(column.key);
    return cell != row.end() && cell->is_number();
  });
}

bool is_filled(const StudyResult& result, const Column& column) {
  return std::any_of(result.rows.begin(), result.rows.end(), [&column](const Json& row) {
    const auto cell = row.find(column.key);
    return cell != row.end() && !cell->is_null() && *cell != "";
  });
}

std::string render_text(const Study& study, const StudyResult& result, Detail detail) {
  std::string text = fmt::format("{}: {}\n{}\n\n", study.id, study.title, study.document);
  std::vector<report::TextTable::Column> columns;
  std::vector<Column> filled;
  for (const Column& column : result.columns) {
    if (is_filled(result, column)) filled.push_back(column);
  }
  for (const Column& column : filled) {
    const bool number = is_numeric(result, column);
    columns.push_back({column.title, number ? report::Align::kRight : report::Align::kLeft});
  }
  report::TextTable table(columns);
  for (const Json& row : result.rows) {
    std::vector<std::string> cells;
    for (const Column& column : filled) cells.push_back(cell_text(row, column));
    table.add_row(std::move(cells));
  }
  text += table.text() + "\n";
  for (const std::string& sentence : result.sentences) text += wrapped(sentence, "");
  if (!result.rules.empty() && detail == Detail::kFull) {
    text += "\nRules of the paper's accounting that differ from the mechanism:\n";
    for (const AccountingRule& rule : result.rules) {
      const std::string line =
          fmt::format("{} = {} (mechanism: {}): {}", rule.key, rule.accounting, rule.mechanism, rule.meaning);
      std::string_view indent = "  ";
      for (const std::string& part : report::wrap(line, report::kTerminalColumns - 4)) {
        text += fmt::format("{}{}\n", indent, part);
        indent = "    ";
      }
    }
  }
  const std::string checks = detail == Detail::kFull || !result.holds() ? checks_text(result) : std::string();
  if (!checks.empty()) text += "\n" + checks;
  return text;
}

}  // namespace wharf::study
