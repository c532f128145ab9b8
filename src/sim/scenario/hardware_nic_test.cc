// SPDX-License-Identifier: Apache-2.0
// Hosts whose NIC is the hardware, in whole scenarios: on either side and on both, with loss, twice the same;
// what the hardware cannot do is refused before the run by the key that asks for it.
#include "sim/scenario/hardware_nic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/counter_report.h"
#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

ScenarioSource source_of(std::vector<std::string> overrides) {
  ScenarioSource source;
  source.overrides = std::move(overrides);
  source.profile_directory = "profiles";
  return source;
}

/// The keys that put the hardware on the client's side, the server's, or both.
const std::vector<std::vector<std::string>>& sides() {
  static const std::vector<std::vector<std::string>> kSides{
      {"group.near.hosts=clients", "group.near.model.nic.implementation=rtl"},
      {"group.far.hosts=servers", "group.far.model.nic.implementation=rtl"},
      {"model.nic.implementation=rtl"}};
  return kSides;
}

class HardwareNicScenario : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto loaded = load_scenario(source_of({"model.stack=ub_urma", "model.nic.implementation=rtl"}));
    if (!loaded.ok() && loaded.error().message.find("./dev rtl nic") != std::string::npos)
      GTEST_SKIP() << loaded.error().message;
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  }
};

RunReport report_of(const std::vector<std::string>& overrides) {
  const auto scenario = load_scenario(source_of(overrides));
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  if (!scenario.ok()) return {};
  return run_scenario(*scenario, {}).value();
}

std::vector<std::string> loop(std::string_view verb, std::string_view payload) {
  return {"model.stack=ub_urma",
          "run.workload=verb_loop",
          "run.verb=" + std::string(verb),
          "run.payload=" + std::string(payload),
          "run.operations=40",
          "run.concurrency=4"};
}

TEST_F(HardwareNicScenario, EachVerbRunsOnEitherSideAndOnBoth) {
  const std::vector<std::pair<std::string, std::string>> cells{
      {"write", "8B"},       {"write", "64B"},    {"write", "4KiB"}, {"read", "8B"},
      {"read", "4KiB"},      {"send", "8B"},      {"send", "4KiB"},  {"send_imm", "64B"},
      {"write_imm", "4KiB"}, {"fetch_add", "8B"}, {"swap", "8B"},    {"compare_swap", "8B"},
      {"atomic_load", "8B"}};
  for (const auto& [verb, payload] : cells) {
    const RunReport engine = report_of(loop(verb, payload));
    for (const auto& side : sides()) {
      SCOPED_TRACE(verb + " " + payload + " " + side.back());
      auto keys = loop(verb, payload);
      keys.insert(keys.end(), side.begin(), side.end());
      const RunReport report = report_of(keys);
      EXPECT_EQ(report.end, RunOutcome::kDone);
      EXPECT_EQ(report.verdict, "");
      EXPECT_EQ(report.program_errors, 0U);
      EXPECT_EQ(report.program_operations, engine.program_operations);
      EXPECT_NE(report.fingerprint, engine.fingerprint);
    }
  }
}

TEST_F(HardwareNicScenario, LossIsRepairedAndTwoRunsAreOne) {
  for (const auto& side : sides()) {
    SCOPED_TRACE(side.back());
    auto keys = loop("write", "4KiB");
    keys.insert(keys.end(), side.begin(), side.end());
    keys.emplace_back("model.faults.loss=0.05");
    const RunReport first = report_of(keys);
    const RunReport second = report_of(keys);
    EXPECT_EQ(first.end, RunOutcome::kDone);
    EXPECT_EQ(first.program_errors, 0U);
    EXPECT_EQ(first.fingerprint, second.fingerprint);
  }
}

TEST_F(HardwareNicScenario, ProgramsThatCheckWhatTheyFindFindIt) {
  for (const char* program : {"key_value", "cas_lock", "ping_pong", "barrier", "bulk_write", "bulk_read"}) {
    for (const auto& side : sides()) {
      SCOPED_TRACE(std::string(program) + " " + side.back());
      std::vector<std::string> keys{"model.stack=ub_urma", std::string("run.workload=") + program,
                                    "run.operations=20"};
      keys.insert(keys.end(), side.begin(), side.end());
      const RunReport report = report_of(keys);
      EXPECT_EQ(report.end, RunOutcome::kDone);
      EXPECT_EQ(report.verdict, "");
      EXPECT_EQ(report.program_errors, 0U);
    }
  }
}

