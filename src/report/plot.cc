// SPDX-License-Identifier: Apache-2.0
#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/csv.h"
#include "report/plot_look.h"

namespace wharf::report {
namespace {

/// Marks by colour, filled and hollow: gnuplot's numbers of circle, square, triangles, diamond, pentagon.
constexpr std::array<int, kColours.size()> kFilled{7, 5, 9, 13, 11, 15, 7, 5};
constexpr std::array<int, kColours.size()> kHollow{6, 4, 8, 12, 10, 14, 6, 4};

std::string palette() {
  std::string text;
  for (std::size_t i = 0; i < kColours.size(); ++i)
    text += fmt::format("set linetype {} lc rgb '{}' lw 2 pt {} ps 0.7\n", i + 1, kColours[i], kFilled[i]);
  return text + fmt::format("set linetype cycle {}\n", kColours.size());
}

/// Text inside single quotes of a script. A line's end would end the command that it stands in.
std::string single_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') result += '\'';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result + "'";
}

/// The labels of a bar plot in the order in which they first occur.
std::vector<std::string> labels_of(const Plot& plot) {
  std::vector<std::string> labels;
  for (const Series& series : plot.series) {
    for (const Series::Point& point : series.points) {
      if (std::find(labels.begin(), labels.end(), point.label) == labels.end()) labels.push_back(point.label);
    }
  }
  return labels;
}

std::string bars_csv(const Plot& plot) {
  std::string text;
  append_csv_field(text, plot.x_title);
  for (const Series& series : plot.series) {
    text += ',';
    append_csv_field(text, series.name);
  }
  text += '\n';
  for (const std::string& label : labels_of(plot)) {
    append_csv_field(text, label);
    for (const Series& series : plot.series) {
      text += ',';
      for (const Series::Point& point : series.points) {
        if (point.label == label) text += fmt::format("{:.10g}", point.y);
      }
    }
    text += '\n';
  }
  return text;
}

/// Points of a line that are still drawn as such: more of them would cover it.
constexpr std::size_t kPointsDrawn = 50;

/// The look of a line of type `colour` + 1.
std::string look_of(const Series& series, std::size_t colour) {
  const bool many = series.points.size() > kPointsDrawn;
  std::string look = fmt::format("{} lt {}", many ? "lines lw 1" : "linespoints", colour + 1);
  if (series.published) look += many ? " dt 2" : fmt::format(" dt 2 pt {}", kHollow[colour]);
  return look;
}

/// A logarithmic axis ends where its values do, and has marks between.
std::string logarithmic_script(char name, const Axis& axis) {
  if (!axis.any) return "";
  constexpr double kRoom = 1.12;
  std::string script = fmt::format("set logscale {}{}\nset {}range [{:.6g}:{:.6g}]\n", name,
                                   axis.powers ? " 2" : "", name, axis.least / kRoom, axis.most * kRoom);
  const std::vector<double> marks = logarithmic_marks(axis);
  if (marks.size() < 2) return script;
  script += fmt::format("set {}tics (", name);
  for (std::size_t i = 0; i < marks.size(); ++i)
    script += fmt::format("{}{:.10g}", i == 0 ? "" : ", ", marks[i]);
  return script + ")\n";
}

std::string axes_script(const Plot& plot) {
  const Axis x = x_axis(plot), y = y_axis(plot);
  std::string script;
  if (x.logarithmic) script += logarithmic_script('x', x);
  if (y.logarithmic) {
    script += logarithmic_script('y', y);
  } else if (y.least >= 0) {
    script += "set yrange [0:*]\n";
  }
  return script;
}

std::string lines_script(const Plot& plot, std::string_view stem) {
  std::string script = "set grid\n";
  const bool long_lines = std::any_of(plot.series.begin(), plot.series.end(), [](const Series& series) {
    return series.points.size() > kPointsDrawn;
  });
  // A line that fills the picture ends where its axis does.
  if (long_lines && !x_axis(plot).logarithmic) script += "set autoscale xfix\n";
  script += "plot ";
  // The rows of a series stand together, so their places choose them; names may hold commas and quotes.
  const std::vector<std::size_t> colours = colours_of(plot);
  std::size_t row = 0;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    if (series.points.empty()) continue;
    if (row > 0) script += ", \\\n     ";
    script += fmt::format("{} every ::{}::{} using 2:3 with {} title {}",
                          single_quoted(fmt::format("{}.csv", stem)), row, row + series.points.size() - 1,
                          look_of(series, colours[i]), single_quoted(series.name));
    row += series.points.size();
  }
  return script + "\n";
}

