// SPDX-License-Identifier: Apache-2.0
// No key of docs/scenario-keys.md is silent: tests/keys/keys.txt has a run in which each of them changes the
// result, and for each that cannot act in every run one in which `check` and `run` say so.
#include "tests/keys/key_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/fabric_settings.h"
#include "sim/scenario/scenario.h"
#include "tests/support/sanitized.h"
#include "workload/workload.h"

namespace wharf::sim {
namespace {

constexpr const char* kTable = "tests/keys/keys.txt";

const KeyTable& table() {
  static const KeyTable kRead = read_key_table(kTable);
  return kRead;
}

/// Every key that cannot act in a run of its own, instead of all of a run together.
bool each_alone() {
  const char* const how = std::getenv("WHARF_KEYS");  // NOLINT(concurrency-mt-unsafe)
  return how != nullptr && std::string_view(how) == "each";
}

/// What runs come to as they are, each run once.
const KeyOutcome& plain(const std::string& run) {
  static std::map<std::string, KeyOutcome> outcomes;
  const auto [at, fresh] = outcomes.try_emplace(run);
  if (fresh) at->second = outcome_of(table().runs.at(run));
  return at->second;
}

KeyOutcome with(const std::vector<KeyRow>& rows) {
  KeyValues keys = table().runs.at(rows.front().run);
  for (const KeyRow& row : rows) keys[row.key] = row.value;
  return outcome_of(keys);
}

std::string place(const KeyRow& row) {
  return fmt::format("{}:{}: {} in {}", kTable, row.line, row.key, row.run);
}

/// Whether `outcome`, of the run of these rows with their values, is that of the run as it is and names all.
bool idle(const std::vector<KeyRow>& rows, const KeyOutcome& outcome) {
  return outcome.refusal.empty() && outcome.result == plain(rows.front().run).result &&
         std::all_of(rows.begin(), rows.end(), [&](const KeyRow& row) { return outcome.names(row.key); });
}

/// The run needs the hardware NIC, and no module of it has been built here.
bool lacks_hardware(const KeyOutcome& outcome) {
  return outcome.refusal.find("./dev rtl nic") != std::string::npos;
}

void expect_idle(const KeyRow& row) {
  SCOPED_TRACE(place(row));
  const KeyOutcome outcome = with({row});
  EXPECT_EQ(outcome.refusal, "");
  EXPECT_TRUE(outcome.names(row.key)) << "it is not named";
  EXPECT_TRUE(outcome.result == plain(row.run).result) << "it is named, but changes the result";
}

/// The program of a run of programs, or "flows".
std::string program_of(const KeyValues& run) {
  if (const auto program = run.find("run.workload"); program != run.end()) return program->second;
  return run.contains("model.stack") ? "pointer_chase" : "flows";
}

/// The programs whose key this is; none: it is not a program's.
std::vector<std::string> programs_of(const KeyDoc& key) {
  if (!key.path.starts_with("run.")) return {};
  std::vector<std::string> programs;
  for (int kind = 0; kind < workload::kWorkloadKindCount; ++kind) {
    const auto each = static_cast<workload::WorkloadKind>(kind);
    for (const workload::KeyDescription& own : workload::describe_keys(each)) {
      if ("run." + own.name == key.path && own.doc == key.doc) programs.emplace_back(workload::name(each));
    }
  }
  return programs;
}

/// What the table calls a key of the page.
std::string row_key(const std::string& path) {
  // It stands for every key of model.*.
  return path == "group.NAME.model.KEY" ? "group.NAME.model.nic.bytes_per_cycle" : path;
}

TEST(Keys, TheTableIsWellFormed) {
  EXPECT_EQ(table().mistakes, std::vector<std::string>());
  EXPECT_FALSE(table().rows.empty());
  std::set<std::string> known;
  for (const KeyDoc& key : every_key()) known.insert(row_key(key.path));
  for (const KeyDoc& key : every_fabric_key()) known.insert(key.path);
  for (const KeyRow& row : table().rows)
    EXPECT_TRUE(known.contains(row.key)) << kTable << ":" << row.line << ": no key " << row.key;
  for (const auto& [key, why] : table().exempt)
    EXPECT_TRUE(known.contains(key.substr(0, key.find(' ')))) << kTable << ": no key " << key;
}

TEST(Keys, RunsEndAndNoKeyOfTheirsIsIdle) {
  for (const auto& [name, keys] : table().runs) {
    SCOPED_TRACE(name);
    if (lacks_hardware(plain(name))) continue;
    EXPECT_EQ(plain(name).refusal, "");
    EXPECT_EQ(plain(name).no_effect, std::vector<std::string>());
  }
}

TEST(Keys, EachChangesTheResult) {
  std::size_t number = 0;
  for (const KeyRow& row : table().rows) {
    if (row.effect == KeyEffect::kNamed || number++ % kEveryRow != 0) continue;
    SCOPED_TRACE(place(row));
    const KeyOutcome outcome = with({row});
    if (lacks_hardware(outcome)) continue;
    if (row.effect == KeyEffect::kRefused) {
      EXPECT_NE(outcome.refusal, "") << row.value << " is not refused";
      continue;
    }
    EXPECT_EQ(outcome.refusal, "");
    EXPECT_FALSE(outcome.names(row.key)) << "it is named";
    EXPECT_TRUE(outcome.result != plain(row.run).result) << row.value << " makes the same result";
  }
}

// All keys that cannot act in a run are set together; where the result differs, one after the other.
TEST(Keys, ThoseThatCannotActAreNamedAndChangeNothing) {
  std::map<std::string, std::vector<KeyRow>> of;
  for (const KeyRow& row : table().rows) {
    if (row.effect == KeyEffect::kNamed) of[row.run].push_back(row);
  }
  for (const auto& [run, rows] : of) {
    if (lacks_hardware(plain(run))) continue;
    if (!each_alone() && idle(rows, with(rows))) continue;
    for (const KeyRow& row : rows) expect_idle(row);
  }
}

TEST(Keys, TheTableHasEveryKey) {
  std::set<std::string> acting;  // "KEY", "KEY of PROGRAM"
  std::set<std::string> named;
  for (const KeyRow& row : table().rows) {
    std::set<std::string>& rows = row.effect == KeyEffect::kNamed ? named : acting;
    const std::string program = program_of(table().runs.at(row.run));
    rows.insert(row.key);
    rows.insert(row.key + " of " + program);
    if (program != "flows") rows.insert(row.key + " of programs");
  }
  const auto expect = [](const std::set<std::string>& rows, const std::string& what, std::string_view how) {
    EXPECT_TRUE(rows.contains(what)) << what << " has no run in " << kTable << " in which it " << how;
  };
  const auto expect_key = [&](const KeyDoc& key, const std::string& kind) {
    if (table().exempt.contains(key.path)) return;
    const std::vector<std::string> programs = kind == "flows" ? std::vector<std::string>() : programs_of(key);
    for (const std::string& program : programs) {
      const std::string own = key.path + " of " + program;
      if (!table().exempt.contains(own)) expect(acting, own, "acts");
    }
    if (!programs.empty()) return;
    expect(acting, row_key(key.path) + " of " + kind, "acts");
    if (!key.condition.empty()) expect(named, row_key(key.path) + " of " + kind, "is named");
  };
  for (const KeyDoc& key : every_key()) expect_key(key, "programs");
  for (const KeyDoc& key : every_fabric_key()) expect_key(key, "flows");
}

}  // namespace
}  // namespace wharf::sim
