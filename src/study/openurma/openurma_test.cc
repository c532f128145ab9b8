// SPDX-License-Identifier: Apache-2.0
// The studies themselves: wrong data is refused, rules are those of the runs, and each named rule moves its
// figure.
#include "study/openurma/openurma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "engine/roce/queue_pair.h"
#include "study/frame/accounting_rules.h"

namespace wharf::study::openurma {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A folder with the project's reference data, to be damaged, and page traces to be replayed.
class OpenUrma : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("wharf-openurma-" + std::to_string(::getpid()));
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    fs::copy("studies/openurma", directory_ / "openurma");
    context_.profiles = "profiles";
    context_.reference = directory_;
    context_.threads = 2;
  }
  void TearDown() override { fs::remove_all(directory_); }

  /// Replaces what matches `pattern` in a file of the reference data; "" takes whole lines out.
  void damage(const std::string& file, const std::string& pattern, const std::string& replacement) {
    std::ostringstream text;
    text << std::ifstream(directory_ / "openurma" / file).rdbuf();
    const std::string damaged = std::regex_replace(text.str(), std::regex(pattern), replacement);
    ASSERT_NE(damaged, text.str()) << pattern;
    std::ofstream(directory_ / "openurma" / file) << damaged;
  }

  /// Mean nanoseconds of 8-byte accesses, one per page and every fourth a store, by a serial profile.
  double paging_mean(const std::string& profile, std::vector<std::string> keys) {
    const fs::path trace = directory_ / "pages.lackey";
    {
      std::ofstream out(trace);
      for (int i = 0; i < 600; ++i) {
        const std::uint64_t page = static_cast<std::uint64_t>(i) * 7 % 300;
        out << (i % 4 == 0 ? " S " : " L ") << std::hex << (0x100000000ULL + page * 4096) << std::dec
            << ",8\n";
      }
    }
    RunRequest request{profile,
                       "roce_dma",
                       {"run.workload=replay", "run.trace=" + trace.string(), "run.remote=all",
                        "model.replay.overlap=none", "model.paging.resident_pages=128"}};
    request.keys.insert(request.keys.end(), keys.begin(), keys.end());
    RunBatch batch(context_);
    const std::size_t place = batch.add(request);
    const auto ran = batch.run();
    EXPECT_TRUE(ran.ok()) << (ran.ok() ? "" : ran.error().message);
    if (!ran) return 0;
    return batch[place].replay["time_ns"].get<double>() / batch[place].replay["accesses"].get<double>();
  }

  fs::path directory_;
  StudyContext context_;
};

TEST_F(OpenUrma, WrongReferenceDataIsRefusedWithItsPlace) {
  damage("F30_latency_throughput.csv", "ub_urma oprate_Mops,[0-9.]+,", "ub_urma oprate_Mops,abc,");
  const auto result = figure30(context_);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kInput);
  EXPECT_THAT(result.error().message, HasSubstr("F30_latency_throughput.csv:"));
  EXPECT_THAT(result.error().message, HasSubstr("found x \"abc\", expected a number"));
}

TEST_F(OpenUrma, AMissingCellIsRefused) {
  damage("T6_F19_F23_headline_latency.csv", "ub_loadstore,LOAD,[^\n]*\n", "");
  const auto result = table6(context_);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(
      result.error().message,
      HasSubstr("T6_F19_F23_headline_latency.csv: has no value of series \"ub_loadstore\" at x \"LOAD\""));
}

TEST_F(OpenUrma, StudiesOfManyHostsRefuseMissingNumbers) {
  damage("F17_cluster_scaling.csv", "roce_dma,2,[^\n]*\n", "");
  const auto cluster = figure17(context_);
  ASSERT_FALSE(cluster.ok());
  EXPECT_THAT(cluster.error().message, HasSubstr("has no value of series \"roce_dma\" at x \"2\""));
  damage("F45_congestion.csv", "DCQCN steady utilisation,[^\n]*\n", "");
  const auto congestion = figure45(context_);
  ASSERT_FALSE(congestion.ok());
  EXPECT_THAT(congestion.error().message, HasSubstr("DCQCN steady utilisation"));
}

TEST_F(OpenUrma, AMissingGapIsRefused) {
  damage("F29_verb_asymmetry.csv", "RoCE READ minus WRITE,gap,[^\n]*\n", "");
  const auto result = figure29(context_);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("has no value of series \"RoCE READ minus WRITE\""));
}

