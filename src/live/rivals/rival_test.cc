// SPDX-License-Identifier: Apache-2.0
#include "live/rivals/rival.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "live/reactor/live_clock.h"
#include "live/rivals/bare_udp.h"
#include "live/rivals/tool_process.h"

namespace wharf::live {
namespace {

const std::atomic<bool> kNever{false};

TEST(Rival, NamesAreReadAndWritten) {
  for (const std::string text :
       {"udp", "ucx:tcp", "ucx:shm", "libfabric:udp", "libfabric:tcp", "libfabric:shm"}) {
    const auto rival = parse_rival(text, false);
    ASSERT_TRUE(rival) << text;
    EXPECT_EQ(name(*rival), text);
  }
  EXPECT_EQ(name(*parse_rival("ucx", false)), "ucx:tcp");
  EXPECT_EQ(name(*parse_rival("libfabric", false)), "libfabric:udp");
  EXPECT_EQ(name(*parse_rival("ucx", true)), "ucx:shm");
  EXPECT_EQ(name(*parse_rival("libfabric", true)), "libfabric:shm");
}

TEST(Rival, WhatIsNoneIsRefused) {
  EXPECT_EQ(parse_rival("ucz", false).error().message,
            "found ucz, expected one of udp, ucx, libfabric; did you mean ucx?");
  EXPECT_EQ(parse_rival("", false).error().message, "found , expected one of udp, ucx, libfabric");
  EXPECT_EQ(parse_rival("ucx:udp", false).error().message,
            "found ucx:udp, expected ucx with one of tcp, shm");
  EXPECT_EQ(parse_rival("udp:4791", false).error().message, "found udp:4791, expected udp");
}

TEST(Rival, WhatItDoesNotHaveIsRefused) {
  RivalRun run;
  run.bytes = kBareUdpMost + 1;
  EXPECT_EQ(check({RivalKind::kUdp, ""}, run).error().message,
            "udp takes at most 65507 bytes in a datagram, found 65508");
  run.verb = verbs::Verb::kFetchXor;
  run.bytes = 8;
  EXPECT_EQ(check({RivalKind::kUcx, "tcp"}, run).error().message,
            "ucx has no fetch_xor, expected read, write, send, fetch_add, swap or compare_swap");
  run.verb = verbs::Verb::kFetchAdd;
  run.bytes = 16;
  EXPECT_EQ(check({RivalKind::kUcx, "tcp"}, run).error().kind, ErrorKind::kInput);
  run.verb = verbs::Verb::kRead;
  EXPECT_EQ(check({RivalKind::kLibfabric, "udp"}, run).error().message,
            "libfabric is measured by messages, expected write or send, found read");
}

TEST(Rival, WhatProgramsPrintIsRead) {
  EXPECT_EQ(*read_ucx_perftest("iterations,50.0_percentile_lat,avg_lat\n2000,14.634,41.416\n"), 14'634'000);
  EXPECT_EQ(
      *read_fi_pingpong("bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
                        "64      1k      =1k      125k        0.21s      0.62     102.79       0.01\n"),
      102'790'000);
  for (const std::string text : {"", "\n", "2000", "2000,", "2000,x,3", "2000,-1,3", "2000,nan,3"})
    EXPECT_FALSE(read_ucx_perftest(text)) << text;
  EXPECT_EQ(read_fi_pingpong("fi_getinfo(): no such provider\n").error().message,
            "fi_pingpong printed \"fi_getinfo(): no such provider\", expected a latency");
}

TEST(Rival, BareUdpComesBack) {
  for (const bool spins : {false, true}) {
    BareUdpRun run;
    run.trips = 200;
    run.spins = spins;
    run.back = 8;
    const auto trips = bare_udp_trips(run, kNever);
    ASSERT_TRUE(trips) << trips.error().message;
    EXPECT_EQ(trips->count(), 200U);
    EXPECT_GT(trips->min(), 0);
  }
  BareUdpRun large;
  large.there = kBareUdpMost;
  large.trips = 20;
  EXPECT_EQ(bare_udp_trips(large, kNever)->count(), 20U);
}

TEST(Rival, BareUdpStopsWhenItIsTold) {
  const std::atomic<bool> stop{true};
  const auto trips = bare_udp_trips({}, stop);
  ASSERT_TRUE(trips);
  EXPECT_EQ(trips->count(), 0U);
  EXPECT_EQ(measure({RivalKind::kUdp, ""}, {}, stop).error().message, "bare UDP was interrupted");
}

// Where they are installed.
TEST(Rival, ProgramsAreMeasured) {
  for (const char* text : {"ucx:tcp", "libfabric:udp"}) {
    const Rival rival = *parse_rival(text, false);
    RivalRun run;
    run.trips = 50;
    run.warm_up = 10;
    if (const auto usable = check(rival, run); !usable) {
      EXPECT_EQ(usable.error().kind, ErrorKind::kEnvironment) << usable.error().message;
      continue;
    }
    const auto figure = measure(rival, run, kNever);
    ASSERT_TRUE(figure) << text << ": " << figure.error().message;
    EXPECT_GT(figure->latency_ps, 0) << text;
  }
}

/// A directory of programs that PATH begins with while it lives.
class Programs {
 public:
  Programs() {
    char name[] = "/tmp/wharf-rivals-XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = std::getenv("PATH");
    ::setenv("PATH", (directory_ + ":" + path_).c_str(), 1);
  }
  ~Programs() {
    ::setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(directory_);
  }
  void add(const std::string& name, const std::string& script) const {
    const std::string file = directory_ + "/" + name;
    std::ofstream(file) << "#!/bin/sh\n" << script;
    ::chmod(file.c_str(), 0755);
  }

