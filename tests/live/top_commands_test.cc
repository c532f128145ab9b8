// SPDX-License-Identifier: Apache-2.0
// `wharf top` beside running servers, and captures that a running server is told to begin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/run_program.h"

namespace wharf {
namespace {

using cli_test::Outcome;
using cli_test::Running;
using testing::HasSubstr;

/// A running server that keeps its metrics.
struct Server {
  Server(const std::string& protocol, const std::string& metrics, const std::vector<std::string>& more = {})
      : process([&] {
          std::vector<std::string> command{WHARF_PROGRAM, "serve",       "--json",    "--protocol", protocol,
                                           "--listen",    "127.0.0.1:0", "--metrics", metrics};
          command.insert(command.end(), more.begin(), more.end());
          return command;
        }()),
        address(nlohmann::json::parse(process.first_line()).at("address").get<std::string>()) {}
  Running process;
  std::string address;
};

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The lines that --help of `wharf top` begins with.
std::vector<std::string> examples() {
  std::istringstream lines(cli_test::wharf({"top", "--help"}).out);
  std::vector<std::string> found;
  std::string line;
  std::getline(lines, line);  // "Examples:"
  while (std::getline(lines, line) && !line.empty()) found.push_back(line);
  return found;
}

// As they stand, in the folder of a server's file; where standard output is no terminal each of them ends.
TEST(Top, EveryExampleOfTheHelpWorks) {
  const cli_test::ScratchDirectory scratch;
  std::filesystem::create_symlink(WHARF_PROGRAM, scratch / "wharf");
  const Server server("ub", scratch / "serve.prom");
  const std::vector<std::string> all = examples();
  EXPECT_GE(all.size(), 4U);
  for (const std::string& example : all) {
    const Outcome outcome = cli_test::run(
        {"bash", "-c",
         "cd " + (scratch / "") + " && export PATH=" + (scratch / "") + ":$PATH && " + example});
    EXPECT_EQ(outcome.exit_code, 0) << example << "\n" << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("serve.prom")) << example;
  }
}

class TopOfProtocol : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Protocols, TopOfProtocol, testing::Values("ub", "roce", "uet"),
                         [](const auto& each) { return each.param; });

