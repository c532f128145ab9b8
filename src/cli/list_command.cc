// SPDX-License-Identifier: Apache-2.0
// wharf list [WHAT]: what there is to try.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/nearest_name.h"
#include "cli/command.h"
#include "cli/data_files.h"
#include "report/text_table.h"
#include "sim/protocols/protocols.h"
#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"
#include "study/registry.h"
#include "trace/stage.h"
#include "verbs/verb.h"
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

/// The TOML files of a data directory, each with its title or its first comment line.
Result<std::vector<Item>> files_of(std::string_view directory_name, std::string_view prefix,
                                   std::string_view suffix) {
  std::vector<Item> items;
  const auto directory = data_directory(directory_name);
  if (!directory) return directory.error();
  for (const auto& entry : fs::directory_iterator(*directory)) {
    if (entry.path().extension() != ".toml") continue;
    std::ifstream file(entry.path());
    std::string meaning;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("# SPDX") || line.empty()) continue;
      if (line.starts_with("title")) {
        const auto first = line.find('"');
        const auto last = line.rfind('"');
        if (first != std::string::npos && last > first) meaning = line.substr(first + 1, last - first - 1);
        break;
      }
      if (meaning.empty() && line.starts_with("# ")) meaning = line.substr(2);
    }
    items.push_back({std::string(prefix) + entry.path().stem().string() + std::string(suffix), meaning});
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.name < b.name; });
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
          {key.path, fmt::format("{}{} ({}; default {}{}{})", where, key.doc, key.expected, key.default_value,
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

constexpr std::array<Kind, 10> kKinds{{
    {"scenarios", [] { return files_of("scenarios", "scenarios/", ".toml"); }},
    {"profiles", [] { return files_of("profiles", "", ""); }},
    {"stacks", [] { return Result(stacks()); }},
    {"workloads", [] { return Result(workloads()); }},
    {"verbs", [] { return Result(verb_items()); }},
    {"collectives", [] { return Result(collectives()); }},
    {"sizes", [] { return Result(sizes()); }},
    {"studies", [] { return Result(study_items()); }},
    {"stages", [] { return Result(stages()); }},
    {"keys", [] { return Result(keys()); }},
}};

class ListCommand : public Command {
 public:
  std::string_view name() const override { return "list"; }
  std::string_view summary() const override { return "Show what there is to try."; }
  std::string_view examples() const override {
    return "  wharf list\n"
           "  wharf list scenarios\n"
           "  wharf list keys --json\n";
  }
  void declare(Options& app) override {
    app.add_option(
        "what", what_,
        "scenarios, profiles, stacks, workloads, verbs, collectives, sizes, studies, stages or keys");
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
    nlohmann::ordered_json document;
    std::string text;
    for (const Kind& kind : kKinds) {
      if (!what_.empty() && kind.name != what_) continue;
      if (what_.empty() && (kind.name == "keys" || kind.name == "stages"))
        continue;  // Long; asked for by name.
      report::TextTable table({{std::string(kind.name)}, {""}});
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      const auto items = kind.items();
      if (!items) return items.error();
      for (const Item& item : *items) {
        table.add_row({item.name, item.meaning});
        list.push_back({{"name", item.name}, {"meaning", item.meaning}});
      }
      text += table.text() + "\n";
      document[std::string(kind.name)] = list;
    }
    console.print(text);
    if (what_.empty()) console.print("`wharf list keys` and `wharf list stages` show the rest.\n");
    console.print(document);
    return ExitCode::kDone;
  }

 private:
  std::string what_;
};

}  // namespace

std::unique_ptr<Command> make_list_command() { return std::make_unique<ListCommand>(); }

}  // namespace wharf::cli
