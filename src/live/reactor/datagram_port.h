// SPDX-License-Identifier: Apache-2.0
// The seam between a live host and what carries its frames: a UDP socket or rings in shared memory. Frames go
// in and out in batches; what differs is asked once per batch.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace wharf::live {

/// IPv4 address and port, host byte order. In shared memory each end has one too: transports have checksums
/// over them, and captures show them.
struct UdpEndpoint {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  bool operator==(const UdpEndpoint&) const = default;
};

/// What an IP header says beside addresses and lengths, and checksums of transports cover. Sockets do not
/// tell it; it is then what UdpSocket sends.
struct IpIdentity {
  std::uint16_t identification = 0;
  bool do_not_fragment = true;
};

class DatagramPort {
 public:
  static constexpr std::size_t kBatch = 32;
  static constexpr std::size_t kFrameBytes = 9216;
  /// Frames that leave in one turn: what has arrived is looked at between two of them, and so is everybody
  /// else's work.
  static constexpr std::size_t kTurn = 256;

  /// One frame; `bytes` stays valid until the next receive() and is empty when it was longer than
  /// kFrameBytes. They may lie in memory that the sender can still write: read each once.
  struct Datagram {
    UdpEndpoint source;
    std::span<const std::byte> bytes;
    std::uint8_t service = 0;  ///< The TOS byte, where it is told.
    IpIdentity ip{};
  };

  virtual ~DatagramPort() = default;

  /// Where its frames come from.
  const UdpEndpoint& local() const { return local_; }
  /// Readable when something has arrived and nobody looks.
  int descriptor() const { return descriptor_; }

  /// Takes up to kBatch frames that have arrived; fewer only when nothing else is there.
  virtual std::size_t receive() = 0;
  const Datagram& datagram(std::size_t index) const { return datagrams_[index]; }

  /// A turn of sending begins.
  void begin_turn() {
    left_of_turn_ = kTurn;
    if (full_) full_ = is_full();
  }
  /// Whether another frame shall leave in this turn. Nothing is lost when one is queued all the same.
  bool open() const { return left_of_turn_ != 0 && !full_; }
  /// There may be more to send, and nothing but others' turn holds it back.
  bool turn_is_over() const { return left_of_turn_ == 0; }

  /// Room for one frame to `to`, sent at the next flush(). Flushes by itself when the batch is full.
  /// `service` is its TOS byte, where it is told.
  std::span<std::byte> queue(const UdpEndpoint& to, std::uint8_t service = 0) {
    if (queued_ == kBatch) flush();
    if (left_of_turn_ != 0) --left_of_turn_;
    outgoing_[queued_] = {to, 0, service, {}};
    return (*frames_)[queued_++];
  }
  /// Sets the length of the frame queued last: what has been written to the room that queue() gave.
  void set_queued_length(std::size_t length) { outgoing_[queued_ - 1].length = length; }
  /// The frame queued last goes on with `data`, behind what has been written. It is read at the next flush(),
  /// from where it lies: until then it stays, and holds_data() says so.
  void queue_data(std::span<const std::byte> data) {
    outgoing_[queued_ - 1].data = data;
    holds_data_ = true;
  }
  bool holds_data() const { return holds_data_; }
  /// Sends what is queued. What has no room on the way is dropped, as a network would.
  void flush() {
    if (queued_ == 0) return;
    // Before: should sending find no memory, nothing is left that points at data.
    holds_data_ = false;
    send_queued(std::exchange(queued_, 0));
  }

  /// Whoever wants to wait for descriptor() says so first; false: something has arrived, there is no need.
  /// waited() follows in either case.
  virtual bool prepare_wait() { return true; }
  virtual void waited() {}

  /// Somebody waits until the system has room for it, or for its turn: waited() shall be called again soon.
  virtual bool short_of_room() const { return false; }

  /// An end that has ended for certain; before what the last receive() took. It is told until
  /// gone_is_known(): who learns of it may find no memory to do something about it.
  virtual std::optional<UdpEndpoint> next_gone() const { return std::nullopt; }
  virtual void gone_is_known() {}
  /// In the child of a fork: closes what it has of the descriptors. Not to be touched afterwards.
  virtual void abandon() { ::close(descriptor_); }

  /// Frames that had no room on the way.
  std::uint64_t dropped() const { return dropped_; }

 protected:
  struct Outgoing {
    UdpEndpoint to;
    std::size_t length = 0;  ///< Without `data`.
    std::uint8_t service = 0;
    std::span<const std::byte> data;
    std::size_t bytes() const { return length + data.size(); }
  };

  DatagramPort(int descriptor, const UdpEndpoint& local)
      : descriptor_(descriptor), local_(local), frames_(std::make_unique<Frames>()) {}
  DatagramPort(DatagramPort&&) noexcept = default;
  DatagramPort& operator=(DatagramPort&&) = delete;

  /// Sends the first `count` of outgoing().
  virtual void send_queued(std::size_t count) = 0;
  const Outgoing& outgoing(std::size_t index) const { return outgoing_[index]; }
  /// The frame without its data.
  std::span<std::byte> outgoing_frame(std::size_t index) {
    return std::span((*frames_)[index]).first(outgoing_[index].length);
  }

  /// Asked at the beginning of a turn after send_queued() has set `full_`.
  virtual bool is_full() { return false; }

  int descriptor_;
  bool full_ = false;  ///< The way takes no further batch.
  std::uint64_t dropped_ = 0;
  std::array<Datagram, kBatch> datagrams_{};

 private:
  using Frames = std::array<std::array<std::byte, kFrameBytes>, kBatch>;

  UdpEndpoint local_;
  std::size_t queued_ = 0;
  bool holds_data_ = false;
  std::size_t left_of_turn_ = kTurn;
  std::array<Outgoing, kBatch> outgoing_{};
  std::unique_ptr<Frames> frames_;
};

}  // namespace wharf::live
