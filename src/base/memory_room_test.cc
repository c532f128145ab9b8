// SPDX-License-Identifier: Apache-2.0
#include "base/memory_room.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace wharf {
namespace {

namespace fs = std::filesystem;

/// A system of files as the kernel shows it, gone at the end.
class System {
 public:
  explicit System(const std::string& name) : root_(fs::path(::testing::TempDir()) / ("memory_room_" + name)) {
    fs::remove_all(root_);
  }
  ~System() { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  MemoryRoom room() const { return memory_room(root_); }

 private:
  fs::path root_;
};

constexpr const char* kMeminfo =
    "MemTotal: 4096 kB\nMemFree: 100 kB\nMemAvailable: 2048 kB\nSwapFree: 1024 kB\n";

TEST(MemoryRoom, WhatTheMachineHasFree) {
  const System system("machine");
  system.write("proc/meminfo", kMeminfo);
  EXPECT_EQ(system.room().bytes, 3072U << 10U);
  EXPECT_EQ(system.room().limit, "this machine (MemAvailable)");
}

TEST(MemoryRoom, TheTightestControlGroupOfThoseAbove) {
  const System system("groups");
  system.write("proc/meminfo", kMeminfo);
  system.write("proc/self/cgroup", "0::/a/b\n");
  system.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  system.write("sys/fs/cgroup/a/memory.max", "1000000\n");
  system.write("sys/fs/cgroup/a/memory.current", "700000\n");
  system.write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 100000\n");
  EXPECT_EQ(system.room().bytes, 400'000U);
  EXPECT_EQ(system.room().limit, "the memory limit of its control group");
  // More is in use than the group allows by now.
  system.write("sys/fs/cgroup/a/memory.max", "500000\n");
  EXPECT_EQ(system.room().bytes, 0U);
}

TEST(MemoryRoom, ControlGroupsOfTheFirstVersion) {
  const System system("groups1");
  system.write("proc/self/cgroup", "7:cpu,cpuacct:/x\n5:memory:/x\n");
  system.write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "5000\n");
  system.write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "2000\n");
  EXPECT_EQ(system.room().bytes, 3000U);
}

TEST(MemoryRoom, ThisMachineHasSome) { EXPECT_GT(memory_room().bytes, 0U); }

}  // namespace
}  // namespace wharf
