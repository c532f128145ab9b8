// SPDX-License-Identifier: Apache-2.0
// What a stalled run says about a queue pair: what its oldest request waits for.
#include <string>

#include "engine/roce/slow_host_test_support.h"

namespace wharf::roce {
namespace {

using test::AccessKind;
using test::kBase;
using test::SlowHost;

std::string report_of(const SlowHost& host) {
  std::vector<std::string> lines;
  host.engine->describe_waiting(lines);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(RoceWaitingReport, SaysWhatTheOldestRequestWaitsFor) {
  SlowHost host({});
  const engine::QueueId queue = host.add_queue();
  EXPECT_EQ(report_of(host), "");
  verbs::WorkRequest request;
  request.verb = verbs::Verb::kWrite;
  request.local_count = 1;
  request.local[0] = {kBase, 64};
  request.length = 64;
  request.remote = {kBase, {256, 0}};
  ASSERT_EQ(host.engine->post(kTimeZero, queue, request, engine::Submission::kInHand),
            engine::PostStatus::kOk);
  engine::Access access;
  while (host.engine->next_access(access)) host.pending.push_back(access);
  ASSERT_EQ(host.count(AccessKind::kRead), 1u);
  EXPECT_NE(
      report_of(host).find("1 requests, the oldest a write of 64 bytes, waits for its payload from memory"),
      std::string::npos)
      << report_of(host);
  engine::AccessResult result;
  result.data = wire::pattern_payload(1, 0, 64);
  host.engine->access_done(kTimeZero, host.pending.front().id, result);
  host.pending.clear();
  EXPECT_NE(report_of(host).find("waits to be transmitted"), std::string::npos) << report_of(host);
  host.drain();
  EXPECT_EQ(host.sent, 1u);
  EXPECT_NE(report_of(host).find("waits for an answer to PSN"), std::string::npos) << report_of(host);
}

}  // namespace
}  // namespace wharf::roce
