// SPDX-License-Identifier: Apache-2.0
// Connection matrices: those that people have, the quirks that are kept, and each refusal.
#include "workload/connection_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace wharf::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kChain =
    "Nodes 16\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 1000000 send_done_trigger 1\n"
    "1->2 id 2 trigger 1 size 1000000\ntrigger id 1 oneshot\n";

std::string refusal(const std::string& text, const ConnectionMatrixOptions& options = {}) {
  const auto list = read_connection_matrix(text, "m.cm", options);
  EXPECT_FALSE(list.ok()) << text;
  return list.ok() ? "" : list.error().message;
}

/// A matrix of one connection line.
std::string one(const std::string& line) { return "Nodes 4\nConnections 1\n" + line + "\n"; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

FlowList shipped(const std::string& name) {
  std::ifstream stream("studies/ultra_ethernet/" + name);
  EXPECT_TRUE(stream) << name;
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  auto list = read_connection_matrix(text, name);
  EXPECT_TRUE(list.ok()) << (list.ok() ? "" : list.error().message);
  EXPECT_THAT(list->remarks, IsEmpty()) << name;
  return *std::move(list);
}

TEST(ConnectionMatrix, EveryReferenceFile) {
  EXPECT_EQ(shipped("one.cm").flows.size(), 1U);
  const FlowList small = shipped("perm_16n_16c_2MB.cm");
  EXPECT_EQ(small.hosts, 16U);
  ASSERT_EQ(small.flows.size(), 16U);
  EXPECT_EQ(small.flows[0].source, 13U);
  EXPECT_EQ(small.flows[0].destination, 6U);
  EXPECT_EQ(small.flows[0].bytes, 2'000'000U);
  EXPECT_EQ(small.flows[1].id, 1'000'000'003U);
  EXPECT_EQ(shipped("perm_128n_128c_2MB.cm").flows[127].id, 128U);
  EXPECT_EQ(shipped("perm_1024n_1024c_0u_2000000b.cm").flows.size(), 1024U);
  const FlowList incast = shipped("incast_128.cm");
  EXPECT_EQ(incast.flows.size(), 127U);
  for (const Flow& flow : incast.flows) EXPECT_EQ(flow.destination, 33U);
}

TEST(ConnectionMatrix, ATriggerStartsTheNextFlow) {
  const auto list = read_connection_matrix(kChain, "m.cm");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_TRUE(check_startable(*list).ok());
  FlowTriggers triggers(*list);
  EXPECT_FALSE(triggers.stays_on_hosts());
  std::vector<std::uint32_t> started;
  triggers.finished(0, started);
  EXPECT_THAT(started, ElementsAre(1U));
}

TEST(ConnectionMatrix, TheThreeKindsOfTriggers) {
  const std::string text =
      "Nodes 8\nConnections 6\nTriggers 2\n"
      "0->1 id 1 start 0 size 1 send_done_trigger 1\n0->2 id 2 start 0 size 1 send_done_trigger 1\n"
      "3->1 id 3 trigger 1 size 1 send_done_trigger 2\n3->2 id 4 trigger 1 size 1 send_done_trigger 2\n"
      "4->1 id 5 trigger 2 size 1\n5->1 id 6 trigger 2 size 1\n"
      "trigger id 1 multishot\ntrigger barrier count 2 id 2\n";
  const auto list = read_connection_matrix(text, "m.cm");
  ASSERT_TRUE(list.ok()) << list.error().message;
  FlowTriggers triggers(*list);
  std::vector<std::uint32_t> started;
  triggers.finished(1, started);
  EXPECT_THAT(started, ElementsAre(2U));
  triggers.finished(0, started);
  EXPECT_THAT(started, ElementsAre(2U, 3U));
  triggers.finished(2, started);
  EXPECT_EQ(started.size(), 2U);
  triggers.finished(3, started);
  EXPECT_THAT(started, ElementsAre(2U, 3U, 4U, 5U));
}

TEST(ConnectionMatrix, QuirksAreKeptAndSaid) {
  const auto cut = read_connection_matrix(one("0->1 start 12.75 size 5 prio 3"), "m.cm");
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(cut->flows[0].start, microseconds(12));
  EXPECT_THAT(cut->remarks, ElementsAre("m.cm:3: the format cuts start to whole microseconds",
                                        "m.cm:3: prio has no influence in this format"));

  const auto ignored = read_connection_matrix(
      "# c\n\nNodes 4\nPods 7\nnodes 3\nConnections 1\n0->1 start 0 size 5 \n", "m.cm");
  ASSERT_TRUE(ignored.ok()) << ignored.error().message;
  EXPECT_THAT(ignored->remarks,
              ElementsAre("m.cm:4: the format ignores the header line \"Pods\" and 1 more header lines"));

  const std::string receive = replaced(kChain, "send_done", "recv_done");
  const auto silent = read_connection_matrix(receive, "m.cm");
  ASSERT_TRUE(silent.ok());
  EXPECT_THAT(silent->remarks[0], HasSubstr("recv_done_trigger never fires"));
  EXPECT_EQ(
      check_startable(*silent).error().message,
      "m.cm:5:1: flow 2 never starts: too few flows activate its trigger 1, expected every flow to start");
  const auto reused = read_connection_matrix(receive, "m.cm", {.connection_reuse = true});
  EXPECT_TRUE(check_startable(*reused).ok());
  FlowTriggers triggers(*reused);
  EXPECT_TRUE(triggers.waits_for_receipts());
  std::vector<std::uint32_t> started;
  triggers.finished(0, started);
  EXPECT_TRUE(started.empty()) << "the source has heard of it";
  triggers.received(0, started);
  EXPECT_THAT(started, ElementsAre(1U));
}

TEST(ConnectionMatrix, MessagesShareAConnectionWhenItIsReused) {
  const std::string text =
      "Nodes 4\nConnections 2\n0->1 id 5 msg 1 start 0 size 10\n2->3 id 5 msg start 0 size 20\n";
  EXPECT_THAT(refusal(text),
              HasSubstr("m.cm:3:11: found \"msg\", expected no messages on shared connections"));
  const auto list = read_connection_matrix(text, "m.cm", {.connection_reuse = true});
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->flows[1].source, 0U);  // The first line defines both ends.
  EXPECT_EQ(list->flows[1].destination, 1U);
}

TEST(ConnectionMatrix, FailuresOfLinksAboveTheMiddleTier) {
  const std::string text = "Nodes 4\nFailures 1\nfailure switch_type AGG switch_id 3 link_id 1\n";
  const auto list = read_connection_matrix(text, "m.cm");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->failures[0].switch_id, 3U);
  EXPECT_EQ(list->failures[0].link_id, 1U);
  EXPECT_THAT(refusal(replaced(text, "AGG", "TOR")), HasSubstr("m.cm:3:21: found \"TOR\", expected AGG"));
  EXPECT_THAT(refusal(replaced(text, "link_id 1", "link_id")), HasSubstr("expected failure switch_type AGG"));
}

