// SPDX-License-Identifier: Apache-2.0
#include "workload/size_distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::workload {
namespace {

SizeDistribution read(const std::string& rows) {
  auto sizes = read_size_distribution("size_bytes,cumulative\n" + rows, "s.csv");
  EXPECT_TRUE(sizes.ok()) << (sizes.ok() ? "" : sizes.error().message);
  return *std::move(sizes);
}

std::string refusal(const std::string& text) {
  const auto sizes = read_size_distribution(text, "s.csv");
  EXPECT_FALSE(sizes.ok()) << text;
  return sizes.ok() ? "" : sizes.error().message;
}

TEST(SizeDistribution, MeansOfThePublishedOnesByHand) {
  // The sum of share x middle over the straight lines between the points.
  EXPECT_EQ(published_distribution("web_search")->mean_bytes(), 1'711'250U);
  EXPECT_EQ(published_distribution("data_mining")->mean_bytes(), 12'658'198U);
  EXPECT_EQ(published_distribution("hadoop")->mean_bytes(), 120'420U);
  EXPECT_EQ(published_distribution("storage")->mean_bytes(), 40'869U);
  EXPECT_FALSE(published_distribution("web"));
  for (const PublishedSizes& each : published_sizes()) EXPECT_TRUE(published_distribution(each.name));
}

TEST(SizeDistribution, DrawsFollowTheTable) {
  const SizeDistribution sizes = read("0,0\n100,0.25\n200,0.25\n1000,1\n");
  EXPECT_EQ(sizes.mean_bytes(), 462U);  // 0.25 x 50 + 0.75 x 600 = 462.5.
  RandomStream random(1, "sizes");
  constexpr int kDraws = 100'000;
  int small = 0;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t bytes = sizes.draw(random);
    ASSERT_GE(bytes, 1U);
    ASSERT_LE(bytes, 1000U);
    ASSERT_FALSE(bytes > 100 && bytes <= 200) << bytes;
    small += bytes <= 100 ? 1 : 0;
    sum += static_cast<double>(bytes);
  }
  EXPECT_NEAR(small, 0.25 * kDraws, 700);            // Five standard deviations of 137.
  EXPECT_NEAR(sum / kDraws, 463, 5 * 318. / 316.2);  // Half a byte of rounding up; deviation 318.
}

TEST(SizeDistribution, OneSize) {
  const SizeDistribution sizes = SizeDistribution::fixed(4096);
  RandomStream random(1, "sizes");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sizes.draw(random), 4096U);
  EXPECT_EQ(sizes.mean_bytes(), 4096U);
  // 4096 B are 327.68 ns at 100 Gb/s, and every other of them leaves half of it free.
  EXPECT_EQ(sizes.mean_interval(gigabits_per_second(100), 500'000), picoseconds(655'360));
  // A point of the first row alone is the same.
  EXPECT_EQ(read("7,1\n").draw(random), 7U);
}

TEST(SizeDistribution, IntervalsThatDoNotFit) {
  const SizeDistribution sizes = SizeDistribution::fixed(std::uint64_t{1} << 31U);
  EXPECT_EQ(sizes.mean_interval({1}, 1), kNever);
}

TEST(SizeDistribution, Refusals) {
  EXPECT_EQ(refusal(""), "s.csv:1:1: found no first line, expected size_bytes,cumulative");
  EXPECT_EQ(refusal("size,cumulative\n"),
            "s.csv:1:1: found \"size,cumulative\", expected the first line size_bytes,cumulative; did you "
            "mean size_bytes,cumulative?");
  const std::string head = "size_bytes,cumulative\n";
  EXPECT_EQ(refusal(head), "s.csv:1:22: found no rows, expected at least one that ends with 1");
  EXPECT_EQ(refusal(head + "x,1\n"),
            "s.csv:2:1: found \"x\", expected a size in bytes, an integer from 0 to 2147483648");
  EXPECT_EQ(refusal(head + "10,15\n"),
            "s.csv:2:4: found \"15\", expected a share from 0 to 1 with at most nine decimals, such as 0.15");
  EXPECT_THAT(refusal(head + "10,0.0000000001\n"), testing::HasSubstr("at most nine decimals"));
  EXPECT_THAT(refusal(head + "10,1.\n"), testing::HasSubstr("at most nine decimals"));
  EXPECT_THAT(refusal(head + "10,1.1\n"), testing::HasSubstr("found \"1.1\", expected a share from 0 to 1"));
  EXPECT_EQ(refusal(head + "0,0.1\n5,1\n"), "s.csv:2:3: found \"0.1\", expected 0, as no flow has 0 bytes");
  EXPECT_EQ(refusal(head + "10,0.5\n10,1\n"),
            "s.csv:3:1: found \"10\", expected a size above 10, that of the row before");
  EXPECT_EQ(refusal(head + "10,0.5\n20,0.25\n"),
            "s.csv:3:4: found \"0.25\", expected at least 0.5, that of the row before");
  EXPECT_EQ(refusal(head + "10,0.5\n20\n"), "s.csv:3:3: found no cumulative share, expected one from 0 to 1");
  EXPECT_EQ(refusal(head + "10,0.5,3\n"),
            "s.csv:2:8: found \"3\", expected two fields, size_bytes,cumulative");
  EXPECT_EQ(refusal(head + "10,0.5\n20,0.97\n"),
            "s.csv:3:8: found 0.97 as the last cumulative share, expected 1");
}

}  // namespace
}  // namespace wharf::workload
