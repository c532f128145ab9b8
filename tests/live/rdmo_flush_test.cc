// SPDX-License-Identifier: Apache-2.0
// A flush over UCX ends, whatever happens to worker, target, memory or link: done, or with the status that
// says why not. And what has an outcome is the caller's again: UCX reads its bytes no more.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "live/rdmo/child_process.h"
#include "live/rdmo/client.h"
#include "live/rdmo/worker_process.h"
#include "tests/live/shared_board.h"

namespace wharf::live {
namespace {

using rdmo::Form;
using wire::RdmoStatus;

constexpr std::size_t kLarge = 1U << 20U;  ///< Offered, and fetched by the worker.
constexpr TimePs kPatience = seconds(2);
constexpr TimePs kLook = milliseconds(500);  ///< How much later than that a busy machine may notice.
constexpr std::byte kRecords{0x11};
constexpr std::byte kOthers{0xee};  ///< What the bytes of a record are used for after its outcome.

/// What all processes see.
struct Board {
  std::atomic<std::uint32_t> worker_port{0};
  std::atomic<std::uint32_t> target_port{0};
  std::atomic<bool> connected{false};  ///< The initiator has appended and flushed.
  std::atomic<bool> go{false};         ///< It appends and flushes once more,
  std::atomic<bool> posted{false};     ///< which it has asked for.
  std::atomic<bool> taken{false};      ///< It has all outcomes, and has used the bytes for something else.
  std::atomic<bool> leave{false};
  std::atomic<bool> stop_worker{false};
  std::atomic<bool> withdraw{false};
  std::atomic<bool> withdrawn{false};
  std::atomic<bool> cut_target{false};
  std::atomic<bool> look{false};  ///< Target: are there bytes that were overwritten after their outcome?
  std::atomic<bool> looked{false};
  std::atomic<bool> tainted{false};
  std::atomic<bool> neighbour{false};  ///< Another initiator is in,
  std::atomic<bool> owe{false};        ///< and is to announce a large append,
  std::atomic<bool> owes{false};       ///< whose bytes it still has.
};

void pause_a_little() {
  const timespec pause{0, 500'000};
  ::nanosleep(&pause, nullptr);
}

void wait_until(const auto& holds) {
  for (int tries = 0; !holds(); ++tries) {
    if (tries > 120'000) {
      ADD_FAILURE() << "what a child should have done did not come in a minute";
      std::_Exit(1);
    }
    pause_a_little();
  }
}

/// Resets every TCP connection of this process, as a network that is cut and comes back does.
void cut_links() {
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family != AF_INET) continue;
    sockaddr none{};
    none.sa_family = AF_UNSPEC;
    ::connect(descriptor, &none, sizeof none);
  }
}

void work(Board& board) {
  WorkerProcessConfig config;
  config.listen.port = 0;
  config.worker.memory_time_max = seconds(1);  // A busy machine lets a target wait for long.
  config.worker.sender_time_max = milliseconds(500);
  auto process = WorkerProcess::create(config);
  if (!process) return;
  board.worker_port = (*process)->port();
  (*process)->run(board.stop_worker);
}

void own(Board& board, bool shared) {
  RdmoTargetConfig config;
  config.worker.port = static_cast<std::uint16_t>(board.worker_port.load());
  config.bytes = 8 * kLarge;
  config.shared = shared;
  auto target = RdmoTarget::create(config);
  auto listener = StreamListener::listen({"127.0.0.1", 0});
  if (!target || !listener) return;
  board.target_port = listener->port();
  for (;;) {
    static_cast<void>((*target)->meet(*listener));
    for (int i = 0; i < 100; ++i) (*target)->progress();
    if (board.withdraw && !board.withdrawn) {
      static_cast<void>((*target)->withdraw());
      board.withdrawn = true;
    }
    if (board.cut_target.exchange(false)) cut_links();
    if (board.look && !board.looked) {
      const std::span<std::byte> memory = (*target)->memory();
      board.tainted = std::find(memory.begin(), memory.end(), kOthers) != memory.end();
      board.looked = true;
    }
    pause_a_little();
  }
}

/// Another initiator of the same log. Gives its bytes to nobody who does not read while it runs.
void owe(Board& board) {
  auto met = RdmoInitiator::meet({"127.0.0.1", static_cast<std::uint16_t>(board.target_port.load())}, {});
  if (!met) return;
  RdmoInitiator& initiator = **met;
  const std::vector<std::byte> data(kLarge, kRecords);
  rdmo::AppendRequest request;
  request.cell = initiator.grant().cell;
  request.cell_key = request.data_key = initiator.grant().key;
  request.data = data;
  rdmo::Outcome outcome;
  // A hello's worth of credits, and its wiring, are there before anybody is stopped.
  if (initiator.engine().flush(initiator.now(), 0) != rdmo::Posted::kOk || !initiator.wait(outcome)) return;
  board.neighbour = true;
  while (!board.owe) pause_a_little();
  if (initiator.engine().append(initiator.now(), request) != rdmo::Posted::kOk) return;
  initiator.progress();
  board.owes = true;
  while (!board.leave) {
    initiator.progress();
    pause_a_little();
  }
}

/// How each of its operations ended, in the order in which outcomes came.
struct Seen {
  std::array<char, 64> failure{};
  std::array<int, 4> append{-1, -1, -1, -1};  ///< RdmoStatus, by number of the append.
  int flush = -1;
  int last_flush = -1;        ///< One more, where the worker still answers.
  std::int64_t flush_ms = 0;  ///< From its question to its end, on the clock of the initiator's patience.
};

void fail(Seen& seen, const std::string& what) { what.copy(seen.failure.data(), seen.failure.size() - 1); }

Seen ask(Board& board, Form form, bool cuts) {
  Seen seen;
  RdmoInitiatorConfig config;
  config.initiator.form = form;
  config.initiator.time_max = kPatience;
  auto met = RdmoInitiator::meet({"127.0.0.1", static_cast<std::uint16_t>(board.target_port.load())}, config);
  if (!met) {
    fail(seen, met.error().message);
    return seen;
  }
  RdmoInitiator& initiator = **met;
  std::array<std::vector<std::byte>, 4> data;
  for (std::size_t i = 0; i < data.size(); ++i) data[i].assign(i % 2 == 0 ? 64 : kLarge, kRecords);
  const auto append = [&](std::size_t i) {
    rdmo::AppendRequest request;
    request.cookie = i;
    request.cell = initiator.grant().cell;
    request.cell_key = request.data_key = initiator.grant().key;
    request.data = data[i];
    return initiator.engine().append(initiator.now(), request) == rdmo::Posted::kOk;
  };
  const auto flush = [&] {
    return initiator.engine().flush(initiator.now(), data.size()) == rdmo::Posted::kOk;
  };
  const auto wait = [&] {
    rdmo::Outcome outcome;
    if (!initiator.wait(outcome)) fail(seen, "an outcome is missing");
    return outcome;
  };
  if (!append(0) || !flush()) fail(seen, "nothing can be asked for");
  for (int i = 0; i < 2; ++i) {
    if (wait().status != RdmoStatus::kDone) fail(seen, "the first append is not done");
  }
  board.connected = true;
  while (!board.go) {
    initiator.progress();
    pause_a_little();
  }
  if (cuts) cut_links();
  const TimePs asked = initiator.now();
  std::size_t open = 0;
  for (std::size_t i = 0; i < data.size(); ++i) open += append(i) ? 1 : 0;
  if (flush()) {
    ++open;
  } else {
    seen.flush = static_cast<int>(RdmoStatus::kConnectionLost);  // Known before it could be asked.
  }
  initiator.progress();
  board.posted = true;
  for (; open > 0; --open) {
    const rdmo::Outcome outcome = wait();
    if (outcome.cookie < data.size()) {
      std::fill(data[outcome.cookie].begin(), data[outcome.cookie].end(), kOthers);
      seen.append[outcome.cookie] = static_cast<int>(outcome.status);
    } else {
      seen.flush = static_cast<int>(outcome.status);
      seen.flush_ms = (initiator.now() - asked) / milliseconds(1);
    }
  }
  const bool works = seen.flush == 0 || seen.flush == static_cast<int>(RdmoStatus::kEarlierFailed);
  if (works && flush()) seen.last_flush = static_cast<int>(wait().status);
  board.taken = true;
  while (!board.leave) {
    initiator.progress();
    pause_a_little();
  }
  return seen;
}

struct Case {
  Form form = Form::kExtended;
  bool in_place = true;
};

class RdmoFlushEnds : public testing::TestWithParam<Case> {
 protected:
  /// `breaks` breaks something before the initiator asks; `later` when it has asked.
  Seen run(
      const std::function<void()>& breaks, const std::function<void()>& later = [] {}, bool cuts = false) {
    worker_.emplace(*Child::start([this](int) { work(*board_); }));
    wait_until([this] { return board_->worker_port != 0; });
    target_.emplace(*Child::start([this](int) { own(*board_, GetParam().in_place); }));
    wait_until([this] { return board_->target_port != 0; });
    Child initiator = *Child::start([&](int report) {
      const Seen seen = ask(*board_, GetParam().form, cuts);
      Child::report(report, &seen, sizeof seen);
    });
    wait_until([this] { return board_->connected.load(); });
    breaks();
    board_->go = true;
    wait_until([this] { return board_->posted.load(); });
    later();
    wait_until([this] { return board_->taken.load(); });
    after_outcomes();
    board_->leave = true;
    Seen seen;
    EXPECT_TRUE(initiator.read(&seen, sizeof seen)) << "the initiator died";
    EXPECT_STREQ(seen.failure.data(), "");
    EXPECT_LE(seen.flush_ms, (kPatience + kLook) / milliseconds(1)) << "the configured time";
    return seen;
  }
  /// Another initiator has announced a large append, and gets `signal` before the worker has its bytes.
  void neighbour_gets(int signal) {
    neighbour_.emplace(*Child::start([this](int) { owe(*board_); }));
    wait_until([this] { return board_->neighbour.load(); });
    worker_->signal(SIGSTOP);
    board_->owe = true;
    wait_until([this] { return board_->owes.load(); });
    neighbour_->signal(signal);
    worker_->signal(SIGCONT);
  }
  /// For a while in which whoever still wants to read can.
  virtual void after_outcomes() {}

