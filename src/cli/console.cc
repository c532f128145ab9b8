// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "report/wrapped_text.h"
#include "wharf/schema_version.h"

namespace wharf::cli {
namespace {

/// What was typed or read may hold anything: control characters as \n, \t or \xNN, so that a message stays
/// one line and drives no terminal.
std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      shown += c;
    } else if (c == '\n' || c == '\t') {
      shown += c == '\n' ? "\\n" : "\\t";
    } else {
      shown += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return shown;
}

}  // namespace

void Console::write(std::string_view text) const {
  const UncutWrites whole;
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size() && write_error == 0) write_error = errno;
}

void Console::print(std::string_view text) const {
  if (!json) write(text);
}

void Console::print_document(const nlohmann::ordered_json& document) const {
  // A name of a file may be no text.
  write((document.is_object() ? versioned(document) : document)
            .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
        "\n");
}

report::Paint Console::paint() const {
  if (json || !is_colored(out, color)) return {};
  return colored;
}

std::string Console::painted(report::Tone tone, std::string_view text) const {
  return report::painted(paint(), tone, text);
}

std::string Console::text_of(const report::TextTable& table) const {
  return table.text(report::kTerminalColumns, paint());
}

std::string Console::text_of(const std::vector<report::Part>& parts) const {
  return report::text_of(parts, paint());
}

std::string Console::folded(std::string_view text) const {
  if (!is_terminal(out)) return std::string(text);
  const std::size_t columns = terminal_size(out).columns;
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    // What fits keeps its blanks.
    if (report::columns_of(line) <= columns) {
      lines += line;
      lines += '\n';
    } else {
      const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
      lines.append(blanks, ' ');
      lines += report::in_lines(line, columns - std::min(columns, blanks));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void Console::tell(report::Tone tone, std::string_view text) const {
  constexpr std::string_view kName = "wharf";
  constexpr std::string_view kPrefix = "wharf: ";
  std::string line = printable(text);
  if (!line.starts_with(kName)) line.insert(0, kPrefix);
  line = is_terminal(err) ? report::in_lines(line, terminal_size(err).columns) : line + "\n";
  const std::size_t named = line.find(':');
  if (!json && is_colored(err, color) && named != std::string::npos)
    line = colored(tone, line.substr(0, named + 1)) + line.substr(named + 1);
  std::fputs(line.c_str(), err);
}

void Console::remark(std::string_view text) const {
  if (!quiet) tell(report::Tone::kHeading, text);
}

void Console::error(std::string_view text) const { tell(report::Tone::kBad, text); }

}  // namespace wharf::cli
