// SPDX-License-Identifier: Apache-2.0
#include "cli/isolated_runs.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"

namespace wharf::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// An answer that says that something is missing on this machine.
constexpr int kMissing = 4;

std::string all_of(int descriptor) {
  std::string text;
  std::array<char, 4096> some;
  for (;;) {
    const ssize_t count = ::read(descriptor, some.data(), some.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(some.data(), static_cast<std::size_t>(count));
  }
}

/// A process that waits for something that never comes uses no processor: it may take so many times longer.
constexpr int kClockPerProcessor = 5;

/// From here on this process dies of SIGXCPU when it has used the processor for so long. On a busy machine a
/// run takes longer by the clock, and does not hang.
void limit_processor_time(std::chrono::seconds patience) {
  const auto most = static_cast<rlim_t>(patience.count());
  const rlimit limit{most, most + 1};
  ::setrlimit(RLIMIT_CPU, &limit);
}

/// The last line that is not empty.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

Error no_process() {
  return {ErrorKind::kEnvironment, fmt::format("no process can be started: {}", std::strerror(errno))};
}

}  // namespace

IsolatedRuns::IsolatedRuns(std::filesystem::path profiles, std::uint32_t jobs, std::chrono::seconds patience)
    : profiles_(std::move(profiles)), jobs_(jobs), patience_(patience) {}

IsolatedRuns::~IsolatedRuns() {
  for (const Running& each : running_) {
    ::kill(each.process, SIGKILL);
    ::waitpid(each.process, nullptr, 0);
    ::close(each.answer);
    ::close(each.words);
  }
}

Result<void> IsolatedRuns::start(const sim::DrawnRun& run) {
  WHARF_CHECK(!full());
  std::array<int, 2> answer{};
  if (::pipe(answer.data()) != 0) return no_process();
  // A file that nobody else sees: a process that says much does not wait for its reader.
  std::FILE* words = std::tmpfile();
  const int words_descriptor = words == nullptr ? -1 : ::dup(::fileno(words));
  if (words != nullptr) std::fclose(words);
  std::fflush(nullptr);
  const int process = words_descriptor < 0 ? -1 : ::fork();
  if (process == 0) {
    ::close(answer[0]);
    ::dup2(words_descriptor, STDERR_FILENO);
    // A terminal sends these to the whole group: who started the run ends it. Its verdict would be a crash.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    limit_processor_time(patience_);
    judge(run, answer[1]);
  }
  ::close(answer[1]);
  if (process < 0) {
    const Error error = no_process();
    ::close(answer[0]);
    if (words_descriptor >= 0) ::close(words_descriptor);
    return error;
  }
  running_.push_back({run, process, answer[0], words_descriptor, {}, Clock::now()});
  return {};
}

void IsolatedRuns::judge(const sim::DrawnRun& run, int answer) const {
  const auto verdict = sim::judge_run(run, profiles_);
  const std::string text = verdict ? sim::to_json(*verdict).dump() : verdict.error().message;
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::write(answer, text.data() + sent, text.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  ::_exit(verdict ? 0 : kMissing);
}

Result<std::optional<IsolatedRuns::Ended>> IsolatedRuns::next(const std::atomic<bool>& stop) {
  WHARF_CHECK(!empty());
  for (;;) {
    if (stop.load()) return std::optional<Ended>();
    std::vector<pollfd> waits;
    for (const Running& each : running_) waits.push_back({each.answer, POLLIN, 0});
    ::poll(waits.data(), waits.size(), 1000);
    for (std::size_t at = 0; at < waits.size(); ++at) {
      Running& each = running_[at];
      if ((waits[at].revents & (POLLIN | POLLHUP)) != 0) {
        each.text += all_of(each.answer);  // A verdict is written at once, so this ends with the process.
        auto ended = finish(at, false);
        if (!ended) return ended.error();
        return std::optional<Ended>(*std::move(ended));
      }
      if (Clock::now() - each.started > patience_ * kClockPerProcessor) {
        auto ended = finish(at, true);
        if (!ended) return ended.error();
        return std::optional<Ended>(*std::move(ended));
      }
    }
  }
}

Result<IsolatedRuns::Ended> IsolatedRuns::finish(std::size_t at, bool hangs) {
  Running over = std::move(running_[at]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
  if (hangs) ::kill(over.process, SIGKILL);
  int status = 0;
  while (::waitpid(over.process, &status, 0) < 0 && errno == EINTR) {
  }
  ::lseek(over.words, 0, SEEK_SET);
  const std::string words = last_line(all_of(over.words));
  ::close(over.answer);
  ::close(over.words);
  Ended ended{std::move(over.run), {}};
  if (hangs || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
    ended.verdict.findings.push_back(
        {"hang", fmt::format("the run did not end within {} s of a processor", patience_.count())});
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    ended.verdict = sim::verdict_from(nlohmann::ordered_json::parse(over.text));
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == kMissing) {
    return Error{ErrorKind::kEnvironment, over.text};
  } else {
    ended.verdict.findings.push_back({"crash", words.empty() ? "the process died without a word" : words});
  }
  return ended;
}

}  // namespace wharf::cli
