// SPDX-License-Identifier: Apache-2.0
#include "report/plot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/csv.h"

extern char** environ;

namespace wharf::report {
namespace {

/// Okabe and Ito's palette: told apart by colour-blind readers too.
constexpr std::string_view kPalette =
    "set linetype 1 lc rgb '#0072b2' lw 2 pt 7 ps 0.6\n"
    "set linetype 2 lc rgb '#d55e00' lw 2 pt 5 ps 0.6\n"
    "set linetype 3 lc rgb '#009e73' lw 2 pt 9 ps 0.6\n"
    "set linetype 4 lc rgb '#cc79a7' lw 2 pt 13 ps 0.6\n"
    "set linetype 5 lc rgb '#56b4e9' lw 2 pt 6 ps 0.6\n"
    "set linetype 6 lc rgb '#e69f00' lw 2 pt 4 ps 0.6\n"
    "set linetype 7 lc rgb '#000000' lw 2 pt 8 ps 0.6\n"
    "set linetype 8 lc rgb '#999999' lw 2 pt 12 ps 0.6\n"
    "set linetype cycle 8\n";

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

std::string lines_script(const Plot& plot, std::string_view stem) {
  std::string script = "set grid\n";
  const bool long_lines = std::any_of(plot.series.begin(), plot.series.end(), [](const Series& series) {
    return series.points.size() > kPointsDrawn;
  });
  // A line that fills the picture ends where its axis does.
  if (long_lines) script += "set autoscale xfix\n";
  script += "plot ";
  // The rows of a series stand together, so their places choose them; names may hold commas and quotes.
  std::size_t row = 0;
  std::size_t line = 0;
  for (const Series& series : plot.series) {
    ++line;
    if (series.points.empty()) continue;
    if (row > 0) script += ", \\\n     ";
    script += fmt::format("{} every ::{}::{} using 2:3 with {} lt {} title {}",
                          single_quoted(fmt::format("{}.csv", stem)), row, row + series.points.size() - 1,
                          series.points.size() > kPointsDrawn ? "lines lw 1" : "linespoints", line,
                          single_quoted(series.name));
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
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    if (i > 0) script += ", \\\n     ";
    script += fmt::format("{} using {}{} lt {} title {}",
                          i == 0 ? single_quoted(fmt::format("{}.csv", stem)) : "''", i + 2,
                          i == 0 ? ":xtic(1)" : "", i + 1, single_quoted(plot.series[i].name));
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
      "set terminal svg size 820,460 dynamic noenhanced background '#ffffff' font 'sans-serif,12' name {1}\n"
      "set output '{0}.svg'\n"
      "set datafile separator comma\n"
      "set key outside right top\n",
      stem, single_quoted(plot.name));
  script += kPalette;
  script += fmt::format("set title {}\nset xlabel {}\nset ylabel {}\n", single_quoted(plot.title),
                        single_quoted(plot.x_title), single_quoted(plot.y_title));
  if (plot.x_logarithmic) script += "set logscale x\n";
  script += plot.y_logarithmic ? "set logscale y\n" : "set yrange [0:*]\n";
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

std::string drawing_of(const Plot& plot, const std::filesystem::path& directory) {
  if (!write_plot(plot, directory, plot.name)) return "";
  return draw_svg(directory, plot.name).value_or("");
}

std::optional<std::string> draw_svg(const std::filesystem::path& directory, std::string_view stem) {
  const std::filesystem::path picture = directory / fmt::format("{}.svg", stem);
  // gnuplot reads and writes beside the script, so it is started there; its remarks about empty ranges are no
  // news.
  const std::string change = fmt::format("cd {}", single_quoted(directory.string()));
  const std::string script = fmt::format("{}.gnuplot", stem);
  const char* const arguments[] = {"gnuplot", "-e", change.c_str(), script.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // In a group of its own: Ctrl-C of the terminal ends wharf's work, not a picture that is half drawn.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, "gnuplot", &actions, &attributes, const_cast<char* const*>(arguments), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return std::nullopt;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  std::ifstream file(picture, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string svg{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t start = svg.find("<svg");
  if (start == std::string::npos) return std::nullopt;
  return svg.substr(start);
}

}  // namespace wharf::report
