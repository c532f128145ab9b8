// SPDX-License-Identifier: Apache-2.0
// This tree keeps the style rules, and each rule catches a case made to break it, and nothing beside it.
#include "house/tidy_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::house {
namespace {

const std::string kCppSpdx = "// SPDX-License-Identifier: Apache-2.0";
const std::string kHashSpdx = "# SPDX-License-Identifier: Apache-2.0";

SourceFile source(const std::string& path, const std::vector<std::string>& body) {
  SourceFile file{path, {kCppSpdx, "// A fixture."}};
  if (is_header(path)) file.lines.emplace_back("#pragma once");
  file.lines.insert(file.lines.end(), body.begin(), body.end());
  return file;
}

std::string findings_of(const SourceFile& file) { return to_text(check_tidy({file})); }

TEST(TidyRules, ThisTreeKeepsThem) { EXPECT_EQ(to_text(check_tidy(read_tree("."))), ""); }

TEST(TidyRules, TheTourNamesEveryFolder) { EXPECT_EQ(to_text(check_architecture_tour(read_tree("."))), ""); }

TEST(TidyRules, ASourceMayLeaveTheOpeningCommentToItsHeader) {
  const SourceFile header = source("src/a/x.h", {});
  EXPECT_EQ(to_text(check_tidy({header, {"src/a/x.cc", {kCppSpdx}}, {"src/a/x_test.cc", {kCppSpdx}}})), "");
  EXPECT_NE(to_text(check_tidy({header, {"src/a/y_test.cc", {kCppSpdx}}})), "");
}

TEST(TidyRules, AFolderThatTheTourForgetsIsCaught) {
  const std::vector<SourceFile> files = {
      {"docs/architecture.md", {"`src/base` holds time, `sim/host` the hosts."}},
      source("src/base/time.h", {}),
      source("src/sim/host/bus.h", {}),
      source("src/sim/fabric/link.h", {})};
  EXPECT_EQ(to_text(check_architecture_tour(files)),
            "docs/architecture.md: does not mention src/sim/fabric\n");
}

TEST(TidyRules, AFileThatKeepsThemAllHasNoFinding) {
  EXPECT_EQ(findings_of(
                source("src/wire/bth.h", {"#include <cstdint>", "", "int kept();  // time() is for others"})),
            "");
  EXPECT_EQ(findings_of({"dev", {"#!/usr/bin/env bash", kHashSpdx, "true"}}), "");
  EXPECT_EQ(findings_of({"docs/index.md", {"# A page needs no licence line"}}), "");
}

/// A file that breaks one rule, and the finding that it must give.
struct Broken {
  SourceFile file;
  std::string finding;
};

/// What GoogleTest prints for a case that fails.
void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.finding; }

class BrokenRule : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenRule, IsTheOnlyFinding) { EXPECT_EQ(findings_of(GetParam().file), GetParam().finding + "\n"); }

const std::string kClock = "a clock: time comes in as an argument";
const std::string kPrint = "printing: report through results, counters or the trace";
const std::string kRandom = "unseeded randomness: draw from a stream that was handed in";

INSTANTIATE_TEST_SUITE_P(
    Openings, BrokenRule,
    ::testing::Values(
        Broken{{"src/a/x.cc", {"// No licence."}},
               "src/a/x.cc:1: expected \"" + kCppSpdx + "\" as the first line"},
        Broken{{"src/a/x.cc", {kCppSpdx, "int x;"}},
               "src/a/x.cc:2: expected a comment that says what this file holds and why it is apart"},
        Broken{{"src/a/x.h", {kCppSpdx, "// A header.", "int x();"}},
               "src/a/x.h: header without \"#pragma once\""},
        Broken{{"tools/x", {"#!/usr/bin/env bash", "true"}}, "tools/x:2: expected \"" + kHashSpdx + "\""},
        Broken{{"tests/a/CMakeLists.txt", {"wharf_test(a)"}},
               "tests/a/CMakeLists.txt:1: expected \"" + kHashSpdx + "\""},
        Broken{{"profiles/x.toml", {"[link]"}},
               "profiles/x.toml:1: expected a comment that says what this file describes"}));

