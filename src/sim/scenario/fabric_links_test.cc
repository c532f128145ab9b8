// SPDX-License-Identifier: Apache-2.0
// Keys of links in runs of many hosts: what they become, what they do to a run, and each refusal.
#include "sim/config/fabric_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/fabric_settings.h"

namespace wharf::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<LoadedFabricSettings> load(std::vector<std::string> overrides) {
  return load_fabric_settings({"", std::move(overrides), "profiles"});
}

std::string refusal(const std::vector<std::string>& overrides) {
  const auto loaded = load(overrides);
  EXPECT_FALSE(loaded.ok());
  return loaded.ok() ? "" : loaded.error().message;
}

Topology four_hosts() { return star(4, {gigabits_per_second(100), microseconds(1)}, kTimeZero); }

/// One megabyte from each of `sources` to host 0, over RoCEv2.
FabricReport run(std::vector<std::string> overrides, const std::vector<std::uint32_t>& sources = {1},
                 std::uint64_t bytes = 1'000'000) {
  const Topology topology = four_hosts();
  overrides.insert(overrides.begin(), {"fabric.protocol=roce", "fabric.controller=none",
                                       "fabric.trimming=false", "fabric.queue_packets=10000"});
  const auto loaded = load(overrides);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  workload::FlowList flows;
  flows.name = "test";
  for (const std::uint32_t source : sources)
    flows.flows.push_back({.id = source, .source = source, .destination = 0, .bytes = bytes});
  auto derived = derive_fabric_run(loaded->settings, topology, nullptr, flows);
  EXPECT_TRUE(derived.ok());
  EXPECT_TRUE(
      add_link_changes(loaded->settings.links, topology, PortNames(topology, {}), derived->config.fabric)
          .ok());
  auto report = run_flows(topology, flows, derived->config, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  EXPECT_EQ(report->finished, flows.flows.size()) << report->waiting;
  return *std::move(report);
}

TimePs end_of(const FabricReport& report) {
  TimePs end{};
  for (const FlowRecord& record : report.records) end = max(end, record.end);
  return end;
}

TEST(FabricLinks, ChangesAreReadInWords) {
  const auto changes =
      parse_link_changes("leaf0-top1 down at 20us,leaf0-top1  up at 60us, *-leaf1 25Gbps at 5us");
  ASSERT_TRUE(changes.ok());
  ASSERT_EQ(changes->size(), 3U);
  EXPECT_EQ((*changes)[0].ports, "leaf0-top1");
  EXPECT_FALSE((*changes)[0].up);
  EXPECT_EQ((*changes)[0].at, microseconds(20));
  EXPECT_TRUE((*changes)[1].up);
  EXPECT_EQ((*changes)[2].rate, gigabits_per_second(25));
  EXPECT_TRUE(parse_link_changes("")->empty());
  for (const char* wrong :
       {"leaf0-top1", "leaf0-top1 down 20us", "leaf0-top1 sideways at 20us", "x down at 20", "x 0Gbps at 1us",
        "x down at 1us now", "x down at 1us,,y up at 2us"})
    EXPECT_FALSE(parse_link_changes(wrong).ok()) << wrong;
}

TEST(FabricLinks, BothDirectionsOfALinkChange) {
  const Topology topology = four_hosts();
  const PortNames names(topology, {});
  FabricLinks links;
  links.changes = {{.ports = "leaf0-host3", .up = false, .at = microseconds(2)}};
  FabricConfig fabric;
  ASSERT_TRUE(add_link_changes(links, topology, names, fabric).ok());
  ASSERT_EQ(fabric.changes.size(), 2U);
  EXPECT_EQ(names[fabric.changes[0].port], "leaf0-host3");
  EXPECT_EQ(names[fabric.changes[1].port], "host3-leaf0");
  EXPECT_FALSE(fabric.changes[1].up);
  links.changes[0].ports = "laef0-host3";
  EXPECT_THAT(add_link_changes(links, topology, names, fabric).error().message,
              HasSubstr("fabric.link_changes: found port \"laef0-host3\""));
  EXPECT_THAT(add_link_changes(links, topology, names, fabric).error().message,
              HasSubstr("did you mean leaf0-host3?"));
}

TEST(FabricLinks, WrongValuesAreRefusedByTheirKey) {
  EXPECT_EQ(
      refusal({"fabric.link_changes=leaf0-host1 dwon at 3us"}),
      "--set: fabric.link_changes is \"leaf0-host1 dwon at 3us\", expected PORT down at TIME, PORT up at "
      "TIME or PORT RATE at TIME, separated by commas; found \"leaf0-host1 dwon at 3us\"");
  EXPECT_EQ(refusal({"fabric.flow_control=pause"}),
            "fabric.flow_control: found pause beside fabric.trimming = true, expected one or the other: a "
            "queue that holds the link back cuts nothing");
  EXPECT_EQ(refusal({"fabric.flow_control=pause", "fabric.trimming=false", "fabric.pfc_xoff=5KB"}),
            "fabric.pfc_xon: found 80000B, expected at most fabric.pfc_xoff, 5000B");
  EXPECT_EQ(refusal({"fabric.flow_control=credit", "fabric.trimming=false", "fabric.credit_limit=100B"}),
            "fabric.credit_size: found 128B, expected at most fabric.credit_limit, 100B");
  EXPECT_EQ(refusal({"fabric.flow_control=credit", "fabric.trimming=false", "fabric.credit_size=1B",
                     "fabric.credit_limit=524288B"}),
            "fabric.credit_limit: found 512KiB, expected at most 524287 credits, 524287B here");
  EXPECT_EQ(refusal({"fabric.damage=1", "fabric.link_retry=true", "fabric.link_retry_limit=0"}),
            "fabric.damage: found 1 with link_retry and no link_retry_limit, expected at most 0.999, or a "
            "limit: a link would try for ever");
  EXPECT_EQ(
      refusal({"fabric.loss=1", "fabric.link_retry=true", "fabric.llr_flush_frame_action=block"}),
      "fabric.loss: found 1 with link_retry and llr_flush_frame_action = \"block\", expected at most 0.999, "
      "or a limit: a link would try for ever");
  EXPECT_EQ(refusal({"fabric.fec_delay=2ms"}), "fabric.fec_delay: found 2ms, expected at most 1ms");
  EXPECT_THAT(refusal({"fabric.damage=1.5"}), HasSubstr("expected a probability from 0 to 1"));
  EXPECT_THAT(refusal({"fabric.credit_overhead=200"}), HasSubstr("expected an integer from -16 to 127"));
}

std::string refusal_of_run(const std::vector<std::string>& overrides) {
  const auto loaded = load(overrides);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  const auto derived = derive_fabric_run(loaded->settings, four_hosts(), nullptr, {});
  EXPECT_FALSE(derived.ok());
  return derived.ok() ? "" : derived.error().message;
}

TEST(FabricLinks, AReplayTimerLastsARoundTrip) {
  const auto loaded = load({"fabric.link_retry=true", "fabric.llr_replay_timer_max=10ns"});
  ASSERT_TRUE(loaded.ok());
  const Topology topology = four_hosts();
  const auto derived = derive_fabric_run(loaded->settings, topology, nullptr, {});
  ASSERT_TRUE(derived.ok()) << derived.error().message;
  EXPECT_EQ(validate(derived->config.fabric, topology).error().message,
            "llr_replay_timer_max is 10ns, expected at least the round trip of every link, 2us here, or 0ns");
}

TEST(FabricLinks, CreditsHoldAPacket) {
  EXPECT_EQ(
      refusal_of_run({"fabric.flow_control=credit", "fabric.trimming=false", "fabric.credit_limit=4000B"}),
      "fabric.credit_limit: found 4000B, expected the credits of at least one packet, 4222B");
}

// The time-out of the default profile, 1 ms, is shorter than a round trip over links of 1 ms each.
TEST(FabricLinks, LongLinksMakeTheTimeOutOfAProfileLonger) {
  const Topology topology = star(2, {gigabits_per_second(100), milliseconds(1)}, kTimeZero);
  const auto settings = load({"fabric.protocol=roce"});
  ASSERT_TRUE(settings.ok());
  const auto run = derive_fabric_run(settings->settings, topology, nullptr, {});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->derived.rto, run->derived.base_rtt * 2);
  EXPECT_TRUE(run->remarks.empty());
  const auto own = load({"fabric.protocol=roce", "fabric.rto=1ms"});
  ASSERT_TRUE(own.ok());
  const auto short_of_it = derive_fabric_run(own->settings, topology, nullptr, {});
  ASSERT_TRUE(short_of_it.ok());
  EXPECT_EQ(short_of_it->derived.rto, milliseconds(1)) << "the user's own is taken as it is";
  ASSERT_EQ(short_of_it->remarks.size(), 1U);
  EXPECT_THAT(short_of_it->remarks[0], HasSubstr("fabric.rto of 1ms is below the base round trip of 4"));
}

