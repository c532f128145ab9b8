// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <limits>

namespace wharf {
namespace {

TEST(ParseTime, ReadsEveryUnitExactly) {
  EXPECT_EQ(*parse_time("100ns"), nanoseconds(100));
  EXPECT_EQ(*parse_time("1.5us"), nanoseconds(1'500));
  EXPECT_EQ(*parse_time("3.106ns"), picoseconds(3'106));
  EXPECT_EQ(*parse_time("0ps"), kTimeZero);
  EXPECT_EQ(*parse_time("2ms"), milliseconds(2));
  EXPECT_EQ(*parse_time("1s"), seconds(1));
}

TEST(ParseTime, RefusesWithOneSentence) {
  EXPECT_EQ(parse_time("100").error().message,
            "\"100\" has no unit; expected a time with s, ms, us, ns or ps");
  EXPECT_EQ(parse_time("25cycles").error().message,
            "\"25cycles\" has the unknown unit \"cycles\"; expected s, ms, us, ns or ps");
  EXPECT_EQ(parse_time("25nss").error().message,
            "\"25nss\" has the unknown unit \"nss\"; expected s, ms, us, ns or ps; did you mean \"ns\"?");
  EXPECT_EQ(parse_time("0.5ps").error().message, "\"0.5ps\" is not a whole number of picoseconds");
  for (const char* text : {"", "-1ns", "ns", ".5ns", "1.ns", "1..5ns", "1 ns", "1e3ns", "nan", "+1ns"}) {
    EXPECT_FALSE(parse_time(text).ok()) << text;
  }
}

TEST(ParseTime, HoldsAtTheLimit) {
  EXPECT_EQ(parse_time("9223372036854775806ps")->ps, 9223372036854775806);
  EXPECT_FALSE(parse_time("9223372036854775807ps").ok());  // kNever is not a time that a user can write.
  EXPECT_FALSE(parse_time("9223373s").ok());
  EXPECT_FALSE(parse_time("99999999999999999999999999999999s").ok());
}

TEST(ParseBytes, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(*parse_bytes("64B"), Bytes{64});
  EXPECT_EQ(*parse_bytes("64KiB"), kibibytes(64));
  EXPECT_EQ(*parse_bytes("4MiB"), mebibytes(4));
  EXPECT_EQ(*parse_bytes("2KB"), Bytes{2'000});
  EXPECT_EQ(*parse_bytes("0.5KiB"), Bytes{512});
  EXPECT_FALSE(parse_bytes("64").ok());
  EXPECT_FALSE(parse_bytes("0.5B").ok());
  EXPECT_FALSE(parse_bytes("64kib").ok());
  EXPECT_NE(parse_bytes("64kib").error().message.find("did you mean \"KiB\"?"), std::string::npos);
}

TEST(ParseRate, ReadsFractionsExactly) {
  EXPECT_EQ(*parse_rate("400Gbps"), gigabits_per_second(400));
  EXPECT_EQ(*parse_rate("82.4Gbps"), BitsPerSecond{82'400'000'000});
  EXPECT_EQ(*parse_rate("8bps"), BitsPerSecond{8});
  EXPECT_FALSE(parse_rate("400G").ok());
  EXPECT_FALSE(parse_rate("0.5bps").ok());
}

TEST(ParseProbability, AcceptsTheThreeForms) {
  EXPECT_EQ(*parse_probability("0.05"), 0.05);
  EXPECT_EQ(*parse_probability("5%"), 0.05);
  EXPECT_EQ(*parse_probability("1e-4"), 1e-4);
  EXPECT_EQ(*parse_probability("0"), 0.0);
  EXPECT_EQ(*parse_probability("1"), 1.0);
  for (const char* text : {"", "1.01", "-0.1", "101%", "nan", "inf", "0.5x", "%", " 0.5"}) {
    EXPECT_FALSE(parse_probability(text).ok()) << text;
  }
}

TEST(FormatTime, IsShort) {
  EXPECT_EQ(format_time(nanoseconds(100)), "100ns");
  EXPECT_EQ(format_time(picoseconds(3'106)), "3106ps");
  EXPECT_EQ(format_time(nanoseconds(1'500)), "1.5us");
  EXPECT_EQ(format_time(kTimeZero), "0ns");
  EXPECT_EQ(format_time(kNever), "never");
  EXPECT_EQ(format_time(picoseconds(-5)), "-5ps");
}

RC_GTEST_PROP(FormatTime, ReadsBack, ()) {
  const auto shift = *rc::gen::inRange(0, 62);
  const TimePs time{static_cast<std::int64_t>(*rc::gen::arbitrary<std::uint64_t>() >> 1U) >> shift};
  RC_PRE(time != kNever);
  RC_ASSERT(parse_time(format_time(time)).value() == time);
}

RC_GTEST_PROP(FormatBytes, ReadsBack, (std::uint64_t count)) {
  RC_ASSERT(parse_bytes(format_bytes(Bytes{count})).value() == Bytes{count});
}

RC_GTEST_PROP(FormatRate, ReadsBack, (std::uint64_t value)) {
  RC_ASSERT(parse_rate(format_rate(BitsPerSecond{value})).value() == BitsPerSecond{value});
}

TEST(FormatBytes, UsesTheLargestBinaryUnit) {
  EXPECT_EQ(format_bytes(kibibytes(64)), "64KiB");
  EXPECT_EQ(format_bytes(Bytes{100}), "100B");
  EXPECT_EQ(format_bytes(Bytes{0}), "0B");
  EXPECT_EQ(format_bytes(mebibytes(1)), "1MiB");
}

TEST(FormatRate, UsesTheLargestShortUnit) {
  EXPECT_EQ(format_rate(gigabits_per_second(400)), "400Gbps");
  EXPECT_EQ(format_rate(BitsPerSecond{82'400'000'000}), "82.4Gbps");
  EXPECT_EQ(format_rate(BitsPerSecond{1'000'000'001}), "1000000.001kbps");
}

TEST(TransferTime, RoundsUp) {
  EXPECT_EQ(transfer_time(Bytes{64}, gigabits_per_second(400)), picoseconds(1'280));
  EXPECT_EQ(transfer_time(Bytes{1}, BitsPerSecond{3}), picoseconds(2'666'666'666'667));
  EXPECT_EQ(transfer_time(Bytes{64}, BitsPerSecond{0}), kTimeZero);
  EXPECT_EQ(transfer_time(Bytes{0}, BitsPerSecond{1}), kTimeZero);
  EXPECT_EQ(transfer_time(Bytes{std::numeric_limits<std::uint64_t>::max()}, BitsPerSecond{1}), kNever);
}

RC_GTEST_PROP(TransferTime, NarrowAndWideArithmeticAgree, ()) {
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 4'000'000);
  const auto rate = *rc::gen::inRange<std::uint64_t>(1'000'000, 1'000'000'000'000);
  const auto product = static_cast<unsigned __int128>(count) * 8'000'000'000'000ULL;
  RC_ASSERT(transfer_time(Bytes{count}, BitsPerSecond{rate}).ps ==
            static_cast<std::int64_t>((product + rate - 1) / rate));
}

}  // namespace
}  // namespace wharf
