// SPDX-License-Identifier: Apache-2.0
// Measurements against a server in another thread: real sockets, real bytes, every protocol.
#include "live/udp/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "live/udp/control_channel.h"
#include "live/udp/live_protocol.h"
#include "live/udp/live_server_test_support.h"
#include "live/udp/session.h"
#include "wire/capture_reader.h"

namespace wharf::live {
namespace {

using verbs::Verb;

const std::atomic<bool> kNeverStop{false};

/// Other tests run beside these: let them.
constexpr IdleConfig kPatientIdle{.spins = 20, .yields = 20};

ServerConfig server_config(wire::Protocol protocol) {
  ServerConfig config;
  config.protocol = protocol;
  config.memory_bytes = 16U << 20U;
  config.clients_max = 2;
  config.idle = kPatientIdle;
  config.unlimited_retries = true;  // A busy test machine may keep a thread waiting for long.
  return config;
}

MeasurementConfig client_config(wire::Protocol protocol, const TestServer& server) {
  MeasurementConfig config;
  config.protocol = protocol;
  config.server = server.endpoint();
  config.idle = kPatientIdle;
  config.unlimited_retries = true;
  config.connect_patience = seconds(60);
  config.stall_patience = seconds(60);
  return config;
}

VerbRun verb_run(Verb verb, std::uint32_t size, std::uint64_t operations, std::uint32_t concurrency) {
  VerbRun run;
  run.verb = verb;
  run.size = size;
  run.loop.operations = operations;
  run.loop.warmup_operations = 3;
  run.loop.concurrency = concurrency;
  return run;
}

void expect_good(const Result<Measurement>& result, std::uint64_t operations) {
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->loop.operations, operations);
  EXPECT_EQ(result->loop.errors, 0U);
  EXPECT_GT(result->loop.verdict.checks, 0U);
  EXPECT_TRUE(result->loop.verdict.holds()) << workload::describe(result->loop.verdict);
}

class EveryProtocol : public testing::TestWithParam<wire::Protocol> {};

INSTANTIATE_TEST_SUITE_P(Live, EveryProtocol, testing::ValuesIn(every_protocol()),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(EveryProtocol, EveryVerbMovesTheRightBytes) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  for (int index = 0; index < verbs::kVerbCount; ++index) {
    const auto verb = static_cast<Verb>(index);
    config.program = verb_run(verb, verbs::is_atomic(verb) ? 8 : 64, 200, 4);
    if (!check(config).ok()) continue;
    SCOPED_TRACE(verbs::name(verb));
    expect_good(measure(config, {}, kNeverStop), 200);
  }
  EXPECT_GE(server.stop().clients, 6U);
}

TEST_P(EveryProtocol, EverySizeMovesTheRightBytes) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kSend}) {
    for (const std::uint32_t size : {1U, 7U, 4096U, 4097U, 100'000U}) {
      SCOPED_TRACE(std::string(verbs::name(verb)) + " " + std::to_string(size));
      config.program = verb_run(verb, size, 40, 2);
      if (!check(config).ok()) continue;  // UB sends are shorter.
      expect_good(measure(config, {}, kNeverStop), 40);
    }
  }
}

TEST_P(EveryProtocol, SurvivesLossAndDuplication) {
  ServerConfig faulty = server_config(GetParam());
  faulty.faults = {Probability::from(0.05), Probability::from(0.05), 11};
  TestServer server(faulty);
  MeasurementConfig config = client_config(GetParam(), server);
  config.faults = {Probability::from(0.05), Probability::from(0.05), 12};
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kSend, Verb::kFetchAdd}) {
    SCOPED_TRACE(verbs::name(verb));
    config.program = verb_run(verb, verb == Verb::kFetchAdd ? 8 : 5000, 300, 8);
    const auto result = measure(config, {}, kNeverStop);
    expect_good(result, 300);
    EXPECT_GT(result->counters.injected_losses, 0U);
    EXPECT_GT(result->counters.injected_duplicates, 0U);
  }
  const ServerSummary summary = server.stop();
  EXPECT_GT(summary.counters.injected_losses, 0U);
  EXPECT_GT(summary.counters.injected_duplicates, 0U);
}

