// SPDX-License-Identifier: Apache-2.0
#include "cli/draw_plots.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "report/plot_drawing.h"

namespace wharf::cli {

void put_name_into_titles(std::vector<report::Plot>& plots, std::string_view scenario) {
  const std::string name = std::filesystem::path(scenario).stem().string();
  if (name.empty()) return;
  for (report::Plot& plot : plots) plot.title = fmt::format("{}: {}", name, plot.title);
}

Result<void> draw(const report::ResultDirectory& directory, const std::vector<report::Plot>& plots, bool pdf,
                  const Console& console) {
  bool drawn = true;
  const std::filesystem::path folder = directory.file("");
  for (const report::Plot& plot : plots) {
    WHARF_TRY(report::write_plot(plot, folder, plot.name));
    drawn = report::draw_svg(folder, plot.name).has_value() && drawn;
    if (pdf) WHARF_TRY(report::draw_pdf(folder, plot.name));
  }
  if (!drawn) console.remark("gnuplot did not draw: scripts and numbers are there, pictures are not");
  return {};
}

}  // namespace wharf::cli
