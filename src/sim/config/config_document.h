// SPDX-License-Identifier: Apache-2.0
// The keys that a run was given, flattened to dotted paths, each with the place it came from. Later layers
// (profile, scenario file, command line) override earlier ones.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wharf::sim {

/// One value as written: the text of a TOML string, or the canonical text of a number or boolean.
struct ConfigValue {
  std::string text;
  bool quoted = false;        ///< It was a TOML string.
  std::string origin;         ///< "scenarios/x.toml:12", "profiles/p.toml:3" or "--set".
  int layer = 0;              ///< Higher layers override lower ones.
  mutable bool used = false;  ///< Some part of the run read it.
};

/// Whether two texts say the same: "1us" and "1000ns", "1KiB" and "1024B", "1e3" and "1000".
bool same_value(std::string_view a, std::string_view b);

/// A table of an array of tables, such as one [[expect]].
struct ConfigTable {
  std::string origin;
  std::map<std::string, ConfigValue> values;
};

inline constexpr int kProfileLayer = 1;
inline constexpr int kScenarioLayer = 2;
inline constexpr int kOverrideLayer = 3;

/// Flat key-value view of all layers.
class ConfigDocument {
 public:
  /// Reads a TOML file into `layer`, every key prefixed with `prefix` ("" or "model."). Refuses syntax
  /// errors, dates, nested arrays and anything that is no scalar, naming file, line and column.
  Result<void> add_file(const std::filesystem::path& path, std::string_view prefix, int layer);
  /// Same for text that came from elsewhere; `name` stands in for the file name in messages.
  Result<void> add_text(std::string_view text, std::string_view name, std::string_view prefix, int layer);
  /// One "key=value" of the command line. Values need no quotes.
  Result<void> add_override(std::string_view assignment);
  /// Sets a key as the command line would.
  void set(std::string_view key, std::string_view value, std::string_view origin);

  /// Takes over a value of another document, unless a higher layer has set the key.
  void merge(const std::string& key, const ConfigValue& value);
  /// Forgets a key in every layer.
  void erase(std::string_view key);

  /// The value in force, or null. Marks it used.
  const ConfigValue* find(std::string_view key) const;
  /// The value in force without marking it.
  const ConfigValue* peek(std::string_view key) const;
  /// The tables of an array of tables, in file order.
  const std::vector<ConfigTable>& tables(std::string_view name) const;
  std::vector<std::string> table_names() const;

  /// Every key with its value in force, in path order.
  const std::map<std::string, ConfigValue, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, ConfigValue, std::less<>> values_;
  std::map<std::string, std::vector<ConfigTable>, std::less<>> tables_;
};

}  // namespace wharf::sim
