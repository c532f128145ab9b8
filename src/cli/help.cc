// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

#include "report/wrapped_text.h"

namespace wharf::cli {
namespace {

/// Where the text about an option or command begins.
constexpr std::size_t kTextColumn = 26;

}  // namespace

HelpFormatter::HelpFormatter() { column_width(kTextColumn); }

std::string HelpFormatter::entry(const std::string& name, const std::string& text) const {
  const std::string indent(kTextColumn, ' ');
  std::string out;
  std::string head;
  for (const std::string& line : report::wrap(name, report::kTerminalColumns - 4)) {
    if (!head.empty()) out += head + "\n";
    head = (head.empty() ? "  " : "    ") + line;
  }
  if (text.empty()) return out + head + "\n";
  if (head.size() + 1 >= kTextColumn) {
    out += head + "\n";
    head.clear();
  }
  for (const std::string& line : report::wrap(text, report::kTerminalColumns - kTextColumn)) {
    out += head + std::string(kTextColumn - head.size(), ' ') + line + "\n";
    head.clear();
  }
  return out;
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  std::string out;
  if (const auto found = examples_.find(app); found != examples_.end())
    out += fmt::format("Examples:\n{}\n", found->second);
  for (const std::string& line : report::wrap(app->get_description(), report::kTerminalColumns))
    out += line + "\n";
  return out;
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = CLI::Formatter::make_usage(app, std::move(name));
  std::string out;
  while (!usage.empty() && usage.back() == '\n') usage.pop_back();
  for (const std::string& line : report::wrap(usage, report::kTerminalColumns - 2))
    out += (out.empty() ? "" : "  ") + line + "\n";
  return out;
}

std::string HelpFormatter::make_subcommand(const CLI::App* app) const {
  return entry(app->get_name(), app->get_description());
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";  // A flag.
  const std::string type = option->get_type_name();
  std::string out = " " + type.substr(0, type.find(':'));  // CLI11 appends what its checks say.
  if (option->get_expected_max() == CLI::detail::expected_max_vector_size) out += " ...";
  return out;
}

}  // namespace wharf::cli
