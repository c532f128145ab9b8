// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/golden_test_support.h"
#include "sim/scenario/key_reference.h"
#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

ScenarioSource source(std::string text, std::vector<std::string> overrides = {}) {
  ScenarioSource out;
  out.text = std::move(text);
  out.overrides = std::move(overrides);
  out.profile_directory = "profiles";
  return out;
}

std::string refusal(std::string text, std::vector<std::string> overrides = {}) {
  const auto scenario = load_scenario(source(std::move(text), std::move(overrides)));
  return scenario.ok() ? "accepted" : scenario.error().message;
}

/// The mean latency of `verb` in nanoseconds, every operation attributed completely.
double latency_ns(const std::string& profile, const std::string& stack, const std::string& verb,
                  const std::string& payload) {
  const auto scenario = load_scenario(source(
      "", {"model.profile=" + profile, "model.stack=" + stack, "run.workload=verb_loop", "run.verb=" + verb,
           "run.payload=" + payload, "run.operations=20", "run.start_delay=50us"}));
  if (!scenario) {
    ADD_FAILURE() << scenario.error().message;
    return 0;
  }
  const auto report = run_scenario(*scenario, {});
  if (!report) {
    ADD_FAILURE() << report.error().message;
    return 0;
  }
  EXPECT_EQ(report->end, RunOutcome::kDone) << (report->waiting.empty() ? "" : report->waiting.front());
  EXPECT_EQ(report->verdict, "");
  EXPECT_EQ(report->verbs.front().path.unattributed, kTimeZero);
  return report->verbs.front().latency.mean_ns;
}

TEST(Scenario, NumbersOfUltraEthernetAreRefusedInTermsOfKeys) {
  EXPECT_THAT(refusal("", {"model.stack=uet", "model.uet.target_delay=101ms"}),
              testing::HasSubstr("model.uet.target_delay is \"101ms\", expected a time up to 100ms"));
  EXPECT_THAT(
      refusal("", {"model.stack=uet", "model.link.delay=60ms"}),
      testing::ContainsRegex("model.link.delay.*found a base round trip of 120.*, expected at most 100ms"));
  EXPECT_THAT(
      refusal("", {"model.stack=uet", "model.uet.controller=dcqcn", "model.uet.dcqcn.rpg_min_rate=900Gbps"}),
      testing::ContainsRegex("model.uet.dcqcn.rpg_min_rate.*found 900Gbps, expected 1bps to the "));
}

TEST(Scenario, ValuesWithinTheirRangesThatNoHostCanServeAreRefused) {
  // 2^31 lines of 64 B are 128 GiB; 2^30 are as many as fit.
  EXPECT_EQ(
      refusal("", {"run.workload=pointer_chase", "run.lines=2147483648"}),
      "--set: run.lines is 2147483648, which needs 128GiB of memory, expected a need of at most 64GiB, the "
      "memory of a host");
  EXPECT_EQ(refusal("", {"run.workload=pointer_chase", "run.lines=1073741824"}), "accepted");
  EXPECT_THAT(refusal("", {"run.workload=key_value", "run.keys=2147483648"}),
              ::testing::HasSubstr("--set: run.keys is 2147483648, which needs 128GiB"));
  EXPECT_THAT(refusal("", {"run.workload=bulk_read", "run.region_bytes=64GiB", "run.region_offset=1GiB"}),
              ::testing::HasSubstr("expected a need of at most 63GiB"));
  // A queue has room for 65,536 calls; a ping-pong worker sends and has two receive entries.
  EXPECT_THAT(
      refusal("", {"run.workload=ping_pong", "run.concurrency=21846"}),
      ::testing::HasSubstr("run.concurrency is 21846, expected at most 21845: each worker has up to 3"));
  EXPECT_EQ(refusal("", {"run.workload=ping_pong", "run.concurrency=21845"}), "accepted");
}

