// SPDX-License-Identifier: Apache-2.0
// A study's findings as text for a terminal.
#pragma once

#include <string>

#include "study/frame/study.h"

namespace wharf::study {

/// One cell: numbers with the column's digits, text as it is, "-" for null or nothing.
std::string cell_text(const Json& row, const Column& column);

/// Whether any row holds a number in this column.
bool is_numeric(const StudyResult& result, const Column& column);

/// Whether any row holds something in this column.
bool is_filled(const StudyResult& result, const Column& column);

/// How much of the findings render_text() shows.
enum class Detail : unsigned char {
  kBrief,  ///< Table, sentences, and checks that do not hold.
  kFull,   ///< The rules of the accounting too, and what became of every kind of check.
};

/// The findings in lines for a terminal, without columns that are empty. Ends with a newline.
std::string render_text(const Study& study, const StudyResult& result, Detail detail = Detail::kFull);

}  // namespace wharf::study
