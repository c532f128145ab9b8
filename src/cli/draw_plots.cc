// SPDX-License-Identifier: Apache-2.0
#include "cli/draw_plots.h"

#include <filesystem>

#include "report/plot.h"

namespace wharf::cli {

Result<void> draw(const report::ResultDirectory& directory, const std::vector<report::Plot>& plots,
                  const Console& console) {
  bool drawn = true;
  const std::filesystem::path folder = directory.file("");
  for (const report::Plot& plot : plots) {
    WHARF_TRY(report::write_plot(plot, folder, plot.name));
    drawn = report::draw_svg(folder, plot.name).has_value() && drawn;
  }
  if (!drawn) console.remark("gnuplot did not draw: scripts and numbers are there, pictures are not");
  return {};
}

}  // namespace wharf::cli
