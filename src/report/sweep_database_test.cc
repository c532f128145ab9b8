// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

class SweepDatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("wharf-sweep-" + std::to_string(::getpid()) + ".sqlite");
    fs::remove(path_);
  }
  void TearDown() override { fs::remove(path_); }
  fs::path path_;
};

TEST_F(SweepDatabaseTest, StoresRunsAndRemembersThemWhenOpenedAgain) {
  const std::vector<std::string> keys{"run.payload", "model.link.delay"};
  {
    auto database = SweepDatabase::open(path_, keys);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database
                    ->add({0, {"64B", "100ns"}, "one", true},
                          {{"latency_ns", {{"mean", 500.5}, {"max", 501}}}, {"it's", "ok"}})
                    .ok());
    ASSERT_TRUE(
        database->add({2, {"256B", "100ns"}, "two", false}, {{"latency_ns", {{"mean", 542.0}}}, {"new", 1}})
            .ok());
  }
  auto database = SweepDatabase::open(path_, keys);
  ASSERT_TRUE(database.ok());
  const auto runs = database->finished_runs();
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].run, 0);
  EXPECT_EQ((*runs)[0].values, (std::vector<std::string>{"64B", "100ns"}));
  EXPECT_EQ((*runs)[0].configuration, "one");
  EXPECT_TRUE((*runs)[0].holds);
  EXPECT_EQ((*runs)[1].run, 2);
  EXPECT_EQ((*runs)[1].configuration, "two");
  EXPECT_FALSE((*runs)[1].holds);

  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(raw, "SELECT \"latency_ns.mean\" FROM runs WHERE \"run.payload\" = '64B'", -1,
                               &statement, nullptr),
            SQLITE_OK);
  ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
  EXPECT_DOUBLE_EQ(sqlite3_column_double(statement, 0), 500.5);
  sqlite3_finalize(statement);
  sqlite3_close(raw);
}

TEST_F(SweepDatabaseTest, RefusesTheFileOfAnotherSweep) {
  ASSERT_TRUE(SweepDatabase::open(path_, {"a"}).ok());
  const auto other = SweepDatabase::open(path_, {"b"});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("no column b"), std::string::npos);
}

TEST_F(SweepDatabaseTest, AVariedTitleIsNoSecondColumn) {
  auto database = SweepDatabase::open(path_, {"title"});
  ASSERT_TRUE(database.ok());
  EXPECT_TRUE(database->add({0, {"a"}, "", true}, {{"title", "a"}, {"events", 3}}).ok());
}

TEST_F(SweepDatabaseTest, RefusesAFileThatDoesNotSayWhatItsRunsAre) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
  sqlite3_exec(raw, "CREATE TABLE runs (run INTEGER PRIMARY KEY, status TEXT, a TEXT)", nullptr, nullptr,
               nullptr);
  sqlite3_close(raw);
  const auto old = SweepDatabase::open(path_, {"a"});
  ASSERT_FALSE(old.ok());
  EXPECT_NE(old.error().message.find("expected a new directory"), std::string::npos);
}

}  // namespace
}  // namespace wharf::report
