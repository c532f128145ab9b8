// SPDX-License-Identifier: Apache-2.0
// wharf list [WHAT]: what there is to try.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/nearest_name.h"
#include "cli/command.h"
#include "cli/key_schema.h"
#include "report/text_table.h"
#include "report/wrapped_text.h"
#include "sim/protocols/protocols.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"
#include "study/registry.h"
#include "trace/stage.h"
#include "verbs/verb.h"
#include "wharf/data_folders.h"
#include "workload/collective.h"
#include "workload/size_distribution.h"
#include "workload/workload.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

struct Item {
  std::string name;
  std::string meaning;
};

/// What stands between the first and the last quote of a line.
std::string between_quotes(const std::string& line) {
  const auto first = line.find('"');
  const auto last = line.rfind('"');
  return first != std::string::npos && last > first ? line.substr(first + 1, last - first - 1)
                                                    : std::string();
}

/// The title of a TOML file, or its first comment line; the sentence of a litmus program.
std::string meaning_of(const fs::path& path) {
  std::ifstream file(path);
  std::string meaning;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# SPDX") || line.empty()) continue;
    if (line.starts_with("title") || line.starts_with('"')) return between_quotes(line);
    if (line.starts_with('{')) break;
    if (meaning.empty() && line.starts_with("# ")) meaning = line.substr(2);
  }
  return meaning;
}

/// Names longer than this stand alone above what they mean.
constexpr std::size_t kLongestNameBeside = 30;

/// The items of `kind` as a table, or one below another where names are long.
std::string text_of(std::string_view kind, const std::vector<Item>& items, const Console& console) {
  const bool beside = std::all_of(items.begin(), items.end(), [](const Item& item) {
    return report::columns_of(item.name) <= kLongestNameBeside;
  });
  if (beside) {
    report::TextTable table({{std::string(kind)}, {""}});
    for (const Item& item : items) table.add_row({item.name, item.meaning});
    return console.text_of(table);
  }
  constexpr std::size_t kIndent = 4;
  std::string text;
  for (const Item& item : items) {
    text += console.painted(report::Tone::kHeading, item.name) + "\n";
    for (const std::string& line : report::wrap(item.meaning, report::kTerminalColumns - kIndent))
      text += line.empty() ? "" : std::string(kIndent, ' ') + line + "\n";
  }
  return text;
}

/// The files of a kind of data in all data folders; of two with one name, the one that would be taken.
Result<std::vector<Item>> files_of(std::string_view folder, std::string_view extension) {
  const auto folders = data_folders(folder);
  if (!folders) return folders.error();
  std::vector<Item> items;
  for (const std::string& name : folders->stems(extension)) {
    const auto path = folders->find(fmt::format("{}{}", name, extension));
    if (path) items.push_back({name, extension == ".wtrace" ? "a recorded memory trace" : meaning_of(*path)});
  }
  return items;
}

std::vector<Item> stacks() {
  std::vector<Item> items;
  for (const sim::StackTraits& each : sim::kStackTraits)
    items.push_back({std::string(each.name), std::string(each.doc)});
  return items;
}

std::vector<Item> workloads() {
  std::vector<Item> items;
  for (int kind = 0; kind < workload::kWorkloadKindCount; ++kind) {
    const auto each = static_cast<workload::WorkloadKind>(kind);
    items.push_back({std::string(workload::name(each)), std::string(workload::describe(each))});
  }
  items.push_back({"replay", "replays a recorded memory trace of a real program"});
  return items;
}

std::vector<Item> verb_items() {
  std::vector<Item> items;
  for (const std::string_view name : verbs::verb_names()) items.push_back({std::string(name), ""});
  return items;
}

std::vector<Item> collectives() {
  std::vector<Item> items;
  for (std::size_t i = 0; i < workload::collective_names().size(); ++i) {
    const auto each = static_cast<workload::Collective>(i);
    items.push_back({std::string(workload::name(each)), std::string(workload::describe(each))});
  }
  return items;
}

std::vector<Item> sizes() {
  std::vector<Item> items;
  for (const workload::PublishedSizes& each : workload::published_sizes())
    items.push_back({std::string(each.name), std::string(each.source)});
  items.push_back({"fixed", "traffic.size for every flow"});
  return items;
}

std::vector<Item> stages() {
  std::vector<Item> items;
  for (int stage = 0; stage < trace::kStageCount; ++stage) {
    const auto each = static_cast<trace::Stage>(stage);
    items.push_back({std::string(trace::name(each)), std::string(trace::describe(each))});
  }
  return items;
}

std::vector<Item> study_items() {
  std::vector<Item> items;
  for (const study::Study& each : study::all_studies())
    items.push_back({std::string(each.id), std::string(each.title)});
  return items;
}

std::vector<Item> keys() {
  std::vector<Item> items;
  const auto add = [&](const std::vector<sim::KeyDoc>& keys, std::string_view where) {
    for (const sim::KeyDoc& key : keys) {
      items.push_back(
          {key.path, fmt::format("{}{} ({}; {}{}{})", where, key.doc, key.expected, default_text(key),
                                 key.condition.empty() ? "" : "; ", key.condition)});
    }
  };
  add(sim::every_key(), "");
  add(sim::every_fabric_key(), "runs of many hosts: ");
  return items;
}

struct Kind {
  std::string_view name;
  Result<std::vector<Item>> (*items)();
};

