// SPDX-License-Identifier: Apache-2.0
// Metrics files, read back.
#include "live/udp/metrics_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "live/udp/metrics_file.h"

namespace wharf::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

ServerState some_state() {
  ServerState state;
  state.protocol = "any";
  state.address = "127.0.0.1:4792";
  state.process = 1234;
  state.uptime = milliseconds(12'345);
  state.capturing = true;
  state.clients = 2;
  state.clients_max = 16;
  state.counters.datagrams_received = 1000;
  state.counters.datagrams_sent = 900;
  state.counters.bytes_received = 64'000;
  state.counters.bytes_sent = 32'000;
  state.counters.unknown_sender = 7;
  state.counters.drop(SealDrop::kReplayed);
  state.counters.completions = 5;
  state.messages = 4;
  state.engine = {{"timeouts", 3}};
  PeerState peer;
  peer.number = 1;
  peer.address = "127.0.0.1:50000";
  peer.queue = 9;
  peer.traffic = {.datagrams_received = 600,
                  .datagrams_sent = 500,
                  .bytes_received = 6000,
                  .bytes_sent = 5000,
                  .dropped = 2,
                  .retransmissions = 3,
                  .duplicates = 4};
  peer.refused_accesses = 5;
  peer.messages = 6;
  peer.outstanding = 7;
  state.peers.push_back(peer);
  peer.number = 2;
  peer.address = "process 77";
  peer.traffic = {};
  state.peers.push_back(peer);
  return state;
}

MetricsReading parsed(const ServerState& state) { return parse_metrics(prometheus_text(state), "a").value(); }

std::string refused(const std::string& text) {
  const auto reading = parse_metrics(text, "a.prom");
  if (reading) return "taken";
  EXPECT_EQ(reading.error().kind, ErrorKind::kInput);
  return reading.error().message;
}

TEST(MetricsReading, HasWhatWasWritten) {
  const MetricsReading reading = parsed(some_state());
  EXPECT_EQ(reading.protocol, "any");
  EXPECT_EQ(reading.address, "127.0.0.1:4792");
  EXPECT_EQ(reading.process, 1234U);
  EXPECT_DOUBLE_EQ(reading.uptime_seconds, 12.345);
  EXPECT_TRUE(reading.capturing);
  EXPECT_EQ(reading.clients, 2U);
  EXPECT_EQ(reading.clients_limit, 16U);
  EXPECT_EQ(reading.traffic.datagrams_received, 1000U);
  EXPECT_EQ(reading.traffic.datagrams_sent, 900U);
  EXPECT_EQ(reading.traffic.bytes_received, 64'000U);
  EXPECT_EQ(reading.traffic.bytes_sent, 32'000U);
  EXPECT_EQ(reading.traffic.messages, 4U);
  EXPECT_EQ(reading.completions, 5U);
  EXPECT_EQ(reading.dropped_in_all(), 8U);
  ASSERT_EQ(reading.engine.size(), 1U);
  EXPECT_EQ(reading.engine[0].name, "timeouts");
  EXPECT_EQ(reading.engine[0].value, 3U);
  ASSERT_EQ(reading.peers.size(), 2U);
  const PeerReading& peer = reading.peers[0];
  EXPECT_EQ(peer.number, 1U);
  EXPECT_EQ(peer.address, "127.0.0.1:50000");
  EXPECT_EQ(peer.queue, 9U);
  EXPECT_EQ(peer.traffic.datagrams_received, 600U);
  EXPECT_EQ(peer.traffic.datagrams_sent, 500U);
  EXPECT_EQ(peer.traffic.bytes_received, 6000U);
  EXPECT_EQ(peer.traffic.bytes_sent, 5000U);
  EXPECT_EQ(peer.traffic.refused, 5U);
  EXPECT_EQ(peer.traffic.messages, 6U);
  EXPECT_EQ(peer.dropped, 2U);
  EXPECT_EQ(peer.retransmissions, 3U);
  EXPECT_EQ(peer.duplicates, 4U);
  EXPECT_EQ(peer.outstanding, 7U);
  EXPECT_EQ(reading.peers[1].address, "process 77");
}

// An address that ends its own label, and a line of its own behind it.
TEST(MetricsReading, NoLabelEndsItselfOrBeginsALine) {
  ServerState state = some_state();
  const std::string hostile = "a\"} 1\nwharf_clients{protocol=\"b\\";
  state.peers[0].address = hostile;
  const std::string text = prometheus_text(state);
  EXPECT_THAT(text, HasSubstr("address=\"a\\\"} 1\\nwharf_clients{protocol=\\\"b\\\\\",queue"));
  EXPECT_EQ(escaped_label("plain"), "plain");
  const auto reading = parse_metrics(text, "a");
  ASSERT_TRUE(reading.ok()) << reading.error().message;
  EXPECT_EQ(reading->clients, 2U);
  EXPECT_EQ(reading->peers[0].queue, 9U);
  EXPECT_EQ(reading->peers[0].address, hostile);
}

TEST(MetricsReading, RefusesWhatIsNotOurs) {
  const std::string whole = prometheus_text(some_state());
  EXPECT_THAT(refused(""), HasSubstr("a.prom: no metrics of wharf, expected a file of `wharf serve"));
  EXPECT_THAT(refused("# HELP up Up.\nup 1\n"), HasSubstr("no metrics of wharf"));
  EXPECT_THAT(refused(whole.substr(0, whole.size() / 2)), HasSubstr("only half written"));
  const auto with = [&whole](const std::string& line) {
    return whole.substr(0, whole.size() - kMetricsEnd.size()) + line + "\n" + std::string(kMetricsEnd);
  };
  EXPECT_EQ(refused(with("# any remark")), "taken");
  EXPECT_EQ(refused(with("wharf_of_a_later_version{protocol=\"any\"} 5")), "taken");
  for (const char* line :
       {"up 1", "wharf_clients 1", "wharf_clients{protocol=\"any\"}", "wharf_clients{protocol=\"any\"} ",
        "wharf_clients{protocol=\"any\"} one", "wharf_clients{protocol=\"any\"} -1",
        "wharf_clients{protocol=\"any} 1", "wharf_clients{protocol=\"any\\",
        "wharf_clients{protocol=\"any\",} 1", "wharf_clients{} 1", "wharf_clients{=\"\"} 1",
        "wharf_{protocol=\"any\"} 1", "\x1b[2J", "wharf_clients{protocol=\"\x9b\"} 1", "# \x1b[2J",
        "wharf_peer_bytes_sent_total{peer=\"x\"} 1", "wharf_engine_total{protocol=\"any\"} 1", "",
        "wharf_clients{protocol=\"any\"} 18446744073709551616"})
    EXPECT_THAT(refused(with(line)), HasSubstr("no line of metrics of wharf")) << line;
  EXPECT_THAT(refused("# HELP wharf_clients Clients.\n" + std::string(kMetricsEnd)),
              HasSubstr("wharf_info is missing"));
}

TEST(MetricsReading, TellsWhatIsNotThereAndWhatIsStale) {
  const fs::path path = testing::TempDir() + "wharf_reading_" + std::to_string(::getpid());
  const auto refusal = [](const fs::path& file) { return read_metrics(file).error(); };
  EXPECT_EQ(refusal(path).kind, ErrorKind::kInput);
  EXPECT_THAT(refusal(path).message, HasSubstr("cannot be read: No such file"));
  EXPECT_THAT(refusal(testing::TempDir()).message, HasSubstr("no file, expected"));
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(refusal(path).message, HasSubstr("no file, expected"));  // And nobody waits for its writer.
  fs::remove(path);
  ServerState state = some_state();
  state.process = static_cast<std::uint32_t>(::getpid());
  ASSERT_TRUE(MetricsFile(path).write(kTimeZero, state).ok());
  const auto fresh = read_metrics(path);
  ASSERT_TRUE(fresh.ok()) << fresh.error().message;
  EXPECT_LT(fresh->age_seconds, kMetricsStaleSeconds);
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(90));
  EXPECT_EQ(refusal(path).kind, ErrorKind::kStalled);
  EXPECT_THAT(refusal(path).message,
              testing::ContainsRegex("not written for 9[0-9] s.*: process [0-9]+ hangs"));
  state.process = 0x7fffffff;  // Beyond what Linux gives.
  ASSERT_TRUE(MetricsFile(path).write(kTimeZero, state).ok());
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(90));
  EXPECT_THAT(refusal(path).message, HasSubstr("process 2147483647 is gone"));
  fs::resize_file(path, kMetricsBytesMax + 1);
  EXPECT_THAT(refusal(path).message, HasSubstr("no metrics of wharf have more than"));
  fs::remove(path);
}

TEST(MetricsChange, ComparesReadingsOfOneProcess) {
  const auto received = [](const MetricsReading& of) { return of.traffic.datagrams_received; };
  const auto peer_received = [](const PeerReading& of) { return of.traffic.datagrams_received; };
  ServerState state = some_state();
  MetricsChange change;
  EXPECT_TRUE(change.empty());
  change.add(parsed(state));
  EXPECT_EQ(change.rate(received), std::nullopt);
  change.add(parsed(state));  // Not written meanwhile.
  EXPECT_EQ(change.rate(received), std::nullopt);
  state.uptime += seconds(2);
  state.counters.datagrams_received += 500;
  state.peers[0].traffic.datagrams_received += 100;
  state.peers[1].number = 3;  // Another one.
  state.peers[1].traffic.datagrams_received = 50;
  change.add(parsed(state));
  EXPECT_EQ(change.rate(received), 250.0);
  EXPECT_EQ(change.rate(change.later().peers[0], peer_received), 50.0);
  EXPECT_EQ(change.rate(change.later().peers[1], peer_received), 25.0);
  change.add(parsed(state));  // The same: what was known stays known.
  EXPECT_EQ(change.rate(received), 250.0);
  state.uptime = milliseconds(10);  // It was started anew.
  state.process = 1235;
  state.counters.datagrams_received = 1;
  change.add(parsed(state));
  EXPECT_EQ(change.rate(received), std::nullopt);
  EXPECT_EQ(change.seconds(), 0);
  state.uptime = milliseconds(1);  // Anew, with the same number.
  change.add(parsed(state));
  EXPECT_EQ(change.rate(received), std::nullopt);
}

}  // namespace
}  // namespace wharf::live
