// SPDX-License-Identifier: Apache-2.0
// Every stack with every verb, operand, way of submission and encapsulation: a cell works, every operation of
// it, or it is refused before it starts. `check` and `run` both refuse what load_scenario() refuses.
#include "sim/scenario/stack_abilities.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/judgement.h"
#include "sim/scenario/run.h"

namespace wharf::sim {
namespace {

using ::testing::HasSubstr;

Result<Scenario> load(std::vector<std::string> overrides, std::string text = "") {
  ScenarioSource source;
  source.text = std::move(text);
  source.overrides = std::move(overrides);
  source.profile_directory = "profiles";
  return load_scenario(source);
}

std::string refusal(std::vector<std::string> overrides) {
  const auto scenario = load(std::move(overrides));
  return scenario.ok() ? "accepted" : scenario.error().message;
}

/// One column of the matrix: a stack, submitted to in one way, framed in one way.
struct Column {
  std::string_view stack;
  std::string_view submission;
  std::string_view encapsulation;  ///< Of UB; empty: the default of the protocol.
};

std::vector<Column> columns() {
  std::vector<Column> all;
  for (const StackTraits& stack : kStackTraits) {
    for (const std::string_view submission : {"bus_store", "doorbell", "blueflame", "mmio_stream"}) {
      if (stack.protocol != wire::Protocol::kUb) {
        all.push_back({stack.name, submission, ""});
        continue;
      }
      for (const std::string_view encapsulation : {"udp", "ip_on_link", "cna24", "openurma"})
        all.push_back({stack.name, submission, encapsulation});
    }
  }
  return all;
}

/// The sizes that a verb is asked for; 64 bytes of messages.
std::vector<std::uint32_t> sizes_of(verbs::Verb verb) {
  if (verbs::is_load_store(verb)) return {1, 2, 4, 8};
  if (verbs::is_atomic(verb)) return {4, 8, 16};
  return {64};
}

std::vector<std::string> overrides_of(const Column& column, verbs::Verb verb, std::uint32_t size) {
  std::vector<std::string> overrides{
      "run.workload=verb_loop",
      "run.operations=3",
      "run.region_bytes=4KiB",
      "run.start_delay=2us",
      "run.time_limit=2s",
      "model.stack=" + std::string(column.stack),
      "model.submission=" + std::string(column.submission),
      "model.attachment=" + std::string(column.submission == "bus_store" ? "on_chip_bus" : "pcie"),
      "run.verb=" + std::string(verbs::name(verb)),
      "run.payload=" + std::to_string(size) + "B",
  };
  if (!column.encapsulation.empty()) {
    overrides.push_back("model.ub.encapsulation=" + std::string(column.encapsulation));
    if (column.encapsulation == "openurma") overrides.emplace_back("model.ub.mtu=256B");
  }
  return overrides;
}

TEST(StackAbilities, EveryCellOfTheMatrixWorksOrIsRefused) {
  std::map<verbs::Verb, int> working;
  std::map<std::string_view, int> of_stack;
  int refused = 0;
  for (const Column& column : columns()) {
    for (int number = 0; number < verbs::kVerbCount; ++number) {
      const auto verb = static_cast<verbs::Verb>(number);
      for (const std::uint32_t size : sizes_of(verb)) {
        const std::vector<std::string> overrides = overrides_of(column, verb, size);
        SCOPED_TRACE(::testing::PrintToString(overrides));
        const auto scenario = load(overrides);
        if (!scenario) {
          EXPECT_EQ(scenario.error().kind, ErrorKind::kInput);
          EXPECT_THAT(scenario.error().message, HasSubstr("expected"));
          ++refused;
          continue;
        }
        const auto report = run_scenario(*scenario, {});
        ASSERT_TRUE(report.ok()) << report.error().message;
        EXPECT_EQ(report->end, RunOutcome::kDone) << (report->waiting.empty() ? "" : report->waiting.front());
        EXPECT_EQ(report->program_operations, 3U);
        EXPECT_EQ(report->program_errors, 0U);
        EXPECT_EQ(report->verdict, "");
        ++working[verb];
        ++of_stack[column.stack];
      }
    }
  }
  // What no stack does may be refused everywhere; nothing else may.
  for (int number = 0; number < verbs::kVerbCount; ++number) {
    const auto verb = static_cast<verbs::Verb>(number);
    EXPECT_EQ(working[verb] == 0, verb == verbs::Verb::kSendInvalidate) << verbs::name(verb);
  }
  for (const StackTraits& stack : kStackTraits) EXPECT_GE(of_stack[stack.name], 10) << stack.name;
  EXPECT_GT(refused, 100);
}

TEST(StackAbilities, WhatAnEngineDoesNotTakeIsRefusedWithWhatItDoes) {
  EXPECT_EQ(
      refusal({"model.ub.encapsulation=openurma", "model.ub.mtu=256B", "run.workload=cas_lock"}),
      "--set: run.workload = \"cas_lock\" needs compare_swap, which model.stack = \"ub_urma\" does not have "
      "as "
      "it is set, expected another stack, or a verb of this one: swap, atomic_store, atomic_load, fetch_add, "
      "fetch_sub, fetch_and, fetch_or, fetch_xor");
  EXPECT_EQ(
      refusal({"run.workload=verb_loop", "run.verb=fetch_add", "run.payload=16B", "model.stack=roce_dma"}),
      "--set: run.payload is 16B, expected 8: so many bytes has an operand of fetch_add over model.stack = "
      "\"roce_dma\" as it is set");
  EXPECT_THAT(refusal({"run.workload=ping_pong", "run.payload=1MiB", "model.stack=ub_urma"}),
              HasSubstr("run.payload is 1MiB, expected at most 64KiB: so long is a send"));
  EXPECT_EQ(refusal({"run.workload=ping_pong", "run.payload=1MiB", "model.stack=roce_dma"}), "accepted");
  EXPECT_THAT(refusal({"run.workload=verb_loop", "run.verb=send_invalidate"}),
              HasSubstr("run.verb is send_invalidate, expected another verb"));
}

/// A client whose group frames its packets differently is judged by its own stack.
TEST(StackAbilities, GroupsAreJudgedByTheirOwnStack) {
  const auto scenario =
      load({"run.workload=verb_loop", "run.verb=load", "run.payload=8B", "run.operations=3"},
           "[hosts]\nservers = 1\n[topology]\nfrom = \"star:3\"\n"
           "[model]\nstack = \"ub_ldst\"\n"
           "[group.plain]\nhosts = \"1\"\nmodel.stack = \"ub_urma\"\n");
  ASSERT_FALSE(scenario.ok());
  EXPECT_THAT(scenario.error().message, HasSubstr("needs load, which model.stack = \"ub_urma\""));
}

/// Caches of several hosts are not coherent: what one stores, another overwrites with its copy of the line.
TEST(StackAbilities, LinesThatSeveralHostsStoreToAreNotCached) {
  const char* const kThree = "[hosts]\nservers = 1\n[topology]\nfrom = \"star:4\"\n";
  for (const char* policy : {"write_back", "write_through", "uncached"}) {
    for (const char* program : {"key_value", "verb_loop", "bulk_write"}) {
      SCOPED_TRACE(std::string(policy) + " " + program);
      const bool blocks = std::string(program) == "bulk_write";
      const auto scenario =
          load({std::string("run.workload=") + program, "model.stack=ub_ldst",
                std::string("model.cache.write_policy=") + policy, "run.operations=200",
                std::string(program) == "verb_loop" ? "run.verb=store" : "run.think_time=0ns",
                std::string(program) == "verb_loop" ? "run.payload=8B" : "run.concurrency=2"},
               kThree);
      if (!blocks && policy != std::string("uncached")) {
        ASSERT_FALSE(scenario.ok());
        EXPECT_THAT(
            scenario.error().message,
            HasSubstr(std::string("stores to lines that 3 hosts share, and model.cache.write_policy is "
                                  "\"") +
                      policy));
        continue;
      }
      ASSERT_TRUE(scenario.ok()) << scenario.error().message;
      const auto report = run_scenario(*scenario, {});
      ASSERT_TRUE(report.ok());
      EXPECT_EQ(report->end, RunOutcome::kDone);
      EXPECT_EQ(report->verdict, "");
    }
  }
}

TEST(StackAbilities, ARunWithoutOneSuccessFails) {
  // Nothing arrives, and the channel gives up.
  const auto scenario = load({"run.workload=verb_loop", "run.verb=write", "run.operations=5",
                              "model.faults.loss=1", "model.ub.rto_attempts=1"});
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const auto report = run_scenario(*scenario, {});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->end, RunOutcome::kDone);
  EXPECT_THAT(report->verdict, HasSubstr("no operation succeeded, 5 failed, the first with "));
  const auto judged = judge(*scenario, *report);
  ASSERT_TRUE(judged.ok());
  EXPECT_EQ(judged->failures.size(), 1U);
}

}  // namespace
}  // namespace wharf::sim