TEST_F(HardwareNicScenario, ASlowerClockTakesLonger) {
  auto keys = loop("write", "64B");
  keys.emplace_back("model.nic.implementation=rtl");
  const RunReport fast = report_of(keys);
  keys.emplace_back("model.nic.rtl_cycle=16ns");
  const RunReport slow = report_of(keys);
  EXPECT_GT(slow.simulated, fast.simulated);
}

TEST_F(HardwareNicScenario, WhatItCannotDoIsRefusedByItsKey) {
  const std::vector<std::pair<std::vector<std::string>, std::string_view>> cells{
      {{"model.stack=roce_bf"}, "model.stack"},
      {{"model.stack=ub_ldst"}, "model.stack"},
      {{"model.ub.service=rot"}, "model.ub.service"},
      {{"model.ub.service=rol"}, "model.ub.service"},
      {{"model.ub.transport=ctp"}, "model.ub.transport"},
      {{"model.ub.service=uno", "run.verb=write"}, "model.ub.service"},
      {{"model.ub.recovery=selective"}, "model.ub.recovery"},
      {{"model.ub.mtu=1KiB"}, "model.ub.mtu"},
      {{"model.ub.encapsulation=cna24"}, "model.ub.encapsulation"},
      {{"model.ub.channels=2"}, "model.ub.channels"},
      {{"model.ub.first_psn=7"}, "model.ub.first_psn"},
      {{"model.ub.context_cache=4"}, "model.ub.context_cache"},
      {{"model.nics=2"}, "model.nics"},
      {{"model.attachment=pcie", "model.submission=doorbell"}, "model.submission"},
      {{"model.nic.rtl_cycle=0ns"}, "model.nic.rtl_cycle"},
      {{"topology.from=star:4", "hosts.servers=1"}, "model.nic.implementation"},
      {{"run.verb=write_notify"}, "write_notify"},
      {{"run.verb=fetch_add", "run.payload=4B"}, "run.payload"},
      {{"run.verb=compare_swap", "run.payload=16B"}, "run.payload"},
      {{"run.verb=write", "run.payload=128KiB"}, "run.payload"}};
  for (const auto& [asked, key] : cells) {
    std::vector<std::string> keys{"model.stack=ub_urma", "model.nic.implementation=rtl",
                                  "run.workload=verb_loop", "run.verb=read", "run.payload=8B"};
    keys.insert(keys.end(), asked.begin(), asked.end());
    SCOPED_TRACE(asked.front());
    const auto loaded = load_scenario(source_of(keys));
    ASSERT_FALSE(loaded.ok());
    EXPECT_NE(loaded.error().message.find(key), std::string::npos) << loaded.error().message;
  }
}

TEST_F(HardwareNicScenario, KeysThatItDoesNotReadAreNamed) {
  auto keys = loop("write", "64B");
  for (const char* key : {"model.nic.implementation=rtl", "model.nic.cycle=1ns",
                          "model.nic.ub_queue_cycles=99", "model.ub.rto=1us", "model.nic.cut_through=false"})
    keys.emplace_back(key);
  const auto loaded = load_scenario(source_of(keys));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  for (const std::string_view key :
       {"model.nic.cycle ", "model.nic.ub_queue_cycles ", "model.ub.rto ", "model.nic.cut_through "}) {
    bool is_named = false;
    for (const std::string& line : loaded->no_influence) is_named = is_named || line.starts_with(key);
    EXPECT_TRUE(is_named) << key;
  }
}

TEST_F(HardwareNicScenario, ItsCountersAreThoseOfTheHardware) {
  auto keys = loop("write", "64B");
  keys.emplace_back("model.nic.implementation=rtl");
  const Scenario scenario = load_scenario(source_of(keys)).value();
  const RunReport report = run_scenario(scenario, {}).value();
  const auto& engine = report.counters["host0"]["engine"];
  EXPECT_GT(engine["cycles"].get<std::uint64_t>(), 40U * 30);
  const auto names = counter_names(scenario.config);
  EXPECT_NE(std::find(names.begin(), names.end(), "host0.engine.cycles"), names.end());
}

}  // namespace
}  // namespace wharf::sim
