// SPDX-License-Identifier: Apache-2.0
// A live server on a thread of the test, for tests that are its clients.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "live/udp/live_protocol.h"
#include "live/udp/server.h"

namespace wharf::live {

/// For tests with a parameter.
inline std::vector<wire::Protocol> every_protocol() {
  std::vector<wire::Protocol> protocols;
  for (const ProtocolDescription& each : live_protocols()) protocols.push_back(each.protocol);
  return protocols;
}

/// Serves from construction to stop(), on the loopback interface and a port that the system chooses, or in
/// shared memory where the configuration names a place there.
class TestServer {
 public:
  explicit TestServer(ServerConfig config) : config_(config) {
    if (!config_.listen.shared()) config_.listen = {0x7f000001, 0};
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
  Place place() const { return config_.listen.shared() ? config_.listen : Place(endpoint()); }
  UdpEndpoint packets() const { return {ready_->control.address, ready_->udp_port}; }
  /// A copy of the exposed memory, read in the words that the server writes, whose thread is still running.
  std::vector<std::byte> memory() const {
    std::vector<std::byte> copy(ready_->memory.size());
    for (std::size_t at = 0; at + 8 <= copy.size(); at += 8) {
      auto& word = *reinterpret_cast<std::uint64_t*>(ready_->memory.data() + at);
      const std::uint64_t value = std::atomic_ref(word).load(std::memory_order_acquire);
      std::memcpy(copy.data() + at, &value, sizeof value);
    }
    return copy;
  }

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