// Rules that a profile names must make the number: each one, switched to what a machine does, moves it.
TEST_F(OpenUrma, EveryRuleOfThePagersAccountingMovesIt) {
  for (const std::string profile : {"infiniswap-serial", "fastswap-serial"}) {
    SCOPED_TRACE(profile);
    const double serial = paging_mean(profile, {});
    for (const char* rule :
         {"model.nic.request_receive_stage=true", "model.paging.write_back=dirty_pages",
          "model.paging.window_pages=4", "model.paging.fault_cost=2us", "model.cache.write_policy=write_back",
          "model.cache.miss_detection=none", "model.pcie.posted_writes=posted", "model.roce.mtu=1KiB",
          "model.nic.cut_through=true"}) {
      EXPECT_NE(paging_mean(profile, {rule}), serial) << rule;
    }
  }
  EXPECT_NE(paging_mean("fastswap-serial", {"model.paging.read=critical_page_first"}),
            paging_mean("fastswap-serial", {}));
}

TEST_F(OpenUrma, RulesAreThoseOfTheRunsWithTheirOverrides) {
  const RunRequest serial{"infiniswap-serial", "roce_dma", {"model.replay.overlap=none"}};
  const RunRequest real{"infiniswap", "roce_dma", {"model.replay.overlap=all"}};
  const auto rules = rules_between(context_, {{serial, real}, {serial, real}});
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  const auto find = [&](std::string_view key) {
    const auto found = std::find_if(rules->begin(), rules->end(),
                                    [key](const AccountingRule& rule) { return rule.key == key; });
    return found == rules->end() ? std::string("absent") : found->accounting + " against " + found->mechanism;
  };
  EXPECT_EQ(find("paging.read"), "whole_window against critical_page_first");
  EXPECT_EQ(find("paging.write_back"), "none against dirty_pages");
  EXPECT_EQ(find("nic.request_receive_stage"), "false against true");
  EXPECT_EQ(find("cache.write_policy"), "uncached against write_back");
  EXPECT_EQ(find("replay.overlap"), "none against all");
  EXPECT_EQ(find("link.delay"), "absent");
  EXPECT_EQ(std::count_if(rules->begin(), rules->end(),
                          [](const AccountingRule& rule) { return rule.key == "paging.read"; }),
            1);
}

TEST_F(OpenUrma, TheLaterDatasetIsAProfile) {
  const auto rules = rules_between(
      context_, {{{"openurma-serial-later", "roce_dma", {}}, {"connectx7-class", "roce_dma", {}}}});
  ASSERT_TRUE(rules.ok());
  EXPECT_TRUE(std::any_of(rules->begin(), rules->end(), [](const AccountingRule& rule) {
    return rule.key == "nic.order_gate" && rule.accounting == "50ns";
  }));
}

TEST_F(OpenUrma, StateTellsUsedBytesFromReservedOnes) {
  const auto result = table4(context_);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto used = [&](std::string_view record, std::string_view field) {
    for (const Json& row : result->rows) {
      if (row["record"] == record && row["field"] == field) return row["used_bytes"].get<int>();
    }
    return -1;
  };
  EXPECT_EQ(used("RoCE QP", "Total"),
            static_cast<int>(sizeof(roce::QueuePairContext) - sizeof(roce::QueuePairContext::unmodelled)));
  EXPECT_EQ(used("Jetty Group", "8-member group"), 0);
  EXPECT_EQ(used("Jetty full", "Total"), 15);
  EXPECT_EQ(used("Jetty MVP", "Total"), 15);
  EXPECT_EQ(used("TP Channel", "Total"), 54);
  EXPECT_EQ(used("MR record", "Total"), 32);  // The published padding holds the number of an address space.
}

TEST_F(OpenUrma, TheSmallRatiosOfFigure13AreThoseOfItsRows) {
  const auto result = figure13(context_);
  ASSERT_TRUE(result.ok()) << result.error().message;
  double least = 1e9;
  double most = 0;
  for (const Json& row : result->rows) {
    if (row["jetties"] != 1 && row["hosts"] != 1) continue;
    least = std::min(least, row["ratio"].get<double>());
    most = std::max(most, row["ratio"].get<double>());
  }
  std::ostringstream text;
  text.precision(1);
  text << std::fixed << "with one endpoint or one host the ratio is " << least << " to " << most << ".";
  EXPECT_THAT(result->sentences.front(), HasSubstr(text.str()));
}

}  // namespace
}  // namespace wharf::study::openurma