TEST_P(EveryProtocol, AtomicsOfEveryWidthMoveTheRightBytes) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  const engine::Capabilities can = capabilities_of(GetParam());
  for (int index = 0; index < verbs::kVerbCount; ++index) {
    const auto verb = static_cast<Verb>(index);
    if (!verbs::is_atomic(verb)) continue;
    for (const std::uint32_t width : {4U, 8U, 16U}) {
      SCOPED_TRACE(std::string(verbs::name(verb)) + " " + std::to_string(width));
      config.program = verb_run(verb, width, 40, 2);
      EXPECT_EQ(check(config).ok(), can.supports(verb, width));
      if (can.supports(verb, width)) expect_good(measure(config, {}, kNeverStop), 40);
    }
  }
}

/// Every way of a protocol to hold back and to deliver, under loss.
TEST_P(EveryProtocol, EveryChoiceMovesTheRightBytesUnderLoss) {
  const ProtocolDescription& description = describe(GetParam());
  std::vector<DeliveryChoice> deliveries{{}};
  for (const DeliveryChoice& each : description.delivery) {
    // What CTP loses is lost.
    if (each.reliable && each.transport != engine::TransportMode::kCompact) deliveries.push_back(each);
  }
  for (std::uint32_t congestion = 0; congestion < description.congestion.size(); ++congestion) {
    for (const DeliveryChoice& delivery : deliveries) {
      ServerConfig serving = server_config(GetParam());
      serving.faults = {Probability::from(0.02), Probability::from(0.02), 21};
      serving.congestion = congestion;
      serving.delivery = delivery;
      TestServer server(serving);
      MeasurementConfig config = client_config(GetParam(), server);
      config.faults = {Probability::from(0.02), Probability::from(0.02), 22};
      config.congestion = congestion;
      config.delivery = delivery;
      for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kSend}) {
        SCOPED_TRACE(std::string(verbs::name(verb)) + " " + std::string(description.congestion[congestion]) +
                     " " + std::string(delivery.name));
        config.program = verb_run(verb, 20'000, 60, 4);
        expect_good(measure(config, {}, kNeverStop), 60);
      }
    }
  }
}

TEST_P(EveryProtocol, SendsWithATagMeetReceivesOfIt) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  VerbRun run = verb_run(Verb::kSend, 64, 100, 4);
  run.tag = 0x1234'5678'9abc'def0;
  config.program = run;
  if (!capabilities_of(GetParam()).tagged) {
    EXPECT_THAT(check(config).error().message, testing::HasSubstr("--tag"));
    return;
  }
  expect_good(measure(config, {}, kNeverStop), 100);
  EXPECT_GE(server.stop().messages, 100U);
}

TEST_P(EveryProtocol, CapturesItsDatagrams) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / (std::string(name(GetParam())) + ".pcapng");
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  config.capture = file;
  config.program = verb_run(Verb::kWrite, 64, 20, 1);
  const auto result = measure(config, {}, kNeverStop);
  expect_good(result, 20);
  auto reader = wire::CaptureReader::open(file);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  wire::CapturedFrame frame;
  std::uint64_t frames = 0;
  while (reader->next(frame).value()) ++frames;
  EXPECT_EQ(frames, result->counters.datagrams_sent + result->counters.datagrams_received);
}

