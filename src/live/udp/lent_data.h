// SPDX-License-Identifier: Apache-2.0
// Buffers between an engine that has handed them on and a port that still reads them: live hosts and liburma
// send alike.
#pragma once

#include <array>
#include <cstddef>

#include "live/reactor/datagram_port.h"
#include "wire/payload_pool.h"

namespace wharf::live {

/// Buffers whose data a port still reads: it was queued from where it lies (DatagramPort::queue_data).
class LentData {
 public:
  LentData(DatagramPort& port, wire::PayloadPool& pool) : port_(port), pool_(pool) {}
  LentData(const LentData&) = delete;
  LentData& operator=(const LentData&) = delete;

  /// `buffer` goes back, now or once the port has read what it holds. kNoBuffer: the owner of the memory
  /// waits for send().
  void release(wire::BufferId buffer) {
    if (!port_.holds_data() || buffer == wire::kNoBuffer) return pool_.release(buffer);
    if (count_ == buffers_.size()) send();
    buffers_[count_++] = buffer;
  }
  /// Sends what is queued if data that is not the port's belongs to it: from now on the memory may change
  /// hands.
  void send() {
    if (port_.holds_data()) port_.flush();
    while (count_ != 0) pool_.release(buffers_[--count_]);
  }

 private:
  DatagramPort& port_;
  wire::PayloadPool& pool_;
  std::array<wire::BufferId, DatagramPort::kBatch> buffers_{};
  std::size_t count_ = 0;
};

}  // namespace wharf::live