 private:
  std::string directory_;
  std::string path_;
};

// The end that asks has -P, waits for an answer, and has nobody to give it.
TEST(Rival, AnEndThatFailsIsNoticedThoughTheOtherOneWaits) {
  const Programs programs;
  programs.add("fi_pingpong", "case \"$*\" in *-P*) exec sleep 1000;; esac\necho no provider >&2\nexit 3\n");
  const LiveClock clock;
  const auto figure = measure(*parse_rival("libfabric:udp", false), {}, kNever);
  ASSERT_FALSE(figure);
  EXPECT_EQ(figure.error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(figure.error().message, "fi_pingpong ended with 3: no provider");
  EXPECT_LT(clock.now(), seconds(60));
}

TEST(ToolProcess, SaysHowItEndedAndWhatItPrinted) {
  auto shell = ToolProcess::start({"sh", "-c", "echo $WHARF_A; echo no >&2; exit 3"}, {{"WHARF_A", "yes"}});
  ASSERT_TRUE(shell) << shell.error().message;
  EXPECT_EQ(shell->wait(seconds(20), kNever), 3);
  EXPECT_EQ(shell->output(), "yes\n");
  EXPECT_EQ(shell->errors(), "no\n");
  auto killed = ToolProcess::start({"sh", "-c", "kill -9 $$"}, {});
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->wait(seconds(20), kNever), 128 + 9);
}

TEST(ToolProcess, IsWaitedForWithPatienceAndKilledInTheEnd) {
  auto sleeps = ToolProcess::start({"sleep", "1000"}, {});
  ASSERT_TRUE(sleeps);
  EXPECT_EQ(sleeps->wait(milliseconds(5), kNever), std::nullopt);
  const std::atomic<bool> stop{true};
  EXPECT_EQ(sleeps->wait(seconds(1000), stop), std::nullopt);
  EXPECT_EQ(ToolProcess::start({"no-such-program"}, {}).error().message,
            "there is no no-such-program in PATH");
}

}  // namespace
}  // namespace wharf::live
