// SPDX-License-Identifier: Apache-2.0
// A server in another process that is killed, or stops answering: whoever waits for a page gets SIGBUS in
// bounded time, pages that are there stay, calls say so.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "live/aperture/aperture_test_support.h"
#include "live/udp/forked_server_test_support.h"

namespace wharf::live {
namespace {

constexpr std::uint64_t kPage = 4096;

class LostServer : public testing::TestWithParam<Way> {
 protected:
  void expect_signal(int number, bool waits_before = false) {
    SKIP_WITHOUT(ApertureMode::kUserFaults);
    const ForkedServer server(aperture_server(GetParam()));
    const auto session = open_session(server.place(), GetParam().protocol);
    const auto aperture = map_all(*session, {.read_ahead_pages = 0});
    store(aperture->data(), std::byte{1});
    EXPECT_TRUE(aperture->publish());
    load(aperture->data() + kPage);
    // It waits inside while the server stands still already, or comes when it is gone. From then on no page
    // can come: a thread that went from page to page meanwhile might reach the end of the range, where the
    // signal is another.
    const auto begin = std::chrono::steady_clock::now();
    server.signal(waits_before ? SIGSTOP : number);
    server.await_silence();
    int got = 0;
    std::thread waiting([&] { got = signal_of([&] { load(aperture->data() + 2 * kPage); }); });
    if (waits_before) {
      while (aperture->counters().faults < 3 && !session->lost()) std::this_thread::yield();
      server.signal(number);
    }
    waiting.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
    EXPECT_EQ(got, SIGBUS);
    // What is there stays there, also for stores, but no call brings it home.
    EXPECT_EQ(load(aperture->data()), std::byte{1});
    store(aperture->data() + kPage, std::byte{2});
    EXPECT_EQ(load(aperture->data() + kPage), std::byte{2});
    const ApertureOutcome published = aperture->publish();
    EXPECT_EQ(published.status, ApertureStatus::kStalled);
    EXPECT_EQ(published.message, "the server is gone: what was not published is lost");
    EXPECT_TRUE(session->lost());
    EXPECT_EQ(signal_of([&] { load(aperture->data() + 30 * kPage); }), SIGBUS);
    EXPECT_EQ(aperture->fetch(40 * kPage, 1).status, ApertureStatus::kStalled);
    EXPECT_EQ(aperture->unmap().status, ApertureStatus::kStalled);
    ApertureOutcome outcome;
    const auto late = Aperture::map(*session, {0, kPage}, {}, outcome);
    EXPECT_EQ(late, nullptr);
    EXPECT_EQ(outcome.status, ApertureStatus::kStalled);
    EXPECT_EQ(outcome.message, "the server is gone");
  }
};
INSTANTIATE_TEST_SUITE_P(Live, LostServer, testing::ValuesIn(every_way()),
                         [](const auto& each) { return way_name(each.param); });

TEST_P(LostServer, IsKilled) { expect_signal(SIGKILL); }
TEST_P(LostServer, IsKilledWhileSomebodyWaits) { expect_signal(SIGKILL, true); }
TEST_P(LostServer, FallsSilent) { expect_signal(SIGSTOP); }

}  // namespace
}  // namespace wharf::live
