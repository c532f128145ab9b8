// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include <gtest/gtest.h>

#include <fstream>

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

class CompareTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = fs::temp_directory_path() / ("wharf-compare-" + std::to_string(::getpid()));
    fs::remove_all(base_);
    write("a/summary.json", R"({"latency_ns": {"mean": 500.0}, "verbs": ["read"]})");
    write("b/summary.json", R"({"latency_ns": {"mean": 504.0}, "verbs": ["read"]})");
    write("a/operations.csv", "operation,latency_ns\n0,500\n1,500\n");
    write("b/operations.csv", "operation,latency_ns\n0,500\n1,508\n");
    write("a/manifest.json", "{}");
    write("b/manifest.json", R"({"host": "x"})");
  }
  void TearDown() override { fs::remove_all(base_); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((base_ / name).parent_path());
    std::ofstream(base_ / name) << text;
  }
  fs::path base_;
};

TEST_F(CompareTest, NamesEachDifferenceAndLeavesTheManifestOut) {
  const auto result = compare_results(base_ / "a", base_ / "b", {}, 10);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->different, 2U);
  EXPECT_EQ(result->differences[0].what, "row 2, column latency_ns");
  EXPECT_EQ(result->differences[1].what, "latency_ns.mean");
}

TEST_F(CompareTest, ToleranceIsRelativeToTheLarger) {
  EXPECT_EQ(compare_results(base_ / "a", base_ / "b", {.relative = 0.01}, 10)->different, 1U);
  EXPECT_EQ(compare_results(base_ / "a", base_ / "b", {.relative = 0.02}, 10)->different, 0U);
  EXPECT_EQ(compare_results(base_ / "a", base_ / "b", {.absolute = 7.9}, 10)->different, 1U);
}

TEST_F(CompareTest, AMissingFileIsADifferenceAndNoResultIsRefused) {
  fs::remove(base_ / "b/operations.csv");
  EXPECT_EQ(compare_results(base_ / "a", base_ / "b", {.relative = 1}, 10)->different, 1U);
  EXPECT_FALSE(compare_results(base_ / "a", base_ / "c", {}, 10).ok());
}

}  // namespace
}  // namespace wharf::report
