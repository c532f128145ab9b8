// SPDX-License-Identifier: Apache-2.0
// Runs the wharf program as a user would and keeps what it printed and how it ended.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

extern char** environ;

namespace wharf::cli_test {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
  std::uint64_t resident_bytes = 0;  ///< The most that it held in memory.
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// A program that is running; its standard output and error are collected by wait().
class Running {
 public:
  /// `command`: program and arguments. No standard input.
  explicit Running(const std::vector<std::string>& command) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    if (::posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0)
      std::abort();
    posix_spawn_file_actions_destroy(&actions);
    ::close(out[1]);
    ::close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  /// Kills it unless wait() has seen its end.
  ~Running() {
    if (process_ <= 0) return;
    signal(SIGKILL);
    static_cast<void>(wait());
  }

  void signal(int number) { ::kill(process_, number); }
  /// To all processes of its group, as a terminal does; for a command that begins with setsid.
  void signal_group(int number) { ::kill(-process_, number); }

  /// The first line of standard output; waits for it.
  std::string first_line() {
    while (outcome_.out.find('\n') == std::string::npos && pump()) {
    }
    return outcome_.out.substr(0, outcome_.out.find('\n'));
  }

  /// The first line of standard error; waits for it.
  std::string first_error_line() {
    while (outcome_.err.find('\n') == std::string::npos && pump()) {
    }
    return outcome_.err.substr(0, outcome_.err.find('\n'));
  }

  /// Waits until standard error has `text`; false when it ends without.
  bool says(const std::string& text) {
    while (outcome_.err.find(text) == std::string::npos) {
      if (!pump()) return false;
    }
    return true;
  }

  Outcome wait() {
    while (pump()) {
    }
    int status = 0;
    rusage used{};
    ::wait4(process_, &status, 0, &used);
    outcome_.resident_bytes = static_cast<std::uint64_t>(used.ru_maxrss) << 10U;
    process_ = -1;
    outcome_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome_;
  }

 private:
  /// Reads what has come; false when both streams have ended.
  bool pump() {
    std::array<pollfd, 2> waits{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
    if (out_ < 0 && err_ < 0) return false;
    ::poll(waits.data(), waits.size(), -1);
    const auto take = [](int& descriptor, short events, std::string& text) {
      if (descriptor < 0 || events == 0) return;
      std::array<char, 65536> buffer;
      const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
      if (count > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(count));
      } else {
        ::close(descriptor);
        descriptor = -1;
      }
    };
    take(out_, waits[0].revents, outcome_.out);
    take(err_, waits[1].revents, outcome_.err);
    return true;
  }

  pid_t process_ = -1;
  int out_ = -1;
  int err_ = -1;
  Outcome outcome_;
};

inline Outcome run(const std::vector<std::string>& command) { return Running(command).wait(); }

/// wharf with `arguments`.
inline Outcome wharf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), WHARF_PROGRAM);
  return run(arguments);
}

/// A directory of the test's own, gone at its end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "wharf-cli-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~ScratchDirectory() {
    std::error_code status;
    std::filesystem::remove_all(path_, status);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace wharf::cli_test
