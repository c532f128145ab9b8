// SPDX-License-Identifier: Apache-2.0
// Workers that are listed and stopped by others: running ones, dead ones, frozen ones.
#include "live/rdmo/worker_roster.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "live/rdmo/background_process.h"
#include "live/rdmo/child_process.h"
#include "live/rdmo/client.h"
#include "live/rdmo/worker_process.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {
namespace {

WorkerProcessConfig listed_config(std::uint16_t port = 0) {
  WorkerProcessConfig config;
  config.listen.port = port;
  config.listed = true;
  return config;
}

/// A worker that is a process, and what is seen of it among all workers of this machine.
class WorkerRosterTest : public testing::Test {
 protected:
  WorkerRosterTest()
      : child_(*Child::start([](int report) {
          auto process = WorkerProcess::create(listed_config());
          if (!process) return;
          const std::uint16_t port = (*process)->port();
          Child::report(report, &port, sizeof port);
          const std::atomic<bool> never{false};
          (*process)->run(never);
        })) {
    EXPECT_TRUE(child_.read(&port_, sizeof port_)) << "no worker";
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::optional<ListedWorker> find(TimePs patience = seconds(60)) const {
    auto workers = list_workers(patience);
    EXPECT_TRUE(workers) << workers.error().message;
    for (ListedWorker& each : *workers) {
      if (each.report().process == static_cast<std::uint64_t>(child_.process())) return std::move(each);
    }
    return std::nullopt;
  }

  Child child_;
  std::uint16_t port_ = 0;
};

TEST_F(WorkerRosterTest, AWorkerSaysWhatItDoes) {
  std::optional<ListedWorker> found = find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->report().state, WorkerState::kRunning);
  EXPECT_EQ(found->report().address, address());
  EXPECT_EQ(found->report().clients, 0U);
  RdmoTargetConfig config;
  config.worker.port = port_;
  auto target = RdmoTarget::create(config);
  ASSERT_TRUE(target) << target.error().message;
  auto initiator = RdmoInitiator::create({});
  ASSERT_TRUE(initiator) << initiator.error().message;
  ASSERT_TRUE((*target)->admit((*initiator)->address()));
  ASSERT_TRUE((*initiator)->connect((*target)->grant()));
  const std::vector<std::byte> data(16, std::byte{7});
  rdmo::AppendRequest request;
  request.cell = (*target)->grant().cell;
  request.cell_key = request.data_key = (*target)->grant().key;
  request.data = data;
  rdmo::Outcome outcome;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ((*initiator)->engine().append((*initiator)->now(), request), rdmo::Posted::kOk);
    ASSERT_TRUE((*initiator)->wait(outcome));
  }
  ASSERT_EQ((*initiator)->engine().flush((*initiator)->now(), 1), rdmo::Posted::kOk);
  ASSERT_TRUE((*initiator)->wait(outcome));
  found = find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->report().clients, 1U);
  EXPECT_EQ(found->report().queues, 1U);
  EXPECT_EQ(found->report().appends, 3U);
  EXPECT_EQ(found->report().records, 3U);
  EXPECT_EQ(found->report().flushes, 1U);
}

TEST_F(WorkerRosterTest, WhoHasStoppedOneMayTakeItsAddress) {
  std::optional<ListedWorker> found = find();
  ASSERT_TRUE(found);
  const auto stopped = found->stop(seconds(60));
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(*stopped);
  EXPECT_FALSE(find());
  const auto next = WorkerProcess::create(listed_config(port_));
  EXPECT_TRUE(next) << next.error().message;
}

TEST_F(WorkerRosterTest, AKilledOneLeavesNothing) {
  std::optional<ListedWorker> found = find();
  ASSERT_TRUE(found);
  child_.signal(SIGKILL);
  const auto stopped = found->stop(seconds(60));  // What a killed one does not say is heard.
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(*stopped);
  EXPECT_FALSE(find());
}

TEST_F(WorkerRosterTest, AFrozenOneIsSilentAndHoldsNobodyUp) {
  child_.signal(SIGSTOP);
  std::optional<ListedWorker> found = find(milliseconds(200));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->report().state, WorkerState::kSilent);
  EXPECT_EQ(found->report().address, "");
  const auto stopped = found->stop(milliseconds(200));
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_FALSE(*stopped);
  child_.signal(SIGCONT);
  const auto later = found->stop(seconds(60));
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_TRUE(*later);
}

TEST_F(WorkerRosterTest, AnInterruptEndsTheWaitForAnEnd) {
  std::optional<ListedWorker> found = find();
  ASSERT_TRUE(found);
  ASSERT_EQ(::kill(child_.process(), SIGSTOP), 0);
  std::atomic<bool> interrupted{false};
  std::thread other([&] {
    ::usleep(200'000);
    interrupted = true;
  });
  const LiveClock clock;
  const auto stopped = found->stop(seconds(60), &interrupted);
  EXPECT_TRUE(stopped.ok() && !*stopped);
  EXPECT_LT(clock.now(), seconds(30));
  other.join();
  ASSERT_EQ(::kill(child_.process(), SIGCONT), 0);
}

TEST_F(WorkerRosterTest, CallersThatStayArePushedOut) {
  std::vector<ListedWorker> staying;
  for (std::size_t i = 0; i < RosterEntry::kCallersMost + 4; ++i) {
    std::optional<ListedWorker> found = find();
    ASSERT_TRUE(found) << i;
    staying.push_back(*std::move(found));
  }
  EXPECT_EQ(staying.back().report().state, WorkerState::kRunning);
  const auto first = staying.front().stop(milliseconds(300));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_FALSE(*first) << "it was pushed out before it asked: the worker has not ended";
  EXPECT_TRUE(find());
}

// Callers that come while it is asked to end push nobody out who waits for that.
TEST_F(WorkerRosterTest, WhoAskedForTheEndIsHeardBeforeItIsPushedOut) {
  std::optional<ListedWorker> stopping = find();
  ASSERT_TRUE(stopping);
  child_.signal(SIGSTOP);
  EXPECT_FALSE(*stopping->stop(milliseconds(1)));
  std::vector<std::optional<ListedWorker>> others;
  for (std::size_t i = 0; i < RosterEntry::kCallersMost + 4; ++i) others.push_back(find(milliseconds(1)));
  child_.signal(SIGCONT);
  const auto stopped = stopping->stop(seconds(60));
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(*stopped);
}

TEST_F(WorkerRosterTest, OneThatIsKilledWithQuestionsUnreadHasEnded) {
  child_.signal(SIGSTOP);
  std::optional<ListedWorker> found = find(milliseconds(1));
  ASSERT_TRUE(found);
  child_.signal(SIGKILL);
  const auto stopped = found->stop(seconds(60));
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(*stopped);
}

TEST(BackgroundProcess, IsReadyWhenItIsKnown) {
  const auto started = start_in_background([](const SayReady& ready) -> Result<void> {
    ready("here");
    ::pause();
    return {};
  });
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(started->told, "here");
  const auto process = static_cast<pid_t>(started->process);
  EXPECT_EQ(::getsid(process), process) << "it has left its terminal";
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
}

TEST(BackgroundProcess, AFailureIsToldAsItIs) {
  const auto refused = start_in_background([](const SayReady&) -> Result<void> {
    return Error{ErrorKind::kInput, "not like this"};
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInput);
  EXPECT_EQ(refused.error().message, "not like this");
  const auto died = start_in_background([](const SayReady&) -> Result<void> { ::_exit(9); });
  ASSERT_FALSE(died);
  EXPECT_EQ(died.error().kind, ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace wharf::live
