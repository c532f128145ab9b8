// SPDX-License-Identifier: Apache-2.0
#include "live/rivals/tool_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "live/reactor/live_clock.h"

namespace wharf::live {
namespace {

/// What a shell says of a program that is not there.
constexpr int kNotFound = 127;

}  // namespace

std::string path_of(std::string_view program) {
  const char* const listed = std::getenv("PATH");
  std::string_view places = listed == nullptr ? "/usr/bin:/bin" : listed;
  while (!places.empty()) {
    const std::string_view place = places.substr(0, places.find(':'));
    places.remove_prefix(std::min(places.size(), place.size() + 1));
    std::string file = fmt::format("{}/{}", place.empty() ? "." : place, program);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

Result<ToolProcess> ToolProcess::start(const std::vector<std::string>& words, const Environment& variables) {
  // All is made ready before the fork: what comes behind it may take no memory where there are threads.
  const std::string file = path_of(words.front());
  if (file.empty())
    return Error{ErrorKind::kEnvironment, fmt::format("there is no {} in PATH", words.front())};
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<std::string> set;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const auto is_named = [entry](const auto& variable) {
      return entry.starts_with(variable.first) && entry.substr(variable.first.size()).starts_with('=');
    };
    if (std::none_of(variables.begin(), variables.end(), is_named)) set.emplace_back(entry);
  }
  for (const auto& [name, value] : variables) set.push_back(fmt::format("{}={}", name, value));
  std::vector<char*> environment;
  for (std::string& entry : set) environment.push_back(entry.data());
  environment.push_back(nullptr);

  const int output = ::memfd_create("output", MFD_CLOEXEC);
  const int errors = ::memfd_create("errors", MFD_CLOEXEC);
  const pid_t process = output < 0 || errors < 0 ? -1 : ::fork();
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_DFL);
    if (::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(errors, STDERR_FILENO) >= 0)
      ::execve(file.c_str(), arguments.data(), environment.data());
    ::_exit(kNotFound);
  }
  if (process < 0) {
    const Error error{ErrorKind::kEnvironment,
                      fmt::format("starting {}: {}", words.front(), std::strerror(errno))};
    if (output >= 0) ::close(output);
    if (errors >= 0) ::close(errors);
    return error;
  }
  return ToolProcess(process, output, errors);
}

ToolProcess::ToolProcess(ToolProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      ended_(other.ended_) {}

ToolProcess::~ToolProcess() {
  if (process_ > 0 && !ended_) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
  if (errors_ >= 0) ::close(errors_);
}

std::optional<int> ToolProcess::wait(TimePs patience, const std::atomic<bool>& stop) {
  const LiveClock clock;
  while (!ended_) {
    int status = 0;
    const pid_t ended = ::waitpid(process_, &status, WNOHANG);
    if (ended == process_) {
      ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (stop || clock.now() >= patience) {
      return std::nullopt;
    } else {
      const timespec pause{0, 2'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }
  return ended_;
}

std::string ToolProcess::contents_of(int descriptor) {
  std::string text;
  char piece[4096];
  ssize_t length = 0;
  while ((length = ::pread(descriptor, piece, sizeof piece, static_cast<off_t>(text.size()))) > 0)
    text.append(piece, static_cast<std::size_t>(length));
  return text;
}

}  // namespace wharf::live
