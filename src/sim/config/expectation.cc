// SPDX-License-Identifier: Apache-2.0
#include "sim/config/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/nearest_name.h"

namespace wharf::sim {
namespace {

constexpr std::array<std::string_view, 7> kKeys{"value", "equals", "tolerance", "tolerance_absolute",
                                                "min",   "max",    "source"};

Result<std::optional<double>> number(const ConfigTable& table, const std::string& key) {
  const auto found = table.values.find(key);
  if (found == table.values.end()) return std::optional<double>();
  const std::string& text = found->second.text;
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return input_error(
        fmt::format("{}: expect.{} is \"{}\", expected a number", found->second.origin, key, text));
  }
  return std::optional<double>(value);
}

Result<Expectation> read_one(const ConfigTable& table) {
  for (const auto& [key, value] : table.values) {
    if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) continue;
    const auto nearest = nearest_name(key, kKeys);
    return input_error(fmt::format("{}: unknown key expect.{}{}", value.origin, key,
                                   nearest ? fmt::format("; did you mean {}?", *nearest)
                                           : fmt::format(", expected one of {}", fmt::join(kKeys, ", "))));
  }
  Expectation expectation;
  expectation.origin = table.origin;
  const auto path = table.values.find("value");
  if (path == table.values.end()) {
    return input_error(
        fmt::format("{}: [[expect]] has no value, expected a path in summary.json such as "
                    "\"verbs.read.latency_ns.mean\"",
                    table.origin));
  }
  expectation.value = path->second.text;
  if (const auto source = table.values.find("source"); source != table.values.end()) {
    expectation.source = source->second.text;
  }
  const auto equals = number(table, "equals");
  if (!equals) return equals.error();
  const auto relative = number(table, "tolerance");
  if (!relative) return relative.error();
  const auto absolute = number(table, "tolerance_absolute");
  if (!absolute) return absolute.error();
  const auto least = number(table, "min");
  if (!least) return least.error();
  const auto most = number(table, "max");
  if (!most) return most.error();
  if (equals->has_value() == (least->has_value() || most->has_value())) {
    return input_error(
        fmt::format("{}: [[expect]] has {}, expected either equals, or min and/or max", table.origin,
                    equals->has_value() ? "equals beside min or max" : "neither equals nor min nor max"));
  }
  for (const auto& [key, room] :
       {std::pair{"tolerance", *relative}, std::pair{"tolerance_absolute", *absolute}}) {
    if (!room) continue;
    const std::string& origin = table.values.at(key).origin;
    if (!equals->has_value())
      return input_error(fmt::format("{}: expect.{} stands beside min or max, expected equals", origin, key));
    if (*room < 0)
      return input_error(fmt::format("{}: expect.{} is {}, expected at least 0", origin, key, *room));
  }
  if (*least && *most && **least > **most) {
    return input_error(fmt::format("{}: expect.min is {}, expected at most expect.max, {}",
                                   table.values.at("min").origin, **least, **most));
  }
  expectation.least = *least;
  expectation.most = *most;
  if (equals->has_value()) {
    const double room = absolute->value_or(0) + relative->value_or(0) * std::abs(**equals);
    expectation.least = **equals - room;
    expectation.most = **equals + room;
  }
  return expectation;
}

/// Every path to a number in `value`.
void collect_paths(const nlohmann::ordered_json& value, const std::string& path,
                   std::vector<std::string>& out) {
  if (value.is_number()) {
    out.push_back(path);
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      collect_paths(member, path.empty() ? key : path + "." + key, out);
  }
}

const nlohmann::ordered_json* find_path(const nlohmann::ordered_json& root, std::string_view path) {
  const nlohmann::ordered_json* at = &root;
  while (!path.empty()) {
    const auto dot = path.find('.');
    const std::string key(path.substr(0, dot));
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[key];
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

/// Whether a number that `summary` does not hold is zero: counters and stages are left out when they are, and
/// so are verbs that did not occur.
bool is_zero_when_absent(const std::string& path) {
  if (path.starts_with("counters.")) return true;
  if (!path.starts_with("verbs.")) return false;
  for (const std::string_view end : {".count", ".failed", ".bytes"}) {
    if (path.ends_with(end)) return true;
  }
  return path.find(".critical_ns.") != std::string::npos || path.find(".overlapped_ns.") != std::string::npos;
}

Error no_number(const Expectation& expectation, const std::vector<std::string>& paths) {
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  const auto nearest = nearest_name(expectation.value, views);
  return input_error(fmt::format(
      "{}: expect.value is \"{}\", which is no number of summary.json, expected the path of one{}",
      expectation.origin, expectation.value,
      nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : std::string()));
}

}  // namespace

Result<std::vector<Expectation>> read_expectations(const ConfigDocument& document) {
  std::vector<Expectation> expectations;
  for (const ConfigTable& table : document.tables("expect")) {
    auto one = read_one(table);
    if (!one) return one.error();
    expectations.push_back(*std::move(one));
  }
  return expectations;
}

std::vector<std::string> number_paths(const nlohmann::ordered_json& summary) {
  std::vector<std::string> paths;
  collect_paths(summary, "", paths);
  return paths;
}

Result<void> check_paths(const std::vector<Expectation>& expectations,
                         const std::vector<std::string>& paths) {
  for (const Expectation& expectation : expectations) {
    if (std::find(paths.begin(), paths.end(), expectation.value) == paths.end())
      return no_number(expectation, paths);
  }
  return {};
}

Result<std::vector<JudgedExpectation>> judge(const std::vector<Expectation>& expectations,
                                             const nlohmann::ordered_json& summary) {
  std::vector<JudgedExpectation> judged;
  for (const Expectation& expectation : expectations) {
    const nlohmann::ordered_json* found = find_path(summary, expectation.value);
    const bool zero = found == nullptr && is_zero_when_absent(expectation.value);
    if (!zero && (found == nullptr || !found->is_number()))
      return no_number(expectation, number_paths(summary));
    JudgedExpectation one{expectation, zero ? 0 : found->get<double>(), true};
    one.holds = one.found >= expectation.least.value_or(one.found) &&
                one.found <= expectation.most.value_or(one.found);
    judged.push_back(std::move(one));
  }
  return judged;
}

std::string range_text(const Expectation& expectation) {
  if (expectation.least && expectation.most)
    return fmt::format("{:g} to {:g}", *expectation.least, *expectation.most);
  return expectation.least ? fmt::format("at least {:g}", *expectation.least)
                           : fmt::format("at most {:g}", *expectation.most);
}

}  // namespace wharf::sim