TEST(FabricLinks, KeysOfOneFlowControlMatterToNoOther) {
  EXPECT_THAT(load({"fabric.pfc_xoff=5KB"})->no_influence,
              ElementsAre("fabric.pfc_xoff (--set) had no influence: only with flow_control = \"pause\""));
  EXPECT_THAT(load({"fabric.llr_outstanding_bytes_max=5KB"})->no_influence,
              ElementsAre("fabric.llr_outstanding_bytes_max (--set) had no influence: only with link_retry"));
}

// A packet and its answer cross two links each: four times the delay.
TEST(FabricLinks, ErrorCorrectionDelaysEveryLink) {
  const TimePs plain = end_of(run({}, {1}, 1000));
  EXPECT_EQ(end_of(run({"fabric.fec_delay=100ns"}, {1}, 1000)) - plain, nanoseconds(400));
}

TEST(FabricLinks, ALinkFailsAndReturns) {
  const FabricReport report = run({"fabric.link_changes=leaf0-host0 down at 20us, leaf0-host0 up at 50us"});
  // What waited at the link is lost; what comes to it finds no way.
  EXPECT_GT(report.totals.lost + report.totals.dropped, 0U);
  EXPECT_GT(report.totals.retransmitted, 0U);
  EXPECT_GT(end_of(report), microseconds(50));
}

