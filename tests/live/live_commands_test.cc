// SPDX-License-Identifier: Apache-2.0
// `wharf serve` and `wharf perf` as a user runs them: two processes, their output and their exit codes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"

namespace wharf {
namespace {

/// A run of the program. Standard output and error go to pipes.
class Process {
 public:
  explicit Process(std::vector<std::string> arguments) {
    int out[2];
    int err[2];
    WHARF_CHECK(::pipe2(out, O_CLOEXEC) == 0 && ::pipe2(err, O_CLOEXEC) == 0);
    arguments.insert(arguments.begin(), WHARF_PROGRAM);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    process_ = ::fork();
    WHARF_CHECK(process_ >= 0);
    if (process_ == 0) {
      ::dup2(out[1], 1);
      ::dup2(err[1], 2);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(out[1]);
    ::close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (process_ > 0) {
      signal(SIGKILL);
      static_cast<void>(exit_code());
    }
    ::close(out_);
    ::close(err_);
  }

  void signal(int number) const { ::kill(process_, number); }
  /// The next line of standard output, or what there is at its end.
  std::string line() const { return line_of(out_); }
  /// The next line of standard error.
  std::string error_line() const { return line_of(err_); }
  std::string output() const { return all(out_); }
  std::string errors() const { return all(err_); }
  /// Waits for its end; 128 + signal when one killed it.
  int exit_code() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  static std::string line_of(int descriptor) {
    std::string text;
    char letter = 0;
    while (::read(descriptor, &letter, 1) == 1 && letter != '\n') text.push_back(letter);
    return text;
  }
  static std::string all(int descriptor) {
    std::string text;
    std::array<char, 4096> part;
    for (ssize_t count; (count = ::read(descriptor, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
  pid_t process_ = -1;
  int out_ = -1;
  int err_ = -1;
};

/// A running server and where it listens.
struct Server {
  explicit Server(const std::string& protocol, std::vector<std::string> more = {})
      : process([&] {
          std::vector<std::string> arguments{"serve",  "--json",   "--protocol",
                                             protocol, "--listen", "127.0.0.1:0"};
          arguments.insert(arguments.end(), more.begin(), more.end());
          return arguments;
        }()),
        address(nlohmann::json::parse(process.line()).at("address").get<std::string>()) {}
  Process process;
  std::string address;
};

class LiveCommands : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Protocols, LiveCommands, testing::Values("ub", "roce"),
                         [](const auto& info) { return info.param; });

TEST_P(LiveCommands, MeasureEveryVerbOfTheFirstSliceUnderLoss) {
  Server server(GetParam(), {"--loss", "5%", "--seed", "1"});
  for (const std::string verb : {"read", "write", "send", "fetch_add"}) {
    Process perf({"perf", server.address, "--protocol", GetParam(), "--verb", verb, "--iterations", "300",
                  "--concurrency", "4", "--loss", "5%", "--seed", "2", "--json", "--quiet"});
    const auto result = nlohmann::json::parse(perf.output());
    EXPECT_EQ(perf.exit_code(), 0) << perf.errors();
    EXPECT_EQ(result.at("results").at(0).at("operation"), verb);
    EXPECT_EQ(result.at("results").at(0).at("iterations"), 300);
    EXPECT_EQ(result.at("results").at(0).at("violations"), 0);
    EXPECT_GT(result.at("results").at(0).at("injected_losses"), 0);
  }
  server.process.signal(SIGINT);
  EXPECT_EQ(server.process.exit_code(), 130);
}

TEST_P(LiveCommands, AKilledServerIsExitCodeFive) {
  Server server(GetParam());
  Process perf({"perf", server.address, "--protocol", GetParam(), "--duration", "3600s", "--warmup", "0"});
  EXPECT_THAT(server.process.error_line(), testing::HasSubstr("came"));
  server.process.signal(SIGKILL);
  EXPECT_EQ(perf.exit_code(), 5);
  EXPECT_THAT(perf.errors(), testing::HasSubstr("closed the connection"));
}

TEST_P(LiveCommands, OnceEndsWithItsClient) {
  Server server(GetParam(), {"--once"});
  Process perf({"perf", server.address, "--protocol", GetParam(), "--iterations", "5"});
  EXPECT_EQ(perf.exit_code(), 0) << perf.errors();
  EXPECT_EQ(server.process.exit_code(), 0);
}

// Each size is a client of its own, so the server must outlast the pauses between them.
TEST_P(LiveCommands, SizesSweep) {
  Server server(GetParam());
  Process perf({"perf", server.address, "--protocol", GetParam(), "--all-sizes", "--iterations", "5"});
  const std::string output = perf.output();
  EXPECT_EQ(perf.exit_code(), 0) << perf.errors();
  EXPECT_THAT(output, testing::HasSubstr("median us"));
  server.process.signal(SIGINT);
  EXPECT_EQ(server.process.exit_code(), 130);
}

TEST_P(LiveCommands, RunAWorkload) {
  Server server(GetParam());
  Process perf({"perf", server.address, "--protocol", GetParam(), "--workload", "cas_lock", "--parties", "2",
                "--iterations", "20", "--json"});
  const auto result = nlohmann::json::parse(perf.output());
  EXPECT_EQ(perf.exit_code(), 0) << perf.errors();
  EXPECT_EQ(result.at("results").at(0).at("counts").at("increments"), 40);
}

/// Exit code and complaint of a command line that needs no server.
void expect_refusal(std::vector<std::string> arguments, int code, const std::string& complaint) {
  Process process(std::move(arguments));
  const std::string errors = process.errors();
  EXPECT_EQ(process.exit_code(), code) << errors;
  EXPECT_THAT(errors, testing::HasSubstr(complaint));
}

TEST(LiveCommandLine, RefusesInOneSentence) {
  expect_refusal({"perf"}, 2, "host");
  expect_refusal({"perf", "127.0.0.1", "--iteration", "5"}, 2, "--iterations");
  expect_refusal({"perf", "127.0.0.1", "--verb", "raed"}, 3, "did you mean read?");
  expect_refusal({"perf", "127.0.0.1", "--verb", "load"}, 3, "such as read");
  expect_refusal({"perf", "127.0.0.1", "--protocol", "rocee"}, 3, "did you mean roce?");
  expect_refusal({"perf", "127.0.0.1", "--workload", "cas_lok"}, 3, "did you mean cas_lock?");
  expect_refusal({"perf", "127.0.0.1", "--workload", "cas_lock", "--set", "hold_tim=1us"}, 3, "hold_time");
  expect_refusal({"perf", "127.0.0.1", "--size", "64X"}, 3, "--size");
  expect_refusal({"perf", "localhost"}, 3, "IPv4");
  expect_refusal({"perf", "127.0.0.1:1"}, 4, "cannot be reached");
  expect_refusal({"serve", "--size", "64"}, 3, "--size");
  expect_refusal({"serve", "--clients", "0"}, 2, "--clients");
}

TEST(LiveCommandLine, ABusyPortIsExitCodeFour) {
  Server server("ub");
  expect_refusal({"serve", "--listen", server.address}, 4, server.address);
}

TEST(LiveCommandLine, TheOtherProtocolIsRefused) {
  Server server("ub");
  expect_refusal({"perf", server.address, "--protocol", "roce"}, 3, "--protocol ub");
}

}  // namespace
}  // namespace wharf
