// SPDX-License-Identifier: Apache-2.0
// A live server on a thread of the test, for tests that are its clients.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "live/udp/server.h"

namespace wharf::live {

/// Serves from construction to stop(), on the loopback interface and a port that the system chooses.
class TestServer {
 public:
  explicit TestServer(ServerConfig config) : config_(config) {
    config_.listen = {0x7f000001, 0};
    thread_ = std::thread([this] {
      ServerObserver observer;
      observer.ready = [this](const ServerObserver::Ready& ready) {
        const std::lock_guard lock(mutex_);
        ready_ = ready;
        changed_.notify_all();
      };
      summary_ = serve(config_, observer, stop_);
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_.has_value() || ended_; });
    WHARF_CHECK(ready_.has_value());
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() {
    if (thread_.joinable()) static_cast<void>(stop());
  }

  UdpEndpoint endpoint() const { return ready_->control; }
  UdpEndpoint packets() const { return {ready_->control.address, ready_->udp_port}; }
  /// The exposed memory. Read it only while no client is at work.
  std::span<std::byte> memory() const { return ready_->memory; }

  /// Ends the server; its memory is gone afterwards.
  ServerSummary stop() {
    stop_ = true;
    return wait();
  }
  /// Waits until it ends by itself.
  ServerSummary wait() {
    thread_.join();
    WHARF_CHECK(summary_.has_value() && summary_->ok());
    return **summary_;
  }

 private:
  ServerConfig config_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<ServerObserver::Ready> ready_;
  bool ended_ = false;
  std::optional<Result<ServerSummary>> summary_;
  std::thread thread_;
};

}  // namespace wharf::live