INSTANTIATE_TEST_SUITE_P(
    Code, BrokenRule,
    ::testing::Values(
        Broken{source("src/cli/x.h", {"using namespace std;"}),
               "src/cli/x.h:4: \"using namespace\" in a header"},
        Broken{source("src/engine/ub/x.cc", {"std::function<void()> f;"}),
               "src/engine/ub/x.cc:3: std::function (it may take memory) where packets and events pass: use "
               "a template "
               "or a variant"},
        Broken{source("src/sim/host/x.cc", {"int x = rand();"}), "src/sim/host/x.cc:3: " + kRandom},
        Broken{source("src/workload/x.cc", {"std::random_device d;"}), "src/workload/x.cc:3: " + kRandom},
        Broken{source("src/engine/roce/x.cc", {"auto t = time(nullptr);"}),
               "src/engine/roce/x.cc:3: " + kClock},
        Broken{source("src/sim/kernel/x.cc", {"auto t = std::chrono::steady_clock::now();"}),
               "src/sim/kernel/x.cc:3: " + kClock},
        Broken{source("src/wire/x.cc", {"#include <iostream>"}), "src/wire/x.cc:3: " + kPrint},
        Broken{source("src/base/x.cc", {"std::printf(\"%d\", 1);"}), "src/base/x.cc:3: " + kPrint}));

INSTANTIATE_TEST_SUITE_P(
    Text, BrokenRule,
    ::testing::Values(
        Broken{source("src/a/x.cc", {std::string("// TO") + "DO"}),
               std::string("src/a/x.cc:3: TO") + "DO: finish it, or say in docs/decisions why it is left"},
        Broken{{"docs/x.md", {std::string("see fac") + "ts/ub.md"}},
               std::string("docs/x.md:1: \"fac") + "ts/\" is no place that a reader of this tree has"},
        Broken{source("src/cli/x.cc", {"write(\"\\033[1m\");"}),
               "src/cli/x.cc:3: an escape sequence: src/cli/terminal.cc has them all"},
        Broken{source("src/a/x.cc", {"int x; "}), "src/a/x.cc:3: trailing white space"},
        Broken{source("src/a/x.cc", {"\tint x;"}), "src/a/x.cc:3: tab"},
        Broken{source("src/a/x.cc", {"int x;\r"}), "src/a/x.cc:3: carriage return"},
        Broken{source("src/a/x.cc", {"// " + std::string(108, 'x')}),
               "src/a/x.cc:3: 111 columns, at most 110"},
        Broken{{"cmake/x.cmake", {kHashSpdx, "# " + std::string(119, 'x')}},
               "cmake/x.cmake:2: 121 columns, at most 120"},
        Broken{source("src/a/link_utils.cc", {}),
               "src/a/link_utils.cc: \"utils\" says nothing about what is inside: name the idea"},
        Broken{{"scenarios/x.toml", {"# 5 \xC2\xB5s"}},
               "scenarios/x.toml:1: a byte that is no printable ASCII"},
        Broken{source("src/a/x.cc", std::vector<std::string>(599)),
               "src/a/x.cc: 601 lines, at most 600: split it by idea, or give the reason in "
               "tests/house/long_files.txt"},
        Broken{source("src/a/x_test.cc", std::vector<std::string>(899)),
               "src/a/x_test.cc: 901 lines, at most 900: split it by idea, or give the reason in "
               "tests/house/long_files.txt"}));

TEST(TidyRules, ALongFileWithAReasonPassesUntilItOutgrowsIt) {
  const SourceFile table{"tests/house/long_files.txt", {"src/a/x.cc : 650 : a table that reads best whole"}};
  EXPECT_EQ(to_text(check_tidy({source("src/a/x.cc", std::vector<std::string>(648)), table})), "");
  EXPECT_EQ(to_text(check_tidy({source("src/a/x.cc", std::vector<std::string>(649)), table})),
            "src/a/x.cc: 651 lines, at most 650: split it by idea, or give the reason in "
            "tests/house/long_files.txt\n");
  EXPECT_EQ(to_text(check_tidy({source("src/a/x.cc", {}), table})),
            "tests/house/long_files.txt:1: src/a/x.cc is not long (any more): drop this line\n");
}

TEST(TidyRules, CommentsAndStringsAreNotCode) {
  EXPECT_EQ(
      findings_of(source("src/engine/ub/x.cc",
                         {"// std::function would take memory", "auto s = \"rand()\";", "/* time(nullptr)",
                          "   rand() */ int runtime(int);", "auto r = R\"(std::function)\";"})),
      "");
}

}  // namespace
}  // namespace wharf::house
