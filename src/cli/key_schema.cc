// SPDX-License-Identifier: Apache-2.0
#include "cli/key_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "workload/workload.h"

namespace wharf::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What KeyDoc::expected says, taken apart.
struct ValueKind {
  std::string_view type;
  std::string least{};
  std::string most{};
  std::vector<std::string> choices{};
  std::string word{};  ///< Stands in the place of a value: "unlimited", "none".
};

/// Kinds whose values have units, with the pattern of a value.
struct Quantity {
  std::string_view type;
  std::string_view unit;  ///< In which JSON results have it.
  std::string_view pattern;
};
constexpr std::array<Quantity, 3> kQuantities{{
    {"time", "ns", R"(^[0-9]+(\.[0-9]+)?(s|ms|us|ns|ps)$)"},
    {"size", "bytes", R"(^[0-9]+(\.[0-9]+)?(B|KiB|MiB|GiB|TiB|KB|MB|GB|TB)$)"},
    {"rate", "gbps", R"(^[0-9]+(\.[0-9]+)?(Tbps|Gbps|Mbps|kbps|bps)$)"},
}};

/// "a to b" behind `head`; false when `text` does not begin so.
bool read_range(std::string_view text, std::string_view head, ValueKind& kind) {
  if (!text.starts_with(head)) return false;
  text.remove_prefix(head.size());
  const auto to = text.find(" to ");
  kind.least = text.substr(0, to);
  if (to != std::string_view::npos) kind.most = text.substr(to + 4);
  return true;
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const auto comma = list.find(", ");
    words.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 2);
  }
  return words;
}

/// The part of `text` before " or WORD", and WORD without its quotes in `kind`.
std::string_view without_word(std::string_view text, ValueKind& kind) {
  const auto at = text.find(" or ");
  if (at == std::string_view::npos || text == "true or false") return text;
  std::string_view word = text.substr(at + 4);
  if (word.starts_with('"')) word = word.substr(1, word.size() - 2);
  kind.word = word;
  return text.substr(0, at);
}

ValueKind kind_of(const sim::KeyDoc& key) {
  ValueKind kind{"text"};
  if (key.expected.starts_with("one of ")) {
    kind.type = "choice";
    kind.choices = words_of(std::string_view(key.expected).substr(7));
    return kind;
  }
  const std::string_view text = without_word(key.expected, kind);
  if (text == "true or false") {
    kind.type = "flag";
  } else if (text == "time" || text == "rate" || text == "size" || text == "probability") {
    kind.type = text;
  } else if (read_range(text, "size from ", kind)) {
    kind.type = "size";
  } else if (read_range(text, "integer from ", kind) || read_range(text, "integer of at least ", kind)) {
    kind.type = "integer";
  } else if (read_range(text, "number from ", kind)) {
    kind.type = "number";
  }
  return kind;
}

/// A number as it stands in text.
Json number_of(const std::string& text) { return Json::parse(text, nullptr, false); }

Json value_schema(const sim::KeyDoc& key) {
  const ValueKind kind = kind_of(key);
  Json schema;
  if (kind.type == "choice") {
    schema["enum"] = kind.choices;
  } else if (kind.type == "flag") {
    schema["type"] = "boolean";
  } else if (kind.type == "integer" || kind.type == "number") {
    schema["type"] = kind.type;
    if (!kind.least.empty()) schema["minimum"] = number_of(kind.least);
    if (!kind.most.empty()) schema["maximum"] = number_of(kind.most);
  } else if (kind.type == "probability") {
    schema["anyOf"] = {{{"type", "number"}, {"minimum", 0}, {"maximum", 1}},
                       {{"type", "string"}, {"pattern", R"(^[0-9]+(\.[0-9]+)?%?$)"}}};
  } else {
    schema["type"] = "string";
    for (const Quantity& quantity : kQuantities) {
      if (quantity.type == kind.type) schema["pattern"] = quantity.pattern;
    }
  }
  if (!kind.word.empty()) schema = {{"anyOf", {std::move(schema), {{"const", kind.word}}}}};
  return schema;
}

/// The place of a part of a path below `table`; NAME stands for any name.
Json& child_of(Json& table, const std::string& part) {
  if (!table.contains("type")) {
    table["type"] = "object";
    table["additionalProperties"] = false;
  }
  return part == "NAME" ? table["patternProperties"]["^[A-Za-z0-9_-]+$"] : table["properties"][part];
}

