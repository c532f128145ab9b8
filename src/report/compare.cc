// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

namespace wharf::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Comparer {
 public:
  Comparer(Tolerance tolerance, std::size_t limit, Comparison& out)
      : tolerance_(tolerance), limit_(limit), out_(out) {}

  void texts(const std::string& file, const std::string& what, const std::string& first,
             const std::string& second) {
    ++out_.values;
    if (first == second) return;
    const auto a = number(first);
    const auto b = number(second);
    if (a && b) {
      const double distance = std::abs(*a - *b);
      if (distance <= tolerance_.absolute ||
          distance <= tolerance_.relative * std::max(std::abs(*a), std::abs(*b)))
        return;
    }
    different(file, what, first, second);
  }

  void json(const std::string& file, const std::string& path, const Json& first, const Json& second) {
    if (first.is_object() && second.is_object()) {
      std::set<std::string> keys;
      for (const auto& [key, value] : first.items()) keys.insert(key);
      for (const auto& [key, value] : second.items()) keys.insert(key);
      for (const std::string& key : keys) {
        const std::string inner = path.empty() ? key : path + "." + key;
        json(file, inner, first.contains(key) ? first[key] : Json(),
             second.contains(key) ? second[key] : Json());
      }
    } else if (first.is_array() && second.is_array() && first.size() == second.size()) {
      for (std::size_t index = 0; index < first.size(); ++index) {
        json(file, fmt::format("{}[{}]", path, index), first[index], second[index]);
      }
    } else {
      const auto text = [](const Json& value) {
        return value.is_string() ? value.get<std::string>()
               : value.is_null() ? std::string("nothing")
                                 : value.dump();
      };
      texts(file, path, text(first), text(second));
    }
  }

  void different(const std::string& file, const std::string& what, const std::string& first,
                 const std::string& second) {
    ++out_.different;
    if (out_.differences.size() < limit_) out_.differences.push_back({file, what, first, second});
  }

 private:
  Tolerance tolerance_;
  std::size_t limit_;
  Comparison& out_;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

void compare_csv(Comparer& comparer, const std::string& name, const fs::path& first, const fs::path& second) {
  std::ifstream a(first);
  std::ifstream b(second);
  std::vector<std::string> titles;
  std::string line_a;
  std::string line_b;
  for (std::size_t row = 0;; ++row) {
    const bool more_a = static_cast<bool>(std::getline(a, line_a));
    const bool more_b = static_cast<bool>(std::getline(b, line_b));
    if (!more_a && !more_b) return;
    if (more_a != more_b) {
      comparer.different(name, fmt::format("row {}", row), more_a ? line_a : "nothing",
                         more_b ? line_b : "nothing");
      return;
    }
    if (row == 0) titles = split(line_a);
    const auto cells_a = split(line_a);
    const auto cells_b = split(line_b);
    if (cells_a.size() != cells_b.size()) {
      comparer.different(name, fmt::format("row {}", row), line_a, line_b);
      continue;
    }
    for (std::size_t column = 0; column < cells_a.size(); ++column) {
      const std::string title = column < titles.size() ? titles[column] : std::to_string(column);
      comparer.texts(name, fmt::format("row {}, column {}", row, title), cells_a[column], cells_b[column]);
    }
  }
}

std::set<std::string> files_of(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().filename() != "manifest.json")
      names.insert(entry.path().filename());
  }
  return names;
}

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Result<Comparison> compare_results(const fs::path& first, const fs::path& second, Tolerance tolerance,
                                   std::size_t limit) {
  for (const fs::path& directory : {first, second}) {
    if (!fs::is_regular_file(directory / "summary.json")) {
      return input_error(
          fmt::format("{} has no summary.json, expected a result directory", directory.string()));
    }
  }
  Comparison out;
  Comparer comparer(tolerance, limit, out);
  const auto names_a = files_of(first);
  auto names = files_of(second);
  names.insert(names_a.begin(), names_a.end());
  for (const std::string& name : names) {
    const fs::path a = first / name;
    const fs::path b = second / name;
    if (!fs::exists(a) || !fs::exists(b)) {
      comparer.different(name, "file", fs::exists(a) ? "present" : "absent",
                         fs::exists(b) ? "present" : "absent");
    } else if (name.ends_with(".json")) {
      const Json json_a = Json::parse(content(a), nullptr, false);
      const Json json_b = Json::parse(content(b), nullptr, false);
      if (json_a.is_discarded() || json_b.is_discarded()) {
        return input_error(fmt::format("{} is no valid JSON", (json_a.is_discarded() ? a : b).string()));
      }
      comparer.json(name, "", json_a, json_b);
    } else if (name.ends_with(".csv")) {
      compare_csv(comparer, name, a, b);
    } else {
      ++out.values;
      if (content(a) != content(b)) comparer.different(name, "content", "differs", "differs");
    }
  }
  return out;
}

}  // namespace wharf::report
