// SPDX-License-Identifier: Apache-2.0
#include "cli/draw_plots.h"

#include <filesystem>

#include "study/plot.h"

namespace wharf::cli {

Result<void> draw(const report::ResultDirectory& directory, const std::vector<study::Plot>& plots,
                  const Console& console) {
  bool drawn = true;
  const std::filesystem::path folder = directory.file("");
  for (const study::Plot& plot : plots) {
    WHARF_TRY(study::write_text_file(folder / (plot.name + ".csv"), study::plot_csv(plot)));
    study::Plot shown = plot;
    if (shown.series.size() == 1) shown.series.front().name.clear();  // The title says it; no legend.
    WHARF_TRY(
        study::write_text_file(folder / (plot.name + ".gnuplot"), study::gnuplot_script(shown, plot.name)));
    drawn = study::draw_svg(folder, plot.name).has_value() && drawn;
  }
  if (!drawn) console.remark("gnuplot did not draw: scripts and numbers are there, pictures are not");
  return {};
}

}  // namespace wharf::cli
