// SPDX-License-Identifier: Apache-2.0
#include "wire/host_table.h"

#include <gtest/gtest.h>

namespace wharf::wire {
namespace {

TEST(HostTable, FindsBothWays) {
  const HostTable table = parse_host_table(
                              "# who is who\n"
                              "7 10.0.0.7 4791\r\n"
                              "\n"
                              "  0\tfd00::1   # the first\n"
                              "3 10.0.0.7 4792")
                              .value();
  ASSERT_EQ(table.records().size(), 3U);
  EXPECT_EQ(table.records()[0].host.number, 0U);
  EXPECT_EQ(to_text(table.find(HostAddress{7})->address), "10.0.0.7");
  EXPECT_EQ(to_text(table.find(HostAddress{0})->address), "fd00::1");
  EXPECT_EQ(table.find(HostAddress{1}), nullptr);
  const Ipv6Address seven = parse_ip_address("10.0.0.7").value();
  EXPECT_EQ(table.find(seven, 4791).number, 7U);
  EXPECT_EQ(table.find(seven, 4792).number, 3U);
  EXPECT_EQ(table.find(seven, 0), kNoHost);
  EXPECT_EQ(table.find(parse_ip_address("fd00::1").value(), 0).number, 0U);
}

TEST(HostTable, RefusesByLine) {
  const auto why = [](std::string_view text) {
    const Result<HostTable> table = parse_host_table(text);
    return table.ok() ? std::string("accepted") : table.error().message;
  };
  EXPECT_EQ(why("x 10.0.0.1"), "line 1: found \"x\", expected a host number");
  EXPECT_EQ(why("4294967295 10.0.0.1"), "line 1: found \"4294967295\", expected a host number");
  EXPECT_EQ(why("\n1 10.0.0"), "line 2: found \"10.0.0\", expected an IPv4 or IPv6 address");
  EXPECT_EQ(why("1"), "line 1: found \"\", expected an IPv4 or IPv6 address");
  EXPECT_EQ(why("1 ::1 65536"), "line 1: found \"65536\", expected a port up to 65535");
  EXPECT_EQ(why("1 ::1 1 2"), "line 1: found \"2\" behind the port, expected nothing");
  EXPECT_EQ(why("1 ::1\n1 ::2"), "line 2: host 1 is in the table already, at ::1");
  EXPECT_EQ(why("1 ::1 5\n2 ::1 5"), "line 2: address ::1 port 5 is in the table already, of host 1");
}

}  // namespace
}  // namespace wharf::wire
