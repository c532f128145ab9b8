// SPDX-License-Identifier: Apache-2.0
// A server in another process that is killed, or that stops answering while its connection stays open: the
// client's run ends as stalled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "live/udp/forked_server_test_support.h"
#include "live/udp/live_protocol.h"
#include "live/udp/live_server_test_support.h"
#include "live/udp/measurement.h"
#include "live/udp/server.h"

namespace wharf::live {
namespace {

ServerConfig small_server(wire::Protocol protocol) {
  ServerConfig config;
  config.protocol = protocol;
  config.memory_bytes = 1U << 20U;
  config.idle = {.spins = 20, .yields = 20};
  return config;
}

class VanishedPeer : public testing::TestWithParam<wire::Protocol> {
 protected:
  /// Writes until the server gets `number` after some operations.
  Result<Measurement> measure_until(int number) {
    const ForkedServer server(small_server(GetParam()));
    MeasurementConfig config;
    config.protocol = GetParam();
    config.server = server.place();
    config.idle = {.spins = 20, .yields = 20};
    config.connect_patience = seconds(60);
    VerbRun run;
    run.verb = verbs::Verb::kWrite;
    run.loop.operations = 0;
    run.loop.duration = seconds(3600);
    config.program = run;
    const std::atomic<bool> never{false};
    return measure(
        config,
        [&](double, std::uint64_t operations) {
          if (operations >= 10) server.signal(number);
        },
        never);
  }
};

INSTANTIATE_TEST_SUITE_P(Live, VanishedPeer, testing::ValuesIn(every_protocol()),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(VanishedPeer, AKilledServerEndsTheRun) {
  const auto result = measure_until(SIGKILL);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kStalled);
}

TEST_P(VanishedPeer, ASilentServerExhaustsTheRetries) {
  const auto result = measure_until(SIGSTOP);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kStalled);
  EXPECT_THAT(result.error().message, testing::HasSubstr("stopped answering"));
}

}  // namespace
}  // namespace wharf::live
