// SPDX-License-Identifier: Apache-2.0
// Checks that software writes no address of a NIC's window again before its previous content has left the
// core. Apart from the reorder unit: the unit cannot see this, it would take the new bytes for the old ones.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/ring.h"
#include "engine/ordering/mmio_state.h"
#include "engine/ordering/request.h"

namespace wharf::ordering {

/// True when a window of `window_bytes` is safe without fences on a core with `buffers` write-combining
/// buffers that are recycled oldest first: whoever comes round again has used every buffer for another line
/// in between. A line more than the buffers hold, because the line that comes round does not count. Source:
/// "Stop Taking the Scenic Route" (HotOS '25), 3.4, which asks for the buffers' capacity.
constexpr bool window_needs_no_fence(std::uint32_t window_bytes, std::uint32_t buffers) {
  return window_bytes / kLineBytes > buffers;
}

/// Watches the stores of one core to one window. An address may be stored again once it is known that its
/// line has left: after a fence, or, on cores that recycle their buffers oldest first, after as many other
/// lines as there are buffers. What has left the core must not be overtaken by a later write to the same
/// address on the way.
class AddressReuseChecker {
 public:
  /// `window_bytes` a multiple of 64. `buffers`: write-combining buffers that are recycled oldest first; 0
  /// when the core promises no such thing (a random victim), so that only fences count.
  AddressReuseChecker(std::uint32_t window_bytes, std::uint32_t buffers)
      : buffers_(buffers), stored_(window_bytes / kLineBytes), recent_(window_bytes / kLineBytes) {
    WHARF_CHECK(window_bytes % kLineBytes == 0 && window_bytes >= kLineBytes);
  }

  /// A store of `length` bytes (within a line) at `offset`. False, and counted: one of the bytes was stored
  /// before and may still be in a buffer.
  bool store(std::uint32_t offset, std::uint32_t length) {
    const std::uint32_t line = offset / kLineBytes;
    const ByteMask bytes = byte_mask(offset % kLineBytes, length);
    const bool again = (stored_[line] & bytes) != 0;
    if (stored_[line] == 0) {
      if (buffers_ != 0 && recent_.size() == buffers_) forget_oldest();
      recent_.push_back(line);
    }
    stored_[line] |= bytes;
    violations_ += again ? 1 : 0;
    return !again;
  }
  /// A fence is done: everything stored before has left.
  void fence_done() {
    while (!recent_.empty()) forget_oldest();
  }

  std::uint64_t violations() const { return violations_; }
  /// Appends the canonical state.
  void append_state(std::vector<std::byte>& out) const {
    MmioStateWriter writer(out);
    writer.put(static_cast<std::uint32_t>(recent_.size()));
    for (std::size_t i = 0; i < recent_.size(); ++i) {
      writer.put(recent_[i]);
      writer.put(stored_[recent_[i]]);
    }
  }

 private:
  void forget_oldest() {
    stored_[recent_.front()] = 0;
    recent_.pop_front();
  }

  std::uint32_t buffers_;
  std::vector<ByteMask> stored_;  ///< By line: bytes that may not have left.
  Ring<std::uint32_t> recent_;    ///< Lines that may not have left, oldest first.
  std::uint64_t violations_ = 0;
};

}  // namespace wharf::ordering
