// SPDX-License-Identifier: Apache-2.0
// Many studies as one self-contained HTML page: tables, sentences, checks, rules and plots.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/frame/study.h"

namespace wharf::study {

/// One study with what it found. `drawings` are SVG elements, one per plot of the result; an empty one stands
/// for a plot that could not be drawn.
struct ReportedStudy {
  const Study* study = nullptr;
  StudyResult result;
  std::vector<std::string> drawings;
};

/// The page. `made_by` says what program made it, and with what command.
std::string report_page(std::span<const ReportedStudy> studies, std::string_view made_by);

}  // namespace wharf::study
