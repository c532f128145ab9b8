// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace wharf::report {
namespace {

using Json = nlohmann::ordered_json;

std::string enclosed(const std::string& text, char mark) {
  std::string out(1, mark);
  for (const char c : text) {
    if (c == mark) out += mark;
    out += c;
  }
  return out + mark;
}
std::string quoted(const std::string& name) { return enclosed(name, '"'); }
std::string literal(const std::string& text) { return enclosed(text, '\''); }

/// Scalars of `value` as (dotted name, scalar); arrays are left to the run's own files.
void flatten(const std::string& prefix, const Json& value, std::vector<std::pair<std::string, Json>>& out) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      flatten(prefix.empty() ? key : prefix + "." + key, member, out);
  } else if (!value.is_array()) {
    out.emplace_back(prefix, value);
  }
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Error database_error(sqlite3* database) {
  return Error{ErrorKind::kEnvironment,
               fmt::format("the sweep's database cannot be used: {}", sqlite3_errmsg(database))};
}

}  // namespace

void SweepDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }
SweepDatabase::SweepDatabase(SweepDatabase&&) noexcept = default;
SweepDatabase::~SweepDatabase() = default;

Result<void> SweepDatabase::execute(const std::string& statement) const {
  if (sqlite3_exec(database_.get(), statement.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return database_error(database_.get());
  }
  return {};
}

Result<SweepDatabase> SweepDatabase::open(const std::filesystem::path& path,
                                          const std::vector<std::string>& varied_keys) {
  sqlite3* raw = nullptr;
  const int status = sqlite3_open(path.c_str(), &raw);
  SweepDatabase database(raw);
  if (status != SQLITE_OK) return database_error(raw);
  std::string create =
      "CREATE TABLE IF NOT EXISTS runs (run INTEGER PRIMARY KEY, status TEXT, configuration TEXT, holds "
      "INTEGER";
  for (const std::string& key : varied_keys) create += ", " + quoted(key) + " TEXT";
  WHARF_TRY(database.execute(create + ")"));
  WHARF_TRY(database.execute("CREATE TABLE IF NOT EXISTS columns (name TEXT PRIMARY KEY, meaning TEXT)"));
  WHARF_TRY(database.execute("CREATE TABLE IF NOT EXISTS summaries (run INTEGER PRIMARY KEY, json TEXT)"));

  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(raw, "PRAGMA table_info(runs)", -1, &statement, nullptr) != SQLITE_OK)
    return database_error(raw);
  const Statement owner(statement);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    database.columns_.insert(reinterpret_cast<const char*>(sqlite3_column_text(statement, 1)));
  }
  if (!database.columns_.contains("configuration") || !database.columns_.contains("holds")) {
    return input_error(
        fmt::format("{} was written by another program or version (it has no column configuration), expected "
                    "a new directory",
                    path.string()));
  }
  for (const auto& [name, meaning] :
       {std::pair{"configuration", "hash of everything that decided the run"},
        std::pair{"holds", "1: the program found nothing wrong and every expectation holds"}}) {
    WHARF_TRY(database.execute(
        fmt::format("INSERT OR IGNORE INTO columns VALUES ({}, {})", literal(name), literal(meaning))));
  }
  for (const std::string& key : varied_keys) {
    if (!database.columns_.contains(key)) {
      return input_error(
          fmt::format("{} holds a sweep of other keys (it has no column {}), expected a new directory",
                      path.string(), key));
    }
    WHARF_TRY(database.execute(fmt::format(
        "INSERT OR IGNORE INTO columns VALUES ({}, 'varied key of the scenario')", literal(key))));
  }
  database.varied_keys_ = varied_keys;
  return database;
}

Result<std::vector<StoredRun>> SweepDatabase::finished_runs() const {
  std::string query = "SELECT runs.run, configuration, holds, json";
  for (const std::string& key : varied_keys_) query += ", " + quoted(key);
  query +=
      " FROM runs LEFT JOIN summaries ON summaries.run = runs.run WHERE status = 'done' ORDER BY runs.run";
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), query.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return database_error(database_.get());
  }
  const Statement owner(statement);
  const auto text = [statement](int column) {
    const unsigned char* found = sqlite3_column_text(statement, column);
    return found == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(found));
  };
  std::vector<StoredRun> runs;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    StoredRun run{sqlite3_column_int(statement, 0), {}, text(1), sqlite3_column_int(statement, 2) != 0};
    for (std::size_t key = 0; key < varied_keys_.size(); ++key)
      run.values.push_back(text(4 + static_cast<int>(key)));
    run.summary = Json::parse(text(3), nullptr, false);
    if (run.summary.is_discarded()) run.summary = Json();
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<void> SweepDatabase::add(const StoredRun& run, const Json& summary) {
  std::vector<std::pair<std::string, Json>> cells;
  flatten("", summary, cells);
  // What is varied has a column already, such as the title.
  std::erase_if(cells, [this](const auto& cell) {
    return std::find(varied_keys_.begin(), varied_keys_.end(), cell.first) != varied_keys_.end();
  });
  WHARF_TRY(execute("BEGIN"));
  std::string names = "run, status, configuration, holds";
  std::string marks = "?, 'done', ?, ?";
  for (const std::string& key : varied_keys_) {
    names += ", " + quoted(key);
    marks += ", ?";
  }
  for (const auto& [name, value] : cells) {
    if (!columns_.contains(name)) {
      const std::string type = value.is_number_float() ? "REAL" : value.is_number() ? "INTEGER" : "TEXT";
      WHARF_TRY(execute(fmt::format("ALTER TABLE runs ADD COLUMN {} {}", quoted(name), type)));
      WHARF_TRY(execute(
          fmt::format("INSERT OR IGNORE INTO columns VALUES ({}, 'value of summary.json')", literal(name))));
      columns_.insert(name);
    }
    names += ", " + quoted(name);
    marks += ", ?";
  }
  const std::string text = fmt::format("INSERT OR REPLACE INTO runs ({}) VALUES ({})", names, marks);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), text.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return database_error(database_.get());
  }
  const Statement owner(statement);
  int position = 1;
  sqlite3_bind_int(statement, position++, run.run);
  sqlite3_bind_text(statement, position++, run.configuration.c_str(), -1, SQLITE_TRANSIENT);
  sqlite3_bind_int(statement, position++, run.holds ? 1 : 0);
  for (const std::string& value : run.values) {
    sqlite3_bind_text(statement, position++, value.c_str(), -1, SQLITE_TRANSIENT);
  }
  for (const auto& [name, value] : cells) {
    if (value.is_number_float()) {
      sqlite3_bind_double(statement, position++, value.get<double>());
    } else if (value.is_number()) {
      sqlite3_bind_int64(statement, position++, value.get<std::int64_t>());
    } else if (value.is_null()) {
      sqlite3_bind_null(statement, position++);
    } else {
      const std::string as_text = value.is_string() ? value.get<std::string>() : value.dump();
      sqlite3_bind_text(statement, position++, as_text.c_str(), -1, SQLITE_TRANSIENT);
    }
  }
  if (sqlite3_step(statement) != SQLITE_DONE) return database_error(database_.get());
  WHARF_TRY(execute(
      fmt::format("INSERT OR REPLACE INTO summaries VALUES ({}, {})", run.run, literal(summary.dump()))));
  return execute("COMMIT");
}

}  // namespace wharf::report
