// SPDX-License-Identifier: Apache-2.0
// A protocol is registered in one place: few files name it, and a further protocol touches only their like.
#include "house/protocol_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace wharf::house {
namespace {

using ::testing::ElementsAre;

constexpr ProtocolSpelling kUet{"uet", "Uet", "UET"};
constexpr ProtocolSpelling kRoce{"roce", "Roce", "RoCE"};
constexpr ProtocolSpelling kUb{"ub", "Ub", "UB"};

struct Ceiling {
  ProtocolSpelling protocol;
  std::size_t most;
  std::size_t most_studies;
};

/// The list of the live protocols and the entry (a header and a source), the list of the simulator and the
/// entry there (a header, the engines, the keys); the build counts like everything else. Studies reproduce
/// what a document says about a protocol, and name it as the document does: papers that compare two name
/// both. They are counted apart, and what is said for them only sinks.
class ProtocolNames : public ::testing::TestWithParam<Ceiling> {
 protected:
  static std::string listed(std::string_view what, const std::vector<std::string>& files) {
    return fmt::format("{} that name {}:\n  {}", what, GetParam().protocol.key, fmt::join(files, "\n  "));
  }
};

TEST_P(ProtocolNames, AreKnownToFewFiles) {
  auto files = files_that_name(GetParam().protocol, read_tree("."));
  const auto studies = std::stable_partition(files.begin(), files.end(),
                                             [](const std::string& path) { return !is_study(path); });
  const std::vector<std::string> of_studies(studies, files.end());
  files.erase(studies, files.end());
  EXPECT_LE(files.size(), GetParam().most) << listed("files", files);
  EXPECT_LE(of_studies.size(), GetParam().most_studies) << listed("studies", of_studies);
}

INSTANTIATE_TEST_SUITE_P(Each, ProtocolNames,
                         ::testing::Values(Ceiling{kUet, 7, 3}, Ceiling{kRoce, 8, 23}, Ceiling{kUb, 7, 22}),
                         [](const auto& each) { return std::string(each.param.protocol.key); });

TEST(ProtocolNamesRule, PartsOfWordsCount) {
  for (const char* text :
       {"uet::UetConfig", "wire::Protocol::kUet", "UetEngine engine;", "\"uet\"", "uet_keys.cc",
        "// UET says so", "set(x wharf_uet)", "model.uet.window", "checkUet(1)"})
    EXPECT_TRUE(names_protocol(text, kUet)) << text;
  for (const char* text : {"QueueTable table;", "ValueType", "quetzal", "Uetersen", "duet", "bouquet"})
    EXPECT_FALSE(names_protocol(text, kUet)) << text;
  EXPECT_TRUE(names_protocol("RoCEv2 packets, RoCE too", kRoce));
  EXPECT_FALSE(names_protocol("process(procedure)", kRoce));
  EXPECT_FALSE(names_protocol("a hub, a sub, SUBMIT", kUb));
}

TEST(ProtocolNamesRule, EnginesWireTestsAndPagesAreLeftOut) {
  const std::vector<std::string> lines{"uet"};
  const auto found = files_that_name(kUet, {{"CMakeLists.txt", lines},
                                            {"docs/x.md", lines},
                                            {"src/cli/x.cc", lines},
                                            {"src/cli/x_test.cc", lines},
                                            {"src/cli/y.cc", {"nothing"}},
                                            {"src/engine/uet/x.h", lines},
                                            {"src/engine/ub/x.h", lines},
                                            {"src/live/udp/uet_live.h", {"nothing"}},
                                            {"src/wire/x.h", lines},
                                            {"tests/x.cc", lines},
                                            {"tools/x", lines}});
  EXPECT_THAT(found, ElementsAre("CMakeLists.txt", "src/cli/x.cc", "src/engine/ub/x.h",
                                 "src/live/udp/uet_live.h", "tools/x"));
}

TEST(ProtocolNamesRule, LinesThatAreDocumentationDoNotCount) {
  const std::vector<SourceFile> files{
      {"src/cli/run_command.cc", {R"(    return "  wharf run key-value --set fabric.protocol=roce\n")"}},
      {"src/engine/x.h", {"/// Backs off. [UB-Base 2.0.1 6.4.3]", "/// As ns-3-UB has it."}},
      {"src/engine/y.h", {"/// UB alone. [UB-Base 2.0.1 6.4.3]", "/// UB: nothing else."}},
      {"src/cli/z_command.cc", {R"(if (name == "roce") return;)"}},
      {"tools/layers.txt", {"x : engine/roce engine/ub"}}};
  EXPECT_THAT(files_that_name(kRoce, files), ElementsAre("src/cli/z_command.cc"));
  EXPECT_THAT(files_that_name(kUb, files), ElementsAre("src/engine/y.h"));
}

TEST(ProtocolNamesRule, StudiesAreApart) {
  EXPECT_TRUE(is_study("src/study/openurma/x.cc"));
  EXPECT_FALSE(is_study("src/sim/study_x.cc"));
}

TEST(ProtocolNamesRule, WhatSpeaksWithProgramsOfOneProtocolNamesItAlone) {
  const std::vector<SourceFile> files{{"src/live/perftest/x.cc", {"roce::RoceEngine, uet"}},
                                      {"tools/soft_roce_machine", {"rdma link add"}}};
  EXPECT_THAT(files_that_name(kRoce, files), ElementsAre());
  EXPECT_THAT(files_that_name(kUet, files), ElementsAre("src/live/perftest/x.cc"));
}

TEST(ProtocolNamesRule, ACInterfaceNamesItsOwnProtocolAlone) {
  const std::vector<SourceFile> files{{"src/live/urma/x.cc", {"ub::UbEngine, uet"}}};
  EXPECT_THAT(files_that_name(kUb, files), ElementsAre());
  EXPECT_THAT(files_that_name(kUet, files), ElementsAre("src/live/urma/x.cc"));
}

}  // namespace
}  // namespace wharf::house