void add_key(Json& root, const sim::KeyDoc& key) {
  Json* at = &root;
  std::string_view rest = key.path;
  while (!rest.empty()) {
    const auto dot = rest.find('.');
    if (rest == "KEY") {  // Any key of another section.
      (*at)["type"] = "object";
      (*at)["additionalProperties"] = true;
      return;
    }
    at = &child_of(*at, std::string(rest.substr(0, dot)));
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  }
  Json schema = value_schema(key);
  const std::string meaning = fmt::format("{} ({}; {}{}{})", key.doc, key.expected, default_text(key),
                                          key.condition.empty() ? "" : "; ", key.condition);
  if (at->is_null()) {
    *at = std::move(schema);
    (*at)["description"] = meaning;
    return;
  }
  // A key that several programs have, each with its own range.
  const std::string before = (*at)["description"];
  at->erase("description");
  Json several = at->contains("anyOf") ? (*at)["anyOf"] : Json::array({*at});
  several.push_back(std::move(schema));
  *at = {{"anyOf", std::move(several)}, {"description", before + "\n" + meaning}};
}

/// Keys of a program of run.*, which one beside it has under program.NAME, too.
std::vector<sim::KeyDoc> keys_beside(const std::vector<sim::KeyDoc>& keys) {
  constexpr std::string_view kRun = "run.";
  std::set<std::pair<std::string, std::string>> of_programs;  // Name and meaning.
  for (int kind = 0; kind < workload::kWorkloadKindCount; ++kind) {
    for (const workload::KeyDescription& each :
         workload::describe_keys(static_cast<workload::WorkloadKind>(kind)))
      of_programs.emplace(each.name, each.doc);
  }
  std::vector<sim::KeyDoc> beside;
  for (const sim::KeyDoc& key : keys) {
    if (!key.path.starts_with(kRun)) continue;
    std::string name = key.path.substr(kRun.size());
    if (!of_programs.contains({name, key.doc})) continue;
    beside.push_back(key);
    beside.back().path = fmt::format("program.NAME.{}", name);
  }
  return beside;
}

/// What `path`, of a scenario, is called where keys are listed.
std::string listed_name(std::string_view path) {
  const auto first = path.find('.');
  const auto second = first == std::string_view::npos ? first : path.find('.', first + 1);
  if (second == std::string_view::npos) return std::string(path);
  const std::string_view rest = path.substr(second + 1);
  if (path.starts_with("group.") && rest.starts_with("model.")) return std::string(rest);
  if (path.starts_with("group.") || path.starts_with("program."))
    return fmt::format("{}NAME.{}", path.substr(0, first + 1), rest);
  return std::string(path);
}

Json expectations_schema() {
  const Json number{{"type", "number"}};
  Json table{{"type", "object"}, {"additionalProperties", false}, {"required", {"value"}}};
  for (const char* text : {"value", "source"}) table["properties"][text] = {{"type", "string"}};
  for (const char* each : {"equals", "tolerance", "tolerance_absolute", "min", "max"})
    table["properties"][each] = number;
  return {{"type", "array"}, {"items", std::move(table)}};
}

}  // namespace

std::string default_text(const sim::KeyDoc& key) {
  return key.default_value.empty() ? std::string("no default") : fmt::format("default {}", key.default_value);
}

std::vector<std::string> listed_values(const std::vector<sim::KeyDoc>& keys, std::string_view path) {
  const std::string name = listed_name(path);
  std::vector<std::string> values;
  const auto add = [&values](std::string_view value) {
    if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end())
      values.emplace_back(value);
  };
  const auto add_all = [&](const std::vector<sim::KeyDoc>& some) {
    for (const sim::KeyDoc& key : some) {
      if (key.path != name) continue;
      const ValueKind kind = kind_of(key);
      for (const std::string& choice : kind.choices) add(choice);
      if (kind.type == "flag") {
        add("true");
        add("false");
      }
      add(kind.word);
    }
  };
  add_all(keys);
  add_all(keys_beside(keys));
  return values;
}

nlohmann::ordered_json key_data(const sim::KeyDoc& key, std::string_view runs) {
  const ValueKind kind = kind_of(key);
  Json data{{"name", key.path}, {"type", kind.type}};
  for (const Quantity& quantity : kQuantities) {
    if (quantity.type == kind.type) data["unit"] = quantity.unit;
  }
  data["default"] = key.default_value;
  if (!kind.least.empty()) data["least"] = kind.least;
  if (!kind.most.empty()) data["most"] = kind.most;
  if (!kind.choices.empty()) data["choices"] = kind.choices;
  if (!kind.word.empty()) data["or"] = kind.word;
  data["expected"] = key.expected;
  data["meaning"] = key.doc;
  data["runs"] = runs;
  if (!key.condition.empty()) data["where"] = key.condition;
  return data;
}

nlohmann::ordered_json scenario_schema(const std::vector<sim::KeyDoc>& keys) {
  Json root{{"$schema", "http://json-schema.org/draft-07/schema#"},
            {"title", "A scenario of wharf"},
            {"type", "object"},
            {"additionalProperties", false}};
  for (const sim::KeyDoc& key : keys) add_key(root, key);
  for (const sim::KeyDoc& key : keys_beside(keys)) add_key(root, key);
  root["properties"]["expect"] = expectations_schema();
  return root;
}

}  // namespace wharf::cli
