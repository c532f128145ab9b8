// SPDX-License-Identifier: Apache-2.0
// Sessions in shared memory: the same engines, the same exchange, another way for the frames. Processes are
// killed at any time, and nobody else notices.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/random.h"
#include "live/udp/live_client_test_support.h"
#include "live/udp/measurement.h"

namespace wharf::live {
namespace {

/// A place that no other test run has.
Place own_place(std::string_view of) {
  return Place::in_shared_memory(fmt::format("test-{}-{}", of, ::getpid()));
}

ServerConfig shared_config(wire::Protocol protocol) {
  ServerConfig config = server_config(protocol);
  config.listen = own_place(name(protocol));
  return config;
}

template <typename E>
class SharedSessionOf : public ::testing::Test {};
TYPED_TEST_SUITE(SharedSessionOf, EngineTypes);

TYPED_TEST(SharedSessionOf, WritesArriveAndOthersHaveTheirOwnMemory) {
  TestServer server(shared_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  auto one = Client<TypeParam>::open(client_config(server), clock);
  auto two = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_TRUE(one.ok()) << one.error().message;
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_TRUE(run_one(**one, write_request(**one, 0, 64)).ok());
  EXPECT_TRUE(run_one(**two, write_request(**two, 64, 9000)).ok());
  const std::vector<std::byte> memory = server.memory();
  EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{0xab}), 64 + 9000);
  const ServerSummary summary = server.stop();
  EXPECT_EQ(summary.clients, 2U);
  EXPECT_EQ(summary.counters.unknown_sender + summary.counters.undecodable, 0U);
}

TYPED_TEST(SharedSessionOf, ClientsComeAndGoMoreOftenThanThereIsRoom) {
  TestServer server(shared_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  for (int turn = 0; turn < 20; ++turn) {
    auto client = Client<TypeParam>::open(client_config(server), clock);
    ASSERT_TRUE(client.ok()) << client.error().message;
    EXPECT_TRUE(run_one(**client, write_request(**client, 0, 64)).ok());
  }
  EXPECT_EQ(server.stop().clients, 20U);
}

TYPED_TEST(SharedSessionOf, APortThatIsNotTheClientsIsRefused) {
  TestServer server(shared_config(kProtocolOf<TypeParam>));
  auto door = enter(server.place(), LiveProtocol<TypeParam>::kDescription, seconds(60));
  ASSERT_TRUE(door.ok());
  Hello hello;
  hello.protocol = kProtocolOf<TypeParam>;
  hello.udp_port = static_cast<std::uint16_t>(door->port->local().port + 1);
  const auto welcome = exchange<Welcome>(door->channel, hello, seconds(60));
  ASSERT_TRUE(welcome.ok());
  EngineMemory memory;
  auto engine = LiveProtocol<TypeParam>::make({.host = welcome->client}, memory).value();
  auto queue = engine->export_queue(engine->create_queue(kTimeZero, {}).value()).value();
  const auto connected = exchange<Connected>(door->channel, Connect{std::move(queue)}, seconds(60));
  ASSERT_FALSE(connected.ok());
  EXPECT_THAT(connected.error().message, testing::HasSubstr("is not the client's"));
}

// The frames that come are bytes that a hostile client chose, as over UDP.
TYPED_TEST(SharedSessionOf, NonsenseIsDroppedAndCounted) {
  TestServer server(shared_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  auto client = Client<TypeParam>::open(client_config(server), clock);
  auto honest = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_TRUE(client.ok() && honest.ok());
  RandomStream random(3, "nonsense");
  DatagramPort& port = (*client)->host().port();
  const UdpEndpoint to{0x7f000001, LiveProtocol<TypeParam>::kDescription.port};
  for (int turn = 0; turn < 1000; ++turn) {
    const std::span<std::byte> room = port.queue(to);
    const std::size_t length = 1 + random.below(300);
    for (std::byte& each : room.first(length)) each = std::byte(random.below(256));
    port.set_queued_length(length);
    if (turn % 100 == 0) port.flush();
  }
  port.flush();
  EXPECT_TRUE(run_one(**honest, write_request(**honest, 0, 64)).ok());
  EXPECT_GT(server.stop().counters.undecodable, 0U);
}

class SharedMeasurement : public testing::TestWithParam<wire::Protocol> {};
INSTANTIATE_TEST_SUITE_P(Live, SharedMeasurement, testing::ValuesIn(every_protocol()),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(SharedMeasurement, EveryVerbOfTheFirstSliceUnderLoss) {
  ServerConfig served = shared_config(GetParam());
  served.memory_bytes = 1U << 22U;
  served.faults.loss = Probability::from(0.02);
  TestServer server(served);
  for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kSend}) {
    MeasurementConfig config;
    config.protocol = GetParam();
    config.server = server.place();
    config.idle = {.spins = 20, .yields = 20};
    config.unlimited_retries = true;
    VerbRun run;
    run.verb = verb;
    run.size = 10'000;
    run.loop.operations = 200;
    run.loop.concurrency = 8;
    config.program = run;
    const std::atomic<bool> never{false};
    const auto measured = measure(config, {}, never);
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    EXPECT_TRUE(measured->loop.verdict.holds());
    EXPECT_EQ(measured->loop.operations, 200U);
  }
}

// --- Processes that are killed

/// A forked process, killed at the end.
class Forked {
 public:
  template <typename Action>
  explicit Forked(Action action) : process_(::fork()) {
    WHARF_CHECK(process_ >= 0);
    if (process_ != 0) return;
    action();
    ::_exit(0);
  }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;
  ~Forked() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  pid_t process() const { return process_; }

 private:
  pid_t process_;
};

constexpr wire::Protocol kKilled = wire::Protocol::kUb;

void serve_for_ever(const Place& place, std::uint32_t clients) {
  ServerConfig config = server_config(kKilled);
  config.listen = place;
  config.clients_max = clients;
  config.memory_bytes = 1U << 20U;
  const std::atomic<bool> never{false};
  static_cast<void>(serve(config, {}, never));
}

MeasurementConfig endless(const Place& place) {
  MeasurementConfig config;
  config.protocol = kKilled;
  config.server = place;
  config.idle = {.spins = 20, .yields = 20};
  config.connect_patience = seconds(60);
  VerbRun run;
  run.loop.operations = 0;
  run.loop.duration = seconds(3600);
  config.program = run;
  return config;
}

std::uint64_t kills() {
  const char* const given = std::getenv("WHARF_SHM_KILLS");
  return given == nullptr ? 12 : std::strtoull(given, nullptr, 10);
}

/// In the wait for a process to be wherever it will be killed.
void wait_somewhere(RandomStream& random) { ::usleep(static_cast<useconds_t>(random.below(4'000))); }

std::size_t descriptors_of(pid_t process) {
  const std::filesystem::directory_iterator all(fmt::format("/proc/{}/fd", process));
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

bool somebody_listens_at(const Place& place) {
  std::ifstream sockets("/proc/net/unix");
  const std::string all((std::istreambuf_iterator<char>(sockets)), std::istreambuf_iterator<char>());
  return all.find("@wharf/" + std::to_string(::geteuid()) + "/" + place.name) != std::string::npos;
}

TEST(SharedKill, KilledClientsLeaveNothingAndTheOthersGoOn) {
  const Place place = own_place("clients");
  const Forked server([&place] { serve_for_ever(place, 4); });
  using E = ub::UbEngine;
  const LiveClock clock;
  ClientConfig config;
  config.server = place;
  config.patience = seconds(60);
  config.unlimited_retries = true;
  auto survivor = Client<E>::open(config, clock);
  ASSERT_TRUE(survivor.ok()) << survivor.error().message;
  ASSERT_TRUE(run_one(**survivor, write_request(**survivor, 0, 64)).ok());
  const std::size_t before = descriptors_of(server.process());
  RandomStream random(1, "kills");
  for (std::uint64_t kill = 0; kill < kills(); ++kill) {
    {
      const Forked client([&place] {
        const std::atomic<bool> never{false};
        static_cast<void>(measure(endless(place), {}, never));
      });
      wait_somewhere(random);
    }
    const verbs::Completion done = run_one(**survivor, write_request(**survivor, 0, 3'000));
    ASSERT_TRUE(done.ok()) << verbs::name(done.status);
    ASSERT_FALSE((*survivor)->peer_gone());
  }
  // Each of them is noticed at the next look.
  while (descriptors_of(server.process()) > before && !(*survivor)->peer_gone()) ::usleep(1'000);
  EXPECT_EQ(descriptors_of(server.process()), before);
}

TEST(SharedKill, AKilledServerEndsItsClientsAndItsNameIsFree) {
  RandomStream random(2, "kills");
  const Place place = own_place("server");
  for (std::uint64_t kill = 0; kill < kills(); ++kill) {
    Result<Measurement> result = input_error("it did not run");
    {
      const Forked server([&place] { serve_for_ever(place, 4); });
      bool shot = false;
      const std::atomic<bool> never{false};
      result = measure(
          endless(place),
          [&](double, std::uint64_t operations) {
            if (shot || operations < 5) return;
            wait_somewhere(random);
            ::kill(server.process(), SIGKILL);
            shot = true;
          },
          never);
      EXPECT_TRUE(shot);
    }
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::kStalled) << result.error().message;
    EXPECT_THAT(result.error().message, testing::HasSubstr(format_place(place)));
    EXPECT_FALSE(somebody_listens_at(place));
  }
}

TEST(SharedKill, AServerThatStopsAnsweringExhaustsTheRetries) {
  const Place place = own_place("silent");
  const Forked server([&place] { serve_for_ever(place, 4); });
  const std::atomic<bool> never{false};
  const auto result = measure(
      endless(place),
      [&](double, std::uint64_t operations) {
        if (operations >= 10) ::kill(server.process(), SIGSTOP);
      },
      never);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kStalled);
  EXPECT_THAT(result.error().message, testing::HasSubstr("stopped answering"));
}

}  // namespace
}  // namespace wharf::live