TEST(Scenario, TheDefaultsOfAHostAreThoseOfTheDefaultProfileButForCachesAndRates) {
  const auto scenario = load_scenario(source(""));
  ASSERT_TRUE(scenario.ok());
  const HostConfig& profile = scenario->config.host;
  const HostConfig plain;
  EXPECT_EQ(plain.core.library_post, profile.core.library_post);
  EXPECT_EQ(plain.core.work_request_build, profile.core.work_request_build);
  EXPECT_EQ(plain.core.library_poll, profile.core.library_poll);
  EXPECT_EQ(plain.core.poll_host_memory, profile.core.poll_host_memory);
  EXPECT_EQ(plain.core.poll_on_chip, profile.core.poll_on_chip);
  EXPECT_EQ(plain.core.outstanding_misses, profile.core.outstanding_misses);
  EXPECT_EQ(plain.memory.row_hit, profile.memory.row_hit);
  EXPECT_EQ(plain.memory.load_latency, profile.memory.load_latency);
  EXPECT_EQ(plain.bus.crossing, profile.bus.crossing);
  EXPECT_EQ(plain.pcie.mmio_write, profile.pcie.mmio_write);
  EXPECT_EQ(plain.pcie.read_round_trip, profile.pcie.read_round_trip);
  EXPECT_EQ(plain.pcie.posted_write, profile.pcie.posted_write);
  EXPECT_EQ(plain.pcie.tags, profile.pcie.tags);
  EXPECT_EQ(plain.pcie.posted_credits, profile.pcie.posted_credits);
  EXPECT_EQ(plain.pcie.max_payload, profile.pcie.max_payload);
  EXPECT_EQ(plain.pcie.max_read_request, profile.pcie.max_read_request);
  EXPECT_EQ(plain.pcie.request_header, profile.pcie.request_header);
  EXPECT_EQ(plain.pcie.completion_header, profile.pcie.completion_header);
  EXPECT_EQ(plain.nic.cycle, profile.nic.cycle);
  EXPECT_EQ(plain.nic.bytes_per_cycle, profile.nic.bytes_per_cycle);
  EXPECT_EQ(plain.nic.load_store_cycles, profile.nic.load_store_cycles);
  EXPECT_EQ(plain.nic.queue_cycles, profile.nic.queue_cycles);
  EXPECT_EQ(plain.nic.receive_match_cycles, profile.nic.receive_match_cycles);
  EXPECT_EQ(plain.nic.transmit_queue, profile.nic.transmit_queue);
  EXPECT_EQ(plain.nic.port_buffer, profile.nic.port_buffer);
  EXPECT_EQ(plain.nic.inline_limit, profile.nic.inline_limit);
  EXPECT_EQ(plain.nic.order_gate, profile.nic.order_gate);
  EXPECT_EQ(plain.cache.l1.latency, profile.cache.l1.latency);
  EXPECT_EQ(plain.cache.l1.shape.lines, profile.cache.l1.shape.lines);
}

// [OpenURMA Table 6] The accounting profile, read from its file, gives the published cells to the nanosecond.
TEST(Scenario, TheSerialProfileGivesThePublishedTable) {
  const std::string serial = "openurma-serial";
  EXPECT_EQ(latency_ns(serial, "ub_ldst", "load", "8B"), 500);
  EXPECT_EQ(latency_ns(serial, "ub_urma", "read", "64B"), 757);
  EXPECT_EQ(latency_ns(serial, "ub_urma", "write", "64B"), 750);
  EXPECT_EQ(latency_ns(serial, "ub_urma", "send", "64B"), 804);
  EXPECT_EQ(latency_ns(serial, "ub_urma", "fetch_add", "8B"), 750);
  EXPECT_EQ(latency_ns(serial, "roce_bf", "read", "64B"), 1686);
  EXPECT_EQ(latency_ns(serial, "roce_bf", "write", "64B"), 1177);
  EXPECT_EQ(latency_ns(serial, "roce_dma", "read", "64B"), 2186);
  EXPECT_EQ(latency_ns(serial, "roce_dma", "send", "64B"), 1731);
  EXPECT_EQ(latency_ns(serial, "roce_dma", "compare_swap", "8B"), 1927);
}

