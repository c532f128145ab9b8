// SPDX-License-Identifier: Apache-2.0
#include "study/frame/reference_table.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace wharf::study {
namespace {

constexpr std::string_view kHeader = "series,x,value,unit,source,kind";

/// The fields of one line. Quotes are needed around fields with commas; a quote inside is doubled.
std::optional<std::vector<std::string>> split(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  return fields;
}

}  // namespace

Result<ReferenceTable> ReferenceTable::read(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) {
    return Error{ErrorKind::kEnvironment,
                 fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno))};
  }
  std::ostringstream text;
  text << file.rdbuf();
  return parse(text.str(), path.string());
}

Result<ReferenceTable> ReferenceTable::parse(std::string_view text, std::string_view name) {
  ReferenceTable table;
  table.name_ = name;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (number == 1) {
      if (line != kHeader) {
        return input_error(fmt::format("{}:1: found header \"{}\", expected \"{}\"", name, line, kHeader));
      }
      continue;
    }
    if (line.empty()) continue;
    const auto fields = split(line);
    if (!fields) return input_error(fmt::format("{}:{}: a quote is opened and not closed", name, number));
    if (fields->size() != 6) {
      return input_error(fmt::format("{}:{}: found {} fields, expected 6", name, number, fields->size()));
    }
    const std::string& digits = (*fields)[2];
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0' || !std::isfinite(value)) {
      return input_error(fmt::format("{}:{}: found value \"{}\", expected a number", name, number, digits));
    }
    table.values_.push_back(
        {(*fields)[0], (*fields)[1], value, (*fields)[3], (*fields)[4], (*fields)[5], number});
  }
  if (table.values_.empty()) return input_error(fmt::format("{}: holds no values", name));
  return table;
}

std::vector<ReferenceValue> ReferenceTable::series(std::string_view series) const {
  std::vector<ReferenceValue> found;
  for (const ReferenceValue& value : values_) {
    if (value.series == series) found.push_back(value);
  }
  return found;
}

std::optional<double> ReferenceTable::find(std::string_view series, std::string_view x) const {
  for (const ReferenceValue& value : values_) {
    if (value.series == series && value.x == x) return value.value;
  }
  return std::nullopt;
}

Result<double> ReferenceTable::number_at_x(const ReferenceValue& value) const {
  char* end = nullptr;
  const double x = std::strtod(value.x.c_str(), &end);
  if (!value.x.empty() && *end == '\0' && std::isfinite(x)) return x;
  return input_error(fmt::format("{}:{}: found x \"{}\", expected a number", name_, value.line, value.x));
}

Result<double> ReferenceTable::at(std::string_view series, std::string_view x) const {
  const auto value = find(series, x);
  if (value) return *value;
  return input_error(fmt::format("{}: has no value of series \"{}\" at x \"{}\"", name_, series, x));
}

}  // namespace wharf::study
