// SPDX-License-Identifier: Apache-2.0
// A server in another process that is killed, or that stops answering while its connection stays open: the
// client's run ends as stalled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/udp/live_protocol.h"
#include "live/udp/live_server_test_support.h"
#include "live/udp/measurement.h"
#include "live/udp/server.h"

namespace wharf::live {
namespace {

/// A server in a forked process, on a port that the system chooses.
class ForkedServer {
 public:
  explicit ForkedServer(wire::Protocol protocol) {
    int ends[2];
    WHARF_CHECK(::pipe(ends) == 0);
    process_ = ::fork();
    WHARF_CHECK(process_ >= 0);
    if (process_ == 0) run(protocol, ends[1]);
    ::close(ends[1]);
    WHARF_CHECK(::read(ends[0], &endpoint_, sizeof endpoint_) == sizeof endpoint_);
    ::close(ends[0]);
  }
  ForkedServer(const ForkedServer&) = delete;
  ForkedServer& operator=(const ForkedServer&) = delete;
  ~ForkedServer() {
    signal(SIGKILL);
    int status = 0;
    ::waitpid(process_, &status, 0);
  }
  void signal(int number) const { ::kill(process_, number); }
  UdpEndpoint endpoint() const { return endpoint_; }

 private:
  [[noreturn]] static void run(wire::Protocol protocol, int out) {
    ServerConfig config;
    config.protocol = protocol;
    config.listen = {0x7f000001, 0};
    config.memory_bytes = 1U << 20U;
    config.idle = {.spins = 20, .yields = 20};
    ServerObserver observer;
    observer.ready = [out](const ServerObserver::Ready& ready) {
      WHARF_CHECK(::write(out, &ready.control, sizeof ready.control) == sizeof ready.control);
    };
    const std::atomic<bool> stop{false};
    static_cast<void>(serve(config, observer, stop));
    ::_exit(0);
  }

  pid_t process_ = -1;
  UdpEndpoint endpoint_;
};

class VanishedPeer : public testing::TestWithParam<wire::Protocol> {
 protected:
  /// Writes until the server gets `number` after some operations.
  Result<Measurement> measure_until(int number) {
    const ForkedServer server(GetParam());
    MeasurementConfig config;
    config.protocol = GetParam();
    config.server = server.endpoint();
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
