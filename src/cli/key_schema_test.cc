// SPDX-License-Identifier: Apache-2.0
#include "cli/key_schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_document.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"

namespace wharf::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

std::vector<sim::KeyDoc> all_keys() {
  std::vector<sim::KeyDoc> keys = sim::every_key();
  for (sim::KeyDoc& key : sim::every_fabric_key()) keys.push_back(std::move(key));
  return keys;
}

/// The number that `text` is; nothing for other text.
std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? std::nullopt : std::optional(value);
}

/// Whether `schema`, of one value, takes `text`: the part of JSON Schema that scenario_schema() writes.
bool takes(const Json& schema, const std::string& text) {
  if (schema.contains("anyOf")) {
    return std::any_of(schema["anyOf"].begin(), schema["anyOf"].end(),
                       [&text](const Json& each) { return takes(each, text); });
  }
  if (schema.contains("const")) return schema["const"] == text;
  if (schema.contains("enum")) {
    return std::any_of(schema["enum"].begin(), schema["enum"].end(),
                       [&text](const Json& each) { return each == text; });
  }
  if (!schema.contains("type")) return false;
  if (schema["type"] == "boolean") return text == "true" || text == "false";
  if (schema["type"] == "string") {
    return !schema.contains("pattern") ||
           std::regex_search(text, std::regex(schema["pattern"].get<std::string>()));
  }
  const auto number = number_in(text);
  return number && (!schema.contains("minimum") || *number >= schema["minimum"].get<double>()) &&
         (!schema.contains("maximum") || *number <= schema["maximum"].get<double>());
}

/// The schema of the key `path`; null where there is none.
const Json* schema_of(const Json& table, std::string_view path) {
  if (path.empty()) return &table;
  const auto dot = path.find('.');
  const std::string part(path.substr(0, dot));
  const std::string_view rest = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  if (table.contains("properties") && table["properties"].contains(part))
    return schema_of(table["properties"][part], rest);
  if (table.contains("patternProperties")) {
    for (const auto& [pattern, below] : table["patternProperties"].items())
      if (std::regex_search(part, std::regex(pattern))) return schema_of(below, rest);
  }
  const bool any = table.contains("additionalProperties") && table["additionalProperties"] == true;
  return any ? &table : nullptr;
}

TEST(KeySchema, TakesEveryShippedScenario) {
  const Json schema = scenario_schema(all_keys());
  std::size_t checked = 0;
  for (const auto& entry : fs::directory_iterator("scenarios")) {
    if (entry.path().extension() != ".toml") continue;
    sim::ConfigDocument document;
    ASSERT_TRUE(document.add_file(entry.path(), "", sim::kScenarioLayer).ok());
    for (const auto& [path, value] : document.values()) {
      const Json* const key = schema_of(schema, path);
      ASSERT_NE(key, nullptr) << value.origin << ": " << path << " is no key of the schema";
      const bool open = key->contains("additionalProperties");  // As group.NAME.model.KEY.
      EXPECT_TRUE(open || takes(*key, value.text)) << value.origin << ": " << path << " = " << value.text;
      ++checked;
    }
    for (const std::string& name : document.table_names()) {
      const Json* const table = schema_of(schema, name);
      ASSERT_NE(table, nullptr) << entry.path() << ": " << name;
      for (const sim::ConfigTable& each : document.tables(name)) {
        for (const auto& [path, value] : each.values)
          EXPECT_NE(schema_of((*table)["items"], path), nullptr) << each.origin << ": " << path;
      }
    }
  }
  EXPECT_GT(checked, 300U);
}

TEST(KeySchema, RefusesWhatIsNoKeyAndNoValue) {
  const Json schema = scenario_schema(all_keys());
  EXPECT_EQ(schema_of(schema, "program.log.opertions"), nullptr);
  EXPECT_EQ(schema_of(schema, "program.log.seed"), nullptr) << "a run has one seed";
  const Json* const operations = schema_of(schema, "program.log.operations");
  ASSERT_NE(operations, nullptr);
  EXPECT_TRUE(takes(*operations, "50"));
  EXPECT_FALSE(takes(*operations, "many"));
  EXPECT_FALSE(takes(*schema_of(schema, "program.log.payload"), "4"));
}

TEST(KeySchema, ListsTheValuesThatCanBeListed) {
  const std::vector<sim::KeyDoc> keys = all_keys();
  EXPECT_THAT(listed_values(keys, "model.stack"),
              ElementsAre("ub_ldst", "ub_urma", "roce_bf", "roce_dma", "uet"));
  EXPECT_THAT(listed_values(keys, "fabric.trimming"), ElementsAre("true", "false"));
  EXPECT_EQ(listed_values(keys, "group.store.model.stack"), listed_values(keys, "model.stack"));
  EXPECT_EQ(listed_values(keys, "program.log.verb"), listed_values(keys, "run.verb"));
  EXPECT_THAT(listed_values(keys, "program.log.verb"), testing::Contains("write"));
  EXPECT_THAT(listed_values(keys, "model.link.delay"), IsEmpty());
  EXPECT_THAT(listed_values(keys, "no.such"), IsEmpty());
}

TEST(KeySchema, SaysThatAKeyHasNoDefault) {
  sim::KeyDoc key;
  EXPECT_EQ(default_text(key), "no default");
  key.default_value = "1us";
  EXPECT_EQ(default_text(key), "default 1us");
}

}  // namespace
}  // namespace wharf::cli
