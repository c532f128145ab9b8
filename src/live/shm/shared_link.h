// SPDX-License-Identifier: Apache-2.0
// What two processes share: a ring for each way, and a doorbell for a side that sleeps. The server makes it,
// the client gets it with two descriptors.
//
// The memory is a memfd whose size is sealed, so that no access can end in SIGBUS because the other side cut
// it. The doorbell is a pair of sockets: ringing it cannot be made to wait, whatever the other side does to
// its end (decision 0086).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/descriptor.h"
#include "base/result.h"
#include "live/reactor/datagram_port.h"
#include "live/shm/frame_ring.h"

namespace wharf::live {

inline constexpr std::uint32_t kLinkRingCells = 16 * 1024;  ///< 1 MiB each way.

class SharedLink {
 public:
  /// What the other side gets of a link.
  struct OtherEnd {
    Descriptor memory;
    Descriptor doorbell;
  };

  /// The server's side, and what to hand to the client. An environment error when the system gives no memory
  /// or descriptors.
  static Result<SharedLink> create(OtherEnd& other);
  /// The client's side. An input error when what came is not a link, of this size and sealed.
  static Result<SharedLink> adopt(OtherEnd end);
  SharedLink(SharedLink&& other) noexcept;
  SharedLink& operator=(SharedLink&&) = delete;
  ~SharedLink();

  FrameRingWriter& writer() { return writer_; }
  FrameRingReader& reader() { return reader_; }

  /// Readable after the other side has rung, or when it is gone.
  int doorbell() const { return doorbell_.number(); }
  /// Wakes the other side. Never waits.
  void ring() const;
  /// Takes what has rung. False: the other side has closed its end, and nothing rings here any more.
  bool quiet() const;
  /// Whether the other side still has its end. Takes nothing.
  bool is_open() const;
  /// Processes that are forked from now on do not have the memory.
  void keep_from_children() const;

 private:
  enum class Side : std::uint8_t { kServer, kClient };
  SharedLink(std::byte* memory, Side side, Descriptor doorbell);

  std::byte* memory_;
  Descriptor doorbell_;
  FrameRingWriter writer_;
  FrameRingReader reader_;
};

}  // namespace wharf::live
