// SPDX-License-Identifier: Apache-2.0
// A worker that a test plays, for targets and initiators.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "engine/rdmo/ports.h"
#include "live/rdmo/stream_channel.h"
#include "live/rdmo/ucx_port.h"

namespace wharf::live {

/// A worker that answers each command as the test says; UCX is real, as a target wires up its endpoint.
class PlayedWorker : private MessageTaker {
 public:
  /// Gives the notifications to send now.
  using Answers = std::function<std::vector<wire::RdmoNotification>(const wire::RdmoCommand&)>;

  explicit PlayedWorker(Answers answers)
      : answers_(std::move(answers)),
        port_(*UcxPort::create("tcp,self", *this)),
        listener_(*StreamListener::listen({"127.0.0.1", 0})) {
    thread_ = std::thread([this] { run(); });
  }
  ~PlayedWorker() override {
    stop_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return listener_.port(); }
  std::span<const std::byte> address() const { return port_->address(); }
  /// Messages of initiators that have come. None is answered.
  int messages() const { return messages_; }

 private:
  rdmo::Taken take(ucp_ep_h, std::uint32_t, std::span<const std::byte>, const rdmo::Payload&) override {
    ++messages_;
    return rdmo::Taken::kDone;
  }
  void run() {
    StreamChannel channel;
    std::vector<std::byte> item;
    while (!stop_) {
      port_->progress();
      if (!channel.open()) {
        channel = listener_.accept();
        continue;
      }
      channel.progress();
      while (channel.take(item)) {
        wire::RdmoCommand command;
        EXPECT_EQ(wire::decode(item, command), wire::RdmoControlError::kNone);
        for (wire::RdmoNotification& each : answers_(command)) {
          std::vector<std::byte> bytes;
          wire::encode(each, bytes);
          channel.write(bytes);
        }
      }
    }
  }

  Answers answers_;
  std::unique_ptr<UcxPort> port_;
  StreamListener listener_;
  std::atomic<int> messages_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

inline wire::RdmoNotification answer_to(const wire::RdmoCommand& command, std::uint64_t value) {
  wire::RdmoNotification answer;
  answer.type = command.type;
  answer.context = command.context;
  answer.value = value;
  return answer;
}

}  // namespace wharf::live