TEST(FabricLinks, ALinkSlowsDown) {
  // One megabyte takes 80 us at 100 Gb/s and 320 us at 25.
  EXPECT_LT(end_of(run({})), microseconds(100));
  const TimePs slow = end_of(run({"fabric.link_changes=host1-leaf0 25Gbps at 0ns"}));
  EXPECT_GT(slow, microseconds(320));
  EXPECT_LT(slow, microseconds(360));
}

TEST(FabricLinks, RetryRepairsWhatIsDamaged) {
  const FabricReport damaged = run({"fabric.damage=2%"});
  EXPECT_GT(damaged.totals.retransmitted, 0U);
  const FabricReport repaired =
      run({"fabric.damage=2%", "fabric.link_retry=true", "fabric.link_retry_limit=0"});
  EXPECT_EQ(repaired.totals.retransmitted, 0U);
  EXPECT_EQ(repaired.totals.lost, 0U);
  EXPECT_GT(end_of(repaired), end_of(run({})));
  // Frames that vanish are missed by their numbers.
  const FabricReport vanished =
      run({"fabric.loss=2%", "fabric.link_retry=true", "fabric.link_retry_limit=0"});
  EXPECT_EQ(vanished.totals.retransmitted, 0U);
  EXPECT_EQ(vanished.totals.lost, 0U);
}

TEST(FabricLinks, LossAfterRetries) {
  FabricLinks links;
  links.damage = 0.1;
  EXPECT_DOUBLE_EQ(loss_of(links, 0.5), 1 - 0.5 * 0.9);
  links.retry = true;
  EXPECT_NEAR(loss_of(links, 0), 0.01, 1e-12);
  EXPECT_NEAR(loss_of(links, 0.5), 0.55 * 0.55, 1e-12);
  links.retry_limit = 0;
  EXPECT_DOUBLE_EQ(loss_of(links, 0), 0);
}

TEST(FabricLinks, ThresholdsDecideWhenALinkPauses) {
  const auto with = [&](const std::string& xoff, const std::string& xon) {
    // Queues that hold what three links bring before the highest threshold.
    return run({"fabric.queue_packets=30000", "fabric.flow_control=pause", "fabric.pfc_xoff=" + xoff,
                "fabric.pfc_xon=" + xon},
               {1, 2, 3})
        .totals.pause_frames;
  };
  EXPECT_EQ(with("30MB", "1MB"), 0U);
  const std::uint64_t few = with("200KB", "100KB");
  EXPECT_GT(few, 0U);
  EXPECT_GT(with("20KB", "10KB"), few);
}

// With room for one packet at the far end, a packet waits for the credit of the one before it.
TEST(FabricLinks, ASmallBufferOfCreditsHoldsTheLinkBack) {
  const std::string credit = "fabric.flow_control=credit";
  EXPECT_LT(end_of(run({credit})), microseconds(100));
  const TimePs held = end_of(run({credit, "fabric.credit_limit=5000B", "fabric.credit_update=0B"}));
  // 245 packets, each no sooner than a round trip of the link, 2 us, after the one before.
  EXPECT_GT(held, microseconds(245 * 2));
}

}  // namespace
}  // namespace wharf::sim
