// SPDX-License-Identifier: Apache-2.0
#include "sim/config/config_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

namespace {
/// A text that toml++ did not foresee, such as "[[[": it asserts where it should refuse.
struct UnforeseenToml {};
[[noreturn]] void unforeseen() { throw UnforeseenToml(); }
}  // namespace

// Without NDEBUG, which would turn its assertions into promises to the optimiser.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : unforeseen())
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "base/units.h"

namespace wharf::sim {
namespace {

std::string place(std::string_view name, const toml::node& node) {
  return fmt::format("{}:{}", name, node.source().begin.line);
}

/// The scalar as text, or nothing when the node is no scalar that a key can hold.
std::optional<ConfigValue> scalar(const toml::node& node) {
  ConfigValue value;
  if (const auto* text = node.as_string()) {
    value.text = text->get();
    value.quoted = true;
  } else if (const auto* integer = node.as_integer()) {
    value.text = std::to_string(integer->get());
  } else if (const auto* number = node.as_floating_point()) {
    value.text = fmt::format("{}", number->get());
  } else if (const auto* flag = node.as_boolean()) {
    value.text = flag->get() ? "true" : "false";
  } else {
    return std::nullopt;
  }
  return value;
}

/// The first byte outside of strings and comments that is not ASCII, which TOML has nowhere else; npos: none.
/// toml++ 3.3 runs into undefined behaviour on some of them.
std::size_t stray_byte(std::string_view text) {
  char quote = 0;      // Of the string that is open.
  bool block = false;  // It is of three quotes.
  bool comment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      comment = false;
      if (!block) quote = 0;
    } else if (comment) {
      continue;
    } else if (quote != 0) {
      const bool closes = c == quote && (!block || text.substr(i, 3) == std::string(3, quote));
      if (c == '\\' && quote == '"') {
        ++i;
      } else if (closes) {
        i += block ? 2 : 0;
        quote = 0;
        block = false;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      block = text.substr(i, 3) == std::string(3, c);
      i += block ? 2 : 0;
    } else if (c == '#') {
      comment = true;
    } else if (static_cast<unsigned char>(c) >= 0x80 && !(i < 3 && text.starts_with("\xef\xbb\xbf"))) {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

Result<void> ConfigDocument::add_file(const std::filesystem::path& path, std::string_view prefix, int layer) {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) {
    return input_error(fmt::format("{} is a directory, expected a TOML file", path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return input_error(fmt::format("{} cannot be read, expected a TOML file", path.string()));
  std::ostringstream text;
  text << file.rdbuf();
  return add_text(text.str(), path.string(), prefix, layer);
}

Result<void> ConfigDocument::add_text(std::string_view text, std::string_view name, std::string_view prefix,
                                      int layer) {
  if (const std::size_t stray = stray_byte(text); stray != std::string_view::npos) {
    const std::string_view before = text.substr(0, stray);
    const std::size_t feed = before.rfind('\n');
    return input_error(
        fmt::format("{}:{}:{}: found the byte {:#04x} outside of a string, expected valid TOML", name,
                    1 + std::count(before.begin(), before.end(), '\n'),
                    stray - (feed == std::string_view::npos ? 0 : feed + 1) + 1,
                    static_cast<unsigned>(static_cast<unsigned char>(text[stray]))));
  }
  toml::table root;
  try {  // toml++ reports syntax errors by throwing; this is the only place where that surfaces.
    root = toml::parse(text, name);
  } catch (const toml::parse_error& failure) {
    const auto& at = failure.source().begin;
    std::string_view what = failure.description();
    constexpr std::string_view kLead = "Error while parsing ";
    if (what.starts_with(kLead)) what.remove_prefix(kLead.size());
    return input_error(fmt::format("{}:{}:{}: {}, expected valid TOML", name, at.line, at.column, what));
  } catch (const UnforeseenToml&) {
    return input_error(
        fmt::format("{}: found a table or key without a name, expected valid TOML, such as [fabric]", name));
  }

  struct Pending {
    std::string path;
    const toml::table* table;
  };
  std::vector<Pending> pending{{std::string(prefix), &root}};
  while (!pending.empty()) {
    const Pending current = pending.back();
    pending.pop_back();
    for (const auto& [key, node] : *current.table) {
      const std::string path = current.path + std::string(key.str());
      if (const auto* table = node.as_table()) {
        pending.push_back({path + ".", table});
        continue;
      }
      if (const auto* array = node.as_array()) {
        std::vector<ConfigTable>& tables = tables_[path];
        for (const toml::node& element : *array) {
          const auto* entry = element.as_table();
          if (entry == nullptr) {
            return input_error(
                fmt::format("{}: {} is a list, expected a single value", place(name, node), path));
          }
          ConfigTable& out = tables.emplace_back();
          out.origin = place(name, element);
          for (const auto& [entry_key, entry_node] : *entry) {
            auto value = scalar(entry_node);
            if (!value) {
              return input_error(
                  fmt::format("{}: {}.{} is no single value, expected a string, number or boolean",
                              place(name, entry_node), path, entry_key.str()));
            }
            value->origin = place(name, entry_node);
            value->layer = layer;
            out.values.emplace(std::string(entry_key.str()), std::move(*value));
          }
        }
        continue;
      }
      auto value = scalar(node);
      if (!value) {
        return input_error(fmt::format("{}: {} is a date or time, expected a string, number or boolean",
                                       place(name, node), path));
      }
      value->origin = place(name, node);
      value->layer = layer;
      merge(path, *value);
    }
  }
  return {};
}

Result<void> ConfigDocument::add_override(std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return input_error(fmt::format("--set {}: expected key=value, for example --set run.seed=7", assignment));
  }
  set(assignment.substr(0, equals), assignment.substr(equals + 1), "--set");
  return {};
}

void ConfigDocument::set(std::string_view key, std::string_view value, std::string_view origin) {
  ConfigValue& slot = values_[std::string(key)];
  slot = ConfigValue{std::string(value), true, std::string(origin), kOverrideLayer, false};
}

void ConfigDocument::merge(const std::string& key, const ConfigValue& value) {
  const auto [place, fresh] = values_.try_emplace(key, value);
  if (!fresh && place->second.layer <= value.layer) place->second = value;
}

void ConfigDocument::erase(std::string_view key) {
  const auto found = values_.find(key);
  if (found != values_.end()) values_.erase(found);
}

const ConfigValue* ConfigDocument::find(std::string_view key) const {
  const ConfigValue* value = peek(key);
  if (value != nullptr) value->used = true;
  return value;
}

const ConfigValue* ConfigDocument::peek(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

const std::vector<ConfigTable>& ConfigDocument::tables(std::string_view name) const {
  static const std::vector<ConfigTable> kNone;
  const auto found = tables_.find(name);
  return found == tables_.end() ? kNone : found->second;
}

std::vector<std::string> ConfigDocument::table_names() const {
  std::vector<std::string> names;
  for (const auto& [name, tables] : tables_) names.push_back(name);
  return names;
}

bool same_value(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto number = [](std::string_view text) -> std::optional<double> {
    double value{};
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  };
  const auto same = [](const auto& first, const auto& second) {
    return first && second && *first == *second;
  };
  return same(number(a), number(b)) || same(parse_time(a), parse_time(b)) ||
         same(parse_bytes(a), parse_bytes(b)) || same(parse_rate(a), parse_rate(b)) ||
         same(parse_probability(a), parse_probability(b));
}

}  // namespace wharf::sim
