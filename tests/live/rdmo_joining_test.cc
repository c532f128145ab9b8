// SPDX-License-Identifier: Apache-2.0
// Initiators that connect to a worker by its network address, and join a target because they know its key.
// The worker is a process of its own: UCX 1.13 ends a process in which one thread's connections take
// the descriptors that another's had (its pull request 9942).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "live/rdmo/client.h"
#include "live/rdmo/worker_process.h"

namespace wharf::live {
namespace {

constexpr const char* kWorkerOption = "--worker";

/// What the worker's process says of itself.
struct Standing {
  std::uint16_t port = 0;
  std::uint16_t connect_port = 0;
  std::uint64_t strangers = 0;
  std::uint64_t places = 0;
};

/// The worker's process: answers each byte that it reads with its standing, and ends when there are no more.
int work(int targetless_seconds, int sender_seconds) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  WorkerProcessConfig config;
  config.worker.sender_time_max = seconds(sender_seconds);
  config.connect = StreamAddress{};
  config.targetless_max = seconds(targetless_seconds);
  auto process = WorkerProcess::create(config);
  if (!process) {
    std::fprintf(stderr, "the worker: %s\n", process.error().message.c_str());
    return 1;
  }
  std::atomic<bool> stop{false};
  std::thread serving([&] { (*process)->run(stop); });
  char question = 0;
  while (::read(STDIN_FILENO, &question, 1) == 1) {
    const bool ends = question == 'e';
    if (ends) {
      stop = true;
      serving.join();
    }
    const Standing standing{(*process)->port(), (*process)->connect_port(), (*process)->refusals().strangers,
                            ends ? (*process)->places() : 0};
    if (::write(STDOUT_FILENO, &standing, sizeof standing) != sizeof standing || ends) break;
  }
  stop = true;
  if (serving.joinable()) serving.join();
  return 0;
}

/// A worker in a process of its own, and a target at it.
class JoiningTest : public testing::Test {
 protected:
  void start(int targetless_seconds = 60, int sender_seconds = 5) {
    std::array<int, 2> questions{};
    std::array<int, 2> answers{};
    ASSERT_EQ(::pipe2(questions.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(answers.data(), O_CLOEXEC), 0);
    const std::string targetless = std::to_string(targetless_seconds);
    const std::string sender = std::to_string(sender_seconds);
    worker_ = ::fork();
    ASSERT_GE(worker_, 0);
    if (worker_ == 0) {
      ::dup2(questions[0], STDIN_FILENO);
      ::dup2(answers[1], STDOUT_FILENO);
      ::execl("/proc/self/exe", "worker", kWorkerOption, targetless.c_str(), sender.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(questions[0]);
    ::close(answers[1]);
    questions_ = questions[1];
    answers_ = answers[0];
    const Standing standing = ask('?');
    ASSERT_NE(standing.port, 0);
    connect_port_ = standing.connect_port;
    RdmoTargetConfig of_target;
    of_target.worker.port = standing.port;
    of_target.client = 5;
    auto target = RdmoTarget::create(of_target);
    ASSERT_TRUE(target) << target.error().message;
    target_ = *std::move(target);
  }
  ~JoiningTest() override {
    target_.reset();
    if (questions_ >= 0) ::close(questions_);
    if (answers_ >= 0) ::close(answers_);
    if (worker_ > 0) {
      int status = 0;
      ::waitpid(worker_, &status, 0);
      EXPECT_EQ(status, 0) << "the worker's process failed";
    }
  }
  /// '?': how the worker stands; 'e': the same once it has ended.
  Standing ask(char question) const {
    Standing standing;
    EXPECT_EQ(::write(questions_, &question, 1), 1);
    EXPECT_EQ(::read(answers_, &standing, sizeof standing), static_cast<ssize_t>(sizeof standing))
        << "the worker's process has ended";
    return standing;
  }
  StreamAddress at() const { return {"127.0.0.1", connect_port_}; }
  /// What an initiator that was never told of by anybody knows.
  RdmoGrant grant() const {
    RdmoGrant grant = target_->grant();
    grant.worker_address.clear();
    return grant;
  }
  static std::unique_ptr<RdmoInitiator> make(rdmo::Form form = rdmo::Form::kExtended,
                                             std::uint32_t batch = 1) {
    RdmoInitiatorConfig config;
    config.initiator.batch_records_max = batch;
    config.initiator.form = form;
    config.initiator.time_max = seconds(60);
    auto initiator = RdmoInitiator::create(config);
    EXPECT_TRUE(initiator) << initiator.error().message;
    return *std::move(initiator);
  }
  /// Appends, then flushes: both are done.
  static void append(RdmoInitiator& initiator, const std::string& text) {
    rdmo::AppendRequest request;
    request.cell = initiator.grant().cell;
    request.cell_key = request.data_key = initiator.grant().key;
    request.data = std::as_bytes(std::span(text));
    ASSERT_EQ(initiator.engine().append(initiator.now(), request), rdmo::Posted::kOk);
    ASSERT_EQ(initiator.engine().flush(initiator.now(), 1), rdmo::Posted::kOk);
    for (int i = 0; i < 2; ++i) {
      rdmo::Outcome outcome;
      ASSERT_TRUE(initiator.wait(outcome));
      EXPECT_EQ(outcome.status, wire::RdmoStatus::kDone);
    }
  }
  std::string log() const {
    return {reinterpret_cast<const char*>(target_->memory().data()) + 8, target_->tail() - 8};
  }

  std::unique_ptr<RdmoTarget> target_;

 private:
  pid_t worker_ = -1;
  int questions_ = -1;
  int answers_ = -1;
  std::uint16_t connect_port_ = 0;
};

TEST_F(JoiningTest, InitiatorsOfBothFormsConnectByAddress) {
  start();
  const auto one = make();
  const auto joined = one->connect(at(), grant());
  ASSERT_TRUE(joined) << joined.error().message;
  append(*one, "extended,");
  const auto other = make(rdmo::Form::kPublished);
  ASSERT_TRUE(other->connect(at(), grant()));
  append(*other, "published,");
  const std::string large(1U << 19U, 'l');
  append(*one, large);
  EXPECT_EQ(log(), "extended,published," + large);
}

// Of what is quiet nothing is heard: the credits of the HELLO's answer are all that it has.
TEST_F(JoiningTest, TheFirstAppendMayBeQuiet) {
  start();
  const auto one = make(rdmo::Form::kExtended, 8);
  ASSERT_TRUE(one->connect(at(), grant()));
  rdmo::AppendRequest request;
  request.cell = one->grant().cell;
  request.cell_key = request.data_key = one->grant().key;
  const std::string text = "quiet";
  request.data = std::as_bytes(std::span(text));
  request.quiet = true;
  ASSERT_EQ(one->engine().append(one->now(), request), rdmo::Posted::kOk);
  ASSERT_EQ(one->engine().flush(one->now(), 1), rdmo::Posted::kOk);
  rdmo::Outcome outcome;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(one->wait(outcome));
    EXPECT_EQ(outcome.status, wire::RdmoStatus::kDone);
  }
  request.quiet = false;
  ASSERT_EQ(one->engine().append(one->now(), request), rdmo::Posted::kOk);
  ASSERT_TRUE(one->wait(outcome)) << "who waits lets its batch go";
  EXPECT_EQ(outcome.status, wire::RdmoStatus::kDone);
  EXPECT_EQ(log(), "quiet");
}

TEST_F(JoiningTest, WithoutAKeyNobodyJoins) {
  start();
  RdmoGrant wrong = grant();
  ++wrong.key;
  auto refused = make()->connect(at(), wrong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the worker refuses: bad key");
  wrong = grant();
  ++wrong.client;
  refused = make()->connect(at(), wrong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the worker refuses: unknown target");
  ASSERT_TRUE(target_->withdraw());
  EXPECT_FALSE(make()->connect(at(), grant())) << "its memory is nobody's any more";
}

TEST_F(JoiningTest, StrangersAreClosedAfterTheirTime) {
  start(1);
  const auto silent = make();
  RdmoGrant wrong = grant();
  ++wrong.key;
  EXPECT_FALSE(silent->connect(at(), wrong));
  while (ask('?').strangers == 0 && !HasFailure()) ::usleep(1'000);
  std::unique_ptr<RdmoInitiator> honest;
  for (int tries = 0; tries < 30; ++tries) {  // A busy machine may need longer for one than it has.
    honest = make();
    if (honest->connect(at(), grant())) break;
    ASSERT_LT(tries, 29);
  }
  ::usleep(1'200'000);  // Longer than a stranger has.
  append(*honest, "still here");
}

TEST_F(JoiningTest, PlacesAreGivenAgain) {
  start();
  for (int i = 0; i < 30; ++i) {
    const auto joined = make()->connect(at(), grant());
    ASSERT_TRUE(joined) << joined.error().message;
  }
  EXPECT_LE(ask('e').places, 15U) << "who has gone is noticed a little later";
}

// A flush that waits for the bytes that a neighbour owes keeps the connection of one that has died.
TEST_F(JoiningTest, TheNumberOfOneThatDiedIsNobodysWhileItsConnectionStands) {
  start(60, 30);
  const auto frozen = make();
  ASSERT_TRUE(frozen->connect(at(), grant()));
  const std::vector<std::byte> large(1U << 20U);
  rdmo::AppendRequest request;
  request.cell = frozen->grant().cell;
  request.cell_key = request.data_key = frozen->grant().key;
  request.data = large;
  ASSERT_EQ(frozen->engine().append(frozen->now(), request), rdmo::Posted::kOk);
  frozen->progress();  // It is announced; its bytes never come.
  ::usleep(200'000);
  {
    const auto dying = make();
    ASSERT_TRUE(dying->connect(at(), grant()));
    ASSERT_EQ(dying->engine().flush(dying->now(), 1), rdmo::Posted::kOk);
    dying->progress();
    ::usleep(200'000);
  }
  ::usleep(500'000);  // Its death is noticed.
  const auto next = make();
  const auto joined = next->connect(at(), grant());
  EXPECT_TRUE(joined) << joined.error().message;
}

TEST(Joining, KeysThatAnybodyGuessesLetNobodyIn) {
  WorkerProcessConfig config;
  config.connect = StreamAddress{};
  config.worker.layout = wire::RdmoLayout::kGuide;
  const auto process = WorkerProcess::create(config);
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().kind, ErrorKind::kInput);
}

}  // namespace
}  // namespace wharf::live

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], wharf::live::kWorkerOption) == 0)
    return wharf::live::work(std::atoi(argv[2]), std::atoi(argv[3]));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