constexpr std::array<Kind, 12> kKinds{{
    {"scenarios", [] { return files_of("scenarios", ".toml"); }},
    {"profiles", [] { return files_of("profiles", ".toml"); }},
    {"stacks", [] { return Result(stacks()); }},
    {"workloads", [] { return Result(workloads()); }},
    {"verbs", [] { return Result(verb_items()); }},
    {"collectives", [] { return Result(collectives()); }},
    {"sizes", [] { return Result(sizes()); }},
    {"studies", [] { return Result(study_items()); }},
    {"traces", [] { return files_of("traces", ".wtrace"); }},
    {"litmus", [] { return files_of("litmus", ".litmus"); }},
    {"stages", [] { return Result(stages()); }},
    {"keys", [] { return Result(keys()); }},
}};

/// Keys whose values are names that another list has.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kKeysOfLists{{
    {"model.profile", "profiles"},
    {"run.trace", "traces"},
    {"traffic.collective", "collectives"},
    {"traffic.arrivals", "sizes"},
}};

class ListCommand : public Command {
 public:
  std::string_view name() const override { return "list"; }
  std::string_view summary() const override { return "Show what there is to try."; }
  std::string_view examples() const override {
    return "  wharf list\n"
           "  wharf list scenarios\n"
           "  wharf list profiles --names\n"
           "  wharf list keys --json\n"
           "  wharf list keys --values model.stack\n"
           "  wharf list keys --schema > scenario.schema.json\n";
  }
  void declare(Options& app) override {
    app.add_option(
           "what", what_,
           "scenarios, profiles, stacks, workloads, verbs, collectives, sizes, studies, traces, litmus, "
           "stages or keys")
        .type_name("WHAT");
    app.add_flag("--schema", schema_,
                 "The JSON schema of a scenario file, by which editors check TOML (with keys)");
    app.add_flag("--names", names_, "Only the names, one on each line");
    app.add_option("--values", values_of_,
                   "The values of this key, one on each line, where they can be listed (with keys)")
        .type_name("KEY")
        .not_empty();
  }
  Result<ExitCode> run(const Console& console) override {
    std::vector<std::string_view> names;
    for (const Kind& kind : kKinds) names.push_back(kind.name);
    if (!what_.empty() && std::find(names.begin(), names.end(), what_) == names.end()) {
      const auto nearest = nearest_name(what_, names);
      return input_error(fmt::format("there is no list of {}, expected one of {}{}", what_,
                                     fmt::join(names, ", "),
                                     nearest ? fmt::format("; did you mean {}?", *nearest) : std::string()));
    }
    if (schema_) return print_schema(console);
    if (!values_of_.empty()) return print_values(console);
    nlohmann::ordered_json document;
    std::string text;
    for (const Kind& kind : kKinds) {
      if (!what_.empty() && kind.name != what_) continue;
      if (what_.empty() && (kind.name == "keys" || kind.name == "stages" || kind.name == "litmus"))
        continue;  // Long; asked for by name.
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      const auto items = kind.items();
      if (!items) return items.error();
      for (const Item& item : *items) {
        if (names_) text += item.name + "\n";
        list.push_back({{"name", item.name}, {"meaning", item.meaning}});
      }
      if (kind.name == "keys") list = key_list();
      if (!names_) text += text_of(kind.name, *items, console) + "\n";
      document[std::string(kind.name)] = list;
    }
    console.print(std::string_view(text));
    if (what_.empty() && !names_)
      console.print("`wharf list keys`, `wharf list litmus` and `wharf list stages` show the rest.\n");
    console.print(document);
    return ExitCode::kDone;
  }

 private:
  Result<ExitCode> print_schema(const Console& console) const {
    if (what_ != "keys")
      return Error{ErrorKind::kUsage, "wharf list: --schema is for keys, expected wharf list keys --schema"};
    console.write(scenario_schema(all_keys()).dump(2) + "\n");
    return ExitCode::kDone;
  }

  Result<ExitCode> print_values(const Console& console) const {
    if (what_ != "keys")
      return Error{ErrorKind::kUsage,
                   "wharf list: --values is for keys, expected wharf list keys --values KEY"};
    std::vector<std::string> values = listed_values(all_keys(), values_of_);
    for (const auto& [key, list] : kKeysOfLists) {
      if (values_of_ != key) continue;
      const auto kind =
          std::find_if(kKinds.begin(), kKinds.end(), [&list](const Kind& each) { return each.name == list; });
      const auto items = kind->items();
      if (!items) return items.error();
      for (const Item& item : *items) values.push_back(item.name);
    }
    console.print(nlohmann::ordered_json{{"key", values_of_}, {"values", values}});
    std::string text;
    for (const std::string& value : values) text += value + "\n";
    console.print(std::string_view(text));
    return ExitCode::kDone;
  }

  /// Those of runs of programs, then those of runs of flows.
  static std::vector<sim::KeyDoc> all_keys() {
    std::vector<sim::KeyDoc> keys = sim::every_key();
    for (sim::KeyDoc& key : sim::every_fabric_key()) keys.push_back(std::move(key));
    return keys;
  }

  /// Every key as data: those of runs of programs, then those of runs of flows.
  static nlohmann::ordered_json key_list() {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const sim::KeyDoc& key : sim::every_key()) list.push_back(key_data(key, "programs"));
    for (const sim::KeyDoc& key : sim::every_fabric_key()) list.push_back(key_data(key, "flows"));
    return list;
  }

  std::string what_;
  bool schema_ = false;
  bool names_ = false;
  std::string values_of_;
};

}  // namespace

std::unique_ptr<Command> make_list_command() { return std::make_unique<ListCommand>(); }

}  // namespace wharf::cli
