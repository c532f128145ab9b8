// SPDX-License-Identifier: Apache-2.0
// Runs the example as its two processes beside a server.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "live/udp/live_server_test_support.h"

namespace wharf::live {
namespace {

std::string line_of(std::FILE* pipe) {
  std::array<char, 256> text{};
  return std::fgets(text.data(), text.size(), pipe) == nullptr ? std::string() : std::string(text.data());
}

TEST(SortedAfar, OneProcessSortsAndAnotherSearches) {
  ServerConfig config;
  config.protocol = live_protocols().front().protocol;
  config.memory_bytes = 1U << 20U;
  config.clients_max = 4;
  config.idle = {.spins = 20, .yields = 20};
  TestServer server(config);
  const std::string program = std::string(WHARF_SORTED_AFAR) + " " + format_place(server.place());

  // It sorts, and keeps its session until its input ends.
  const std::string output = testing::TempDir() + "/sorted_afar_" + std::to_string(::getpid());
  std::FILE* const sorter = ::popen((program + " > " + output + " 2>&1").c_str(), "w");
  ASSERT_NE(sorter, nullptr);
  std::string text;
  for (int turn = 0; turn < 2000 && text.find("were here") == std::string::npos; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::ifstream file(output);
    text.assign(std::istreambuf_iterator<char>(file), {});
    if (text.find("no faults") != std::string::npos) {
      ::pclose(sorter);
      GTEST_SKIP() << text;
    }
  }
  unsigned long long key = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "sorted: key %llu", &key), 1) << text;
  EXPECT_NE(text.find("at most 10 were here"), std::string::npos) << text;

  std::FILE* const searcher =
      ::popen((program + " " + std::to_string(key) + " 1000000000 2>&1").c_str(), "r");
  ASSERT_NE(searcher, nullptr);
  // 46 % of the numbers, which are spread evenly below 2^31, are smaller.
  const std::string found = line_of(searcher);
  unsigned long long place = 0;
  unsigned long long number = 0;
  unsigned long long pages = 0;
  EXPECT_EQ(std::sscanf(found.c_str(), "number %llu is %llu; %llu of 40", &place, &number, &pages), 3)
      << found;
  EXPECT_NEAR(static_cast<double>(place), 9313, 300);
  EXPECT_GE(number, 1000000000U);
  EXPECT_LE(pages, 12U);
  EXPECT_EQ(::pclose(searcher), 0);
  EXPECT_EQ(::pclose(sorter), 0);
  std::filesystem::remove(output);
}

}  // namespace
}  // namespace wharf::live
