// SPDX-License-Identifier: Apache-2.0
#include "report/wrapped_text.h"

#include <algorithm>

namespace wharf::report {

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    if (word.empty()) continue;
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (columns_of(line) + 1 + columns_of(word) <= width) {
      line += ' ';
      line += word;
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

std::string in_lines(std::string_view text, std::size_t columns) {
  constexpr std::size_t kIndent = 2;
  std::string lines;
  for (const std::string& line : wrap(text, columns > kIndent ? columns - kIndent : 0)) {
    if (!lines.empty()) lines.append(kIndent, ' ');
    lines += line + "\n";
  }
  return lines;
}

}  // namespace wharf::report
