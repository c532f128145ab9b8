// SPDX-License-Identifier: Apache-2.0
// A study's findings as text for a terminal.
#pragma once

#include <string>

#include "study/study.h"

namespace wharf::study {

/// One cell: numbers with the column's digits, text as it is, "-" for null or nothing.
std::string cell_text(const Json& row, const Column& column);

/// Whether any row holds a number in this column.
bool is_numeric(const StudyResult& result, const Column& column);

/// Table, sentences, rules of the accounting, and what became of the checks. Ends with a newline.
std::string render_text(const Study& study, const StudyResult& result);

}  // namespace wharf::study