TEST_P(EveryProtocol, WorkloadsRunOnTheServersMemory) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  for (int index = 0; index < workload::kWorkloadKindCount; ++index) {
    WorkloadRun run;
    run.config = workload::default_config(static_cast<workload::WorkloadKind>(index));
    workload::LoopConfig& loop = workload::loop_config(run.config);
    loop.operations = 50;
    loop.concurrency = 2;
    if (auto* appends = std::get_if<workload::RdmoConfig>(&run.config))
      appends->protocol = workload::RdmoProtocol::kTwoStep;  // A worker is `wharf rdmo`'s.
    SCOPED_TRACE(workload::name(workload::kind_of(run.config)));
    config.program = run;
    const auto result = measure(config, {}, kNeverStop);
    if (workload::arrangement(run.config) == workload::Arrangement::kPeers) {
      ASSERT_FALSE(result.ok());
      EXPECT_THAT(result.error().message, testing::HasSubstr("runs in simulation alone"));
      continue;
    }
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_GE(result->loop.operations, 50U);
    EXPECT_TRUE(result->loop.verdict.holds()) << workload::describe(result->loop.verdict);
  }
}

TEST_P(EveryProtocol, TwoClientsExcludeEachOtherWithALock) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  WorkloadRun run;
  run.config = workload::default_config(workload::WorkloadKind::kCasLock);
  run.parties = 2;
  workload::loop_config(run.config).operations = 200;
  workload::loop_config(run.config).concurrency = 2;
  config.program = run;
  expect_good(measure(config, {}, kNeverStop), 400);
  EXPECT_EQ(server.stop().clients, 2U);
}

// The server keeps as many receive entries as the loop needs, not as many as its messages have bytes.
TEST_P(EveryProtocol, EntriesForLargeMessagesFitTheServersMemory) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  WorkloadRun run;
  workload::PingPongConfig ping;
  ping.payload = 64 * 1024;
  ping.loop.operations = 10;
  ping.loop.concurrency = 2;
  run.config = ping;
  config.program = run;
  const auto result = measure(config, {}, kNeverStop);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->loop.operations, 10U);
  EXPECT_EQ(result->loop.errors, 0U);
}

TEST_P(EveryProtocol, GetsOfItemsAreWholeBesideWritersOfTwoClients) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  for (const auto protocol : {workload::GetProtocol::kPessimistic, workload::GetProtocol::kValidation,
                              workload::GetProtocol::kSingleRead}) {
    workload::ItemGetsConfig gets;
    gets.protocol = protocol;
    gets.items = 4;
    gets.payload = 400;
    gets.loop.operations = 300;
    gets.loop.concurrency = 2;
    // Readers that leave no gap would keep the writers of the lock's protocol out.
    gets.loop.think_time = microseconds(20);
    gets.write_gap = microseconds(20);
    WorkloadRun run;
    run.config = gets;
    run.parties = 2;
    config.program = run;
    expect_good(measure(config, {}, kNeverStop), 600);
  }
}

TEST_P(EveryProtocol, RefusesWhatCannotWorkBeforeAskingAnybody) {
  MeasurementConfig config;
  config.protocol = GetParam();
  const auto refusal = [&config](auto program) {
    config.program = program;
    const auto result = check(config);
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_THAT(refusal(verb_run(Verb::kLoad, 8, 1, 1)), testing::HasSubstr("such as read"));
  EXPECT_THAT(refusal(verb_run(Verb::kSendInvalidate, 8, 1, 1)), testing::HasSubstr("revoke"));
  EXPECT_THAT(refusal(verb_run(Verb::kFetchAdd, 64, 1, 1)), testing::HasSubstr("--size 64"));
  EXPECT_THAT(refusal(verb_run(Verb::kRead, 64, 1, 0)), testing::HasSubstr("--concurrency 0"));
  workload::ItemGetsConfig gets;
  gets.protocol = workload::GetProtocol::kFarm;
  EXPECT_THAT(refusal(WorkloadRun{.config = gets, .parties = 1}),
              testing::HasSubstr("keeps only words whole"));
  gets.protocol = workload::GetProtocol::kValidation;
  gets.writer = workload::ItemWriter::kCore;
  EXPECT_THAT(refusal(WorkloadRun{.config = gets, .parties = 2}), testing::HasSubstr("found core"));
  if (!capabilities_of(GetParam()).supports(Verb::kWriteNotify)) {
    EXPECT_THAT(refusal(verb_run(Verb::kWriteNotify, 8, 1, 1)),
                testing::HasSubstr("does not exist in " + std::string(name(GetParam()))));
  }
}

TEST_P(EveryProtocol, RefusesMessagesThatDoNotFit) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  config.program = verb_run(Verb::kWrite, 8U << 20U, 10, 2);
  const auto result = measure(config, {}, kNeverStop);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kInput);
  EXPECT_THAT(result.error().message, testing::HasSubstr("16MiB"));
}