TEST(Scenario, TheMechanismLiesInItsRange) {
  const std::string profile = "connectx7-class";
  const double load = latency_ns(profile, "ub_ldst", "load", "8B");
  const double dma_read = latency_ns(profile, "roce_dma", "read", "64B");
  EXPECT_GE(load, 380);
  EXPECT_LE(load, 540);
  EXPECT_GE(dma_read, 1700);
  EXPECT_LE(dma_read, 2400);
  EXPECT_GE(dma_read / load, 3.3);
  EXPECT_LE(dma_read / load, 5.5);
}

TEST(Scenario, RefusalsNameThePlaceAndTheNearestName) {
  EXPECT_THAT(
      refusal("[model]\nprofile = \"conectx7-class\"\n"),
      testing::AllOf(testing::StartsWith("scenario:2: unknown profile \"conectx7-class\", expected one of "),
                     testing::HasSubstr("fastswap, fastswap-serial, "),
                     testing::EndsWith("; did you mean \"connectx7-class\"?")));
  EXPECT_NE(refusal("[model]\nstack = \"rocedma\"\n").find("did you mean \"roce_dma\"?"), std::string::npos);
  EXPECT_NE(refusal("[run]\nworkload = \"verb_loop\"\nverb = \"raed\"\n").find("did you mean \"read\"?"),
            std::string::npos);
  EXPECT_NE(refusal("[run]\npaylod = \"64B\"\n").find("unknown key run.paylod"), std::string::npos);
  EXPECT_NE(refusal("", {"model.link.delay=100"})
                .find("--set: model.link.delay is \"100\", expected a time with a unit"),
            std::string::npos);
}

TEST(Scenario, RefusesCombinationsThatMakeNoSense) {
  EXPECT_NE(
      refusal("", {"run.workload=verb_loop", "run.verb=load", "run.payload=128B", "model.stack=ub_ldst"})
          .find("run.payload is 128, expected 1, 2, 4 or 8 bytes"),
      std::string::npos);
  EXPECT_NE(refusal("", {"run.workload=verb_loop", "run.verb=fetch_add", "run.payload=3B"})
                .find("run.payload is 3, expected 4, 8 or 16 bytes"),
            std::string::npos);
  EXPECT_NE(refusal("", {"model.stack=ub_urma", "model.submission=blueflame"})
                .find("the NIC sits on the on-chip bus"),
            std::string::npos);
  EXPECT_NE(refusal("", {"model.stack=ub_ldst", "model.attachment=pcie", "model.submission=doorbell"})
                .find("need a NIC on the bus"),
            std::string::npos);
  EXPECT_NE(refusal("", {"run.workload=verb_loop", "run.verb=write_notify", "model.stack=roce_dma"})
                .find("needs write_notify, which model.stack = \"roce_dma\" does not have"),
            std::string::npos);
}

TEST(Scenario, KeysThatDoNotMatterAreReported) {
  const auto scenario =
      load_scenario(source("[model]\nstack = \"ub_urma\"\n[model.pcie]\nmmio_write = \"1us\"\n"));
  ASSERT_TRUE(scenario.ok());
  ASSERT_EQ(scenario->no_influence.size(), 1U);
  EXPECT_EQ(scenario->no_influence[0],
            "model.pcie.mmio_write (scenario:4) had no influence: only with a NIC behind PCIe");
  // Misses of local memory are bounded whatever the stack.
  const auto misses =
      load_scenario(source("[model]\nstack = \"roce_dma\"\n[model.core]\noutstanding_misses = 2\n"));
  ASSERT_TRUE(misses.ok());
  EXPECT_TRUE(misses->no_influence.empty());
  EXPECT_EQ(misses->config.host.core.outstanding_misses, 2U);
}

