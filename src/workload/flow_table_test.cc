// SPDX-License-Identifier: Apache-2.0
#include "workload/flow_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  const auto list = read_flow_table(text, "f.csv");
  EXPECT_FALSE(list.ok()) << text;
  return list.ok() ? "" : list.error().message;
}

TEST(FlowTable, AllColumns) {
  const auto list = read_flow_table(
      "src,dst,bytes,start_ns,op,priority,after\n0,1,100,0,,,\n2,3,200,0.25,read,0,\n3,0,300,10,send,0,1;2\n",
      "f.csv");
  ASSERT_TRUE(list.ok()) << list.error().message;
  ASSERT_EQ(list->flows.size(), 3U);
  EXPECT_EQ(list->flows[0].verb, verbs::Verb::kWrite);
  EXPECT_EQ(list->flows[1].verb, verbs::Verb::kRead);
  EXPECT_EQ(list->flows[1].start, picoseconds(250));
  EXPECT_TRUE(list->remarks.empty());
  FlowTriggers triggers(*list);
  std::vector<std::uint32_t> started;
  triggers.finished(1, started);
  EXPECT_TRUE(started.empty());
  triggers.finished(0, started);
  EXPECT_THAT(started, ElementsAre(2U));
}

TEST(FlowTable, ColumnsInAnyOrderAndLaterRows) {
  const auto list = read_flow_table("start_ns,after,bytes,dst,src\n0,2,5,1,0\n0,,6,2,1\n", "f.csv");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->flows[1].bytes, 6U);
  EXPECT_TRUE(check_startable(*list).ok());
}

TEST(FlowTable, Refusals) {
  EXPECT_THAT(refusal(""), HasSubstr("f.csv:1:1: the file is empty"));
  EXPECT_EQ(refusal("src,dst,bites,start_ns\n"),
            "f.csv:1:9: found \"bites\", expected a column; did you mean bytes?");
  EXPECT_THAT(refusal("src,dst,bytes\n"), HasSubstr("found no column start_ns"));
  const std::string head = "src,dst,bytes,start_ns,op,priority,after\n";
  EXPECT_EQ(refusal(head + "0,x,5,0\n"),
            "f.csv:2:3: found \"x\", expected a host, an integer from 0 to 131071");
  EXPECT_THAT(refusal(head + "0,0,5,0\n"), HasSubstr("expected another host than src"));
  EXPECT_THAT(refusal(head + "0,1,,0\n"), HasSubstr("found no bytes"));
  EXPECT_THAT(refusal(head + "0,1,5,0.0001\n"), HasSubstr("expected nanoseconds"));
  EXPECT_THAT(refusal(head + "0,1,5,0,wrte\n"), HasSubstr("did you mean write?"));
  EXPECT_EQ(refusal(head + "0,1,5,0,write,7\n"),
            "f.csv:2:15: found \"7\", expected priority 0: all flows share the traffic class of data");
  EXPECT_THAT(refusal(head + "0,1,5,0,,,9\n"), HasSubstr(": found 9, expected one of the 1 rows"));
  EXPECT_THAT(refusal(head + "0,1,5,0,,,1\n"), HasSubstr("another row than its own"));
  EXPECT_THAT(refusal(head + "0,1,5,0,,,,4\n"), HasSubstr("expected 7 fields as the first line has"));
}

}  // namespace
}  // namespace wharf::workload
