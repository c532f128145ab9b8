// SPDX-License-Identifier: Apache-2.0
// Keys of fabric runs, what the rules make of them, and the published reference values.
#include "sim/scenario/fabric_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace wharf::sim {
namespace {

using testing::HasSubstr;

FabricSettings load(const std::string& profile, const std::vector<std::string>& overrides = {}) {
  auto loaded = load_fabric_settings({profile, overrides, "profiles"});
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded->settings;
}

std::string refusal(const std::vector<std::string>& overrides) {
  const auto loaded = load_fabric_settings({"htsim-uec", overrides, "profiles"});
  EXPECT_FALSE(loaded.ok());
  return loaded.ok() ? "" : loaded.error().message;
}

Topology tree(std::uint32_t hosts) {
  return fat_tree_of(*k_ary_shape(3, hosts, {gigabits_per_second(100), microseconds(1)}, kTimeZero)).value();
}

TEST(FabricSettings, TheRulesGiveTheValuesThatHtsimPrints) {
  const auto run = derive_fabric_run(load("htsim-uec"), tree(16), nullptr, {});
  ASSERT_TRUE(run.ok());
  const FabricDerived& derived = run->derived;
  EXPECT_EQ(derived.base_rtt, picoseconds(14'022'720));
  EXPECT_EQ(derived.bdp, 175'284U);
  EXPECT_EQ(derived.max_window, 262'926U);
  EXPECT_EQ(derived.queue_bytes, 178'450U);
  EXPECT_EQ(derived.ecn_low, 37'350U);
  EXPECT_EQ(derived.ecn_high, 145'250U);
  EXPECT_EQ(derived.rto, picoseconds(100'656'000));
  const auto& nscc =
      std::get<congestion::NsccConfig>(std::get<uet::UetConfig>(run->config.engines).controller);
  EXPECT_EQ(nscc.target_delay, picoseconds(10'517'040));
  EXPECT_EQ(nscc.fair_increase, 23'874U);
}

// The thresholds and the share that UE 1.0 3.6.17 names.
TEST(FabricSettings, LastHopsMayQueueMoreAndTrimmedPacketsHaveAShare) {
  const auto derive = [](const std::vector<std::string>& keys) {
    auto run = derive_fabric_run(load("htsim-uec", keys), tree(16), nullptr, {});
    EXPECT_TRUE(run.ok());
    return std::move(run).value();
  };
  const DerivedFabricRun plain = derive({});
  ASSERT_EQ(plain.config.fabric.profiles.size(), 1U);
  EXPECT_EQ(plain.config.fabric.profiles[0].trimmed_queue, 0);
  const DerivedFabricRun run = derive({"fabric.last_hop_threshold=150", "fabric.trimmed_share=25"});
  const FabricConfig& fabric = run.config.fabric;
  const Topology topology = tree(16);
  for (PortId port = 0; port < topology.ports().size(); ++port) {
    const PortProfile& profile = fabric.profiles[fabric.port_profile[port]];
    const std::uint32_t queue = topology.is_host(topology.port(port).peer) ? 267'675 : 178'450;
    EXPECT_EQ(profile.queues[1].capacity_bytes, queue) << port;
    EXPECT_EQ(profile.queues[profile.trimmed_queue].capacity_bytes, queue) << port;
    EXPECT_EQ(profile.queues[profile.trimmed_queue].weight, 25U);
    EXPECT_EQ(profile.queues[1].weight, 75U);
    EXPECT_NE(profile.trimmed_queue, profile.queue_of_class[0]);
  }
  // 15 us, and six queues one of which is half as long again.
  EXPECT_EQ(run.derived.rto, plain.derived.rto + transfer_time(Bytes{178'450 / 2}, plain.derived.link));
  // A queue takes a full packet, however short it is to be.
  const DerivedFabricRun least = derive({"fabric.last_hop_threshold=1"});
  EXPECT_EQ(least.config.fabric.profiles[1].queues[1].capacity_bytes, least.derived.full_packet);
  EXPECT_THAT(refusal({"fabric.trimmed_share=100"}), testing::HasSubstr("0 to 99"));
}

TEST(FabricSettings, ATargetDelayMovesTheThresholdOfQuickAdapt) {
  const auto run = derive_fabric_run(load("htsim-uec", {"fabric.target_delay=5us"}), tree(16), nullptr, {});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(
      std::get<congestion::NsccConfig>(std::get<uet::UetConfig>(run->config.engines).controller).qa_threshold,
      microseconds(20));
}

TEST(FabricSettings, WhatThisTopologyCannotServeIsRefusedByItsKey) {
  const auto refused = [](const std::vector<std::string>& overrides) {
    const auto run = derive_fabric_run(load("htsim-uec", overrides), tree(16), nullptr, {});
    return run.ok() ? std::string() : run.error().message;
  };
  EXPECT_EQ(refused({"fabric.window_packets=63"}), "");
  EXPECT_EQ(refused({"fabric.window_packets=64"}),
            "fabric.window_packets: found 64, expected at most the 63 packets of the largest window on this "
            "topology");
  EXPECT_THAT(refused({"fabric.pcie_rate=0.5", "fabric.control=both"}),
              HasSubstr("fabric.pcie_rate: found 0.5"));
  EXPECT_EQ(refused({"fabric.pcie_rate=0.5"}), "");
}

TEST(FabricSettings, ReceiverCreditTakesMarksOffTheLastHop) {
  const Topology topology = tree(16);
  const auto run = derive_fabric_run(load("htsim-uec", {"fabric.control=receiver"}), topology, nullptr, {});
  ASSERT_TRUE(run.ok());
  const FabricConfig& fabric = run->config.fabric;
  const PortId down = topology.port(topology.node(0).ports[0]).reverse;
  EXPECT_EQ(fabric.profiles[fabric.port_profile[down]].queues[1].mark_min_bytes, kUnlimitedBytes);
  EXPECT_EQ(fabric.profiles[0].queues[1].mark_min_bytes, 37'350U);
}

TEST(FabricSettings, UnknownKeysAndUnsupportedValuesAreRefused) {
  EXPECT_THAT(refusal({"fabric.pathz=3"}), HasSubstr("fabric.paths"));
  EXPECT_THAT(refusal({"fabric.controller=dctcp"}), HasSubstr("fabric.controller: dctcp"));
}

// Keys that took one value: files that give it run as they did, without a word; no list has them.
TEST(FabricSettings, DroppedKeysTakeTheValueThatTheyHad) {
  const std::vector<std::pair<std::string, std::string>> dropped{
      {"fabric.planes=1", "fabric.planes=2"},
      {"fabric.queue_type=composite", "fabric.queue_type=aeolus"},
      {"fabric.host_queue=fair_prio", "fabric.host_queue=swift"},
      {"fabric.adaptive_method=queue", "fabric.adaptive_method=pqb"},
      {"fabric.adaptive_granularity=packet", "fabric.adaptive_granularity=flow"},
      {"fabric.adaptive_sticky=0ns", "fabric.adaptive_sticky=1us"},
      {"fabric.accurate_base_rtt=false", "fabric.accurate_base_rtt=true"}};
  for (const auto& [old, other] : dropped) {
    const std::string key = old.substr(0, old.find('='));
    const auto loaded = load_fabric_settings({"", {old}, "profiles"});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_TRUE(loaded->no_influence.empty()) << old;
    EXPECT_THAT(refusal({other}), AllOf(HasSubstr(key + " is"), HasSubstr("but this key was dropped")));
    for (const KeyDoc& each : every_fabric_key()) EXPECT_NE(each.path, key);
  }
  EXPECT_EQ(
      refusal({"fabric.planes=2"}),
      "--set: fabric.planes is \"2\", but this key was dropped: all switches are one network; leave it out");
}

// A queue that ends before flow control holds all links back that lead to it would drop what it has let in.
TEST(FabricSettings, QueuesAreNoShorterThanWhatFlowControlLetsIn) {
  const Topology hosts16 = star(16, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  const auto refused_on = [](const Topology& topology, const std::vector<std::string>& overrides) {
    const auto loaded = load_fabric_settings({"", overrides, "profiles"});
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    const auto run = derive_fabric_run(loaded->settings, topology, nullptr, {});
    return run.ok() ? std::string{} : run.error().message;
  };
  const auto refused = [&](const std::vector<std::string>& overrides) {
    return refused_on(hosts16, overrides);
  };
  const std::vector<std::string> base{"fabric.trimming=false", "fabric.payload=4KiB", "fabric.header=64B"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return refused(more);
  };
  // Of each of 15 links: 100,000 bytes until the packet that crosses them, which is 4,160; a packet and four
  // frames of 84 before the pause frame has left, 359.68 ns; 1 us each way; that makes 29,496 bytes of a link
  // of 12.5 bytes a nanosecond; and the packet that is being sent then.
  EXPECT_EQ(with({"fabric.flow_control=pause", "fabric.queue_packets=1"}),
            "fabric.queue_packets is 1, a queue of 4160B, expected at least 497 packets (2067255B): so much "
            "may come over 15 links for one port before fabric.pfc_xoff holds them back");
  EXPECT_EQ(with({"fabric.flow_control=pause", "fabric.queue_packets=497"}), "");
  EXPECT_THAT(with({"fabric.flow_control=pause", "fabric.queue_packets=496"}),
              HasSubstr("at least 497 packets"));
  // 200,000 bytes are 1,562 credits, of which a packet takes 33: 47 packets of each link.
  EXPECT_THAT(with({"fabric.flow_control=credit", "fabric.queue_packets=704"}),
              HasSubstr("expected at least 705 packets (2932800B): so much may come over 15 links for one "
                        "port before fabric.credit_limit holds them back"));
  EXPECT_EQ(with({"fabric.flow_control=credit", "fabric.queue_packets=705"}), "");
  EXPECT_THAT(with({"fabric.flow_control=pause", "fabric.queue_bdp_factor=1"}),
              HasSubstr("fabric.queue_bdp_factor is 1"));
  // Queues count in 32 bits: 16 links of 256 MiB and what is under way are more.
  EXPECT_THAT(refused({"fabric.trimming=false", "fabric.flow_control=pause", "fabric.pfc_xoff=256MiB"}),
              HasSubstr("over the 16 links of a switch more than 4 GiB may come for one port"));
  EXPECT_EQ(refused({"fabric.trimming=false", "fabric.flow_control=pause", "fabric.pfc_xoff=255MiB"}), "");
  // What is under way on long links is no threshold's: 65 links carry 100 MB each until a pause is heard.
  const Topology far = star(65, {gigabits_per_second(400), milliseconds(1)}, kTimeZero);
  EXPECT_THAT(refused_on(far, {"fabric.trimming=false", "fabric.flow_control=pause"}),
              HasSubstr("fabric.flow_control: found pause, expected none or credit"));
  // A limit that is named is taken, though packets of 4,194 bytes take two credits of 4 KiB.
  const Topology many = star(130, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  const std::vector<std::string> credit{"fabric.trimming=false", "fabric.flow_control=credit",
                                        "fabric.credit_size=4KiB"};
  const auto limited = [&](const std::string& limit) {
    std::vector<std::string> keys = credit;
    keys.push_back("fabric.credit_limit=" + limit);
    return refused_on(many, keys);
  };
  const std::string much = limited("64MiB");
  const std::string named = "expected at most ";
  const std::size_t at = much.find(named);
  ASSERT_NE(at, std::string::npos) << much;
  const std::string most = much.substr(at + named.size(), much.find(':', at) - at - named.size());
  EXPECT_EQ(limited(most), "") << most;
  // Thresholds that fit the queue.
  EXPECT_EQ(with({"fabric.flow_control=pause", "fabric.queue_packets=152", "fabric.pfc_xoff=4KiB",
                  "fabric.pfc_xon=1KiB"}),
            "");
  // Without flow control a short queue drops, as it should.
  EXPECT_EQ(with({"fabric.queue_packets=1"}), "");
}

TEST(FabricSettings, ValuesThatEnginesCouldNotTakeAreRefusedByTheirKey) {
  EXPECT_EQ(refusal({"fabric.paths=3"}),
            "--set: fabric.paths is \"3\", expected a power of two from 1 to 65536");
  EXPECT_EQ(refusal({"fabric.payload=257B"}),
            "--set: fabric.payload is \"257B\", expected a multiple of 2B with protocol = \"uet\"");
  EXPECT_EQ(refusal({"fabric.hop_latency=1000s"}),
            "--set: fabric.hop_latency is \"1000s\", expected a time from 1ps to 4ms");
  EXPECT_EQ(refusal({"fabric.switch_latency=1s"}),
            "--set: fabric.switch_latency is \"1s\", expected a time up to 4ms");
  for (const char* speed : {"1bps", "9Tbps"})
    EXPECT_THAT(refusal({std::string("fabric.link_speed=") + speed}),
                HasSubstr("expected a rate from 1Mbps to 8.7Tbps"));
  for (const char* key : {"caqm.period", "dcqcn.dce_tcp_rtt", "dcqcn.rpg_time_reset"}) {
    EXPECT_EQ(refusal({std::string("fabric.") + key + "=0ns"}),
              std::string("--set: fabric.") + key + " is \"0ns\", expected a time from 1ns to 1s");
  }
  EXPECT_EQ(refusal({"fabric.pcie_rate=1e-12"}),
            "--set: fabric.pcie_rate is \"1e-12\", expected 0, or a number from 0.001 to 1000");
  EXPECT_EQ(refusal({"fabric.target_delay=101ms"}),
            "--set: fabric.target_delay is \"101ms\", expected a time up to 100ms");
  EXPECT_EQ(refusal({"run.time_limit=0ns"}), "--set: run.time_limit is \"0ns\", expected a time above 0ns");
  EXPECT_EQ(refusal({"traffic.size=0B"}), "--set: traffic.size is \"0B\", expected a size of at least 1B");
  EXPECT_THAT(refusal({"traffic.placement=stride:0"}), testing::EndsWith("or hosts such as 0,4,8"));
}

TEST(FabricSettings, WhatOnlyTheTopologyTellsIsRefusedInTermsOfKeys) {
  const auto derived = [](const std::vector<std::string>& overrides) {
    const auto run = derive_fabric_run(load("htsim-uec", overrides), tree(16), nullptr, {});
    return run ? std::string() : run.error().message;
  };
  EXPECT_EQ(derived({"fabric.ecn_low_packets=10", "fabric.ecn_high_packets=5"}),
            "fabric.ecn_low_packets: found 41500B, expected at most fabric.ecn_high_packets, 20750B");
  EXPECT_EQ(derived({"fabric.protocol=roce", "fabric.controller=dcqcn", "fabric.dcqcn.rpg_min_rate=500Gbps"}),
            "fabric.dcqcn.rpg_min_rate: found 500Gbps, expected 1bps to the 100Gbps of a host's link");
  EXPECT_EQ(derived({"fabric.rto=9s"}), "fabric.rto: found 9s, expected at most 8s");
  EXPECT_EQ(derived({"fabric.rto=8s"}), "");
  const Topology slow =
      fat_tree_of(*k_ary_shape(3, 16, {BitsPerSecond{1'000'000}, microseconds(1)}, kTimeZero)).value();
  EXPECT_THAT(derive_fabric_run(load("htsim-uec"), slow, nullptr, {}).error().message,
              HasSubstr("expected at most 100ms: speeds and delays of the links make it"));
}

TEST(FabricSettings, AnOptionAndTheKeyItStandsForMayNotDiffer) {
  FabricSettingsSource source{"htsim-uec", {"traffic.collective=incast"}, "profiles"};
  source.options = {{"traffic.collective", "permutation", "--collective"}};
  const auto loaded = load_fabric_settings(source);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(
      loaded.error().message,
      "--set: traffic.collective is \"incast\" beside --collective permutation, expected one of the two");
  source.options[0].value = "incast";
  EXPECT_TRUE(load_fabric_settings(source).ok());
  // The same value, however it is written.
  source.overrides = {"run.end=1000ns"};
  source.options = {{"run.end", "1us", "--end"}};
  EXPECT_TRUE(load_fabric_settings(source).ok());
  source.options[0].value = "2us";
  EXPECT_FALSE(load_fabric_settings(source).ok());
}

TEST(FabricSettings, KeysAndProfilesOfTwoHostsAreCalledThat) {
  EXPECT_EQ(refusal({"traffic.collective=incast", "model.stack=uet"}),
            "--set: model.stack is a key of scenarios of two hosts, but traffic.collective (--set) makes "
            "this one of "
            "many hosts, expected keys of one kind");
  const auto loaded = load_fabric_settings({"connectx7-class", {}, "profiles"});
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message,
              testing::StartsWith("--profile: found connectx7-class, a profile of two hosts ("));
}

TEST(FabricSettings, FailuresAndSlowLinks) {
  const auto shape = k_ary_shape(3, 16, {}, kTimeZero);
  const Topology topology = tree(16);
  workload::FlowList list;
  list.name = "m.cm";
  list.failures = {{.switch_id = 1, .link_id = 1, .line = 7}};
  const auto run = derive_fabric_run(load("htsim-uec", {"fabric.slow_links=3"}), topology, &*shape, list);
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_EQ(run->config.fabric.changes.size(), 2U + 3U);
  EXPECT_FALSE(run->config.fabric.changes[0].up);
  // The switch at position 1 reaches tops 1 and 3; the format calls the latter link 1.
  EXPECT_EQ(topology.port(run->config.fabric.changes[0].port).peer, 16U + 8 + 8 + 3);
  EXPECT_EQ(run->config.fabric.changes[2].rate, gigabits_per_second(25));

  list.failures[0].link_id = 0;
  list.failures[0].link_column = 44;
  EXPECT_THAT(derive_fabric_run(load("htsim-uec"), topology, &*shape, list).error().message,
              HasSubstr("m.cm:7:44: found link_id 0 of switch 1"));
  EXPECT_THAT(derive_fabric_run(load("htsim-uec"), topology, nullptr, list).error().message,
              HasSubstr("expected a fat tree of three tiers"));
}

TEST(FabricSettings, AKeyWithoutInfluenceSaysWhatItWaitsFor) {
  const auto remarks = [](const std::vector<std::string>& overrides) {
    const auto loaded = load_fabric_settings({"", overrides, "profiles"});
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    return loaded->no_influence;
  };
  EXPECT_THAT(remarks({"fabric.qa_gate=2"}), testing::IsEmpty());
  EXPECT_THAT(
      remarks({"fabric.qa_gate=2", "fabric.controller=swift"}),
      testing::ElementsAre("fabric.qa_gate (--set) had no influence: only with controller = \"nscc\""));
  // The protocol comes first: no controller would help.
  EXPECT_THAT(remarks({"fabric.qa_gate=2", "fabric.controller=swift", "fabric.protocol=ub"}),
              testing::Contains("fabric.qa_gate (--set) had no influence: only with protocol = \"uet\""));
  EXPECT_THAT(remarks({"fabric.tiers=2", "topology.from=star:4", "fabric.hop_latency=2us"}),
              testing::ElementsAre("fabric.tiers (--set) had no influence: only without topology.from"));
  EXPECT_THAT(
      remarks({"topology.from=x.topo", "fabric.hop_latency=2us"}),
      testing::ElementsAre("fabric.hop_latency (--set) had no influence: only without a topology file"));
}

/// Another value than the default, from what the key reference says; empty: none is known.
std::string other_value(const KeyDoc& key) {
  const std::string& expected = key.expected;
  if (expected.starts_with("one of ")) {
    const std::string last = expected.substr(expected.rfind(' ') + 1);
    const std::string first = expected.substr(7, expected.find(',') - 7);
    return last == key.default_value ? first : last;
  }
  if (expected.starts_with("integer from ")) {
    const std::string least = expected.substr(13, expected.find(' ', 13) - 13);
    return least == key.default_value ? std::to_string(std::stoll(least) + 1) : least;
  }
  if (expected.starts_with("true")) return key.default_value == "true" ? "false" : "true";
  if (expected == "time") return "3us";
  if (expected.starts_with("size")) return "300B";
  if (expected.starts_with("number")) return "0.25";
  return "";
}

// Whatever is said to have no influence is tried out: the histories are the same.
TEST(FabricSettings, KeysThatAreSaidToHaveNoInfluenceHaveNone) {
  const auto shape = k_ary_shape(3, 16, {gigabits_per_second(100), microseconds(1)}, kTimeZero);
  const Topology topology = fat_tree_of(*shape).value();
  workload::FlowList flows;
  flows.name = "incast";
  for (std::uint32_t source = 1; source < 16; ++source)
    flows.flows.push_back({.id = source, .source = source, .destination = 0, .bytes = 60'000});
  const auto history = [&](const FabricSettings& settings) {
    const auto run = derive_fabric_run(settings, topology, &*shape, flows);
    EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
    const auto report = run_flows(topology, flows, run->config, {});
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return report.ok() ? report->history : 0;
  };
  int tried = 0;
  for (const std::vector<std::string>& given :
       std::vector<std::vector<std::string>>{{"fabric.queue_packets=20"},
                                             {"fabric.trimming=false"},
                                             {"fabric.ecn=false"},
                                             {"fabric.controller=constant"},
                                             {"fabric.control=receiver", "fabric.oversubscribed_control=off"},
                                             {"fabric.protocol=ub"},
                                             {"fabric.protocol=roce"}}) {
    const auto base = load_fabric_settings({"", given, "profiles"});
    ASSERT_TRUE(base.ok()) << base.error().message;
    const std::uint64_t plain = history(base->settings);
    for (const KeyDoc& key : every_fabric_key()) {
      if (!key.path.starts_with("fabric.")) continue;
      const std::string value = other_value(key);
      std::vector<std::string> overrides = given;
      overrides.push_back(key.path + "=" + value);
      const auto changed = load_fabric_settings({"", overrides, "profiles"});
      if (value.empty() || !changed.ok()) continue;  // No such value: another key forbids it.
      const auto& lines = changed->no_influence;
      if (std::none_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.starts_with(key.path + " ("); }))
        continue;
      ++tried;
      EXPECT_EQ(history(changed->settings), plain) << key.path << " = " << value << " beside " << given[0];
    }
  }
  EXPECT_GE(tried, 60);
}

}  // namespace
}  // namespace wharf::sim