// Keys that cannot act in a run are named.
TEST(Scenario, KeysThatNothingUsesAreNamed) {
  const auto named = [](const std::vector<std::string>& overrides, const std::string& key) {
    const auto loaded = load_scenario(source("", overrides));
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    return loaded.ok() && loaded->no_influence.size() == 1 &&
           loaded->no_influence[0].starts_with(key + " (--set) had no influence: ");
  };
  const std::string urma = "model.stack=ub_urma";
  const std::string loads = "model.stack=ub_ldst";
  const std::string reads = "run.workload=bulk_read";
  const std::string often = "model.ub.acknowledge_every=4";
  const std::string go_back = "model.ub.recovery=go_back_n";
  // A gap is answered with a TPNAK by go-back-N alone; an acknowledgement waits where it is to cover several.
  EXPECT_TRUE(named({urma, "model.ub.fast_retransmit=false"}, "model.ub.fast_retransmit"));
  EXPECT_FALSE(named({urma, go_back, "model.ub.fast_retransmit=false"}, "model.ub.fast_retransmit"));
  EXPECT_TRUE(named({urma, "model.ub.acknowledge_delay=3us"}, "model.ub.acknowledge_delay"));
  EXPECT_FALSE(named({urma, often, "model.ub.acknowledge_delay=3us"}, "model.ub.acknowledge_delay"));
  for (const char* key : {"reissue=3us", "reissue_cap=9us", "reissue_attempts=5", "reissue_backoff=0",
                          "load_store_slots=3", "load_store_services=3"}) {
    const std::string given = std::string("model.ub.") + key;
    EXPECT_TRUE(named({urma, given}, given.substr(0, given.find('=')))) << key;
    EXPECT_FALSE(named({loads, given}, given.substr(0, given.find('=')))) << key;
  }
  // Loads and stores of a core, and what its NIC fetches; neither is used by reads over work requests.
  EXPECT_TRUE(named({urma, reads, "model.core.outstanding_misses=2"}, "model.core.outstanding_misses"));
  EXPECT_TRUE(named({urma, reads, "model.memory.load_latency=90ns"}, "model.memory.load_latency"));
  EXPECT_FALSE(named({loads, reads, "model.core.outstanding_misses=2"}, "model.core.outstanding_misses"));
  EXPECT_FALSE(named({urma, reads, "model.ub.context_cache=1", "model.memory.load_latency=90ns"},
                     "model.memory.load_latency"));
  EXPECT_TRUE(named({urma, "model.rdmo.request=1us"}, "model.rdmo.request"));
}

// A replay reaches remote memory by loads and stores, one line each, or by work requests.
TEST(Scenario, KeysOfTheWayThatAReplayDoesNotTakeAreNamed) {
  const auto remarks = [](std::vector<std::string> overrides) {
    overrides.insert(overrides.begin(), {"run.workload=replay", "run.trace=traces/sqlite-join.wtrace"});
    const auto loaded = load_scenario(source("", overrides));
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    return loaded.ok() ? loaded->no_influence : std::vector<std::string>{loaded.error().message};
  };
  const std::string loads = "model.stack=ub_ldst";
  const std::string paged = "model.replay.far_memory=paged";
  using Lines = std::vector<std::string>;
  for (const std::string key : {"model.ub.reissue=3us", "model.ub.load_store_slots=3"}) {
    const Lines named{key.substr(0, key.find('=')) +
                      " (--set) had no influence: only UB loads and stores use it"};
    EXPECT_EQ(remarks({loads, key}), Lines());
    EXPECT_EQ(remarks({loads, paged, key}), named);
    EXPECT_EQ(remarks({"model.stack=ub_urma", key}), named);
  }
  const Lines posts{"model.core.library_post (--set) had no influence: only work requests use it"};
  EXPECT_EQ(remarks({loads, "model.core.library_post=1us"}), posts);
  EXPECT_EQ(remarks({loads, paged, "model.core.library_post=1us"}), Lines());
  // Both ways go through the core's caches, and one page has no order.
  EXPECT_EQ(remarks({loads, "model.cache.l1.ways=4", "model.core.outstanding_misses=3"}), Lines());
  EXPECT_EQ(remarks({"model.stack=roce_dma", "model.cache.l1.ways=4", "model.core.outstanding_misses=3"}),
            Lines());
  const std::string order = "model.paging.read=whole_window";
  EXPECT_EQ(remarks({loads, paged, order}),
            Lines{"model.paging.read (--set) had no influence: only with model.paging.window_pages above 1"});
  EXPECT_EQ(remarks({loads, paged, order, "model.paging.window_pages=2"}), Lines());
}

