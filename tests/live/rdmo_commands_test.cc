// SPDX-License-Identifier: Apache-2.0
// `wharf rdmo` as users run it: worker, target and initiators as processes of their own. Without UCX, its
// refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/cli/run_program.h"
#ifdef WHARF_HAS_UCX
#include <unistd.h>

#include <memory>

#include "live/rdmo/played_worker_test_support.h"
#include "live/rdmo/stream_channel.h"
#endif

namespace wharf {
namespace {

using cli_test::Outcome;
using cli_test::Running;

std::vector<std::string> rdmo(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {WHARF_PROGRAM, "rdmo"});
  return arguments;
}

#ifdef WHARF_HAS_UCX
std::string address_of(Running& process) {
  return nlohmann::json::parse(process.first_line()).at("address").get<std::string>();
}

/// A worker, and a target at it.
class RdmoCommands : public testing::Test {
 protected:
  Running worker_{rdmo({"worker", "--listen", "127.0.0.1:0", "--json"})};
  std::string worker_at_ = address_of(worker_);
  Running target_{rdmo({"target", "--worker", worker_at_, "--listen", "127.0.0.1:0", "--json"})};
  std::string target_at_ = address_of(target_);

  Outcome call(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "call");
    arguments.insert(arguments.end(), {"--to", target_at_, "--json"});
    return cli_test::run(rdmo(std::move(arguments)));
  }
};

