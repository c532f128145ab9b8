// SPDX-License-Identifier: Apache-2.0
#include "workload/workload.h"

#include <gtest/gtest.h>

#include <set>

#include "workload/fake_runtime_test_support.h"

namespace wharf::workload {
namespace {

TEST(Registry, NamesReadBack) {
  std::set<std::string_view> names;
  for (int k = 0; k < kWorkloadKindCount; ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    EXPECT_EQ(parse_workload(name(kind)), kind);
    EXPECT_EQ(kind_of(default_config(kind)), kind);
    EXPECT_EQ(empty_result(default_config(kind)).index(), static_cast<std::size_t>(k));
    EXPECT_FALSE(describe(kind).empty());
    names.insert(name(kind));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kWorkloadKindCount));
  EXPECT_EQ(workload_names().size(), names.size());
  EXPECT_EQ(parse_workload("pointer_chaze"), std::nullopt);
}

TEST(Registry, DefaultsPassTheirOwnChecks) {
  for (int k = 0; k < kWorkloadKindCount; ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    const Result<void> checked = check(default_config(kind), Party{0, parties_needed(default_config(kind))});
    EXPECT_TRUE(checked.ok()) << name(kind);
  }
}

TEST(Registry, EveryKeyIsDescribedOnce) {
  for (int k = 0; k < kWorkloadKindCount; ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    std::set<std::string> names;
    for (const KeyDescription& key : describe_keys(kind)) {
      EXPECT_TRUE(names.insert(key.name).second) << name(kind) << "." << key.name;
      EXPECT_FALSE(key.doc.empty() || key.expected.empty() || key.default_value.empty()) << key.name;
    }
    EXPECT_TRUE(names.contains("operations") && names.contains("pacing"));
  }
}

TEST(Registry, KeysSayWhatTheyExpect) {
  const std::vector<KeyDescription> keys = describe_keys(WorkloadKind::kKeyValue);
  const auto find = [&keys](std::string_view wanted) {
    for (const KeyDescription& key : keys) {
      if (key.name == wanted) return key;
    }
    return KeyDescription{};
  };
  EXPECT_EQ(find("concurrency").expected, "integer from 1 to 65536");
  EXPECT_EQ(find("value_bytes").expected, "size of at least 8B and at most 1MiB");
  EXPECT_EQ(find("value_bytes").default_value, "64B");
  EXPECT_EQ(find("placement").expected, "one of scattered, sorted");
  EXPECT_EQ(find("placement").default_value, "scattered");
  EXPECT_EQ(find("zipf_exponent").default_value, "0.99");
}

TEST(Registry, RefusesContradictions) {
  const auto message = [](const WorkloadConfig& config, Party party = {}) {
    const Result<void> checked = check(config, party);
    return checked.ok() ? std::string("accepted") : checked.error().message;
  };
  BarrierConfig barrier;
  barrier.loop.duration = seconds(1);
  EXPECT_EQ(message(barrier),
            "duration is 1000000000000, expected 0ns: participants that stop at different rounds would wait "
            "for ever");
  EXPECT_EQ(message(PingPongConfig{}), "parties is 1, expected 2: one sends, one answers");
  BulkWriteConfig writes;
  writes.payload = 12;
  EXPECT_EQ(message(writes), "payload is 12, expected a multiple of 8 bytes");
  writes.payload = 64;
  writes.region_bytes = 64;
  writes.loop.concurrency = 2;
  EXPECT_EQ(message(writes), "region_bytes is 64, expected at least one block of `payload` bytes per worker");
  BulkReadConfig reads;
  reads.loop.operations = 0;
  EXPECT_EQ(message(reads), "operations is 0, expected at least 1 when there is no duration");
  reads.loop.operations = 1;
  reads.region_offset = 4;
  EXPECT_EQ(message(reads), "region_offset is 4, expected a multiple of 8 bytes");
}

TEST(Registry, RefusesARemoteThatCannotServe) {
  FakeScheduler scheduler(1);
  FakeCore core(scheduler);
  FakeTarget target;
  target.memory.resize(1024);
  FakeRemote remote(scheduler, core, target, {});
  BulkReadConfig config;
  config.access = AccessPath::kLoadStore;
  config.region_bytes = 1024;
  EXPECT_EQ(check_remote(config, {}, remote).error().message,
            "workload bulk_read needs load, which this stack does not have");
  config.access = AccessPath::kAuto;
  EXPECT_TRUE(check_remote(config, {}, remote).ok());
  config.region_offset = 8;
  EXPECT_EQ(check_remote(config, {}, remote).error().message,
            "workload bulk_read needs 1KiB of target memory at offset 8B, the segment has 1KiB");
}

}  // namespace
}  // namespace wharf::workload