// A core with coherent caches has their miss registers; a share of no accesses takes no time; nobody asks.
TEST(Scenario, KeysOfCoherentMemoryThatNothingUsesAreNamed) {
  const auto remark = [](std::vector<std::string> overrides) {
    overrides.insert(overrides.begin(), {"model.profile=coherent-host", "model.stack=roce_bf"});
    const auto loaded = load_scenario(source("", overrides));
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    return loaded.ok() && loaded->no_influence.size() == 1 ? loaded->no_influence.front() : "";
  };
  EXPECT_EQ(remark({"model.core.outstanding_misses=3"}),
            "model.core.outstanding_misses (--set) had no influence: only loads and stores of remote or flat "
            "memory use it");
  EXPECT_EQ(
      remark({"model.coherence.last_level=50ns"}),
      "model.coherence.last_level (--set) had no influence: only with coherence.ddio_hit_ratio above 0");
  EXPECT_EQ(remark({"model.coherence.last_level=50ns", "model.coherence.ddio_hit_ratio=0.5"}), "");
  EXPECT_EQ(
      remark({"model.root_complex.release_before_acquire=true"}),
      "model.root_complex.release_before_acquire (--set) had no influence: only where a NIC asks for an "
      "acquire, which no scenario's does");
}

TEST(Scenario, TheEffectiveConfigurationIsItselfAScenario) {
  const auto first =
      load_scenario(source("[run]\nworkload = \"bulk_read\"\noperations = 7\n", {"model.stack=roce_bf"}));
  ASSERT_TRUE(first.ok());
  const auto second = load_scenario(source(first->effective));
  ASSERT_TRUE(second.ok()) << second.error().message << "\n" << first->effective;
  EXPECT_EQ(second->effective, first->effective);
  EXPECT_EQ(second->config.stack, Stack::kRoceBlueFlame);
}

