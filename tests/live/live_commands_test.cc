// SPDX-License-Identifier: Apache-2.0
// `wharf serve` and `wharf perf` as a user runs them: two processes, their output and their exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/run_program.h"

namespace wharf {
namespace {

using cli_test::Outcome;
using cli_test::Running;

/// A running server and where it listens.
struct Server {
  explicit Server(const std::string& protocol, const std::vector<std::string>& more = {},
                  const std::string& place = "127.0.0.1:0")
      : process([&] {
          std::vector<std::string> command{WHARF_PROGRAM, "serve",    "--json", "--protocol",
                                           protocol,      "--listen", place};
          command.insert(command.end(), more.begin(), more.end());
          return command;
        }()),
        address(nlohmann::json::parse(process.first_line()).at("address").get<std::string>()) {}
  Running process;
  std::string address;
};

/// A name in shared memory that no other test run has.
std::string shared_place() { return "shm:commands-" + std::to_string(::getpid()); }

/// `wharf perf` against `server`.
std::vector<std::string> perf(const Server& server, const std::string& protocol,
                              std::vector<std::string> more) {
  std::vector<std::string> command{WHARF_PROGRAM, "perf", server.address, "--protocol", protocol};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

/// The commands that --help of `wharf perf` begins with, each on one line.
std::vector<std::string> perf_examples() {
  std::istringstream lines(cli_test::run({WHARF_PROGRAM, "perf", "--help"}).out);
  std::vector<std::string> examples;
  std::string line;
  std::getline(lines, line);  // "Examples:"
  bool goes_on = false;
  while (std::getline(lines, line) && !line.empty()) {
    const bool broken = line.back() == '\\';
    if (broken) line.pop_back();
    if (goes_on) {
      examples.back() += line;
    } else {
      examples.push_back(line);
    }
    goes_on = broken;
  }
  return examples;
}

// As they stand, but for the address and the program, which lie elsewhere in a test.
TEST(LivePerf, EveryExampleOfTheHelpWorks) {
  std::size_t ran = 0;
  const cli_test::ScratchDirectory scratch;
  for (const std::string& example : perf_examples()) {
    if (example.find("--perftest") != std::string::npos) continue;  // Needs perftest: tests/soft_roce has it.
    const std::string protocol = example.find("--protocol roce") != std::string::npos  ? "roce"
                                 : example.find("--protocol uet") != std::string::npos ? "uet"
                                                                                       : "ub";
    std::vector<std::string> more;
    if (example.find("--psk bench.key") != std::string::npos) {
      ASSERT_EQ(cli_test::run({WHARF_PROGRAM, "serve", "--make-psk", scratch / "bench.key"}).exit_code, 0);
      more = {"--psk", scratch / "bench.key"};
    }
    Server server(protocol, more, example.find("shm:") != std::string::npos ? shared_place() : "127.0.0.1:0");
    static const std::regex kHead("^ *wharf perf (127\\.0\\.0\\.1(:[0-9]+)?|shm:bench)");
    std::string line =
        std::regex_replace(example, kHead, std::string(WHARF_PROGRAM) + " perf " + server.address);
    line = std::regex_replace(line, std::regex("--duration 2s"), "--duration 20ms");
    ASSERT_NE(line, example);
    const Outcome outcome = cli_test::run({"bash", "-c", "cd " + (scratch / "") + " && " + line});
    EXPECT_EQ(outcome.exit_code, 0) << example << "\n" << outcome.err;
    ++ran;
  }
  EXPECT_GE(ran, 5U);
  std::ifstream page(scratch / "out/sizes.html");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  for (const char* what :
       {"send over ub", "Bandwidth by size", "checks of the bytes", "--all-sizes --duration"})
    EXPECT_THAT(text, testing::HasSubstr(what));
}

// Its failure is told, and what was measured before and after it.
TEST(LivePerf, ARivalThatFailsTakesNoOtherFigureWithIt) {
  const cli_test::ScratchDirectory scratch;
  std::ofstream(scratch / "fi_pingpong") << "#!/bin/sh\necho no provider >&2\nexit 3\n";
  std::filesystem::permissions(scratch / "fi_pingpong", std::filesystem::perms::owner_all);
  const Server server("ub");
  const Outcome outcome = cli_test::run({"/usr/bin/env", "PATH=" + (scratch / "") + ":/usr/bin:/bin",
                                         WHARF_PROGRAM, "perf", server.address, "--verb", "write",
                                         "--iterations", "100", "--against", "libfabric:udp,udp", "--json"});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, testing::HasSubstr("--against: fi_pingpong ended with 3: no provider"));
  const nlohmann::json result = outcome.json().at("results").at(0);
  EXPECT_EQ(result.at("iterations"), 100);
  ASSERT_EQ(result.at("against").size(), 2U) << outcome.out;
  EXPECT_EQ(result.at("against")[0].at("program"), "udp");
  EXPECT_EQ(result.at("against")[1].at("program"), "libfabric:udp");
  EXPECT_EQ(result.at("against")[1].at("error"), "--against: fi_pingpong ended with 3: no provider");
}

class LiveCommands : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Protocols, LiveCommands, testing::Values("ub", "roce", "uet"),
                         [](const auto& each) { return each.param; });

TEST_P(LiveCommands, MeasureEveryVerbOfTheFirstSliceUnderLoss) {
  Server server(GetParam(), {"--loss", "5%", "--seed", "1"});
  for (const std::string verb : {"read", "write", "send", "fetch_add"}) {
    const Outcome outcome = cli_test::run(perf(server, GetParam(),
                                               {"--verb", verb, "--iterations", "300", "--concurrency", "4",
                                                "--loss", "5%", "--seed", "2", "--json"}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const nlohmann::json result = outcome.json().at("results").at(0);
    EXPECT_EQ(result.at("operation"), verb);
    EXPECT_EQ(result.at("iterations"), 300);
    EXPECT_EQ(result.at("violations"), 0);
    EXPECT_GT(result.at("injected_losses"), 0);
  }
  server.process.signal(SIGINT);
  EXPECT_EQ(server.process.wait().exit_code, 130);
}

// At a port that the system chose, which no specification names.
TEST_P(LiveCommands, WriteCapturesThatDissectReads) {
  const cli_test::ScratchDirectory scratch;
  Server server(GetParam(), {"--capture", scratch / "server.pcapng"});
  const Outcome outcome =
      cli_test::run(perf(server, GetParam(), {"--iterations", "20", "--capture", scratch / "client.pcapng"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  server.process.signal(SIGINT);
  EXPECT_EQ(server.process.wait().exit_code, 130);
  const std::string port = server.address.substr(server.address.rfind(':') + 1);
  for (const char* side : {"server.pcapng", "client.pcapng"}) {
    SCOPED_TRACE(side);
    const std::string file = scratch / side;
    const Outcome known =
        cli_test::run({WHARF_PROGRAM, "dissect", file, "--json", "--port", GetParam() + "=" + port});
    ASSERT_EQ(known.exit_code, 0) << known.err;
    EXPECT_GT(known.json().at("decoded"), 40);
    for (const char* none : {"foreign", "malformed", "icrc_bad", "not_reencoded"})
      EXPECT_EQ(known.json().at(none), 0);
    const Outcome unknown = cli_test::run({WHARF_PROGRAM, "dissect", file});
    EXPECT_THAT(unknown.out,
                testing::ContainsRegex("\nother protocols: [0-9]+ of IPv4 UDP to port " + port + "\n"));
  }
}

TEST_P(LiveCommands, MeasureInSharedMemoryAsOverUdp) {
  Server server(GetParam(), {"--seed", "1"}, shared_place());
  EXPECT_EQ(server.address, shared_place());
  for (const std::string verb : {"read", "write", "send", "fetch_add"}) {
    const Outcome outcome = cli_test::run(
        perf(server, GetParam(), {"--verb", verb, "--iterations", "300", "--concurrency", "4", "--json"}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.json().at("server"), shared_place());
    const nlohmann::json result = outcome.json().at("results").at(0);
    EXPECT_EQ(result.at("operation"), verb);
    EXPECT_EQ(result.at("iterations"), 300);
    EXPECT_EQ(result.at("violations"), 0);
    EXPECT_EQ(result.at("datagrams_dropped"), 0);
  }
  EXPECT_THAT(server.process.first_error_line(), testing::HasSubstr("at process "));
  server.process.signal(SIGINT);
  EXPECT_EQ(server.process.wait().exit_code, 130);
}

TEST_P(LiveCommands, AKilledServerIsExitCodeFive) {
  Server server(GetParam());
  Running client(perf(server, GetParam(), {"--duration", "3600s", "--warmup", "0"}));
  EXPECT_THAT(server.process.first_error_line(), testing::HasSubstr("came"));
  server.process.signal(SIGKILL);
  const Outcome outcome = client.wait();
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.err, testing::HasSubstr("closed the connection"));
}

TEST_P(LiveCommands, OnceEndsWithItsClient) {
  Server server(GetParam(), {"--once"});
  const Outcome outcome = cli_test::run(perf(server, GetParam(), {"--iterations", "5"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(server.process.wait().exit_code, 0);
}

// Each size is a client of its own, so the server must outlast the pauses between them.
TEST_P(LiveCommands, SizesSweep) {
  Server server(GetParam());
  const Outcome outcome = cli_test::run(perf(server, GetParam(), {"--all-sizes", "--iterations", "5"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::HasSubstr("median"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\nwrite +1048576 +5 "));
  server.process.signal(SIGINT);
  EXPECT_EQ(server.process.wait().exit_code, 130);
}

TEST_P(LiveCommands, RunAWorkload) {
  Server server(GetParam());
  const Outcome outcome = cli_test::run(
      perf(server, GetParam(), {"--workload", "cas_lock", "--parties", "2", "--iterations", "20", "--json"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("results").at(0).at("counts").at("increments"), 40);
}

TEST_P(LiveCommands, MeasureWithAKeyAndSealedUnderLoss) {
  const cli_test::ScratchDirectory scratch;
  const std::string key = scratch / "a.key";
  const Outcome made = cli_test::run({WHARF_PROGRAM, "serve", "--make-psk", key});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, testing::HasSubstr("a.key holds a new key"));
  EXPECT_EQ(std::filesystem::status(key).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(cli_test::run({WHARF_PROGRAM, "serve", "--make-psk", key}).exit_code, 4) << "it is there";
  ASSERT_EQ(cli_test::run({WHARF_PROGRAM, "serve", "--make-psk", scratch / "b.key"}).exit_code, 0);

  Server server(GetParam(), {"--psk", key, "--loss", "5%", "--seed", "1"});
  for (const bool sealed : {false, true}) {
    std::vector<std::string> more{"--psk",  key, "--iterations", "200", "--loss", "5%",
                                  "--seed", "2", "--json"};
    if (sealed) more.push_back("--encrypt");
    const Outcome outcome = cli_test::run(perf(server, GetParam(), more));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const nlohmann::json result = outcome.json().at("results").at(0);
    EXPECT_EQ(result.at("iterations"), 200);
    EXPECT_EQ(result.at("violations"), 0);
    EXPECT_EQ(result.at("sealed"), sealed);
  }
  const Outcome wrong = cli_test::run(perf(server, GetParam(), {"--psk", scratch / "b.key"}));
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, testing::HasSubstr("the key that the client has is another"));
  const Outcome none = cli_test::run(perf(server, GetParam(), {}));
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, testing::HasSubstr("it lets in only clients that have its key, expected --psk FILE"));

  // The server's wish is enough, and its clients are told.
  Server seals(GetParam(), {"--psk", key, "--encrypt"});
  const Outcome told = cli_test::run(perf(seals, GetParam(), {"--psk", key, "--iterations", "100"}));
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, testing::HasSubstr("over " + GetParam() + ", sealed, concurrency 1"));

  Server open(GetParam());
  const Outcome alone = cli_test::run(perf(open, GetParam(), {"--psk", key}));
  EXPECT_EQ(alone.exit_code, 3);
  EXPECT_THAT(alone.err, testing::HasSubstr("it has no key, expected clients without --psk"));
}

/// Exit code and complaint of a command line that ends at once.
void expect_refusal(std::vector<std::string> arguments, int code, const std::string& complaint) {
  const Outcome outcome = cli_test::wharf(std::move(arguments));
  EXPECT_EQ(outcome.exit_code, code) << outcome.err;
  EXPECT_THAT(outcome.err, testing::HasSubstr(complaint));
}

TEST(LiveCommandLine, AnInterruptBeforePerftestsPeerCameIsNoResult) {
  Running server({WHARF_PROGRAM, "perf", "--perftest", "write_lat", "--listen", "127.0.0.1:0", "--ethernet",
                  "127.0.0.1:0,127.0.0.1:9", "--json"});
  EXPECT_THAT(server.first_error_line(), testing::HasSubstr("waiting for ib_write_lat"));
  server.signal(SIGINT);
  const Outcome outcome = server.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, testing::HasSubstr("interrupted before perftest's peer had introduced itself"));
}

TEST(LiveCommandLine, RefusesInOneSentence) {
  expect_refusal({"perf"}, 2, "HOST is required");
  expect_refusal({"perf", "127.0.0.1", "--iteration", "5"}, 2, "--iterations");
  expect_refusal({"perf", "--perftest", "write_lat"}, 2, "either HOST");
  expect_refusal({"perf", "127.0.0.1", "--perftest", "write_latt"}, 3, "did you mean write_lat?");
  expect_refusal({"perf", "127.0.0.1", "--perftest", "write_lat"}, 3, "needs --ethernet OWN,OTHER");
  expect_refusal({"perf", "127.0.0.1", "--perftest", "write_lat", "--protocol", "ub"}, 3, "speaks roce");
  expect_refusal({"perf", "127.0.0.1", "--perftest", "write_lat", "--ethernet", "127.0.0.1:1"}, 3,
                 "--ethernet: found 127.0.0.1:1, expected two addresses");
  expect_refusal({"perf", "127.0.0.1", "--listen", "127.0.0.1"}, 2, "--perftest");
  expect_refusal({"perf", "127.0.0.1", "--verb", "raed"}, 3, "did you mean read?");
  expect_refusal({"perf", "127.0.0.1", "--verb", "load"}, 3, "such as read");
  expect_refusal({"perf", "127.0.0.1", "--protocol", "rocee"}, 3, "did you mean roce?");
  expect_refusal({"perf", "127.0.0.1", "--workload", "cas_lok"}, 3, "did you mean cas_lock?");
  expect_refusal({"perf", "127.0.0.1", "--workload", "cas_lock", "--set", "hold_tim=1us"}, 3, "hold_time");
  expect_refusal({"perf", "127.0.0.1", "--size", "64X"}, 3, "--size");
  expect_refusal({"perf", "localhost:1"}, 4, "127.0.0.1:1 cannot be reached");
  expect_refusal({"perf", "::1"}, 3, "is an IPv6 address");
  expect_refusal({"serve", "--listen", "not a name"}, 3, "no IPv4 address and no name");
  expect_refusal({"perf", "127.0.0.1:1"}, 4, "cannot be reached");
  expect_refusal({"perf", "shm:"}, 3, "expected shm: and 1 to 64 letters");
  expect_refusal({"perf", "shm:a/b"}, 3, "\"shm:a/b\" is no address in shared memory");
  expect_refusal({"perf", shared_place()}, 4, "is `wharf serve --listen shm:commands-");
  expect_refusal({"serve", "--listen", "shm:a b"}, 3, "--listen: \"shm:a b\"");
  expect_refusal({"serve", "--size", "64"}, 3, "--size");
  expect_refusal({"serve", "--clients", "0"}, 3, "--clients");
}

TEST(LiveCommandLine, RefusesKeysThatAreNone) {
  const cli_test::ScratchDirectory scratch;
  const std::string key = scratch / "a.key";
  ASSERT_EQ(cli_test::wharf({"serve", "--make-psk", key}).exit_code, 0);
  expect_refusal({"serve", "--encrypt"}, 2, "--encrypt requires --psk");
  expect_refusal({"perf", "127.0.0.1", "--encrypt"}, 2, "--encrypt requires --psk");
  expect_refusal({"perf", "127.0.0.1", "--psk", ""}, 2, "--psk");
  expect_refusal({"perf", "127.0.0.1", "--psk", key, "--perftest", "write_lat"}, 2, "--psk");
  expect_refusal({"serve", "--psk", scratch / "none"}, 3, "cannot be read: No such file or directory");
  expect_refusal({"serve", "--psk", key, "--listen", "shm:any"}, 3, "--psk: shm:any is shared memory");
  expect_refusal({"perf", "shm:any", "--psk", key}, 3, "--psk: shm:any is shared memory");
  std::filesystem::permissions(key, std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  expect_refusal({"perf", "127.0.0.1", "--psk", key}, 3,
                 "others may use it, its mode is 0640, expected 0600: chmod 600 ");
}

TEST(LiveCommandLine, ABusyPortIsExitCodeFour) {
  Server server("ub");
  expect_refusal({"serve", "--listen", server.address}, 4, server.address);
}

TEST(LiveCommandLine, ATakenNameIsExitCodeFour) {
  Server server("ub", {}, shared_place());
  expect_refusal({"serve", "--listen", server.address}, 4, server.address);
}

TEST(LiveCommandLine, TheOtherProtocolIsRefused) {
  Server server("ub");
  expect_refusal({"perf", server.address, "--protocol", "roce"}, 3, "--protocol ub");
}

}  // namespace
}  // namespace wharf