  void withdraw() {
    board_->withdraw = true;
    wait_until([this] { return board_->withdrawn.load(); });
  }
  bool published() const { return GetParam().form == Form::kPublished; }
  bool in_place() const { return GetParam().in_place; }
  /// An initiator that the worker has given up hears nothing more: its own patience ends what it waits for.
  /// A published flush cannot say that something failed, and ends so, too.
  void expect_flush(int status, std::vector<RdmoStatus> answers) const {
    if (published()) std::erase_if(answers, [](RdmoStatus each) { return each != RdmoStatus::kDone; });
    std::vector<int> allowed{static_cast<int>(RdmoStatus::kConnectionLost),
                             static_cast<int>(RdmoStatus::kTimedOut)};
    for (const RdmoStatus each : answers) allowed.push_back(static_cast<int>(each));
    EXPECT_THAT(allowed, testing::Contains(status));
  }

  test::SharedBoard<Board> board_;
  std::optional<Child> worker_;
  std::optional<Child> target_;
  std::optional<Child> neighbour_;
};

TEST_P(RdmoFlushEnds, WhenNothingIsWrong) {
  const Seen seen = run([] {});
  EXPECT_THAT(seen.append, testing::Each(0));
  EXPECT_EQ(seen.flush, 0);
  EXPECT_EQ(seen.last_flush, 0);
}

TEST_P(RdmoFlushEnds, WhenTheWorkerIsKilled) {
  expect_flush(run([this] { worker_.reset(); }).flush, {});
}

TEST_P(RdmoFlushEnds, WhenTheWorkerIsKilledAtWork) {
  expect_flush(run([this] { worker_->signal(SIGSTOP); }, [this] { worker_.reset(); }).flush, {});
}

TEST_P(RdmoFlushEnds, WhenTheWorkerStopsInOrder) {
  const Seen seen = run([this] { board_->stop_worker = true; });
  // What comes before the worker has noticed is done.
  expect_flush(seen.flush, {RdmoStatus::kDone, RdmoStatus::kStopped, RdmoStatus::kEarlierFailed});
}

TEST_P(RdmoFlushEnds, WhenTheLinkToTheWorkerIsCut) {
  const Seen seen = run([] {}, [] {}, true);
  expect_flush(seen.flush, {});
}

TEST_P(RdmoFlushEnds, WhenTheTargetIsKilled) {
  const Seen seen = run([this] { target_.reset(); });
  expect_flush(seen.flush, {RdmoStatus::kTargetLost, RdmoStatus::kEarlierFailed, RdmoStatus::kUnknownClient});
}

TEST_P(RdmoFlushEnds, WhenTheTargetFreezes) {
  const Seen seen = run([this] { target_->signal(SIGSTOP); });
  if (in_place()) {
    EXPECT_EQ(seen.flush, 0) << "its memory is reached without it";
  } else {
    expect_flush(seen.flush, {RdmoStatus::kTargetLost, RdmoStatus::kEarlierFailed});
  }
}

TEST_P(RdmoFlushEnds, WhenTheLinkToTheTargetIsCut) {
  const Seen seen = run([this] {
    board_->cut_target = true;
    wait_until([this] { return !board_->cut_target.load(); });
  });
  expect_flush(seen.flush, {RdmoStatus::kTargetLost, RdmoStatus::kEarlierFailed, RdmoStatus::kUnknownClient});
}

TEST_P(RdmoFlushEnds, WhenTheMemoryIsWithdrawn) {
  const Seen seen = run([this] { withdraw(); });
  expect_flush(seen.flush, {RdmoStatus::kEarlierFailed});
  if (published()) return;
  EXPECT_THAT(seen.append, testing::Each(static_cast<int>(RdmoStatus::kBadKey)));
  EXPECT_EQ(seen.last_flush, 0) << "what failed was told";
}

TEST_P(RdmoFlushEnds, WhenTheMemoryIsWithdrawnAtWork) {
  const Seen seen = run([] {}, [this] { withdraw(); });
  expect_flush(seen.flush, {RdmoStatus::kDone, RdmoStatus::kEarlierFailed});
}

TEST_P(RdmoFlushEnds, WhenAnotherInitiatorIsKilledWithItsBytes) {
  const Seen seen = run([this] { neighbour_gets(SIGKILL); });
  EXPECT_THAT(seen.append, testing::Each(0));
  EXPECT_EQ(seen.flush, 0) << "its place is filled with zeros";
  EXPECT_EQ(seen.last_flush, 0);
}

TEST_P(RdmoFlushEnds, WhenAnotherInitiatorFreezesWithItsBytes) {
  const Seen seen = run([this] { neighbour_gets(SIGSTOP); });
  EXPECT_THAT(seen.append, testing::Each(0));
  EXPECT_EQ(seen.flush, 0) << "its place is filled with zeros";
  EXPECT_EQ(seen.last_flush, 0);
}

/// The worker freezes until the initiator has given it up, and then wants what was announced.
class RdmoTimeOut : public RdmoFlushEnds {
 protected:
  void after_outcomes() override {
    worker_->signal(SIGCONT);
    for (int i = 0; i < 400; ++i) pause_a_little();  // Until it has what it can get.
    board_->look = true;
    wait_until([this] { return board_->looked.load(); });
    EXPECT_FALSE(board_->tainted) << "bytes were read after their outcome";
  }
};

TEST_P(RdmoTimeOut, GivesTheBytesBack) {
  const Seen seen = run([this] { worker_->signal(SIGSTOP); });
  expect_flush(seen.flush, {});
}

constexpr Case kCases[] = {{Form::kExtended, true}, {Form::kExtended, false}, {Form::kPublished, false}};
std::string case_name(const testing::TestParamInfo<Case>& at) {
  return std::string(at.param.form == Form::kPublished ? "Published" : "Extended") +
         (at.param.in_place ? "InPlace" : "Remote");
}
INSTANTIATE_TEST_SUITE_P(Live, RdmoFlushEnds, testing::ValuesIn(kCases), case_name);
INSTANTIATE_TEST_SUITE_P(Live, RdmoTimeOut, testing::Values(kCases[0], kCases[2]), case_name);

}  // namespace
}  // namespace wharf::live
