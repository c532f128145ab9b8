// SPDX-License-Identifier: Apache-2.0
// Pictures of plots, drawn by gnuplot where it is there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/plot.h"

namespace wharf::report {

/// Runs gnuplot on STEM.gnuplot in `directory` and returns the SVG element of STEM.svg; nothing when gnuplot
/// is missing or fails.
std::optional<std::string> draw_svg(const std::filesystem::path& directory, std::string_view stem);

/// Writes a plot into `directory` and draws it: its SVG element, or nothing when gnuplot is missing or fails.
std::string drawing_of(const Plot& plot, const std::filesystem::path& directory);

/// Refuses with kEnvironment, in the name of `option`, where gnuplot is missing or cannot write PDF.
Result<void> expect_pdf(std::string_view option);

/// Runs gnuplot on STEM.gnuplot in `directory` for STEM.pdf, and takes the time of day out of that, so that
/// equal plots are equal files. Refuses with kEnvironment when gnuplot fails.
Result<void> draw_pdf(const std::filesystem::path& directory, std::string_view stem);

}  // namespace wharf::report
