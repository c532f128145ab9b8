// SPDX-License-Identifier: Apache-2.0
// Topologies by name: what each builds, and the sentence that refuses what is no name.
#include "sim/fabric/topology_named.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wharf::sim {
namespace {

const LinkSpec kLink{gigabits_per_second(100), nanoseconds(800)};

Result<TopologyFile> named(std::string_view text) { return named_topology(text, kLink, nanoseconds(200)); }

std::string refusal(std::string_view text) {
  const auto file = named(text);
  EXPECT_FALSE(file.ok()) << text;
  return file.ok() ? "" : file.error().message;
}

TEST(TopologyNamed, EachFamilyHasItsHostsAndSwitches) {
  struct Case {
    std::string_view text;
    std::uint32_t hosts;
    std::uint32_t switches;
  };
  for (const Case& each :
       {Case{"back_to_back", 2, 0}, Case{"star:5", 5, 1}, Case{"fat_tree:16", 16, 20},
        Case{"leaf_spine:8", 8, 6}, Case{"rails:2x4x8x4", 64, 20}, Case{"rail_servers:2x4x8x4", 8, 20},
        Case{"dragonfly:2x4x2", 72, 36}, Case{"dragonfly:2x4x2x5", 40, 20}}) {
    const auto file = named(each.text);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->topology.host_count(), each.hosts) << each.text;
    EXPECT_EQ(file->topology.switch_count(), each.switches) << each.text;
    EXPECT_TRUE(names_topology(each.text));
  }
}

// The whole sentence: it names what was found and a form that works.
TEST(TopologyNamed, WhatIsNoNameIsRefusedWithTheForm) {
  for (const std::string_view family : {"star", "fat_tree", "leaf_spine"}) {
    for (const std::string_view rest : {"", ":", ":0", ":-1", ":x", ":4x4", ":131073", ":4294967296"}) {
      const std::string text = fmt::format("{}{}", family, rest);
      EXPECT_EQ(refusal(text), fmt::format("found topology \"{0}\", expected {1}:HOSTS with at most 131072 "
                                           "hosts, such as {1}:128",
                                           text, family));
    }
    EXPECT_TRUE(named(fmt::format("{}:128", family)).ok());
  }
  for (const std::string_view family : {"rails", "rail_servers"}) {
    for (const std::string_view rest : {"", ":2x4x8", ":2x4x8x0", ":2x4x8x4x2", ":2x4x8xa"}) {
      const std::string text = fmt::format("{}{}", family, rest);
      EXPECT_EQ(refusal(text),
                fmt::format("found topology \"{0}\", expected {1}:SEGMENTSxSERVERSxRAILSxSPINES, "
                            "such as {1}:2x4x8x4",
                            text, family));
    }
  }
  for (const std::string_view rest : {"", ":2x4", ":2x4x0", ":2x4x2x", ":2x4x2x4x2", ":2x4xa"}) {
    const std::string text = fmt::format("dragonfly{}", rest);
    EXPECT_EQ(refusal(text),
              fmt::format("found topology \"{}\", expected dragonfly:HOSTSxROUTERSxGLOBALS[xGROUPS], "
                          "such as dragonfly:2x4x2",
                          text));
  }
  EXPECT_EQ(refusal("back_to_back:2"), "found topology \"back_to_back:2\", expected back_to_back");
}

TEST(TopologyNamed, AWrongFamilyIsToldTheNearest) {
  const std::string families =
      "expected a file, or back_to_back, star:HOSTS, fat_tree:HOSTS, leaf_spine:HOSTS, "
      "rails:SEGMENTSxSERVERSxRAILSxSPINES, rail_servers likewise, or "
      "dragonfly:HOSTSxROUTERSxGLOBALS[xGROUPS]";
  EXPECT_EQ(refusal("fat_three:16"),
            "found topology \"fat_three:16\", " + families + "; did you mean fat_tree?");
  EXPECT_EQ(refusal("zzzzzzzzzz"), "found topology \"zzzzzzzzzz\", " + families);
  EXPECT_FALSE(names_topology("fat_three:16"));
}

}  // namespace
}  // namespace wharf::sim