TEST(Scenario, EngineLimitsAndTimersAreKeys) {
  const auto ub = load_scenario(source(
      "", {"model.stack=ub_urma", "model.ub.err_timeout=3", "model.ub.page_fault_retry=2",
           "model.ub.page_fault_timer=4", "model.ub.transactions_per_jetty=16", "model.ub.fetch_ahead=5",
           "model.ub.parked_packets=7", "model.ub.load_store_services=8", "model.ub.reissue_backoff=0",
           "model.ub.context_cache=9", "model.ub.context_records=10", "model.ub.full_jetty_records=true"}));
  ASSERT_TRUE(ub.ok()) << ub.error().message;
  EXPECT_EQ(
      ub->no_influence,
      (std::vector<std::string>{
          "model.ub.page_fault_retry (--set) had no influence: only where a target reports page faults, "
          "which no simulated host does",
          "model.ub.page_fault_timer (--set) had no influence: only where a target reports page faults, "
          "which no simulated host does",
          "model.ub.reissue_backoff (--set) had no influence: only UB loads and stores use it",
          "model.ub.load_store_services (--set) had no influence: only UB loads and stores use it"}));
  EXPECT_EQ(std::get<ub::UbConfig>(ub->config.protocols).err_timeout, 3);
  EXPECT_EQ(std::get<ub::UbConfig>(ub->config.protocols).page_fault_retry, 2U);
  EXPECT_EQ(std::get<ub::UbConfig>(ub->config.protocols).page_fault_timer, 4);
  EXPECT_EQ(std::get<ub::UbConfig>(ub->config.protocols).transactions_per_jetty, 16U);
  EXPECT_EQ(std::get<ub::UbConfig>(ub->config.protocols).fetch_ahead_packets, 5U);
  EXPECT_EQ(std::get<ub::UbConfig>(ub->config.protocols).parked_packets, 7U);
  EXPECT_EQ(std::get<ub::UbConfig>(ub->config.protocols).load_store_services, 8U);
  EXPECT_EQ(std::get<ub::UbConfig>(ub->config.protocols).load_store_reissue.backoff_exponent, 0U);
  EXPECT_EQ(std::get<ub::UbConfig>(ub->config.protocols).context_records_max, 10U);
  EXPECT_TRUE(std::get<ub::UbConfig>(ub->config.protocols).full_jetty_records);
  const auto roce = load_scenario(
      source("", {"model.stack=roce_dma", "model.roce.ip_version=v6", "model.roce.advertise_credits=true",
                  "model.roce.transmit_ahead=4", "model.roce.access_slots=64", "model.roce.key_cache=2",
                  "model.roce.deferred_packets=3"}));
  ASSERT_TRUE(roce.ok()) << roce.error().message;
  EXPECT_TRUE(roce->no_influence.empty());
  EXPECT_EQ(std::get<roce::RoceConfig>(roce->config.protocols).ip_version, wire::IpVersion::kV6);
  EXPECT_TRUE(std::get<roce::RoceConfig>(roce->config.protocols).advertise_credits);
  EXPECT_EQ(std::get<roce::RoceConfig>(roce->config.protocols).transmit_ahead, 4U);
  EXPECT_EQ(std::get<roce::RoceConfig>(roce->config.protocols).access_slots, 64U);
  EXPECT_EQ(std::get<roce::RoceConfig>(roce->config.protocols).deferred_packets, 3U);
  EXPECT_THAT(refusal("", {"model.stack=ub_urma", "model.ub.err_timeout=32"}), testing::HasSubstr("0 to 31"));
}

/// A lossy run with these overrides ends, with the right bytes, the same way with structs and bytes.
void expect_sound(std::vector<std::string> overrides) {
  overrides.insert(overrides.end(), {"run.workload=bulk_write", "run.payload=10KiB", "run.operations=40",
                                     "run.concurrency=4", "model.faults.loss=2%"});
  const auto scenario = load_scenario(source("", overrides));
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const auto structs = run_scenario(*scenario, {});
  ASSERT_TRUE(structs.ok()) << structs.error().message;
  EXPECT_EQ(structs->end, RunOutcome::kDone);
  EXPECT_EQ(structs->verdict, "");
  RunOptions bytes;
  bytes.wire = WireMode::kBytes;
  const auto encoded = run_scenario(*scenario, bytes);
  ASSERT_TRUE(encoded.ok());
  EXPECT_EQ(structs->fingerprint, encoded->fingerprint);
}

TEST(Run, TightEngineLimitsSlowARunDownAndNoMore) {
  expect_sound({"model.stack=ub_urma", "model.ub.rto_attempts=unlimited", "model.ub.transactions_per_jetty=1",
                "model.ub.fetch_ahead=1", "model.ub.parked_packets=2"});
  expect_sound({"model.stack=roce_dma", "model.roce.unlimited_retries=true", "model.roce.ack_timeout=2",
                "model.roce.ip_version=v6", "model.roce.advertise_credits=true",
                "model.roce.transmit_ahead=1", "model.roce.access_slots=64"});
}

