// SPDX-License-Identifier: Apache-2.0
// A protocol is registered in one place: few files name it, and a further protocol touches only their like.
#include "house/protocol_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace wharf::house {
namespace {

using ::testing::ElementsAre;

constexpr ProtocolSpelling kUet{"uet", "Uet", "UET"};
constexpr ProtocolSpelling kRoce{"roce", "Roce", "RoCE"};
constexpr ProtocolSpelling kUb{"ub", "Ub", "UB"};

struct Ceiling {
  ProtocolSpelling protocol;
  std::size_t most;
};

/// Nobody is left out beside the engine, the wire formats, tests and documentation: studies that reproduce a
/// document about a protocol count, and so does the build. Of Ultra Ethernet there are the list of the live
/// protocols and its entry (a header and a source), the list of the simulator and its entry (a header, the
/// engines, the keys) and the list of the studies of its documents. RoCE and UB are named more often: by
/// their state reports and by the studies of papers that compare the two. What is said for them is what was
/// found, and only sinks.
class ProtocolNames : public ::testing::TestWithParam<Ceiling> {};

TEST_P(ProtocolNames, AreKnownToFewFiles) {
  const auto files = files_that_name(GetParam().protocol, read_tree("."));
  EXPECT_LE(files.size(), GetParam().most) << "files that name " << GetParam().protocol.key << ":\n  "
                                           << fmt::format("{}", fmt::join(files, "\n  "));
}

INSTANTIATE_TEST_SUITE_P(Each, ProtocolNames,
                         ::testing::Values(Ceiling{kUet, 8}, Ceiling{kRoce, 54}, Ceiling{kUb, 61}),
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
