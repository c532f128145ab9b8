// SPDX-License-Identifier: Apache-2.0
// What `wharf top` shows.
#include "cli/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace wharf::cli {
namespace {

using live::MetricsChange;
using live::MetricsReading;
using live::PeerReading;

MetricsReading some_reading() {
  MetricsReading reading;
  reading.protocol = "any";
  reading.address = "127.0.0.1:4792";
  reading.process = 1234;
  reading.uptime_seconds = 65;
  reading.age_seconds = 0.25;
  reading.clients = 2;
  reading.clients_limit = 16;
  reading.queues = 2;
  reading.traffic = {.datagrams_received = 1000, .bytes_received = 64'000, .refused = 1};
  reading.dropped = {{"unknown sender", 9}, {"truncated", 0}, {"replayed", 3}};
  PeerReading peer;
  peer.number = 1;
  peer.address = "127.0.0.1:50000";
  reading.peers.push_back(peer);
  peer.number = 2;
  peer.address = "255.255.255.255:65535";
  peer.outstanding = 4;
  peer.counts_messages = true;
  reading.peers.push_back(peer);
  return reading;
}

/// Two seconds later: 24,690 datagrams of the second peer.
MetricsReading later_reading() {
  MetricsReading reading = some_reading();
  reading.uptime_seconds += 2;
  reading.capturing = true;
  reading.traffic.datagrams_received += 24'690;
  reading.traffic.bytes_received += 2'000'000'000;
  reading.dropped[0].value += 4;
  PeerReading& peer = reading.peers[1];
  peer.traffic.datagrams_received += 24'690;
  peer.traffic.bytes_received += 2'000'000'000;
  peer.retransmissions += 3;
  return reading;
}

TEST(TopView, NumbersHaveFiveCharactersAtMost) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.25), "0.25");
  EXPECT_EQ(short_number(1), "1");
  EXPECT_EQ(short_number(9.996), "10");
  EXPECT_EQ(short_number(17.34), "17.3");
  EXPECT_EQ(short_number(99.96), "100");
  EXPECT_EQ(short_number(999.4), "999");
  EXPECT_EQ(short_number(999.6), "1.00k");
  EXPECT_EQ(short_number(12'345), "12.3k");
  EXPECT_EQ(short_number(999'600), "1.00M");
  EXPECT_EQ(short_number(1.5e9), "1.50G");
  for (double value = 0.001; value < 1e17; value *= 1.07) EXPECT_LE(short_number(value).size(), 5U) << value;
}

TEST(TopView, IsATableThatFitsATerminal) {
  MetricsChange change;
  change.add(some_reading());
  const std::string first = process_text("a.prom", change, 80);
  EXPECT_THAT(first,
              testing::HasSubstr("a.prom: any at 127.0.0.1:4792, process 1234, up 1m05s, written 0.2 s"));
  EXPECT_THAT(first, testing::HasSubstr(
                         "2 clients of 16, 2 queues, - operations of its own a second, 1 access refused\n"));
  EXPECT_THAT(first, testing::HasSubstr("dropped: 9 unknown sender, 3 replayed\n"));
  change.add(later_reading());
  const std::string text = process_text("a.prom", change, 80);
  EXPECT_THAT(text, testing::HasSubstr("capturing"));
  EXPECT_THAT(text, testing::HasSubstr("dropped: 13 unknown sender (2 a second), 3 replayed\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\nall +12.3k +1.00G +0 +0 +0 +1.5 +0 +2 +4\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("\n2 +255.255.255.255:65535 +12.3k +1.00G +0 +0 +0 +1.5 +0 +0 +4\n"));
  EXPECT_LT(text.find("\n2 "), text.find("\n1 ")) << "the busiest first";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  const std::string cut = process_text("a.prom", change, 80, 1);
  EXPECT_THAT(cut, testing::HasSubstr("and 1 more\n"));
  EXPECT_EQ(cut.find("127.0.0.1:50000"), std::string::npos);
}

TEST(TopView, IsADocumentWithRatesThatMayBeUnknown) {
  MetricsChange change;
  change.add(some_reading());
  EXPECT_TRUE(process_document("a.prom", change).at("interval_seconds").is_null());
  EXPECT_TRUE(process_document("a.prom", change).at("received").at("packets_per_second").is_null());
  change.add(later_reading());
  const nlohmann::ordered_json document = process_document("a.prom", change);
  EXPECT_EQ(document.at("file"), "a.prom");
  EXPECT_EQ(document.at("interval_seconds"), 2.0);
  EXPECT_EQ(document.at("received").at("packets"), 25'690);
  EXPECT_EQ(document.at("received").at("packets_per_second"), 12'345.0);
  EXPECT_EQ(document.at("dropped")[0].at("reason"), "unknown sender");
  EXPECT_EQ(document.at("dropped")[0].at("packets"), 13);
  EXPECT_EQ(document.at("dropped")[0].at("packets_per_second"), 2.0);
  EXPECT_EQ(document.at("peers")[1].at("retransmissions"), 3);
  EXPECT_EQ(document.at("peers")[1].at("retransmissions_per_second"), 1.5);
  EXPECT_EQ(document.at("peers")[1].at("outstanding"), 4);
  // What nobody counts is no 0.
  EXPECT_TRUE(document.at("peers")[0].at("outstanding").is_null());
  EXPECT_TRUE(document.at("peers")[0].at("messages").is_null());
  EXPECT_TRUE(document.at("peers")[0].at("queue").is_null());
  EXPECT_THAT(process_text("a.prom", change, 80),
              testing::ContainsRegex("\n1 +127.0.0.1:50000 +0 +0 +0 +0 +- +0 +0 +0 +-\n"));
}

}  // namespace
}  // namespace wharf::cli