std::string bars_script(const Plot& plot, std::string_view stem) {
  std::string script = fmt::format(
      "set style data histograms\nset style histogram {}\nset style fill solid 0.85 noborder\nset boxwidth "
      "{}\n"
      "set grid ytics\nset xtics rotate by -30 scale 0\nplot ",
      plot.kind == PlotKind::kStackedBars ? "rowstacked" : "clustered gap 1",
      plot.kind == PlotKind::kStackedBars ? "0.6" : "0.95");
  const std::vector<std::size_t> colours = colours_of(plot);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    if (i > 0) script += ", \\\n     ";
    script += fmt::format(
        "{} using {}{} lt {}{} title {}", i == 0 ? single_quoted(fmt::format("{}.csv", stem)) : "''", i + 2,
        i == 0 ? ":xtic(1)" : "", colours[i] + 1,
        plot.series[i].published ? fmt::format(" fs empty border lt {}", colours[i] + 1) : "",
        single_quoted(plot.series[i].name));
  }
  return script + "\n";
}

}  // namespace

std::string plot_csv(const Plot& plot) {
  if (plot.kind != PlotKind::kLines) return bars_csv(plot);
  std::string text = "series,x,y\n";
  for (const Series& series : plot.series) {
    for (const Series::Point& point : series.points) {
      append_csv_row(text, {series.name, fmt::format("{:.10g}", point.x), fmt::format("{:.10g}", point.y)});
    }
  }
  return text;
}

std::string gnuplot_script(const Plot& plot, std::string_view stem) {
  std::string script = fmt::format(
      "# Draws {0}.svg from {0}.csv: gnuplot {0}.gnuplot\n"
      "# and {0}.pdf: gnuplot -e pdf=1 {0}.gnuplot\n"
      "if (exists('pdf')) {{\n"
      "  set terminal pdfcairo size 17cm,9.5cm noenhanced font 'sans-serif,9' linewidth 0.7\n"
      "  set output '{0}.pdf'\n"
      "}} else {{\n"
      "  set terminal svg size 820,460 dynamic noenhanced background '#ffffff' font 'sans-serif,12' name "
      "{1}\n"
      "  set output '{0}.svg'\n"
      "}}\n"
      "set datafile separator comma\n"
      "set key outside right top\n",
      stem, single_quoted(plot.name));
  script += palette();
  script += fmt::format("set title {}\nset xlabel {}\nset ylabel {}\n", single_quoted(plot.title),
                        single_quoted(plot.x_title), single_quoted(plot.y_title));
  script += axes_script(plot);
  script += "set key autotitle columnhead\n";
  script += plot.kind == PlotKind::kLines ? lines_script(plot, stem) : bars_script(plot, stem);
  return script;
}

Result<void> write_text_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return {};
  return Error{ErrorKind::kEnvironment,
               fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno))};
}

Result<void> write_plot(const Plot& plot, const std::filesystem::path& directory, std::string_view stem) {
  WHARF_TRY(write_text_file(directory / fmt::format("{}.csv", stem), plot_csv(plot)));
  Plot shown = plot;
  if (shown.series.size() == 1) shown.series.front().name.clear();  // The title says it; no legend.
  return write_text_file(directory / fmt::format("{}.gnuplot", stem), gnuplot_script(shown, stem));
}

}  // namespace wharf::report