/// Gets of two items beside `writer`: all done, a tenth of them or more beside a put, none torn or stale.
void expect_whole_gets(const std::string& protocol, const std::string& writer,
                       std::vector<std::string> more) {
  std::vector<std::string> overrides{
      "run.workload=item_gets", "run.protocol=" + protocol, "run.writer=" + writer, "run.items=2",
      "run.payload=240B",       "run.operations=400",       "run.concurrency=2",    "run.think_time=3us",
      "run.write_gap=500ns",    "run.copy_line=10ns"};
  for (std::string& each : more) overrides.push_back(std::move(each));
  const auto scenario = load_scenario(source("", overrides));
  ASSERT_TRUE(scenario) << scenario.error().message;
  const auto report = run_scenario(*scenario, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->end, RunOutcome::kDone) << (report->waiting.empty() ? "" : report->waiting.front());
  EXPECT_EQ(report->verdict, "");
  EXPECT_EQ(report->program_operations, 400U);
  const auto& counts = report->counters["program"];
  EXPECT_GE(counts["overlaps"], 40);
  EXPECT_EQ(counts["torn"], 0);
  EXPECT_EQ(counts["stale"], 0);
}

TEST(Scenario, GetsOfItemsAreWholeOverEveryStackBesideEveryWriter) {
  for (const std::string stack : {"roce_bf", "roce_dma", "ub_urma", "ub_ldst"}) {
    for (const std::string protocol : {"pessimistic", "validation", "farm", "single_read"}) {
      for (const std::string writer : {"core", "remote"}) {
        SCOPED_TRACE(stack + " " + protocol + " " + writer);
        expect_whole_gets(protocol, writer, {"model.stack=" + stack});
      }
    }
  }
}

// Memory of lines: FaRM and the lock ask the root complex for nothing, the others for ascending lines, of it
// or of a NIC that waits.
TEST(Scenario, GetsOfItemsAreWholeOverCoherentMemoryThatKeepsTheirOrder) {
  for (const std::string stack : {"roce_bf", "ub_urma"}) {
    for (const std::string protocol : {"pessimistic", "validation", "farm", "single_read"}) {
      const bool needs_order = protocol == "validation" || protocol == "single_read";
      for (const std::string design : {"baseline", "thread_specific", "speculative"}) {
        SCOPED_TRACE(stack + " " + protocol + " " + design);
        std::vector<std::string> more{"model.stack=" + stack, "model.profile=coherent-host",
                                      "model.root_complex.design=" + design};
        if (needs_order) more.push_back("run.read_order=ascending");
        if (needs_order && design == "baseline") more.push_back("model.dma.order=source");
        expect_whole_gets(protocol, "core", more);
        expect_whole_gets(protocol, "remote", more);
      }
    }
  }
}

TEST(Scenario, TheKeyReferenceIsUpToDate) { expect_golden("../../docs/scenario-keys.md", key_reference()); }

TEST(Run, OneSeedGivesOneHistoryWithStructsAndBytes) {
  const auto scenario = load_scenario(source(
      "", {"model.stack=roce_dma", "run.workload=bulk_write", "run.payload=10KiB", "run.operations=60",
           "run.concurrency=4", "model.faults.loss=3%", "model.faults.duplication=2%",
           "model.faults.reordering=2%", "model.roce.unlimited_retries=true", "model.roce.ack_timeout=2"}));
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const auto structs = run_scenario(*scenario, {});
  ASSERT_TRUE(structs.ok());
  EXPECT_EQ(structs->end, RunOutcome::kDone);
  EXPECT_EQ(structs->verdict, "");
  RunOptions bytes;
  bytes.wire = WireMode::kBytes;
  const auto encoded = run_scenario(*scenario, bytes);
  ASSERT_TRUE(encoded.ok());
  EXPECT_EQ(summary_of(*scenario, *structs).dump(), summary_of(*scenario, *encoded).dump());
}

TEST(Run, AnUnreachablePeerIsAStallOrAnErrorNeverAHang) {
  const auto scenario = load_scenario(
      source("", {"model.stack=ub_urma", "run.workload=bulk_read", "run.operations=3", "model.faults.loss=1",
                  "model.ub.rto_attempts=unlimited", "run.time_limit=5ms"}));
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const auto report = run_scenario(*scenario, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, RunOutcome::kStalled);
  EXPECT_FALSE(report->waiting.empty());
}

}  // namespace
}  // namespace wharf::sim