// Messages that come back, one in ten of them lost: the server repeats them.
TEST_P(TopOfProtocol, ShowsWhatPassesAndWhatIsRepeated) {
  const cli_test::ScratchDirectory scratch;
  const std::string metrics = scratch / "serve.prom";
  Server server(GetParam(), metrics);
  Running client({WHARF_PROGRAM, "perf", server.address, "--protocol", GetParam(), "--workload", "ping_pong",
                  "--duration", "3600s", "--loss", "10%", "--seed", "1"});
  while (text_of(metrics).find("wharf_peer_datagrams_received_total{") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Outcome outcome = cli_test::wharf({"top", metrics, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json document = outcome.json();
  EXPECT_EQ(document.at("schema_version"), 1);
  EXPECT_TRUE(document.at("refused").empty());
  ASSERT_EQ(document.at("processes").size(), 1U);
  const nlohmann::json process = document.at("processes")[0];
  EXPECT_EQ(process.at("file"), metrics);
  EXPECT_EQ(process.at("protocol"), GetParam());
  EXPECT_EQ(process.at("address"), server.address);
  EXPECT_EQ(process.at("clients"), 1);
  EXPECT_EQ(process.at("capturing"), false);
  EXPECT_GT(process.at("interval_seconds"), 0.5);
  EXPECT_LT(process.at("age_seconds"), 5);
  ASSERT_EQ(process.at("peers").size(), 1U);
  const nlohmann::json peer = process.at("peers")[0];
  EXPECT_THAT(peer.at("address").get<std::string>(), HasSubstr("127.0.0.1:"));
  for (const nlohmann::json& each : {process, peer}) {
    EXPECT_GT(each.at("received").at("packets_per_second"), 0);
    EXPECT_GT(each.at("received").at("bytes_per_second"), 0);
    EXPECT_GT(each.at("sent").at("packets_per_second"), 0);
    EXPECT_GT(each.at("messages_per_second"), 0);
  }
  EXPECT_GT(process.at("operations_per_second"), 0);
  EXPECT_GT(peer.at("retransmissions"), 0) << peer;

  const Outcome table = cli_test::wharf({"top", metrics});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr(metrics + ": " + GetParam() + " at " + server.address + ", process "));
  EXPECT_THAT(table.out, HasSubstr("1 client of 16"));
  EXPECT_THAT(table.out, HasSubstr("\n1 "));
  EXPECT_EQ(table.out.find('\033'), std::string::npos);
}

/// `wharf top` on a terminal of its own.
class Terminal {
 public:
  explicit Terminal(const std::string& file) {
    winsize size{12, 100, 0, 0};
    process_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (process_ == 0) {
      ::setenv("TERM", "xterm", 1);
      ::execl(WHARF_PROGRAM, WHARF_PROGRAM, "top", file.c_str(), "--interval", "200ms", nullptr);
      ::_exit(127);
    }
  }
  ~Terminal() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      end();
    }
    ::close(terminal_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// What it has written when `text` has come after `from`.
  const std::string& after(const std::string& text, std::size_t from = 0) {
    std::array<char, 4096> some{};
    while (shown_.find(text, from) == std::string::npos) {
      const ssize_t count = ::read(terminal_, some.data(), some.size());
      if (count <= 0) break;
      shown_.append(some.data(), static_cast<std::size_t>(count));
    }
    return shown_;
  }
  void press_interrupt() const { EXPECT_EQ(::write(terminal_, "\x03", 1), 1); }
  int end() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  int terminal_ = -1;
  pid_t process_ = -1;
  std::string shown_;
};

TEST(Top, OnATerminalGoesOnUntilAnInterrupt) {
  const cli_test::ScratchDirectory scratch;
  const std::string metrics = scratch / "serve.prom";
  Server server("ub", metrics);
  Terminal terminal(metrics);
  EXPECT_THAT(terminal.after("Ctrl-C ends"), HasSubstr("\033[2J\033[H" + metrics.substr(0, 4)));
  const std::size_t first = terminal.after("Ctrl-C ends").size();
  EXPECT_THAT(terminal.after("Ctrl-C ends", first).substr(first), HasSubstr("\033[H"));
  // A server that goes is told, and one that comes back is shown.
  server.process.signal(SIGKILL);
  std::filesystem::rename(metrics, scratch / "away.prom");
  const std::size_t second = terminal.after("cannot be read: No such file", first).size();
  std::filesystem::rename(scratch / "away.prom", metrics);
  EXPECT_THAT(terminal.after("ub at ", second).substr(second), HasSubstr("ub at "));
  terminal.press_interrupt();
  EXPECT_EQ(terminal.end(), 130);
}

TEST(Top, RefusesInOneSentence) {
  const cli_test::ScratchDirectory scratch;
  const auto refused = [](std::vector<std::string> words, int code, const std::string& sentence) {
    const Outcome outcome = cli_test::wharf(std::move(words));
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(sentence));
    return outcome;
  };
  refused({"top"}, 2, "file is required");
  refused({"top", scratch / "none"}, 3, "cannot be read: No such file or directory");
  refused({"top", scratch / ""}, 3, "no file, expected");
  std::ofstream(scratch / "other") << "# HELP up Up.\nup 1\n";
  refused({"top", scratch / "other"}, 3, "no metrics of wharf");
  const std::string metrics = scratch / "serve.prom";
  Server server("ub", metrics);
  refused({"top", metrics, "--interval", "1ms"}, 3, "--interval: found 1ms, expected 100ms to 3600s");
  refused({"top", metrics, "--interval", "1"}, 3, "--interval");
  const std::string text = text_of(metrics);
  std::ofstream(scratch / "half") << text.substr(0, text.size() / 2);
  refused({"top", scratch / "half"}, 3, "only half written");
  // One of two: the other is shown all the same.
  const Outcome both = refused({"top", scratch / "half", metrics, "--json"}, 3, "only half written");
  EXPECT_EQ(both.json().at("processes").size(), 1U);
  EXPECT_EQ(both.json().at("refused").at(0).at("file"), scratch / "half");
  server.process.signal(SIGKILL);
  EXPECT_EQ(server.process.wait().exit_code, 128 + SIGKILL);
  refused({"top", metrics}, 5, "is gone");  // It may have written just before.
  std::filesystem::last_write_time(metrics,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::seconds(90));
  refused({"top", metrics}, 5, "not written for 9");
}

TEST(CaptureOnSignal, BeginsAndEndsWhileTheServerGoesOn) {
  const cli_test::ScratchDirectory scratch;
  const std::string file = scratch / "a.pcapng";
  Server server("ub", scratch / "serve.prom", {"--capture-on-signal", file});
  const auto measure = [&server] {
    const Outcome outcome = cli_test::wharf({"perf", server.address, "--iterations", "20"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  };
  const std::string port = server.address.substr(server.address.rfind(':') + 1);
  const auto decoded = [&port](const std::string& name) {
    // The system may just be taking a frame.
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Outcome outcome = cli_test::wharf({"dissect", name, "--json", "--port", "ub=" + port});
      if (outcome.exit_code == 0) return outcome.json().at("decoded").get<int>();
      EXPECT_LT(attempt, 19) << outcome.err;
    }
    return 0;
  };
  measure();
  EXPECT_FALSE(std::filesystem::exists(file));
  server.process.signal(SIGUSR1);
  ASSERT_TRUE(server.process.says("capturing to " + file + "\n"));
  measure();
  while (decoded(file) < 40) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // It is still open.
  server.process.signal(SIGUSR1);
  ASSERT_TRUE(server.process.says("capturing to " + file + " already\n"));
  server.process.signal(SIGUSR2);
  ASSERT_TRUE(server.process.says("captured to " + file + ": "));
  const int captured = decoded(file);
  measure();
  EXPECT_EQ(decoded(file), captured);
  server.process.signal(SIGUSR1);
  ASSERT_TRUE(server.process.says("capturing to " + file + ".1\n"));
  measure();
  server.process.signal(SIGINT);
  EXPECT_EQ(server.process.wait().exit_code, 130);
  EXPECT_EQ(decoded(file), captured);
  EXPECT_GT(decoded(file + ".1"), 40);
}

TEST(CaptureOnSignal, RefusesInOneSentence) {
  const Outcome nowhere = cli_test::wharf({"serve", "--capture-on-signal", "/no/such/folder/a.pcapng"});
  EXPECT_EQ(nowhere.exit_code, 4);
  EXPECT_THAT(nowhere.err, HasSubstr("/no/such/folder/a.pcapng: cannot create the capture: No such file"));
  const Outcome twice = cli_test::wharf({"serve", "--capture", "a", "--capture-on-signal", "b"});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("--capture"));
}

}  // namespace
}  // namespace wharf
