// SPDX-License-Identifier: Apache-2.0
#include "tests/keys/key_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sim/scenario/fabric_results.h"
#include "sim/scenario/judgement.h"
#include "sim/scenario/run.h"
#include "sim/scenario/run_request.h"

namespace wharf::sim {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The page of keys writes NAME where scenarios have names of their own.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kNames{
    {{"program.NAME.", "program.beside."}, {"group.NAME.", "group.some."}}};

/// A scenario file with these keys. Every value is quoted, which all kinds of values may be.
std::string scenario_text(const KeyValues& keys) {
  std::string text;
  for (const auto& [key, value] : keys) {
    std::string path = key;
    for (const auto& [general, own] : kNames) {
      if (path.starts_with(general)) path.replace(0, general.size(), own);
    }
    text += fmt::format("{} = \"{}\"\n", path, value);
  }
  return text;
}

void note_no_effect(KeyOutcome& outcome, const std::vector<std::string>& sentences) {
  for (const std::string& each : sentences) {
    std::string key = each.substr(0, each.find(' '));
    for (const auto& [general, own] : kNames) {
      if (key.starts_with(own)) key.replace(0, own.size(), general);
    }
    outcome.no_effect.push_back(std::move(key));
  }
}

/// What a summary repeats of its scenario, and what rules make of keys whether it matters or not.
void drop_echo(nlohmann::ordered_json& summary) {
  for (const char* const key : {"title", "profile", "stack", "workload", "seed", "protocol", "derived"})
    summary.erase(key);
}

KeyOutcome outcome_of_flows(const RunRequest& request) {
  const auto inputs = prepare_flows(request);
  if (!inputs) return {inputs.error().message, "", {}};
  const PortNames names(inputs->topology.topology, inputs->topology.names);
  const auto derived = derive(*inputs, names);
  if (!derived) return {derived.error().message, "", {}};
  const auto report = run_flows(inputs->topology.topology, inputs->flows, derived->config, {});
  if (!report) return {report.error().message, "", {}};
  FabricResults results = results_of(*inputs, derived->derived, *report);
  drop_echo(results.summary);
  KeyOutcome outcome{"", results.summary.dump(), {}};
  // The files series_*.csv.
  for (const DeliverySample& sample : report->seen.deliveries)
    outcome.result += fmt::format(" {}", sample.bytes);
  outcome.result += fmt::format(" {} {} {} {}", report->seen.ports.size(), report->seen.fullest.size(),
                                report->seen.flows.size(), report->seen.paths.size());
  note_no_effect(outcome, inputs->loaded.no_influence);
  return outcome;
}

KeyOutcome outcome_of_programs(const RunRequest& request) {
  const auto scenario = prepare_programs(request);
  if (!scenario) return {scenario.error().message, "", {}};
  const auto report = run_scenario(*scenario, {.wire = request.wire});
  if (!report) return {report.error().message, "", {}};
  auto judged = judge(*scenario, *report);
  if (!judged) return {judged.error().message, "", {}};
  drop_echo(judged->summary);
  KeyOutcome outcome{"", judged->summary.dump(), {}};
  outcome.result += fmt::format(" {}", report->log.entries().size());  // operations.csv
  note_no_effect(outcome, scenario->no_influence);
  return outcome;
}

}  // namespace

KeyTable read_key_table(const std::string& file) {
  KeyTable table;
  std::ifstream stream(file);
  KeyValues* run = nullptr;
  int number = 0;
  const auto wrong = [&](std::string_view what) {
    table.mistakes.push_back(fmt::format("{}:{}: {}", file, number, what));
  };
  for (std::string text; std::getline(stream, text);) {
    ++number;
    const std::string line = trimmed(text);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("run ")) {
      // "run NAME" or "run NAME like OTHER".
      const std::vector<std::string> words = split(line, ' ');
      if (words.size() != 2 && (words.size() != 4 || !table.runs.contains(words[3]))) {
        wrong("expected \"run NAME\", or \"run NAME like OTHER\" after OTHER");
        continue;
      }
      if (table.runs.contains(words[1])) wrong("a second run of this name");
      run = &table.runs[words[1]];
      if (words.size() == 4) *run = table.runs[words[3]];
      continue;
    }
    if (line.starts_with("exempt ")) {
      const std::vector<std::string> parts = split(line.substr(7), ':');
      if (parts.size() != 2) wrong("expected \"exempt KEY: why\"");
      table.exempt[parts.front()] = parts.back();
      continue;
    }
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() == 3 || cells.size() == 4) {
      KeyRow row{number, cells[0], cells[1], cells[2], KeyEffect::kChanges};
      if (cells.size() == 4) {
        if (cells[3] != "named" && cells[3] != "refused") wrong("expected \"named\" or \"refused\"");
        row.effect = cells[3] == "named" ? KeyEffect::kNamed : KeyEffect::kRefused;
      }
      if (table.runs.contains(row.run))
        table.rows.push_back(std::move(row));
      else
        wrong("no run of this name");
      continue;
    }
    const std::size_t equals = line.find('=');
    if (cells.size() != 1 || equals == std::string::npos || run == nullptr) {
      wrong(
          "expected \"run NAME\", \"KEY = VALUE\" of a run, \"exempt KEY: why\" or \"KEY | RUN | VALUE\", "
          "with \"| named\" or \"| refused\" behind it");
      continue;
    }
    (*run)[trimmed(line.substr(0, equals))] = trimmed(line.substr(equals + 1));
  }
  if (number == 0) wrong("cannot be read");
  return table;
}

bool KeyOutcome::names(const std::string& key) const {
  return std::find(no_effect.begin(), no_effect.end(), key) != no_effect.end();
}

KeyOutcome outcome_of(const KeyValues& keys) {
  KeyValues all = keys;
  RunRequest request;
  request.profile_directory = "profiles";
  request.trace_directory = SearchFolders::listed("traces");
  request.file = "keys.txt";
  if (const auto wire = all.find("wire"); wire != all.end()) {  // The option --wire.
    request.wire = wire->second == "bytes" ? WireMode::kBytes : WireMode::kStructs;
    all.erase(wire);
  }
  request.text = scenario_text(all);
  const auto kind = kind_of(request);
  if (!kind) return {kind.error().message, "", {}};
  return *kind == ScenarioKind::kManyHosts ? outcome_of_flows(request) : outcome_of_programs(request);
}

}  // namespace wharf::sim