TEST_F(RdmoCommands, InitiatorsOfBothFormsShareALog) {
  Outcome outcome = call({"append", "first"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("status"), "done");
  EXPECT_EQ(outcome.json().at("place"), 0);
  EXPECT_EQ(call({"append", "second", "--form", "published"}).exit_code, 0);
  outcome = call({"append", "third"});
  EXPECT_EQ(outcome.json().at("place"), 11);
  outcome = call({"append", "fourth", "--expect", "3"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.json().at("status"), "tail moved");
  EXPECT_EQ(call({"append", "fifth", "--expect", "16"}).exit_code, 0);
  EXPECT_EQ(call({"scatter", "FIRST", "--at", "8"}).exit_code, 0);
  EXPECT_EQ(call({"flush"}).exit_code, 0);
  EXPECT_EQ(call({"append", "xx", "--form", "published", "--expect", "0"}).exit_code, 3);
  target_.signal(SIGINT);
  const Outcome seen = target_.wait();
  EXPECT_EQ(seen.exit_code, 130);
  EXPECT_THAT(seen.out, testing::HasSubstr("fifth"));
}

TEST_F(RdmoCommands, AppendsLongerThanTheMemoryAreRefused) {
  const std::string megabyte((1U << 20U) - 100, 'm');
  Running small{rdmo({"target", "--worker", worker_at_, "--listen", "127.0.0.1:0", "--json", "--size", "4KiB",
                      "--id", "2"})};
  const std::string at = address_of(small);
  const Outcome outcome =
      cli_test::run(rdmo({"call", "append", megabyte.substr(0, 100000), "--to", at, "--json"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.json().at("status"), "no room");
  EXPECT_EQ(call({"append", megabyte.substr(0, 100000)}).exit_code, 0) << "by rendezvous";
}

TEST_F(RdmoCommands, TheDeathOfAWorkerEndsItsTarget) {
  worker_.signal(SIGKILL);
  static_cast<void>(worker_.wait());
  const Outcome outcome = target_.wait();
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, testing::HasSubstr("worker is gone"));
}

TEST_F(RdmoCommands, AWorkerOutlivesItsTargets) {
  target_.signal(SIGKILL);
  static_cast<void>(target_.wait());
  Running next{rdmo({"target", "--worker", worker_at_, "--listen", "127.0.0.1:0", "--json"})};
  target_at_ = address_of(next);
  EXPECT_EQ(call({"append", "still here"}).exit_code, 0);
  worker_.signal(SIGINT);
  EXPECT_EQ(worker_.wait().exit_code, 130);
}

/// What `list` says of the worker at that address; null: nothing.
nlohmann::json listed(const std::string& address) {
  const Outcome outcome = cli_test::run(rdmo({"list", "--json", "--patience", "30s"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json document = outcome.json();
  for (const nlohmann::json& each : document.at("workers")) {
    if (each.value("address", "") == address) return each;
  }
  return {};
}

TEST_F(RdmoCommands, WorkersAreListedAndStopped) {
  EXPECT_EQ(call({"append", "a record"}).exit_code, 0);
  const nlohmann::json entry = listed(worker_at_);
  ASSERT_FALSE(entry.is_null());
  EXPECT_EQ(entry.at("state"), "running");
  EXPECT_EQ(entry.at("clients"), 1);
  EXPECT_EQ(entry.at("records"), 1);
  EXPECT_THAT(cli_test::run(rdmo({"list"})).out, testing::HasSubstr(worker_at_));
  const Outcome stopped = cli_test::run(rdmo({"stop", worker_at_, "--json"}));
  ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_EQ(stopped.json().at("stopped").at(0).at("state"), "idle");
  EXPECT_TRUE(listed(worker_at_).is_null());
  EXPECT_EQ(worker_.wait().exit_code, 0) << "it was told to";
  EXPECT_EQ(target_.wait().exit_code, 4);
}

TEST(RdmoService, AnInitiatorConnectsByAddressWithAGrant) {
  Running worker{rdmo({"worker", "--listen", "127.0.0.1:0", "--connect", "127.0.0.1:0", "--json"})};
  const nlohmann::json ready = nlohmann::json::parse(worker.first_line());
  const std::string connect = ready.at("connect").get<std::string>();
  Running target{rdmo(
      {"target", "--worker", ready.at("address").get<std::string>(), "--listen", "127.0.0.1:0", "--json"})};
  std::string grant = nlohmann::json::parse(target.first_line()).at("grant").get<std::string>();
  EXPECT_EQ(cli_test::run(rdmo({"call", "append", "x", "--worker", connect, "--grant", grant})).exit_code, 0);
  grant[0] = grant[0] == '1' ? '2' : '1';
  const Outcome refused = cli_test::run(rdmo({"call", "flush", "--worker", connect, "--grant", grant}));
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, testing::HasSubstr("joining target 0 at the worker " + connect +
                                              ": the worker refuses: bad key"));
  EXPECT_EQ(cli_test::run(rdmo({"call", "flush", "--worker", connect})).exit_code, 3);
  EXPECT_EQ(cli_test::run(rdmo({"call", "flush", "--grant", "7"})).exit_code, 3);
  EXPECT_EQ(cli_test::run(rdmo({"worker", "--connect", ":1", "--layout", "guide"})).exit_code, 3);
}

TEST(RdmoService, AGrantComesFromAFileThatNobodyElseReads) {
  Running worker{rdmo({"worker", "--listen", "127.0.0.1:0", "--connect", "127.0.0.1:0", "--json"})};
  const nlohmann::json ready = nlohmann::json::parse(worker.first_line());
  const std::string connect = ready.at("connect").get<std::string>();
  Running target{rdmo(
      {"target", "--worker", ready.at("address").get<std::string>(), "--listen", "127.0.0.1:0", "--json"})};
  const std::string grant = nlohmann::json::parse(target.first_line()).at("grant").get<std::string>();
  const cli_test::ScratchDirectory scratch;
  const auto call = [&](const std::string& from) {
    return rdmo({"call", "append", "x", "--worker", connect, "--grant", from});
  };
  const std::string file = scratch / "log.grant";
  std::ofstream(file) << grant << '\n';
  EXPECT_EQ(cli_test::run(call("@" + file)).exit_code, 0);
  std::vector<std::string> piped{"sh", "-c", "exec \"$@\" <\"$0\"", file};
  for (const std::string& each : call("@-")) piped.push_back(each);
  EXPECT_EQ(cli_test::run(piped).exit_code, 0);
  std::ofstream(scratch / "empty.grant") << " \n";
  std::ofstream(scratch / "long.grant") << grant << std::string(1000, '\n');
  std::ofstream(scratch / "wrong.grant") << "12345678:9";
  const std::vector<std::pair<std::string, std::string>> refused{
      {"@" + (scratch / "none.grant"), "none.grant cannot be read: No such file or directory"},
      {"@" + (scratch / "empty.grant"), "empty.grant is empty, expected KEY:CELL:ID"},
      {"@" + (scratch / "long.grant"), "long.grant holds something else than KEY:CELL:ID"},
      {"@" + (scratch / "wrong.grant"), "wrong.grant holds something else than KEY:CELL:ID"},
      {"@-", "standard input is empty, expected KEY:CELL:ID"},
      {"@", "found no file's name, expected one, or - for standard input"}};
  for (const auto& [from, text] : refused) {
    const Outcome outcome = cli_test::run(call(from));
    EXPECT_EQ(outcome.exit_code, 3) << from;
    EXPECT_THAT(outcome.err, testing::HasSubstr(text));
    EXPECT_THAT(outcome.err, testing::Not(testing::HasSubstr("12345678"))) << "it may be a key";
  }
}

/// Somebody who takes connections and says nothing.
struct Mute {
  Mute() : listener(*live::StreamListener::listen({})) {}
  std::string address() const { return "127.0.0.1:" + std::to_string(listener.port()); }
  void wait_for_somebody() {
    while (!channel.open()) {
      channel = listener.accept();
      ::usleep(1000);
    }
  }
  live::StreamListener listener;
  live::StreamChannel channel;
};

TEST(RdmoInterrupts, EndACallThatIsNotLetIn) {
  for (const bool joins : {true, false}) {
    Mute mute;
    std::vector<std::string> command = rdmo({"call", "flush", joins ? "--worker" : "--to", mute.address()});
    if (joins) command.insert(command.end(), {"--grant", "1:2:3"});
    Running call(command);
    mute.wait_for_somebody();
    const auto since = std::chrono::steady_clock::now();
    call.signal(SIGINT);
    const Outcome outcome = call.wait();
    EXPECT_EQ(outcome.exit_code, 130) << joins;
    EXPECT_THAT(outcome.err, testing::HasSubstr("interrupted before the worker had let the call in"));
    EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(5)) << "its patience is 10 s";
  }
}

TEST_F(RdmoCommands, AnInterruptEndsTheWaitForAFrozenWorker) {
  worker_.signal(SIGSTOP);
  for (const std::string command : {"list", "stop"}) {
    Running waiting(rdmo({command, "--patience", "3600s"}));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    waiting.signal(SIGINT);
    const Outcome outcome = waiting.wait();
    EXPECT_EQ(outcome.exit_code, 130);
    EXPECT_THAT(outcome.err, testing::HasSubstr("interrupted; "));
  }
  worker_.signal(SIGCONT);
}

TEST_F(RdmoCommands, AKilledWorkerIsListedNoMore) {
  EXPECT_FALSE(listed(worker_at_).is_null());
  worker_.signal(SIGKILL);
  static_cast<void>(worker_.wait());
  EXPECT_TRUE(listed(worker_at_).is_null());
}

/// Ends with this object, if not before.
struct EndsWithTheTest {
  ~EndsWithTheTest() {
    if (!listed(at).is_null()) ::kill(process, SIGKILL);
  }
  std::string at;
  pid_t process;
};

TEST(RdmoService, AWorkerIsStartedAndStopped) {
  const Outcome started = cli_test::run(rdmo({"start", "--listen", "127.0.0.1:0", "--json"}));
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const std::string at = started.json().at("address").get<std::string>();
  const EndsWithTheTest guard{at, started.json().at("process").get<pid_t>()};
  const nlohmann::json entry = listed(at);
  ASSERT_FALSE(entry.is_null());
  EXPECT_EQ(entry.at("process"), started.json().at("process"));
  Running target{rdmo({"target", "--worker", at, "--listen", "127.0.0.1:0", "--json"})};
  EXPECT_EQ(cli_test::run(rdmo({"call", "append", "x", "--to", address_of(target)})).exit_code, 0);
  const Outcome again = cli_test::run(rdmo({"start", "--listen", at}));
  EXPECT_EQ(again.exit_code, 4);
  EXPECT_THAT(again.err, testing::HasSubstr("listening on " + at));
  const Outcome stopped = cli_test::run(rdmo({"stop", at}));
  EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_EQ(target.wait().exit_code, 4);
  const Outcome nobody = cli_test::run(rdmo({"stop", at}));
  EXPECT_EQ(nobody.exit_code, 4);
  EXPECT_THAT(nobody.err, testing::HasSubstr("no worker of yours listens at " + at));
  EXPECT_EQ(cli_test::run(rdmo({"list", "--patience", "soon"})).exit_code, 3);
}

TEST_F(RdmoCommands, AFrozenWorkerIsSilentAndItsStopEnds) {
  worker_.signal(SIGSTOP);
  EXPECT_THAT(cli_test::run(rdmo({"list"})).out, testing::HasSubstr("silent"));
  // Where it listens only it could say.
  EXPECT_EQ(cli_test::run(rdmo({"stop", worker_at_, "--patience", "100ms"})).exit_code, 4);
  worker_.signal(SIGCONT);
}

/// A worker that grants memory and then answers nothing, and a call that has sent it an append.
class RdmoCalls : public testing::Test {
 protected:
  void SetUp() override {
    for (int tries = 0; worker_->messages() == 0; ++tries) {
      ASSERT_LT(tries, 60'000) << "the append never came";
      ::usleep(1000);
    }
  }
  std::vector<wire::RdmoNotification> answers(const wire::RdmoCommand& command) const {
    std::vector<wire::RdmoNotification> now{live::answer_to(command, 7)};
    if (command.type == wire::RdmoCommandType::kClientInit) now.back().address = worker_->address();
    return now;
  }
  std::unique_ptr<live::PlayedWorker> worker_ = std::make_unique<live::PlayedWorker>(
      [this](const wire::RdmoCommand& command) { return answers(command); });
  Running target_{rdmo({"target", "--worker", "127.0.0.1:" + std::to_string(worker_->port()), "--listen",
                        "127.0.0.1:0", "--transports", "tcp,self", "--json"})};
  Running call_{rdmo({"call", "append", "lost", "--to", address_of(target_), "--json"})};
};

TEST_F(RdmoCalls, EndWithTheirWorker) {
  worker_.reset();
  const Outcome outcome = call_.wait();
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(outcome.json().at("status"), "connection lost");
}

TEST_F(RdmoCalls, EndWhenTheyAreInterrupted) {
  call_.signal(SIGTERM);
  EXPECT_EQ(call_.wait().exit_code, 130);
}

TEST(RdmoRefusals, ACallTakesWhatItsOperationHas) {
  const std::vector<std::tuple<std::vector<std::string>, int, std::string>> refused{
      {{"call", "flush", "x"}, 3, "text: flush takes none, found x"},
      {{"call", "append", "x", "--at", "9"}, 3, "--at: append has no offset, expected scatter"},
      {{"call", "scatter", "x", "--expect", "9"}, 3, "--expect: scatter has no condition, expected append"},
      {{"call", "flush", "--grant", "1:2:3", "--to", "10.0.0.1"}, 3, "--to: found 10.0.0.1 and --grant"},
      {{"stop", "no where"}, 3, "wharf: address: \"no where\" is no IPv4 address and no name"},
      {{"call", "append"}, 2, "wharf rdmo call append: TEXT is required"}};
  for (const auto& [command, code, text] : refused) {
    const Outcome outcome = cli_test::run(rdmo(command));
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_THAT(outcome.err, testing::HasSubstr(text));
  }
}

TEST(RdmoRefusals, AreOneSentence) {
  const Outcome nobody = cli_test::run(rdmo({"call", "flush", "--to", "127.0.0.1:1"}));
  EXPECT_EQ(nobody.exit_code, 4);
  EXPECT_THAT(nobody.err, testing::HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(cli_test::run(rdmo({"worker", "--listen", "nowhere"})).exit_code, 3);
  EXPECT_EQ(cli_test::run(rdmo({"worker", "--transports", "carrier_pigeon"})).exit_code, 4);
  EXPECT_EQ(cli_test::run(rdmo({"bench", "--size", "1GiB"})).exit_code, 3);
}

// Nothing has so much memory; a little too much of it ends a machine.
TEST(RdmoBench, AWorkloadThatDoesNotFitIsRefusedAtOnce) {
  const Outcome outcome = cli_test::run(rdmo(
      {"bench", "--workload", "log", "--operations", "100000000", "--clients", "256", "--size", "64KiB"}));
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, testing::HasSubstr("rdmo bench --workload log needs about"));
  EXPECT_THAT(outcome.err,
              testing::HasSubstr("expected fewer --operations or --clients, or a smaller --size"));
}

TEST(RdmoBench, AnInterruptLeavesPartialResultsSoon) {
  std::vector<std::string> command = rdmo({"bench", "--duration", "3600s"});
  command.insert(command.begin(), "setsid");
  Running running(command);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  running.signal_group(SIGINT);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_THAT(outcome.out, testing::EndsWith("interrupted: partial results\n"));
}

TEST(RdmoBench, AnInterruptedWorkloadSaysSo) {
  std::vector<std::string> command =
      rdmo({"bench", "--workload", "queue", "--operations", "100000000", "--clients", "1"});
  command.insert(command.begin(), "setsid");
  Running running(command);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  running.signal_group(SIGINT);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, testing::HasSubstr("interrupted; queue was not checked to its end"));
}

TEST(RdmoBench, ChecksWhatItMeasures) {
  const Outcome outcome = cli_test::run(rdmo({"bench", "--rounds", "1", "--duration", "20ms", "--json"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("results").size(), 7U);
}
#else
TEST(RdmoCommands, SayThatUcxIsMissing) {
  const Outcome outcome = cli_test::run(rdmo({"worker"}));
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, testing::HasSubstr("libucx-dev"));
}
#endif

}  // namespace
}  // namespace wharf
