// SPDX-License-Identifier: Apache-2.0
// Who connects to where a worker lets initiators connect, and says nothing.
#include "live/rdmo/silent_connections.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "live/rdmo/client.h"
#include "live/rdmo/worker_process.h"

namespace wharf::live {
namespace {

std::size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t open_ones(std::vector<StreamChannel>& channels) {
  std::size_t open = 0;
  for (StreamChannel& each : channels) {
    each.progress();
    open += each.open() ? 1 : 0;
  }
  return open;
}

/// A worker that runs in a thread, a target at it, and an initiator that has joined it.
class SilentConnectionsTest : public testing::Test {
 protected:
  void start(TimePs patience) {
    WorkerProcessConfig config;
    config.connect = StreamAddress{};
    config.targetless_max = patience;
    process_ = *WorkerProcess::create(config);
    thread_ = std::thread([this] { process_->run(stop_); });
    RdmoTargetConfig of_target;
    of_target.worker.port = process_->port();
    target_ = *RdmoTarget::create(of_target);
    for (int tries = 0; tries < 30 && !honest_; ++tries) {  // A busy machine may need longer than it has.
      auto joined = RdmoInitiator::join(at(), target_->grant(), {});
      if (joined) honest_ = *std::move(joined);
    }
    ASSERT_TRUE(honest_);
  }
  ~SilentConnectionsTest() override {
    honest_.reset();
    target_.reset();
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  StreamAddress at() const { return {"127.0.0.1", process_->connect_port()}; }
  void expect_honest_one_served() const {
    ASSERT_EQ(honest_->engine().flush(honest_->now(), 1), rdmo::Posted::kOk);
    rdmo::Outcome outcome;
    ASSERT_TRUE(honest_->wait(outcome));
    EXPECT_EQ(outcome.status, wire::RdmoStatus::kDone);
  }
  std::vector<StreamChannel> connect(std::size_t count) const {
    std::vector<StreamChannel> channels;
    for (std::size_t each = 0; each < count; ++each) channels.push_back(*StreamChannel::connect(at()));
    return channels;
  }

  std::unique_ptr<WorkerProcess> process_;
  std::unique_ptr<RdmoTarget> target_;
  std::unique_ptr<RdmoInitiator> honest_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(SilentConnectionsTest, AreEndedAfterTheirTime) {
  start(seconds(1));
  const std::size_t before = descriptors();
  {
    std::vector<StreamChannel> silent = connect(20);
    while (open_ones(silent) > 0) ::usleep(1000);
    for (int tries = 0; process_->refusals().silent < 20 && tries < 10'000; ++tries) ::usleep(1000);
    EXPECT_GE(process_->refusals().silent, 20U);
    expect_honest_one_served();
  }
  for (int tries = 0; descriptors() > before && tries < 10'000; ++tries) ::usleep(1000);
  EXPECT_LE(descriptors(), before) << "UCX closes what has ended";
}

TEST_F(SilentConnectionsTest, LeaveRoomForOthers) {
  start(seconds(3600));
  std::vector<StreamChannel> silent = connect(SilentConnections::kMost + 20);
  while (open_ones(silent) > SilentConnections::kMost) ::usleep(1000);
  EXPECT_EQ(open_ones(silent), SilentConnections::kMost);
  for (int tries = 0; process_->refusals().silent < 20 && tries < 10'000; ++tries)
    ::usleep(1000);  // Told after.
  EXPECT_EQ(process_->refusals().silent, 20U);
  expect_honest_one_served();
  EXPECT_TRUE(RdmoInitiator::join(at(), target_->grant(), {}));
}

}  // namespace
}  // namespace wharf::live
