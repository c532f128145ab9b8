// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/key_reference.h"

#include <fmt/format.h>

#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"

namespace wharf::sim {
namespace {

/// Table cells must not end early.
std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, "\\");
  return text;
}

/// What stands before the last dot.
std::string table_of(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

/// One table for each run of keys of the same section.
void add_tables(std::string& out, const std::vector<KeyDoc>& keys) {
  std::string table = "-";
  for (const KeyDoc& key : keys) {
    if (table_of(key.path) != table) {
      table = table_of(key.path);
      out += fmt::format("\n## {}\n\n| key | expected | default | meaning |\n|---|---|---|---|\n",
                         table.empty() ? "top level" : table);
    }
    const std::string meaning =
        key.condition.empty() ? key.doc : fmt::format("{} ({})", key.doc, key.condition);
    out += fmt::format("| `{}` | {} | {} | {} |\n", key.path, cell(key.expected), cell(key.default_value),
                       cell(meaning));
  }
}

}  // namespace

std::string key_reference() {
  std::string out =
      "# Scenario keys\n"
      "\n"
      "Generated from the code; a test keeps it true (`WHARF_ACCEPT=1 ./dev test -R sim_scenario` rewrites "
      "it). The same\n"
      "keys stand in scenario files, profiles (without `model.`), `--set key=value` and `--vary key=a,b`. "
      "Defaults are those\n"
      "of the code; the profile of a run overrides them.\n"
      "\n"
      "Besides keys, a scenario may hold any number of `[[expect]]` tables: `value` (a path in "
      "`summary.json`), either\n"
      "`equals` (with `tolerance`, relative, or `tolerance_absolute`) or `min` and/or `max`, and `source`.\n";
  add_tables(out, every_key());
  out +=
      "\n# Keys of runs of many hosts\n"
      "\n"
      "A scenario file with a section `[fabric]`, `[topology]`, `[traffic]` or `[observe]` is one of many "
      "hosts, with these keys\n"
      "and `[[expect]]` as above. The same keys stand in `--set` of `wharf run` with `--cm`, `--flows`, "
      "`--goal`,\n"
      "`--collective` or `--arrivals`, and in profiles for such runs.\n";
  add_tables(out, every_fabric_key());
  return out;
}

}  // namespace wharf::sim
