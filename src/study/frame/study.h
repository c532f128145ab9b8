// SPDX-License-Identifier: Apache-2.0
// What a study is and what it finds: one experiment of one document, its table, its judgements, the rules of
// the paper's accounting, one honest sentence where the figures differ, and plots.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/plot.h"
#include "study/frame/judgement.h"

namespace wharf::study {

/// Ordered, so that tables and JSON show values in the order in which a study writes them.
using Json = nlohmann::ordered_json;

/// One column of a study's table. Rows may lack it or hold null: nothing was published, or nothing applies.
struct Column {
  std::string key;    ///< Member of each row, unit included: "paper_ns".
  std::string title;  ///< Heading for people.
  int decimals = 0;   ///< Digits after the point of numbers.
};

/// A rule of the paper's accounting that a real machine does not have: a profile key whose value differs.
struct AccountingRule {
  std::string key;         ///< "nic.charged_bytes"
  std::string accounting;  ///< Value in the accounting profile.
  std::string mechanism;   ///< Value in the mechanism profile.
  std::string meaning;     ///< One sentence, from the key's own documentation.
};

using report::AxisScale;
using report::Plot;
using report::PlotKind;
using report::Series;

/// What a document published of `subject`, and what the mechanism gives of it: two lines of one colour.
Series published_series(std::string_view subject);
Series mechanism_series(std::string_view subject);

/// What a study found.
struct StudyResult {
  std::vector<Column> columns;
  std::vector<Json> rows;  ///< Objects.
  std::vector<Check> checks;
  std::vector<AccountingRule> rules;
  std::vector<std::string> sentences;
  std::vector<Plot> plots;

  /// Whether every check holds.
  bool holds() const { return all_hold(checks); }
};

class Overrides;

/// What a study may lean on. Everything outlives the run.
struct StudyContext {
  std::filesystem::path profiles;   ///< Directory of NAME.toml.
  std::filesystem::path reference;  ///< Directory of the published values, one folder per document.
  std::filesystem::path captures;   ///< Where studies that can put captures of links; empty: nowhere.
  unsigned threads = 1;             ///< Simulations at a time, at least 1.
  const std::atomic<bool>* interrupt = nullptr;
  const Overrides* overrides = nullptr;  ///< Null: all simulations are the study's own.
  /// Called with the fraction done (0 to 1) of the runs that a study has asked for; may be empty. Calls come
  /// one at a time, but from any of the study's threads.
  std::function<void(double fraction)> progress;
};

/// One experiment of one document.
struct Study {
  std::string_view id;        ///< "openurma/table6"
  std::string_view title;     ///< One line.
  std::string_view document;  ///< Where it was published.
  Result<StudyResult> (*run)(const StudyContext& context);
  bool has_captures = false;  ///< Honours StudyContext::captures.
};

}  // namespace wharf::study