TEST(ConnectionMatrix, RefusalsNameLineTokenAndRule) {
  EXPECT_EQ(refusal(one("0->1 start 0 sise 5")),
            "m.cm:3:14: found \"sise\", expected id, msg, start, trigger, size, send_done_trigger, "
            "recv_done_trigger or prio of a connection; did you mean size?");
  EXPECT_EQ(refusal(one("0->1  start 0 size 5")),
            "m.cm:3:6: found nothing (two separators in a row), expected id, msg, start, trigger, size, "
            "send_done_trigger, recv_done_trigger or prio of a connection");
  EXPECT_THAT(refusal(one("0->1\tstart 0 size 5")), HasSubstr("found \"1\\x09start\""));
  EXPECT_EQ(refusal(one("0->4 start 0 size 5")),
            "m.cm:3:4: found \"4\", expected a node below Nodes 4, an integer from 0 to 3");
  EXPECT_THAT(refusal(one("1->1 start 0 size 5")), HasSubstr("expected two different nodes"));
  EXPECT_THAT(refusal(one("0 -> 1 start 0 size 5")), HasSubstr("the lines of the file are"));
  EXPECT_THAT(refusal(one("0-1 start 0 size 5")),
              HasSubstr("; line 3, which begins with \"0-1\", is none of the format's"));
  EXPECT_THAT(refusal("nodes 4\n0->1 start 0 size 5\n"), HasSubstr("; line 1, which begins with \"nodes\""));
  EXPECT_THAT(refusal("Nodes 4 5\n"),
              HasSubstr("m.cm:1:9: found \"5\", expected the end of the line after one value"));
  EXPECT_THAT(refusal(one("0->1 start 0 size 2147483648")), HasSubstr("an integer from 1 to 2147483647"));
  EXPECT_THAT(refusal(one("0->1 start 1e3 size 5")), HasSubstr("expected a start in microseconds"));
  EXPECT_THAT(refusal(one("0->1 start 0")), HasSubstr("m.cm:3:13: found no size"));
  EXPECT_THAT(refusal(one("0->1 size 5")), HasSubstr("found neither start nor trigger"));
  EXPECT_THAT(refusal(one("0->1 start 0 trigger 1 size 5")), HasSubstr("found both start and trigger"));
  EXPECT_THAT(refusal(one("0->1 trigger 1 id 2 size 5")), HasSubstr("id before trigger"));
  EXPECT_THAT(refusal(one("0->1 trigger 1 size 5")),
              HasSubstr("m.cm:3:14: found trigger 1, expected one that a trigger line defines"));
  EXPECT_THAT(refusal(one("0->1 id 0 start 0 size 5")), HasSubstr("expected a flow id, an integer from 1"));
  EXPECT_THAT(refusal(one("0->1 start 0 start 0 size 5")), HasSubstr("each attribute once"));
  EXPECT_THAT(refusal(one("0->1 start 0 size 5\n# late")), HasSubstr("comments end with the header"));
  EXPECT_EQ(refusal("Nodes 4\nConnections 2\n0->1 start 0 size 5\n"),
            "m.cm:2:1: found Connections 2, expected 1 as the lines of the file are");
  EXPECT_THAT(refusal("Nodes 4\n0->1 start 0 size 5\n"),
              HasSubstr("found Connections absent (0), expected 1"));
  EXPECT_THAT(refusal("0->1 start 0 size 5\n"), HasSubstr("found no Nodes line"));
  EXPECT_THAT(refusal(""), HasSubstr("m.cm:1:1: found no Nodes line"));
  EXPECT_THAT(refusal("Connections 0\nNodes 0\n"), HasSubstr("m.cm:2:1: found Nodes 0, expected Nodes N"));
  EXPECT_THAT(refusal("Nodes 4\nConnections 2\n0->1 id 1 start 0 size 5\n2->3 id 1 start 0 size 5\n"),
              HasSubstr("m.cm:4:1: found flow id 1 again"));
  EXPECT_THAT(refusal(replaced(kChain, "oneshot", "barrier")), HasSubstr("a barrier without count"));
  EXPECT_THAT(refusal(replaced(kChain, "oneshot", "onshot")), HasSubstr("did you mean oneshot?"));
  EXPECT_THAT(refusal(replaced(kChain, "trigger id 1 oneshot", "trigger oneshot")), HasSubstr("found no id"));
  EXPECT_THAT(refusal(replaced(kChain, "1->2 id 2 trigger 1 size 1000000",
                               "1->2 id 2 start 0 size 5 send_done_trigger 1")),
              HasSubstr("a second flow that activates oneshot trigger 1"));
}

TEST(ConnectionMatrix, RunsThatCannotFinishAreNamed) {
  const std::string ring =
      "Nodes 4\nConnections 2\nTriggers 2\n0->1 id 1 trigger 2 size 5 send_done_trigger 1\n"
      "1->2 id 2 trigger 1 size 5 send_done_trigger 2\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n";
  const auto list = read_connection_matrix(ring, "m.cm");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(
      check_startable(*list).error().message,
      "m.cm:4:1: flows wait for one another in a ring: flow 1 waits for flow 2 waits for flow 1, expected a "
      "start for each");
  const auto few = read_connection_matrix(replaced(kChain, "oneshot", "barrier count 2"), "m.cm");
  ASSERT_TRUE(few.ok());
  EXPECT_THAT(check_startable(*few).error().message, HasSubstr("trigger 1, which waits for 2"));
}

}  // namespace
}  // namespace wharf::workload
