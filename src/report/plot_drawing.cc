// SPDX-License-Identifier: Apache-2.0
#include "report/plot_drawing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <vector>

extern char** environ;

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

/// Whether gnuplot is there and ends well. Its remarks, about empty ranges, are no news.
bool run_gnuplot(const std::vector<std::string>& words) {
  std::vector<char*> arguments{const_cast<char*>("gnuplot")};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // In a group of its own: Ctrl-C of the terminal ends wharf's work, not a picture that is half drawn.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "gnuplot", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// gnuplot reads and writes beside the script, so it goes there first.
std::string change_to(const fs::path& directory) {
  std::string quoted;
  for (const char c : directory.string()) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return fmt::format("cd '{}'", quoted);
}

std::optional<std::string> content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Sets the date that cairo wrote, "(D:20261128215209Z)", to the first of January 1970, in as many bytes: a
/// PDF counts them.
void set_date(std::string& pdf) {
  constexpr std::string_view kKey = "/CreationDate (D:";
  constexpr std::string_view kFirst = "19700101000000";
  const std::size_t at = pdf.find(kKey);
  if (at == std::string::npos || at + kKey.size() + kFirst.size() > pdf.size()) return;
  pdf.replace(at + kKey.size(), kFirst.size(), kFirst);
}

}  // namespace

std::string drawing_of(const Plot& plot, const fs::path& directory) {
  if (!write_plot(plot, directory, plot.name)) return "";
  return draw_svg(directory, plot.name).value_or("");
}

std::optional<std::string> draw_svg(const fs::path& directory, std::string_view stem) {
  if (!run_gnuplot({"-e", change_to(directory), fmt::format("{}.gnuplot", stem)})) return std::nullopt;
  const auto svg = content_of(directory / fmt::format("{}.svg", stem));
  if (!svg) return std::nullopt;
  const std::size_t start = svg->find("<svg");
  if (start == std::string::npos) return std::nullopt;
  return svg->substr(start);
}

Result<void> expect_pdf(std::string_view option) {
  if (run_gnuplot({"-e", "set terminal pdfcairo"})) return {};
  return Error{ErrorKind::kEnvironment,
               fmt::format("{}: gnuplot is missing or has no terminal pdfcairo, expected one as in Debian's "
                           "gnuplot-nox",
                           option)};
}

Result<void> draw_pdf(const fs::path& directory, std::string_view stem) {
  const fs::path file = directory / fmt::format("{}.pdf", stem);
  std::optional<std::string> pdf;
  if (run_gnuplot({"-e", change_to(directory) + "; pdf = 1", fmt::format("{}.gnuplot", stem)}))
    pdf = content_of(file);
  if (!pdf || !pdf->starts_with("%PDF-"))
    return Error{ErrorKind::kEnvironment, fmt::format("{}: gnuplot did not draw it", file.string())};
  set_date(*pdf);
  return write_text_file(file, *pdf);
}

}  // namespace wharf::report
