// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/port_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fabric/topology_fat_tree.h"

namespace wharf::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Two hosts, two switches, and two links between the latter.
Topology bundle() {
  Topology topology;
  for (int i = 0; i < 2; ++i) topology.add_host();
  const NodeId left = topology.add_switch(0, kTimeZero);
  const NodeId right = topology.add_switch(1, kTimeZero);
  topology.connect(0, left, {});
  topology.connect(1, right, {});
  topology.connect(left, right, {});
  topology.connect(left, right, {});
  return topology;
}

TEST(PortNames, SayWhereALinkBeginsAndEnds) {
  const PortNames names(bundle(), {});
  EXPECT_EQ(names[0], "host0-leaf0");
  EXPECT_EQ(names[1], "leaf0-host0");
  EXPECT_EQ(names[4], "leaf0-middle0");
  EXPECT_EQ(names[6], "leaf0-middle0.1");
  EXPECT_EQ(names[7], "middle0-leaf0.1");
}

TEST(PortNames, AreThoseOfTheFileWhereItHasSome) {
  const PortNames names(bundle(), {"left", "right"});
  EXPECT_EQ(names[7], "right-left.1");
  EXPECT_EQ(names.node(3), "right");
}

TEST(PortNames, AreUniqueAndFoundInTheOrderOfTheirNumbers) {
  const Topology tree =
      fat_tree_of(*k_ary_shape(3, 16, {gigabits_per_second(100), microseconds(1)}, kTimeZero)).value();
  const PortNames names(tree, {});
  for (PortId id = 0; id < tree.ports().size(); ++id) EXPECT_THAT(*names.find(names[id]), ElementsAre(id));
  EXPECT_THAT(*names.find(" leaf0-host0 ,host0-leaf0, host0-*"), ElementsAre(0U, 1U));
  EXPECT_EQ(names.find("*")->size(), tree.ports().size());
  EXPECT_EQ(names.find("leaf*-middle*")->size(), 16U);
  EXPECT_EQ(names.find("")->size(), 0U);
}

TEST(PortNames, AnUnknownOneIsRefusedWithTheNearest) {
  const PortNames names(bundle(), {});
  EXPECT_THAT(
      names.find("host0-leaf0,host0-laef0").error().message,
      testing::AllOf(HasSubstr("found port \"host0-laef0\""), HasSubstr("did you mean host0-leaf0?")));
  EXPECT_THAT(names.find("spine*").error().message, HasSubstr("found port \"spine*\""));
  EXPECT_THAT(names.find("host0-leaf0,,").error().message, HasSubstr("found port \"\""));
}

TEST(PortNames, ARingIsOneSentence) {
  const PortNames names(bundle(), {});
  EXPECT_EQ(
      describe_cycle(names, {0, 4, 6}),
      "host0-leaf0 waits for leaf0-middle0, which waits for leaf0-middle0.1, which waits for host0-leaf0");
  EXPECT_EQ(describe_cycle(names, {4}), "leaf0-middle0 waits for leaf0-middle0");
}

}  // namespace
}  // namespace wharf::sim