TEST_P(EveryProtocol, AServerThatStopsEndsTheRunAsStalled) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  VerbRun run = verb_run(Verb::kWrite, 64, 0, 1);
  run.loop.duration = seconds(3600);
  config.program = run;
  bool stopped = false;
  const auto result = measure(
      config,
      [&](double, std::uint64_t operations) {
        if (operations < 10 || stopped) return;
        stopped = true;
        static_cast<void>(server.stop());
      },
      kNeverStop);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kStalled);
}

TEST_P(EveryProtocol, AnInterruptGivesWhatWasMeasuredUntilThen) {
  TestServer server(server_config(GetParam()));
  MeasurementConfig config = client_config(GetParam(), server);
  VerbRun run = verb_run(Verb::kRead, 64, 0, 1);
  run.loop.duration = seconds(3600);
  config.program = run;
  std::atomic<bool> stop{false};
  const auto result = measure(
      config, [&](double, std::uint64_t operations) { stop = operations >= 10; }, stop);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->interrupted);
  EXPECT_GE(result->loop.operations, 7U);
}

// The rights to the server's memory that a program asks for are those that its verbs need.
TEST(Measurement, AsksForNoRightThatItDoesNotUse) {
  const auto asked = [](const MeasurementConfig& wanted) {
    auto listener = ControlListener::open({0x7f000001, 0}).value();
    MeasurementConfig config = wanted;
    config.protocol = wire::Protocol::kUb;
    config.server = listener.local();
    config.connect_patience = seconds(60);
    bool atomics = false;
    std::thread server([&] {
      std::optional<ControlChannel> channel;
      while (!channel) channel = listener.accept();
      const auto first = channel->receive(seconds(60));
      const auto message = decode_session_message(first.value());
      const Hello& hello = std::get<Hello>(message.value());
      EXPECT_TRUE(hello.rights.remote_read && hello.rights.remote_write);
      atomics = hello.rights.remote_atomic;
    });  // It is gone then.
    EXPECT_FALSE(measure(config, {}, kNeverStop).ok());
    server.join();
    return atomics;
  };
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kFetchAdd}) {
    MeasurementConfig config;
    config.program = verb_run(verb, 8, 10, 1);
    EXPECT_EQ(asked(config), verb == Verb::kFetchAdd) << verbs::name(verb);
  }
  for (const auto kind : {workload::WorkloadKind::kPingPong, workload::WorkloadKind::kCasLock}) {
    MeasurementConfig config;
    config.program = WorkloadRun{.config = workload::default_config(kind)};
    EXPECT_EQ(asked(config), kind == workload::WorkloadKind::kCasLock) << workload::name(kind);
  }
}

TEST(Measurement, TheOtherProtocolIsRefusedByName) {
  TestServer server(server_config(wire::Protocol::kUb));
  MeasurementConfig config = client_config(wire::Protocol::kRoce, server);
  config.program = verb_run(Verb::kRead, 64, 10, 1);
  const auto result = measure(config, {}, kNeverStop);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kInput);
  EXPECT_THAT(result.error().message, testing::HasSubstr("--protocol ub"));
}

}  // namespace
}  // namespace wharf::live
