// SPDX-License-Identifier: Apache-2.0
// Messages over TCP: each is its length (8 bytes, little-endian) and its bytes. Carries commands and
// notifications of the control path, and what a target and an initiator tell each other before they use the
// worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace wharf::live {

/// "HOST:PORT" or "HOST"; IPv4.
struct StreamAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
};
Result<StreamAddress> parse_stream_address(const std::string& text, std::uint16_t default_port);

/// One connection. Does not block, but for connect() and wait_for().
class StreamChannel {
 public:
  StreamChannel() = default;
  explicit StreamChannel(int descriptor);
  StreamChannel(StreamChannel&& other) noexcept;
  StreamChannel& operator=(StreamChannel&& other) noexcept;
  ~StreamChannel();

  static Result<StreamChannel> connect(const StreamAddress& address, TimePs patience = seconds(10));

  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  void write(std::span<const std::byte> message);
  /// Sends and receives what it can without waiting; closes when the other end has, or breaks the rules.
  void progress();
  bool take(std::vector<std::byte>& message);
  /// Waits so long for all of a message, whatever signals come; false: none came, or the channel is closed.
  bool wait_for(std::vector<std::byte>& message, TimePs patience);
  void close();

 private:
  int descriptor_ = -1;
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
};

/// Takes connections, on the loopback interface unless the address says otherwise.
class StreamListener {
 public:
  static Result<StreamListener> listen(const StreamAddress& address);
  StreamListener() = default;
  StreamListener(StreamListener&& other) noexcept;
  StreamListener& operator=(StreamListener&& other) noexcept;
  ~StreamListener();
  /// The next connection; not open when there is none, or none can be taken.
  StreamChannel accept();
  /// The last accept() failed though a connection may wait: this process, or the system, has no descriptor or
  /// memory left. Input on descriptor() says nothing then.
  bool exhausted() const { return exhausted_; }
  std::uint16_t port() const { return port_; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  std::uint16_t port_ = 0;
  bool exhausted_ = false;
};

}  // namespace wharf::live
